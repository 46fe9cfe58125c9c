"""Position vectors that are added to the token vectors: recorded rows, the sinusoidal formula, and how alike they are.

    PE(position, 2i) = sin(position / base^(2i / d_model))        PE(position, 2i + 1) = cos(the same)

(Vaswani et al. 2017, section 3.5). Fairseq and Marian write the same numbers in another order: all sines, then all
cosines.
"""

from dataclasses import dataclass

import numpy as np

from transformer.parts import Array
from transformer.positions_of import countings, real_tokens
from transformer.replay import Seal, compare
from transformer.trace import Trace

LAYOUTS = ("interleaved", "halves")
EXACT = 1e-6  # of numbers between −1 and 1 that were rounded to float32


@dataclass(frozen=True, eq=False)
class PositionRows:
    """One vector per position of this run, and whether they follow the formula."""

    stack: str
    rows: Array  # (position, d_model) as recorded
    positions: Array  # (position,) whole numbers
    layout: str | None  # one of LAYOUTS: they are the formula's; None: they are something else, mostly learned
    seal: Seal | None  # against the formula, where they follow it


def position_rows(trace: Trace, stack: str) -> PositionRows | None:
    """The rows of a stack; None where none were added, or recorded."""
    site = f"{stack}.embed.position"
    if site not in trace.arrays:
        return None
    rows, real = trace[site], real_tokens(trace, stack)
    for positions in countings(trace, stack):
        for layout in LAYOUTS:
            formula = sinusoids(positions, rows.shape[-1], layout)
            if formula is not None and np.abs(formula[real] - rows[real]).max() <= EXACT:
                return PositionRows(stack, rows, positions, layout, compare(site, formula[real], rows[real]))
    return PositionRows(stack, rows, next(countings(trace, stack)), None, None)


def sinusoids(positions: Array, d_model: int, layout: str = "interleaved", base: float = 10_000.0) -> Array | None:
    """(position, d_model) float64 of any `positions`, also between whole numbers; None where d_model is odd."""
    if d_model % 2:
        return None
    even = np.arange(0, d_model, 2)
    angle = np.asarray(positions, np.float64)[:, None] / base ** (even / d_model)  # (position, pair)
    if layout == "halves":
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(angle), d_model)


def partner_of(dimension: int, d_model: int, layout: str) -> int:
    """The dimension with the same wave a quarter turn further: the cosine of a sine, or the other way round."""
    if layout == "interleaved":
        return dimension + 1 if dimension % 2 == 0 else dimension - 1
    return (dimension + d_model // 2) % d_model


def wave_of(dimension: int, d_model: int, layout: str) -> tuple[str, int]:
    """("sin" or "cos", 2i): PE(position, dimension) is that of position / base^(2i / d_model)."""
    if layout == "interleaved":
        return ("sin", dimension) if dimension % 2 == 0 else ("cos", dimension - 1)
    half = d_model // 2
    return ("sin", 2 * dimension) if dimension < half else ("cos", 2 * (dimension - half))


def wavelength(dimension: int, d_model: int, layout: str, base: float = 10_000.0) -> float:
    """After how many positions the wave of a dimension repeats."""
    _, exponent = wave_of(dimension, d_model, layout)
    return float(2 * np.pi * base ** (exponent / d_model))


def lengths(rows: Array) -> Array:
    """(row,): how long each vector is."""
    return np.linalg.norm(rows.astype(np.float64), axis=1)


def cosines(rows: Array, others: Array | None = None) -> Array:
    """(row, other) −1 … 1: the cosine between vectors; NaN where one has no length."""
    first, second = (np.asarray(one, np.float64) for one in (rows, rows if others is None else others))
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (first, second))
    return np.clip(first @ second.T, -1, 1)
