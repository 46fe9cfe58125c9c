"""The one sign for "the mask forbids looking here": hatched grey, never a number."""

import numpy as np

from viz.figures import theme

PATTERN = {"shape": "/", "fgcolor": theme.LIGHT["hatch"], "bgcolor": theme.LIGHT["masked"], "size": 7, "solidity": 0.18}


def hatched_column(forbidden: np.ndarray, column: float, *, first: float = 0, half: float = 0.5) -> dict:
    """A trace that hatches the rows of `forbidden` (row,) bool in the column around `column`; one outline per run."""
    change = np.diff(np.pad(forbidden, 1).astype(np.int8))
    starts, stops = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    top, bottom = starts + first - 0.5, stops + first - 0.5
    left, right, none = (np.full(len(starts), at) for at in (column - half, column + half, np.nan))
    return {
        "type": "scatter",
        "x": np.stack([left, right, right, left, left, none], axis=1).ravel().astype(np.float32),
        "y": np.stack([top, top, bottom, bottom, top, none], axis=1).ravel().astype(np.float32),
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillpattern": PATTERN,
        "hoverinfo": "skip",
    }
