"""One number of a token's vector and where it comes from: a row of a table, a wave, their sum; and as NumPy code."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import sqrt

from transformer.messages import message
from viz.figures.arithmetic import number

AGREES = 1e-4
TABLES = {"token": "E", "position": "P", "segment": "S"}  # the tables' letters; their rows are counted from 0


@dataclass(frozen=True)
class Wave:
    """sin or cos of position / 10000^(exponent / d_model)."""

    function: str  # "sin" | "cos"
    position: int
    exponent: int
    d_model: int


@dataclass(frozen=True)
class EmbeddingTerm:
    """What is added in one dimension. `factor` is what the model multiplies it with on the way into the sum.

    `row`: the row of the table that the number stands in, there as `entry`, times `table_factor`; `wave`: the formula
    that gives it. Without either, only the number itself is told.
    """

    name: str  # one of `embedding_rows.KNOWN`
    value: float  # as recorded, before `factor`
    factor: float = 1.0
    row: int | None = None
    entry: float = 0.0
    table_factor: float = 1.0
    wave: Wave | None = None

    @property
    def added(self) -> float:
        return self.factor * self.value


def embedding_arithmetic(
    terms: Sequence[EmbeddingTerm], total: float, dimension: int, *, d_model: int, language: str = "en"
) -> str:
    """HTML: each of `terms` with its origin, then their sum, in one `dimension`; `total` is what was recorded."""
    lines = [line for term in terms if (line := _origin(term, dimension, d_model, language))]
    named = " + ".join(_named(term, dimension, d_model, language) for term in terms)
    summed = sum(term.added for term in terms)
    word = escape(message("figure.embedding_rows.sum", language))
    lines.append(f"{word}[{dimension}] = {named}")
    if len(terms) > 1:
        lines.append(f"= {_terms([term.added for term in terms])} = <b class='stt-result'>{number(summed, 4)}</b>")
    else:
        lines.append(f"= <b class='stt-result'>{number(summed, 4)}</b>")
    if abs(summed - total) > AGREES * max(1.0, abs(total)):
        told = message("figure.arithmetic.differs", language, recomputed=number(summed, 4), recorded=number(total, 4))
        lines.append(f'<span class="stt-bad">{escape(told)}</span>')
    return f'<div class="stt-arithmetic">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _origin(term: EmbeddingTerm, dimension: int, d_model: int, language: str) -> str:
    """ "token[17] = √128 · E[42, 17] = 11.31 · 0.0123 = 0.139", or "" where nothing is known of it."""
    word = escape(message(f"figure.embedding_rows.{term.name}", language))
    name = f'<span class="stt-term">{word}[{dimension}]</span>'
    result = f"= <b>{number(term.value, 4)}</b>"
    if term.wave is not None:
        wave = term.wave
        power = f"10000<sup>{wave.exponent}/{wave.d_model}</sup>"
        return f"{name} = {wave.function}({wave.position} ÷ {power}) {result}"
    if term.row is None:
        return ""
    cell = f'<span class="stt-term">{TABLES.get(term.name, "T")}[{term.row}, {dimension}]</span>'
    if term.table_factor == 1:
        return f"{name} = {cell} {result}"
    numbers = f"{number(term.table_factor)} · {number(term.entry, 4)}"
    return f"{name} = {_root(term.table_factor, d_model)} · {cell} = {numbers} {result}"


def _named(term: EmbeddingTerm, dimension: int, d_model: int, language: str) -> str:
    word = escape(message(f"figure.embedding_rows.{term.name}", language))
    factor = "" if term.factor == 1 else f"{_root(term.factor, d_model)} · "
    return f'<span class="stt-term">{factor}{word}[{dimension}]</span>'


def _root(factor: float, d_model: int) -> str:
    """ "√128" where the factor is that, else the number."""
    return f"√{d_model}" if abs(factor / sqrt(d_model) - 1) < 1e-4 else number(factor)


def _terms(values: Sequence[float]) -> str:
    """ "0.139 + 0.5 − 0.2": signs between the numbers."""
    first, *others = values
    return number(first, 4) + "".join(f" {'−' if one < 0 else '+'} {number(abs(one), 4)}" for one in others)


def embedding_as_numpy(terms: Sequence[EmbeddingTerm]) -> str:
    """Runnable code that prints the sum in this dimension, from table entries, waves and recorded numbers."""
    lines, names = ["import numpy as np", ""], []
    for term in terms:
        wave = term.wave
        if wave is not None:
            value = f"np.{wave.function}({wave.position} / 10000 ** ({wave.exponent} / {wave.d_model}))"
        elif term.row is not None:
            factor = "" if term.table_factor == 1 else f"{term.table_factor!r} * "
            value = f"{factor}{term.entry!r}  # row {term.row}"
        else:
            value = repr(term.value)
        lines.append(f"{term.name} = {value}")
        names.append(term.name if term.factor == 1 else f"{term.factor!r} * {term.name}")
    return "\n".join([*lines, f"print({' + '.join(names)})"]) + "\n"
