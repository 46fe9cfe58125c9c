"""From pen strokes to the pixels of a digit, as the UCI optical digits were made (Alpaydin & Kaynak 1998): a bitmap of
32 × 32 in which the digit fills its box, and the black pixels of each 4 × 4 counted.

`assets/js/strokes.js` does the same in the browser while the pen moves, with the numbers of `RULE` and the same order
of operations, so that both give the same pixels.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from transformer.parts import Array

Point = tuple[float, float]  # (x, y), from 0 to 1 rightwards and downwards
Stroke = Sequence[Point]
_FILE = Path(__file__).parents[1] / "assets" / "digits.json"


@dataclass(frozen=True)
class Rule:
    """How strokes become pixels; lengths in pixels of the bitmap."""

    side: int = 32
    cell: int = 4  # side of the squares that are counted
    wide: int = 20  # the box that the digit fills, centred
    high: int = 32
    stretch: float = 1.5  # how far one direction may be stretched against the other: a "1" stays narrower than the box
    smallest: float = 0.05  # what is smaller, in the pad's measure, is not enlarged further: a dot stays a dot
    pens: tuple[float, ...] = (1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0, 4.25, 4.5)  # radius
    ink: int = 292  # black pixels that the pen should leave at least: the data set's digits hold 313, be it "1" or "8"


RULE = Rule()


@dataclass(frozen=True)
class ReadyDigit:
    """A digit that can be chosen instead of drawn."""

    digit: int
    strokes: tuple[tuple[Point, ...], ...]


@cache
def ready_digits() -> tuple[ReadyDigit, ...]:
    """Two of each, drawn for this page: they are not the data set's."""
    found = json.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(
        ReadyDigit(one["digit"], tuple(tuple((x, y) for x, y in stroke) for stroke in one["strokes"])) for one in found
    )


def rule_and_digits() -> str:
    """`RULE` and the ready digits as JSON, for the twin in the browser."""
    return json.dumps({"rule": asdict(RULE), "digits": [asdict(one) for one in ready_digits()]}, separators=(",", ":"))


def picture_of(strokes: Sequence[Stroke], rule: Rule = RULE) -> Array:
    """(height, width) of 0 … 1 in 16ths, as a vision model reads it; empty paper without strokes."""
    cells = rule.side // rule.cell
    squares = bitmap_of(strokes, rule).reshape(cells, rule.cell, cells, rule.cell)  # (row, y inside, column, x inside)
    return (squares.sum(axis=(1, 3)) / rule.cell**2).astype(np.float32)  # (height, width)


def bitmap_of(strokes: Sequence[Stroke], rule: Rule = RULE) -> Array:
    """(y, x) bool: the digit in its box, drawn by the thinnest pen that leaves enough ink."""
    bitmap = np.zeros((rule.side, rule.side), bool)
    if not any(map(len, strokes)):
        return bitmap
    for radius in rule.pens:
        bitmap = _drawn(_segments(strokes, radius, rule), radius, rule.side)
        if bitmap.sum() >= rule.ink:
            break
    return bitmap


def _segments(strokes: Sequence[Stroke], radius: float, rule: Rule) -> Array:
    """(segment, end, xy): the strokes moved and stretched so that with the pen's width they fill the box."""
    lines = [np.array([*stroke, stroke[-1]], np.float64) for stroke in strokes if len(stroke)]  # one point: a dot
    points = np.concatenate(lines)
    low, high = points.min(axis=0), points.max(axis=0)  # (xy,)
    x, y = (np.array([rule.wide, rule.high]) - 2 * radius) / np.maximum(high - low, rule.smallest)
    scale = np.array([min(x, rule.stretch * y), min(y, rule.stretch * x)])
    placed = [(line - (low + high) / 2) * scale + rule.side / 2 for line in lines]
    return np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in placed])


def _drawn(segments: Array, radius: float, side: int) -> Array:
    """(y, x) bool: pixels whose middle lies within `radius` of a segment."""
    middle = np.arange(side) + 0.5
    px, py = middle[None, None, :], middle[None, :, None]  # (segment, y, x)
    ax, ay, bx, by = (segments[:, end, axis, None, None] for end in (0, 1) for axis in (0, 1))
    dx, dy = bx - ax, by - ay
    length = dx * dx + dy * dy
    along = ((px - ax) * dx + (py - ay) * dy) / np.where(length > 0, length, 1)
    along = np.minimum(np.maximum(along, 0), 1)  # of the segment, where it comes nearest
    ex, ey = px - (ax + along * dx), py - (ay + along * dy)
    return (ex * ex + ey * ey <= radius * radius).any(axis=0)
