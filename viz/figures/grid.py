"""Which cells a heat map draws: the whole map, a window of it, or blocks of a map that is larger than a screen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viz.figures.pooling import pool

EXACT_UP_TO = 128  # tokens per side: more are pooled, unless a window is given
OVERVIEW = 120  # most blocks per side of a pooled map


@dataclass(frozen=True)
class Grid:
    """What is drawn: cell (i, j) lies at `y[i]`, `x[j]`, in positions of the text."""

    weights: np.ndarray  # (query, key) float32, NaN where forbidden
    forbidden: np.ndarray  # (query, key) bool
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    y: np.ndarray
    x: np.ndarray
    block: int = 1  # tokens per side of a cell
    labels: tuple[tuple[str, ...] | None, tuple[str, ...] | None] = (None, None)  # where names are too long for an axis


def window_of(part: slice | None, count: int) -> range:
    return range(count)[part] if part is not None else range(count)


def cut(values: np.ndarray, window: tuple[range, range], whole: tuple[int, int]) -> np.ndarray:
    """The window of `values`; each axis may be whole or be cut already."""
    for axis, (part, full) in enumerate(zip(window, whole, strict=True)):
        if values.ndim != 2 or values.shape[axis] not in (full, len(part)):
            raise ValueError(f"map {values.shape} does not fit {whole[0]} queries and {whole[1]} keys")
        if values.shape[axis] == full:
            values = values.take(part, axis=axis)
    if not values.size:
        raise ValueError(f"map {values.shape} has no cell to draw")
    return values


def grid_of(
    weights: np.ndarray,
    forbidden: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    window: tuple[range, range],
) -> Grid:
    rows, columns = window
    seen = np.where(forbidden, np.float32(np.nan), weights.astype(np.float32))
    if max(seen.shape, default=0) <= EXACT_UP_TO or len(rows) < len(queries) or len(columns) < len(keys):
        names = tuple(queries[index] for index in rows), tuple(keys[index] for index in columns)
        return Grid(seen, forbidden, *names, np.asarray(rows), np.asarray(columns))
    block = -(-max(seen.shape) // OVERVIEW)
    largest, _, _ = pool(np.where(forbidden, np.float32(-np.inf), seen), block)
    pooled = np.where(np.isneginf(largest), np.float32(np.nan), largest)
    return block_grid(pooled, np.isneginf(largest), queries, keys, block)


def block_grid(
    values: np.ndarray, forbidden: np.ndarray, queries: Sequence[str], keys: Sequence[str], block: int
) -> Grid:
    """The grid of a map that was pooled already: `values` and `forbidden` (query block, key block)."""
    edges = [np.append(np.arange(0, len(tokens), block), len(tokens)) for tokens in (queries, keys)]
    y, x = (np.arange(len(one) - 1) * block + (block - 1) / 2 for one in edges)
    names = _block_names(queries, edges[0]), _block_names(keys, edges[1])
    labels = _block_labels(queries, edges[0]), _block_labels(keys, edges[1])
    return Grid(values, forbidden, *names, y, x, block, labels)


def _block_names(tokens: Sequence[str], edges: np.ndarray) -> tuple[str, ...]:
    """ "128–135 The … cat" for each block of tokens."""
    pairs = zip(edges[:-1].tolist(), (edges[1:] - 1).tolist(), strict=True)
    return tuple(f"{first}–{last} {tokens[first]} … {tokens[last]}" for first, last in pairs)


def _block_labels(tokens: Sequence[str], edges: np.ndarray) -> tuple[str, ...]:
    return tuple(f"{first} {tokens[first]}" for first in edges[:-1].tolist())


def cell_of(grid: Grid, selected: tuple[int, int] | None) -> tuple[int | None, int | None]:
    """The drawn row and column that hold the selected positions; None where they lie outside."""
    if selected is None:
        return None, None
    starts = grid.y[0] - (grid.block - 1) / 2, grid.x[0] - (grid.block - 1) / 2
    row, column = (int((position - start) // grid.block) for position, start in zip(selected, starts, strict=True))
    n_rows, n_columns = grid.weights.shape
    return row if 0 <= row < n_rows else None, column if 0 <= column < n_columns else None
