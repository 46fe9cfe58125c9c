"""Which rows of a table of positions a picture holds: those of the run, or all that the model has, at most 128."""

from dataclasses import dataclass

import numpy as np

from transformer.parts import Array
from transformer.position_rows import PositionRows, partner_of, sinusoids
from transformer.vector_tables import Table

MOST = 128  # rows of a picture


@dataclass(frozen=True, eq=False)
class Picture:
    """`rows` (row, d_model) of `positions`; of a run, `tokens` are the tokens that stand there."""

    positions: Array  # (row,) whole numbers
    rows: Array
    tokens: Array | None  # (row,) indices in the run; None: rows of a table, whoever stands there
    at: int | None  # the row of the chosen token; None: left out
    step: int = 1  # every so-manieth position is there

    def token_at(self, row: int, count: int) -> int | None:
        """The token of a run of `count` tokens that a row stands for."""
        if not 0 <= row < len(self.rows):
            return None
        token = int(self.positions[row] if self.tokens is None else self.tokens[row])
        return token if token < count else None


def of_run(found: PositionRows, chosen: int) -> Picture:
    """All tokens of a run, or the 128 around the chosen one."""
    count = len(found.rows)
    start = max(0, min(chosen - MOST // 2, count - MOST))
    tokens = np.arange(start, min(start + MOST, count))
    return Picture(found.positions[tokens], found.rows[tokens], tokens, chosen - start)


def of_table(found: PositionRows, table: Table | None, chosen: int) -> Picture | None:
    """The whole table, every so-manieth row of a long one; of sines and cosines, which never end, the first 128.

    None where the model keeps no table that could be shown, or no more rows than the run has.
    """
    if found.layout is not None:
        positions = np.arange(MOST)
        rows = sinusoids(positions, found.rows.shape[-1], found.layout)
        assert rows is not None
        return _picture(positions, rows, int(found.positions[chosen]), 1)
    if table is None:
        return None
    first = int(table.taken[0] - found.positions[0])  # rows before it stand for padding (RoBERTa, BART)
    count = len(table.rows) - first
    if first < 0 or count <= len(found.rows):
        return None
    step = -(-count // MOST)
    positions = np.arange(0, count, step)
    return _picture(positions, table.rows[first + positions], int(found.positions[chosen]), step)


def _picture(positions: Array, rows: Array, chosen: int, step: int) -> Picture:
    shown = chosen % step == 0 and chosen // step < len(positions)
    return Picture(positions, rows, None, chosen // step if shown else None, step)


def waves(found: PositionRows, dimension: int, reach: int) -> tuple[tuple[int, ...], Array, Array]:
    """A dimension with its partner, and two slower pairs: (dimensions, positions, values (curve, position)).

    Positions are quarter steps from 0 to `reach`: the formula holds between the tokens too.
    """
    assert found.layout is not None
    d_model = found.rows.shape[-1]
    positions = np.arange(0, 4 * reach + 1) / 4
    table = sinusoids(positions, d_model, found.layout)
    assert table is not None
    interleaved, half = found.layout == "interleaved", d_model // 2
    pair = dimension // 2 if interleaved else dimension % half
    pairs = dict.fromkeys([pair, (pair + half // 4) % half, (pair + half // 2) % half])
    firsts = [2 * one if interleaved else one for one in pairs]
    dims = tuple(dim for first in firsts for dim in (first, partner_of(first, d_model, found.layout)))
    return dims, positions, table[:, list(dims)].T
