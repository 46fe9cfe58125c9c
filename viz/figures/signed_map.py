"""What maps of signed numbers share: cells about 0, neighbours that share a cell, the axis of dimensions, the scale."""

from collections.abc import Sequence

import numpy as np

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, shorten, thinned, width
from viz.figures.curves import short_number
from viz.figures.scale_bar import scale_bar

EXACT_UP_TO = 128  # cells of a row: of more dimensions, neighbours share a cell
TICKS = 38  # pixels for the numbers of the dimensions and their title


def end_of(values: np.ndarray) -> float:
    """Where the colours of a scale about 0 end: the largest size; 1 where all is 0 or nothing is a number."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0)) or 1.0


def cells(values: np.ndarray, top: float, *, x0: float = 0, dx: float = 1, y0: float = 0) -> dict:
    """A heat map of `values` (row, column) from −top to top; NaN stays empty."""
    count = max(values.shape)
    gap = 2 if count <= 24 else 1 if count <= 64 else 0
    place = {"x0": x0, "dx": dx, "y0": y0, "dy": 1, "xgap": gap, "ygap": gap}
    return {
        "type": "heatmap",
        "z": np.asarray(values, np.float32),
        "zmin": -top,
        "zmax": top,
        "colorscale": theme.SIGNED,
        "showscale": False,
        "hoverongaps": False,
        **place,
    }


def signed_bar(top: float, title: str, below: int = 8) -> dict:
    """The colours with their ends."""
    ends = [-top, 0.0, top]
    words = [short_number(float(f"{end:.3g}")) for end in ends]
    return scale_bar(escape(title), ends, below=below, ticktext=words)


def block_of(count: int) -> int:
    """How many of `count` dimensions share a cell where all of them are drawn."""
    return -(-count // EXACT_UP_TO)


def farthest(values: np.ndarray, block: int) -> np.ndarray:
    """(row, block): of each `block` neighbours of (row, column) the value farthest from 0; the last may be fewer."""
    if block == 1:
        return values
    padded = np.pad(values, ((0, 0), (0, -values.shape[1] % block))).reshape(len(values), -1, block)
    return np.take_along_axis(padded, np.abs(padded).argmax(-1)[..., None], -1)[..., 0]


def above_of(names: Sequence[str], upright: bool) -> int:
    """Pixels above a map for the labels of its columns."""
    return round(16 + 6.5 * max((width(shorten(name)) for name in names), default=0)) if upright else 34


def left_of(names: Sequence[str]) -> float:
    """About how many pixels the labels of tokens take at the left: what stands below begins there."""
    return 6.5 * max((width(shorten(name)) for name in names), default=0)


def bare_axis() -> dict:
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "showline": False, "ticks": "", "fixedrange": True}
    return bare | {"tickmode": "array", "tickfont": {"size": 11}, "tickangle": 0}


def dimension_axis(dims: range, block: int, language: str) -> dict:
    """Level numbers of dimensions below the map; cells lie at the middle of their dimensions."""
    shown = [dims[index] for index in thinned(len(dims), 6)]
    title = {
        "text": message("figure.signed.dimension", language),
        "standoff": 2,
        "font": {"size": 11, "color": theme.LIGHT["muted"]},
    }
    ends = [dims.start - 0.5, dims.start - 0.5 + block * -(-len(dims) // block)]
    return bare_axis() | {"tickvals": shown, "ticktext": [str(one) for one in shown], "range": ends, "title": title}


def column_grid(dims: range, block: int, n_rows: int, selected: int | None) -> tuple[list[dict], dict]:
    """The frame around a whole column, and `layout.meta.select` for it: a click anywhere in a column picks it."""
    count = -(-len(dims) // block)
    column = None if selected is None or selected not in dims else (selected - dims.start) // block
    size, origin = [block, n_rows], [dims.start - 0.5, -0.5]
    at = None if column is None else [column, 0]
    select = {"origin": origin, "pitch": size, "size": size, "count": [count, 1], "at": at}
    if column is None:
        return [], select
    left = origin[0] + column * block
    return [frame(0, 0) | {"x0": left, "x1": left + block, "y0": -0.5, "y1": n_rows - 0.5}], select
