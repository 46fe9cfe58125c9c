"""What a head must do to carry a label: on which cells (query, key) of a text its weight must lie.

    previous    the token before                        first       the first token
    next        the token behind (encoders)             self        the token itself
    local       at most two tokens away                 diagonal    the same place in the other text (cross-attention)
    duplicate   the same token elsewhere                induction   the token that came after the same token last time

Duplicate and induction (Olsson et al. 2022, In-context Learning and Induction Heads) are measured on random tokens that
come twice, all others on sentences.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from transformer.head_scores import Cell, induction, previous_token
from transformer.parts import Array

NEAR = 2  # tokens that "local" reaches
EVEN_AT_MOST = 0.25  # rows where even looking would give a label more than this prove nothing and are left out


@dataclass(frozen=True, eq=False)
class Ground:
    """One attention over one text, or over a stretch of `period` tokens that begins at `first` and comes twice."""

    allowed: Array  # (query, key) bool
    told: Array  # (key,) bool: stands for a part of the text, and is no special token
    first: int = 0
    period: int = 0  # 0: a text

    @property
    def causal(self) -> bool:
        return not np.triu(self.allowed, 1).any()


Rule = Callable[[Ground], Array]  # (query, key) bool


def labels_of(ground: Ground, kind: str) -> tuple[str, ...]:
    """Which labels are measured on this attention ("self" or "cross") and this text, the most telling first."""
    if ground.period:
        return () if kind == "cross" else ("induction", "duplicate") if ground.causal else ("duplicate",)
    if kind == "cross":
        return ("diagonal",)
    return ("previous", "first", "self", "local") if ground.causal else ("previous", "next", "first", "self", "local")


def cells_of(label: str, ground: Ground) -> Array:
    """(query, key) bool: the allowed cells on which a label's weight lies, in rows that prove something."""
    cells = RULES[label](ground) & ground.allowed
    even = cells.sum(-1) / np.maximum(ground.allowed.sum(-1), 1)
    return cells & (even <= EVEN_AT_MOST)[:, None]


def _previous(ground: Ground) -> Array:
    return _marked(previous_token(len(ground.allowed)), ground)


def _next(ground: Ground) -> Array:
    return _distance(ground) == 1


def _first(ground: Ground) -> Array:
    cells = np.zeros_like(ground.allowed)
    cells[1:, 0] = True  # the first token itself looks at itself there
    return cells


def _self(ground: Ground) -> Array:
    return _distance(ground) == 0


def _local(ground: Ground) -> Array:
    return np.abs(_distance(ground)) <= NEAR


def _induction(ground: Ground) -> Array:
    return _marked(induction(ground.first, ground.period, ground.first + 2 * ground.period), ground)


def _duplicate(ground: Ground) -> Array:
    query, key = np.indices(ground.allowed.shape) - ground.first
    inside = (np.minimum(query, key) >= 0) & (np.maximum(query, key) < 2 * ground.period)
    return np.asarray(inside & (np.abs(query - key) == ground.period))


def _diagonal(ground: Ground) -> Array:
    """At most one token beside the same share of the other text, whose special tokens are not counted."""
    places = np.flatnonzero(ground.told)
    n_query = len(ground.allowed)
    wanted = np.arange(n_query) / max(n_query - 1, 1) * (len(places) - 1)  # (query,)
    cells = np.zeros_like(ground.allowed)
    cells[:, places] = np.abs(np.arange(len(places)) - wanted[:, None]) <= 1
    return cells


RULES: dict[str, Rule] = {
    "induction": _induction,
    "duplicate": _duplicate,
    "previous": _previous,
    "next": _next,
    "first": _first,
    "self": _self,
    "diagonal": _diagonal,
    "local": _local,
}


def _distance(ground: Ground) -> Array:
    """(query, key): how many tokens behind the query a key stands."""
    query, key = np.indices(ground.allowed.shape)
    return np.asarray(key - query)


def _marked(wanted: Iterable[Cell], ground: Ground) -> Array:
    cells = np.zeros_like(ground.allowed)
    for query, key in wanted:
        cells[query, key] = True
    return cells
