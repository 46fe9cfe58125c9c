"""Unigram segmentation as a picture: every piece that the vocabulary has in a word, and the most probable cut."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Protocol

from transformer.messages import message
from viz.figures.arithmetic import number
from viz.figures.axes import width
from viz.figures.pieces import Name, box, direction, readable, say

NARROWEST = 6.5  # of one character, in widths of a "0": the numbers need it


class Edge(Protocol):
    """What is needed of an `Edge` (see `transformer/unigram.py`)."""

    @property
    def piece(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def log_probability(self) -> float: ...
    @property
    def total(self) -> float: ...
    @property
    def unknown(self) -> bool: ...


class Position(Protocol):
    """What is needed of a `LatticeStep`."""

    @property
    def best(self) -> float: ...
    @property
    def edges(self) -> Sequence[Edge]: ...


def piece_lattice(
    steps: Sequence[Position], path: Sequence[Edge], *, name: Name = readable, language: str = "en"
) -> str:
    """HTML: a column per character, a box per piece as wide as its characters, those of the best `path` on top.

    The last line says the best log-probability up to each character; natural logarithms.
    """
    edges = [edge for step in steps for edge in step.edges]
    letters = [name(character) for character in _letters(path)]
    cells = [f'<span class="stt-letter"><bdi>{escape(letter)}</bdi></span>' for letter in letters]
    cells += [_box(edge, 2, "stt-piece-new", name, language) for edge in path]
    lanes = list(_lanes(edge for edge in edges if edge not in path))
    cells += [_box(edge, lane + 3, "", name, language) for edge, lane in lanes]
    bottom = max((lane for _, lane in lanes), default=-1) + 4
    for place, step in enumerate(steps[1:]):
        cells.append(f'<span class="stt-best" style="grid-area:{bottom}/{place + 1}">{number(step.best, 2)}</span>')
    column = max(((width(name(edge.piece)) + 1.6) / (edge.end - edge.start) for edge in edges), default=0)
    style = f"--atoms:{len(letters)};--atom:{max(column, NARROWEST):.1f}ch"
    grid = f'<div class="stt-lattice" {direction("".join(letters))} style="{style}">{"".join(cells)}</div>'
    said = f'<p class="stt-path">{_sum(path, language)}</p>'
    said += f'<p class="stt-notice">{say("figure.lattice.read", language)}</p>'
    return f'<div class="stt-steps" tabindex="0">{grid}{said}</div>'


def _letters(path: Sequence[Edge]) -> str:
    """The word: the pieces of a way through it, one behind the other."""
    return "".join(edge.piece for edge in path)


def _lanes(edges: Iterable[Edge]) -> Iterable[tuple[Edge, int]]:
    """Each piece in the first row where nothing stands in its way, short ones above long ones."""
    ends: list[list[tuple[int, int]]] = []
    for edge in sorted(edges, key=lambda edge: (edge.end - edge.start, edge.start)):
        free = (
            lane
            for lane, taken in enumerate(ends)
            if all(edge.end <= start or end <= edge.start for start, end in taken)
        )
        lane = next(free, len(ends))
        if lane == len(ends):
            ends.append([])
        ends[lane].append((edge.start, edge.end))
        yield edge, lane


def _box(edge: Edge, line: int, kind: str, name: Name, language: str) -> str:
    kind = f"{kind} stt-piece-unknown".strip() if edge.unknown else kind
    shown = number(edge.log_probability, 2)
    key = "figure.lattice.unknown" if edge.unknown else "figure.lattice.piece"
    title = message(key, language, piece=name(edge.piece), log=shown, total=number(edge.total, 2))
    style = f"grid-area:{line}/{edge.start + 1}/auto/{edge.end + 1}"
    return box(name(edge.piece), kind, style=style, below=f"<small>{shown}</small>", title=title)


def _sum(path: Sequence[Edge], language: str) -> str:
    """log p(cut) = −3.21 + −7.00 = −10.21, of the best way."""
    if not path:
        return ""
    parts = " + ".join(number(edge.log_probability, 2) for edge in path)
    whole = number(path[-1].total, 2)
    said = say("figure.lattice.sum", language)
    return f"{said} {parts} = <b>{whole}</b>" if len(path) > 1 else f"{said} <b>{whole}</b>"
