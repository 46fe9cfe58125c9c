"""One head against several on a task that needs two relations at once (Vaswani et al. 2017, section 3.2.2).

At each position the token before and the token after must be named. The network is a single attention with a linear
reading, its positions are rotary, so that values carry tokens only, and each query sees just its two neighbours. One
head then cannot always be right, whatever its weights: it hands on one mixture of the two, "with a single attention
head, averaging inhibits this". Proof, for at least three symbols a, b, c and a given query:

    Scaled by the softmax's sum, the score of symbol v is P(v, before) + r(after) · P(v, after), with
    P(v, t) = exp(score of t as the one before) · (reading of v off the value of t) and
    r(t)    = exp(score of t as the one after) / exp(score of t as the one before), the same for both readings.
    Let D(a, b) = P(a, a) − P(b, a). "After" is read right off (a, b) and off (b, a) only if
        r(b) · D(b, a) > D(a, b)    and    r(a) · D(a, b) > D(b, a),
    so both D have one sign; negative ones are ruled out by (a, b) against c and (a, c) against b, which together say
    r(b) · D(b, c) + r(c) · D(c, b) > 0. Hence r(a) · r(b) > 1. "Before", by its own D, needs r(a) · r(b) < 1.

With two heads one takes care of each neighbour. The number of parameters is the same: n_heads · d_head = d_model.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.errors import ShapesDoNotFit
from transformer.measure_recurrence import initialize
from transformer.positions import Rotary


@dataclass(frozen=True)
class HeadsSettings:
    n_heads: tuple[int, ...] = (1, 2, 4)  # each must divide d_model into heads of an even size
    d_model: int = 32
    n_symbols: int = 7
    length: int = 12  # tokens in one text; the first and the last have one neighbour only and are not judged
    steps: int = 200
    batch: int = 32
    runs: int = 3
    evaluations: int = 10  # how often accuracy is measured, evenly over the steps
    judged: int = 100  # texts per evaluation
    learning_rate: float = 1e-2

    def __post_init__(self) -> None:
        if not self.n_heads or min(self.steps, self.batch, self.runs, self.evaluations, self.judged) < 1:
            raise ShapesDoNotFit(what="steps, batch, runs, evaluations, judged", expected="≥ 1", got=repr(self))
        if self.n_symbols < 3 or self.length < 3:
            raise ShapesDoNotFit(what="n_symbols, length", expected="≥ 3", got=(self.n_symbols, self.length))


@dataclass(frozen=True)
class HeadsProgress:
    """Where the measurement stands."""

    n_heads: int
    run: int
    step: int
    accuracy: float  # of both neighbours
    done: float  # 0 … 1 of all training steps


@dataclass(frozen=True, eq=False)
class HeadsCurves:
    """The result; the first axis is the number of heads."""

    n_heads: tuple[int, ...]
    steps: np.ndarray  # (evaluation,) training steps done
    both: np.ndarray  # (n_heads, run, evaluation) how often both neighbours are right, 0 … 1
    before: np.ndarray  # (n_heads, run, evaluation) how often the one before is
    after: np.ndarray  # (n_heads, run, evaluation)
    parameters: np.ndarray  # (n_heads,)
    settings: HeadsSettings


class NeighbourReader(nn.Module):
    """Embedding, one attention over the two neighbours, a linear reading. No residual, no feed-forward, no norm."""

    def __init__(self, n_heads: int, settings: HeadsSettings, generator: torch.Generator) -> None:
        super().__init__()
        config = ModelConfig(settings.n_symbols, settings.length, settings.d_model, 1, n_heads, positions="rotary")
        self.embedding = nn.Embedding(settings.n_symbols, settings.d_model)
        self.attention = MultiHeadAttention(config)
        self.reading = nn.Linear(settings.d_model, 2 * settings.n_symbols)
        position = torch.arange(settings.length)
        self.rotation = Rotary(config.head_size)(position[None])
        self.allowed = (position[:, None] - position).abs() == 1  # (query, key)
        initialize(self, generator)

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, position) to (batch, position − 2, neighbour, symbol): before and after, of all but the ends."""
        mixed = self.attention(self.embedding(ids), self.allowed, rotary=self.rotation)  # (batch, position, d_model)
        return self.reading(mixed)[:, 1:-1].unflatten(-1, (2, -1))


def heads_against_heads(
    settings: HeadsSettings, *, generator: torch.Generator
) -> Iterator[HeadsProgress | HeadsCurves]:
    """Train each number of heads in each run, telling how far it is; the last item is the `HeadsCurves`."""
    steps = np.linspace(0, settings.steps, settings.evaluations + 1).round().astype(int)
    measured = np.empty((len(settings.n_heads), settings.runs, len(steps), 3))  # both, before, after
    parameters = np.zeros(len(settings.n_heads), int)
    for place, n_heads in enumerate(settings.n_heads):
        for run in range(settings.runs):
            model = NeighbourReader(n_heads, settings, generator)
            parameters[place] = sum(parameter.numel() for parameter in model.parameters())
            optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate)
            for number, step in enumerate(steps.tolist()):
                for _ in range(step - int(steps[max(number - 1, 0)])):
                    _learn(model, optimizer, settings, generator)
                measured[place, run, number] = _accuracies(model, settings, generator)
                done = (place * settings.runs + run + step / settings.steps) / (len(settings.n_heads) * settings.runs)
                yield HeadsProgress(n_heads, run, step, float(measured[place, run, number, 0]), done)
    both, before, after = np.moveaxis(measured, -1, 0)
    yield HeadsCurves(settings.n_heads, steps, both, before, after, parameters, settings)


def _learn(
    model: NeighbourReader, optimizer: torch.optim.Optimizer, settings: HeadsSettings, generator: torch.Generator
) -> None:
    """One step of Adam on the cross-entropy of both neighbours."""
    ids, neighbours = _texts(settings, settings.batch, generator)
    loss = F.cross_entropy(model(ids).flatten(0, 2), neighbours.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _accuracies(model: NeighbourReader, settings: HeadsSettings, generator: torch.Generator) -> tuple[float, ...]:
    """How often both neighbours are right, the one before is, the one after is."""
    ids, neighbours = _texts(settings, settings.judged, generator)
    with torch.no_grad():
        right = model(ids).argmax(-1) == neighbours  # (batch, position − 2, neighbour)
    return tuple(share.double().mean().item() for share in (right.all(-1), right[..., 0], right[..., 1]))


def _texts(settings: HeadsSettings, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random (text, position) ids and (text, position − 2, neighbour) what must be named."""
    ids = torch.randint(settings.n_symbols, (size, settings.length), generator=generator)
    return ids, torch.stack([ids[:, :-2], ids[:, 2:]], dim=-1)
