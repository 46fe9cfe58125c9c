"""What is still known of the first token after n others: an RNN, an LSTM and our encoder, each briefly trained.

The task: a marked token, n fillers, a question mark; the marked token must be named at the question mark. A recurrent
network has to carry it through n states, and what teaches it to has to come back through as many (Hochreiter et al.
2001; Bengio et al. 1994). Attention is one step from the question mark to any token.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.errors import ShapesDoNotFit
from transformer.measure_recurrence import initialize, make_network
from transformer.positions import sinusoidal_table

KINDS = ("rnn", "lstm", "encoder")
EVERY = 20  # steps between two progress records


@dataclass(frozen=True)
class RecallSettings:
    """`training` "each": a fresh network is trained at every distance, at this one alone. "mixed": one network is
    trained on distances drawn evenly from 1 to the largest of them, and then asked at each; what it has learnt of short
    distances helps it at long ones, and an LSTM given enough steps recalls over all of them.
    """

    distances: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)  # fillers between the marked token and the question
    training: Literal["each", "mixed"] = "each"
    n_symbols: int = 8  # as many marked tokens, and as many fillers; guessing is right once in so many times
    d_model: int = 32
    n_layers: int = 1
    n_heads: int = 4
    steps: int = 200
    batch: int = 32
    runs: int = 1
    judged: int = 500  # texts per distance that accuracy is measured on
    learning_rate: float = 3e-3

    def __post_init__(self) -> None:
        if not self.distances or min(*self.distances, self.steps, self.batch, self.runs, self.judged) < 1:
            raise ShapesDoNotFit(what="distances, steps, batch, runs, judged", expected="≥ 1", got=repr(self))


@dataclass(frozen=True)
class RecallProgress:
    """Where the measurement stands."""

    kind: str
    distance: int  # that is trained at; the largest one where distances are mixed
    loss: float
    done: float  # 0 … 1 of all training steps


@dataclass(frozen=True, eq=False)
class RecallAgainstDistance:
    """The result: the first axis is the network, in the order of `kinds`."""

    kinds: tuple[str, ...]
    distances: np.ndarray  # (distance,)
    accuracy: np.ndarray  # (kind, run, distance) 0 … 1
    parameters: np.ndarray  # (kind,)
    seconds: np.ndarray  # (kind,) of training, over all distances and runs
    chance: float  # what guessing reaches
    settings: RecallSettings


@dataclass(frozen=True)
class _Training:
    """One network to train: at distances from `shortest` to `longest`, then asked at those of `asked` (indices)."""

    place: int  # of its kind in KINDS
    run: int
    shortest: int
    longest: int
    asked: tuple[int, ...]


class Recaller(nn.Module):
    """Embedding, the network, and a linear reading of the last position."""

    def __init__(self, kind: str, settings: RecallSettings, generator: torch.Generator) -> None:
        super().__init__()
        d_model, n_symbols = settings.d_model, settings.n_symbols
        self.embedding = nn.Embedding(2 * n_symbols + 1, d_model)  # marked, fillers, question mark
        self.table: Tensor | None = None
        if kind == "encoder":  # a recurrent network knows the order without being told
            self.table = sinusoidal_table(max(settings.distances) + 2, d_model)
        self.network = make_network(kind, d_model, settings.n_layers, settings.n_heads, generator)
        self.norm = nn.LayerNorm(d_model) if kind == "encoder" else nn.Identity()  # the pre form ends with a norm
        self.reading = nn.Linear(d_model, n_symbols)
        for module in (self.embedding, self.reading):
            initialize(module, generator)

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, position) to (batch, symbol)."""
        x = self.embedding(ids)  # (batch, position, d_model)
        x = x if self.table is None else x + self.table[: ids.shape[1]]
        return self.reading(self.norm(self.network(x)[:, -1]))


def recall_against_distance(
    settings: RecallSettings, *, generator: torch.Generator
) -> Iterator[RecallProgress | RecallAgainstDistance]:
    """Train, telling how far it is; the last item is the `RecallAgainstDistance`."""
    accuracy = np.empty((len(KINDS), settings.runs, len(settings.distances)))
    parameters, seconds = np.zeros(len(KINDS), int), np.zeros(len(KINDS))
    trainings = _trainings(settings)
    for number, training in enumerate(trainings):
        kind = KINDS[training.place]
        model = Recaller(kind, settings, generator)
        parameters[training.place] = sum(parameter.numel() for parameter in model.parameters())
        for step, loss, taken in _train(model, settings, training, generator):
            seconds[training.place] += taken
            yield RecallProgress(kind, training.longest, loss, (number + step / settings.steps) / len(trainings))
        for which in training.asked:
            accuracy[training.place, training.run, which] = _accuracy(
                model, settings, settings.distances[which], generator
            )
    distances, chance = np.array(settings.distances), 1 / settings.n_symbols
    yield RecallAgainstDistance(KINDS, distances, accuracy, parameters, seconds, chance, settings)


def marked_texts(
    settings: RecallSettings, size: int, distance: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """(text, distance + 2) ids and (text,) marked tokens: marked 0 … n − 1, fillers n … 2n − 1, question mark 2n."""
    n = settings.n_symbols
    marked = torch.randint(n, (size, 1), generator=generator)
    fillers = torch.randint(n, 2 * n, (size, distance), generator=generator)
    return torch.cat([marked, fillers, torch.full((size, 1), 2 * n)], dim=1), marked[:, 0]


def _trainings(settings: RecallSettings) -> list[_Training]:
    shortest, longest, everywhere = 1, max(settings.distances), tuple(range(len(settings.distances)))
    plans: list[tuple[int, int, tuple[int, ...]]] = [(shortest, longest, everywhere)]
    if settings.training == "each":
        plans = [(distance, distance, (which,)) for which, distance in enumerate(settings.distances)]
    return [
        _Training(place, run, *plan) for place in range(len(KINDS)) for run in range(settings.runs) for plan in plans
    ]


def _train(
    model: Recaller, settings: RecallSettings, training: _Training, generator: torch.Generator
) -> Iterator[tuple[int, float, float]]:
    """Adam on the cross-entropy, gradients clipped to 1; (step, loss, seconds since the last record) now and then."""
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate)
    start = time.perf_counter()
    for step in range(1, settings.steps + 1):
        distance = int(torch.randint(training.shortest, training.longest + 1, (), generator=generator))
        ids, marked = marked_texts(settings, settings.batch, distance, generator)
        loss = F.cross_entropy(model(ids), marked)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % EVERY == 0 or step == settings.steps:
            yield step, loss.item(), time.perf_counter() - start
            start = time.perf_counter()  # whoever listens may take as long as they like


def _accuracy(model: Recaller, settings: RecallSettings, distance: int, generator: torch.Generator) -> float:
    ids, marked = marked_texts(settings, settings.judged, distance, generator)
    with torch.no_grad():
        return (model(ids).argmax(-1) == marked).double().mean().item()
