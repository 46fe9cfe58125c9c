"""What a head does, measured: how much of its attention lies where a rule says. Every score is a mean over many rows of
many texts, never a single sentence.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.parts import Array
from transformer.trace import Trace

Cell = tuple[int, int]  # (query, key)
Measure = Callable[[Array, int, int], Array]  # (head, query, key) weights and a cell to one number per head


@dataclass(frozen=True)
class HeadScore:
    """One head of one attention, and its mean over `rows` rows: a weight, or the share of rows that were right."""

    site: str  # "decoder.1.self"
    head: int
    value: float
    rows: int

    @property
    def name(self) -> str:
        """ "1.3", layer and head."""
        return f"{self.site.split('.')[1]}.{self.head}"


def weight_on(traces: Sequence[Trace], cells: Sequence[Iterable[Cell]], kind: str = "self") -> list[HeadScore]:
    """The mean weight on the given (query, key) cells of each trace, for every head, the largest first."""
    return _scores(traces, cells, kind, lambda weights, query, key: weights[:, query, key])


def aimed_at(traces: Sequence[Trace], cells: Sequence[Iterable[Cell]], kind: str = "self") -> list[HeadScore]:
    """The share of rows whose largest weight lies on the given key, for every head, the largest first."""
    return _scores(traces, cells, kind, lambda weights, query, key: weights[:, query].argmax(-1) == key)


def previous_token(length: int) -> Iterator[Cell]:
    """Each token and the one before it; what stands first has none."""
    return ((query, query - 1) for query in range(1, length))


def induction(first: int, period: int, length: int) -> Iterator[Cell]:
    """In a stretch of `period` tokens that begins at `first` and repeats: each token of a later copy, and the one that
    came after the same token last time (Olsson et al. 2022, In-context Learning and Induction Heads)."""
    return ((query, query - period + 1) for query in range(first + period, length))


def on_cells(weights: Array, cells: Array) -> tuple[Array, int]:
    """((head,), rows): how much of a row's weight lies on its cells, the mean over the rows that have any, and how many
    these are; NaN where none has. Weights (head, query, key), cells (query, key) bool."""
    rows = np.flatnonzero(cells.any(-1))
    if not len(rows):
        return np.full(len(weights), np.nan), 0
    return np.where(cells[rows], weights[:, rows], 0).sum(-1, dtype=np.float64).mean(-1), len(rows)


def _scores(traces: Sequence[Trace], cells: Sequence[Iterable[Cell]], kind: str, measure: Measure) -> list[HeadScore]:
    sums: dict[str, Array] = defaultdict(lambda: np.zeros(1))
    count = 0
    for trace, wanted in zip(traces, cells, strict=True):
        wanted = list(wanted)
        count += len(wanted)
        for site in trace.attention_sites():
            if wanted and site.endswith(f".{kind}"):
                weights = trace[f"{site}.weights"]  # (head, query, key)
                found = np.sum([measure(weights, *cell) for cell in wanted], axis=0, dtype=np.float64)
                sums[site] = np.asarray(sums[site] + found)
    scores = [
        HeadScore(site, head, float(total / count), count)
        for site, totals in sums.items()
        for head, total in enumerate(totals)
    ]
    return sorted(scores, key=lambda one: -one.value)
