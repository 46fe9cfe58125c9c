"""Unigram segmentation: of all ways to cut a word, the most probable one (Kudo 2018; the search is Viterbi 1967).

p(cut) = Π p(piece)        best(end) = max over pieces that end there:  best(start) + log p(piece)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

UNKNOWN_PENALTY = 10.0  # of SentencePiece: an unknown character is e¹⁰ times rarer than the rarest piece


@dataclass(frozen=True)
class Edge:
    """A piece that the vocabulary has at this place; natural logarithms."""

    piece: str
    start: int  # characters of the word
    end: int
    log_probability: float
    total: float  # of the best way to `start`, and then this piece
    unknown: bool = False  # a single character that the vocabulary lacks


@dataclass(frozen=True)
class LatticeStep:
    """One position of the word, from left to right: every way to get here is known now."""

    position: int
    best: float  # log-probability of the best way from the start of the word to here
    through: Edge | None  # the last piece of that way; None at the start of the word
    edges: tuple[Edge, ...]  # all pieces that start here


def lattice_steps(word: str, log_probabilities: Mapping[str, float]) -> Iterator[LatticeStep]:
    """One step per position, the end included. `best_cut` of the steps is the result.

    Of two equally probable ways the one whose last piece starts earlier is kept, as in the `tokenizers` library.
    """
    longest = max(map(len, log_probabilities))
    unknown = min(log_probabilities.values()) - UNKNOWN_PENALTY
    through: list[Edge | None] = [None] * (len(word) + 1)
    for start in range(len(word) + 1):
        arrived = through[start]
        best = arrived.total if arrived else 0.0
        edges = []
        for end in range(start + 1, min(len(word), start + longest) + 1):
            if (piece := word[start:end]) in log_probabilities:
                score = log_probabilities[piece]
                edges.append(Edge(piece, start, end, score, score + best))
        if start < len(word) and (not edges or edges[0].end > start + 1):
            edges.insert(0, Edge(word[start], start, start + 1, unknown, unknown + best, unknown=True))
        for edge in edges:
            before = through[edge.end]
            if edge.total > (before.total if before else -inf):
                through[edge.end] = edge
        yield LatticeStep(start, best, arrived, tuple(edges))


def best_cut(steps: Sequence[LatticeStep]) -> tuple[Edge, ...]:
    """The pieces of the best way through the whole word, read back from its end."""
    path: list[Edge] = []
    edge = steps[-1].through
    while edge:
        path.append(edge)
        edge = steps[edge.start].through
    return tuple(reversed(path))
