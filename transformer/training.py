"""The training loop: one record per step, so that whoever reads the records can pause, stop, or look inside.

    for record in train(model, task, Settings(steps=600, batch_size=32, learning_rate=1e-3), random=Random(1)):
        print(record.step, record.loss)

The same seed gives the same result on the same machine with the same number of threads, also when a training is
interrupted and goes on from its checkpoint.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor, nn

from transformer.attention_entropy import EntropyEar
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.curve import Curve
from transformer.errors import ModelError
from transformer.judging import Judged, count_right, examine, summed_loss
from transformer.listening import listening
from transformer.parameter_groups import decay_groups, gradient_norms
from transformer.schedule import learning_rate
from transformer.settings import Settings
from transformer.tasks import NOT_JUDGED, Batch, Task

_NO_INFLUENCE = ("snapshot_every", "checkpoint_every")  # settings that change what is kept, not what is learned


class LossNotFinite(ModelError): ...


@dataclass(frozen=True, eq=False)
class StepRecord:
    """What one update of the weights was like."""

    step: int  # counted from 1
    loss: float  # mean over the judged labels of this batch, in nats, before the update
    accuracy: float  # share of them whose class has the largest logit
    gradient_norms: dict[str, float]  # part of the model -> length of its gradient; "total" of all, before clipping
    learning_rate: float
    tokens_per_second: float
    held_out: Judged | None = None  # every `evaluate_every` steps: how unseen rows are answered after this update
    snapshot: dict[str, Tensor] | None = None  # every `snapshot_every` steps: the weights after this update


def train(
    model: nn.Module, task: Task, settings: Settings, *, random: Random, checkpoint: Path | None = None
) -> Iterator[StepRecord]:
    """Updates `model` step by step; closing the iterator stops it, with the weights as they then are.

    `random` makes the batches and seeds dropout. `checkpoint`: a file to go on from if it is there, and to write to.
    With `patience` the model ends with the weights that had the lowest held-out loss.

    Raises:
        CheckpointDamaged, CheckpointForeign: the file is not one that this training wrote.
        LossNotFinite: the loss or its gradient became NaN or infinite; the weights are those before that step.
    """
    training = Training(model, task, settings, random, checkpoint)
    while not training.finished:
        yield training.update()
    training.finish()


@dataclass(eq=False)
class Training:
    """A training under way: what `train` drives, and what a checkpoint holds."""

    model: nn.Module
    task: Task
    settings: Settings
    random: Random
    checkpoint: Path | None = None
    step: int = 0
    seconds: float = 0.0  # spent in updates, over all interruptions
    best_loss: float = float("inf")  # lowest held-out loss so far
    best_weights: dict[str, Tensor] | None = None
    looks_since_best: int = 0
    longest: int = 0  # tokens of the longest row so far; stays 0 where pictures are read
    curve: Curve = field(init=False)

    def __post_init__(self) -> None:
        self.start = _start(self)
        self.curve = Curve.of(self.settings.steps)
        groups = decay_groups(self.model, self.settings.weight_decay)
        self._optimizer = torch.optim.AdamW(groups, lr=0.0, betas=self.settings.betas, fused=True)
        self._torch_state = torch.Generator().manual_seed(self.random.getrandbits(63)).get_state()
        if self.checkpoint is not None and self.checkpoint.exists():
            self._restore(load_checkpoint(self.checkpoint, self.start))

    @property
    def finished(self) -> bool:
        patience = self.settings.patience
        return self.step >= self.settings.steps or (patience is not None and self.looks_since_best >= patience)

    def update(self) -> StepRecord:
        """One batch, one update of the weights."""
        began = time.perf_counter()
        batch = self.task.batch(self.random, self.settings.batch_size)
        self.longest = max(self.longest, batch.longest)
        rate = learning_rate(self.step + 1, self.settings)
        with self._own_chance():
            loss, accuracy = self._gradients(batch)
        norms = gradient_norms(self.model)
        if not (isfinite(loss) and isfinite(norms["total"])):
            raise LossNotFinite(step=self.step + 1, loss=loss, length=norms["total"], rate=self.settings.learning_rate)
        self._follow(norms["total"], rate)
        self.step += 1
        taken = time.perf_counter() - began
        held_out = self._examine() if self._due(self.settings.evaluate_every) else None
        self.seconds += time.perf_counter() - began
        self.curve.add(self.step, loss, accuracy, rate, held_out)
        self._save()
        snapshot = _copied(self.model) if self._due(self.settings.snapshot_every) else None
        return StepRecord(self.step, loss, accuracy, norms, rate, batch.tokens / taken, held_out, snapshot)

    def finish(self) -> None:
        """The weights that are kept, in evaluation mode."""
        if self.settings.patience is not None and self.best_weights is not None:
            self.model.load_state_dict(self.best_weights)
        self.model.eval()

    def _gradients(self, batch: Batch) -> tuple[float, float]:
        """Loss and accuracy of a batch; the gradient of its mean loss is left in the parameters."""
        self.model.train()
        self._optimizer.zero_grad(set_to_none=True)
        judged = int((batch.labels != NOT_JUDGED).sum())
        assert judged, f"a batch of {self.task.name} has nothing to get right"
        total, right = 0.0, 0
        for part in batch.split(self.settings.accumulate):
            logits, price = self._answers(part)
            loss = summed_loss(logits, part.labels, self.settings.label_smoothing) / judged
            (loss + price * len(part) / len(batch)).backward()
            total += loss.item()
            right += count_right(logits.detach(), part.labels)[0]
        return total, right / judged

    def _answers(self, part: Batch) -> tuple[Tensor, Tensor | float]:
        """The logits of some rows, and what their attention costs for being undecided."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.settings.bf16):
            if not self.settings.attention_entropy:
                return self.model(**part.inputs).logits, 0.0
            ear = EntropyEar()
            with listening(ear, gradients=True):
                logits = self.model(**part.inputs).logits
            return logits, self.settings.attention_entropy * self.step / self.settings.steps * ear.mean()

    @contextmanager
    def _own_chance(self) -> Iterator[None]:
        """Dropout draws from torch's one global generator. Here it draws from this training's own, and others get
        theirs back, so that what happens between two steps changes nothing."""
        others = torch.get_rng_state()
        torch.set_rng_state(self._torch_state)
        try:
            yield
            self._torch_state = torch.get_rng_state()
        finally:
            torch.set_rng_state(others)

    def _follow(self, length: float, rate: float) -> None:
        """A step down the gradient, which is shortened to `clip` where it is longer (Pascanu et al. 2013)."""
        if self.settings.clip is not None:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), self.settings.clip, torch.tensor(length))
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()

    def _examine(self) -> Judged:
        """How held-out rows are answered now; the best weights so far are kept where training may stop early."""
        settings = self.settings
        judged = examine(self.model, self.task, batches=settings.evaluate_batches, size=settings.batch_size)
        self.looks_since_best += 1
        if judged.mean_loss < self.best_loss:
            self.best_loss, self.looks_since_best = judged.mean_loss, 0
            self.best_weights = _copied(self.model) if settings.patience is not None else None
        return judged

    def _due(self, every: int | None) -> bool:
        return every is not None and (self.step % every == 0 or self.step == self.settings.steps)

    def _save(self) -> None:
        if self.checkpoint is None or not (self._due(self.settings.checkpoint_every) or self.finished):
            return
        save_checkpoint(self.checkpoint, self._state())

    def _state(self) -> dict[str, Any]:
        """All that the next step depends on, and what was noted so far."""
        return {
            "start": self.start,
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "random": self.random.getstate(),
            "torch": self._torch_state,
            "step": self.step,
            "seconds": self.seconds,
            "longest": self.longest,
            "best": (self.best_loss, self.looks_since_best, self.best_weights),
            "curve": asdict(self.curve),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.random.setstate(state["random"])
        self._torch_state = state["torch"]
        self.step, self.seconds, self.longest = state["step"], state["seconds"], state["longest"]
        self.best_loss, self.looks_since_best, self.best_weights = state["best"]
        self.curve = Curve(**state["curve"])


def _start(training: Training) -> str:
    """What a training begins with, as one number: two with the same start go the same way."""
    settings = {name: one for name, one in asdict(training.settings).items() if name not in _NO_INFLUENCE}
    digest = hashlib.sha256(repr((settings, training.task, training.random.getstate())).encode())
    digest.update(f"{training.model}{getattr(training.model, 'config', None)}".encode())
    for name, one in training.model.state_dict().items():
        digest.update(name.encode() + one.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _copied(model: nn.Module) -> dict[str, Tensor]:
    """The weights as they are now, on the CPU; `load_state_dict` of a model of the same config takes them."""
    return {name: one.detach().to("cpu", copy=True) for name, one in model.state_dict().items()}
