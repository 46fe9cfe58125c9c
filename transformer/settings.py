"""Settings: how a model is trained, checked when they are made."""

from dataclasses import dataclass
from typing import Literal, get_args

from transformer.errors import ShapesDoNotFit

ScheduleKind = Literal["cosine", "inverse_sqrt", "constant"]


@dataclass(frozen=True)
class Settings:
    """The plan of one training. How long it lasts and how far a step goes have no default: they depend on the task.

    Raises:
        ShapesDoNotFit: a number is outside its range, or a word is not one of the choices.
    """

    steps: int  # updates of the weights
    batch_size: int  # rows that one update learns from
    learning_rate: float  # the highest that the schedule reaches
    warmup_steps: int = 0  # updates until it is reached (Vaswani et al. 2017, 5.3: 4000 of 100,000)
    schedule: ScheduleKind = "cosine"  # Loshchilov & Hutter 2017, equation 5; GPT-3 and Llama
    min_lr_fraction: float = 0.1  # where the cosine ends: Brown et al. 2020 (GPT-3), Touvron et al. 2023 (Llama)
    weight_decay: float = 0.01  # torch.optim.AdamW; Loshchilov & Hutter 2019. GPT-3 and Llama: 0.1
    betas: tuple[float, float] = (0.9, 0.999)  # Kingma & Ba 2015; Vaswani et al. 2017: (0.9, 0.98)
    clip: float | None = 1.0  # longest gradient that is followed (Pascanu et al. 2013); 1.0: GPT-3, Llama
    label_smoothing: float = 0.0  # Szegedy et al. 2016, section 7; Vaswani et al. 2017, 5.4: 0.1
    attention_entropy: float = 0.0  # price of a nat of attention's entropy at the end, growing evenly from 0
    bf16: bool = False  # products in bfloat16, sums and weights in float32 (Micikevicius et al. 2018)
    accumulate: int = 1  # pieces that a batch is worked through in, to save memory
    evaluate_every: int | None = None  # steps between two looks at held-out rows
    evaluate_batches: int = 4  # how many batches of them are looked at
    patience: int | None = None  # looks without a better held-out loss until training stops (Prechelt 1998)
    snapshot_every: int | None = None  # steps between two copies of the weights
    checkpoint_every: int = 200  # steps between two files from which training can go on

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "accumulate", "evaluate_batches", "checkpoint_every"):
            _check_whole(name, getattr(self, name), least=1)
        for name in ("evaluate_every", "patience", "snapshot_every"):
            if getattr(self, name) is not None:
                _check_whole(name, getattr(self, name), least=1)
        _check_whole("warmup_steps", self.warmup_steps, least=0)
        self._check_numbers()
        if self.schedule not in get_args(ScheduleKind):
            choices = f"{{{', '.join(get_args(ScheduleKind))}}}"
            raise ShapesDoNotFit(what="schedule", expected=choices, got=repr(self.schedule))
        if self.patience is not None and self.evaluate_every is None:
            raise ShapesDoNotFit(what="evaluate_every", expected="{1, 2, 3, …} (patience)", got=None)

    def _check_numbers(self) -> None:
        _check_range("learning_rate", self.learning_rate, self.learning_rate > 0, "> 0")
        _check_range("weight_decay", self.weight_decay, self.weight_decay >= 0, "≥ 0")
        _check_range("clip", self.clip, self.clip is None or self.clip > 0, "> 0 / None")
        _check_range("attention_entropy", self.attention_entropy, self.attention_entropy >= 0, "≥ 0")
        for name in ("min_lr_fraction", "label_smoothing"):
            _check_range(name, getattr(self, name), 0 <= getattr(self, name) < 1, "[0, 1)")
        _check_range("betas", self.betas, len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas), "[0, 1)²")


def _check_whole(name: str, got: object, least: int) -> None:
    """A whole number; True, which Python counts as 1, is none."""
    if not isinstance(got, int) or isinstance(got, bool) or got < least:
        raise ShapesDoNotFit(what=name, expected=f"{{{least}, {least + 1}, {least + 2}, …}}", got=repr(got))


def _check_range(name: str, got: object, inside: bool, expected: str) -> None:
    if not inside:
        raise ShapesDoNotFit(what=name, expected=expected, got=repr(got))
