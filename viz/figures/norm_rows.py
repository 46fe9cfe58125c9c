"""One token's vector on its way through a norm, as rows of signed cells: before, normalised, γ, β, after.

Each row has its own scale, whose end stands at its right: what comes in may be a thousand times what goes out.
"""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, note, selectable, thinned, width
from viz.figures.chart import wrapped
from viz.figures.curves import short_number

EXACT_UP_TO = 128  # cells of a row: of more dimensions, neighbours share a cell
ROW = 28  # pixels
TICKS = 40  # pixels for the numbers of the dimensions and their title
NAMES = ("before", "normalized", "gamma", "beta", "after")


def norm_rows(
    before: np.ndarray,
    normalized: np.ndarray | None,
    after: np.ndarray,
    *,
    gamma: np.ndarray | None = None,
    beta: np.ndarray | None = None,
    selected: int | None = None,
    part: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """All vectors are (d_model,). `selected` is the dimension in the orange frame.

    More than 128 dimensions share cells, each the value of its dimension that lies farthest from 0; `part` is a slice
    of the dimensions to draw one by one. Raises ValueError where the shapes do not fit.
    """
    values, names = rows_of(before, normalized, after, gamma=gamma, beta=beta)
    dims = range(values.shape[1])[part or slice(None)]
    block = 1 if part is not None else rows_block(values.shape[1])
    shown, where = _pooled(values[:, dims.start : dims.stop], block)
    words = [message(f"figure.norm_rows.{name}", language) for name in names]
    tops = np.abs(shown).max(1, initial=0)
    cells = {
        "type": "heatmap",
        "z": (shown / np.where(tops > 0, tops, 1)[:, None]).astype(np.float32),
        "customdata": np.stack([shown, where + dims.start], -1).astype(np.float32),
        "zmin": -1,
        "zmax": 1,
        "colorscale": theme.SIGNED,
        "showscale": False,
        "x0": 0,
        "dx": 1,
        "y0": 0,
        "dy": 1,
        "ygap": 5,
        "xgap": 1 if shown.shape[1] <= 40 else 0,
        "hovertemplate": message(
            "figure.norm_rows.cell", language, row="%{y}", dimension="%{customdata[1]}", value="%{customdata[0]:.6g}"
        )
        + "<extra></extra>",
    }
    return theme.figure([cells, _anchor()], _layout(words, tops, dims, block, selected, language))


def _anchor() -> dict:
    """Plotly shows an axis only where a trace stands on it."""
    nothing = np.full(1, np.nan, np.float32)
    return {"type": "scatter", "mode": "lines", "x": nothing, "y": nothing, "yaxis": "y2", "hoverinfo": "skip"}


def rows_of(
    before: np.ndarray,
    normalized: np.ndarray | None,
    after: np.ndarray,
    *,
    gamma: np.ndarray | None = None,
    beta: np.ndarray | None = None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The rows that there are, (row, dimension), and their names out of `NAMES`."""
    given = dict(zip(NAMES, (before, normalized, gamma, beta, after), strict=True))
    rows = {name: np.asarray(row, np.float64) for name, row in given.items() if row is not None}
    shapes = {row.shape for row in rows.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1 or not next(iter(shapes))[0]:
        raise ValueError(f"vectors of one norm have one length, got {[row.shape for row in rows.values()]}")
    return np.stack(list(rows.values())), tuple(rows)


def rows_block(d_model: int) -> int:
    """How many dimensions share a cell where all of them are drawn."""
    return -(-d_model // EXACT_UP_TO)


def _pooled(values: np.ndarray, block: int) -> tuple[np.ndarray, np.ndarray]:
    """(row, cell): the value farthest from 0 of each `block` neighbours, and which of all dimensions it is."""
    n_rows, n_dims = values.shape
    padded = np.pad(values, ((0, 0), (0, -n_dims % block)), constant_values=0).reshape(n_rows, -1, block)
    inside = np.arange(padded.shape[1] * block).reshape(1, -1, block) < n_dims
    farthest = np.where(inside, np.abs(padded), -1).argmax(-1)
    found = np.take_along_axis(padded, farthest[..., None], -1)[..., 0]
    return found, farthest + np.arange(padded.shape[1]) * block


def _layout(words: list[str], tops: np.ndarray, dims: range, block: int, selected: int | None, language: str) -> dict:
    n_rows, n_cells = len(words), -(-len(dims) // block)
    inside = selected is not None and selected in dims
    at = ((selected - dims.start) // block, 0) if inside and selected is not None else None
    told = [message("figure.norm_rows.scale", language)]
    if block > 1:
        told.append(message("figure.norm_rows.pooled", language, size=block, count=len(dims)))
    lines = [line for one in told for line in wrapped(one, 46)]
    foot = TICKS + 14 * len(lines) + 8
    tall = {"pitch": [1, n_rows], "size": [1, n_rows]}
    shape = frame(0, 0) | {"y0": -0.5, "y1": n_rows - 0.5}
    return {
        "xaxis": _dimension_axis(dims, block, n_cells, language),
        "yaxis": _bare() | _row_labels(words, n_rows) | {"side": "left"},
        "yaxis2": _bare()
        | _row_labels([f"±{short_number(float(f'{top:.3g}'))}" for top in tops.tolist()], n_rows)
        | {"side": "right", "overlaying": "y", "tickfont": {"size": 11, "color": theme.LIGHT["muted"]}},
        "height": ROW * n_rows + 6 + foot,
        "margin": {"l": 8, "r": 8, "t": 6, "b": foot},
        "shapes": [] if at is None else [shape | {"x0": at[0] - 0.5, "x1": at[0] + 0.5}],
        "annotations": [note("\n".join(lines), below=TICKS + 2, left=7 * max(map(width, words)))],
        "meta": {
            "caption": " ".join(told),
            "block": block,
            "select": selectable((-0.5, -0.5), 1, (n_cells, 1), at) | tall,
        },
    }


def _bare() -> dict:
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "showline": False, "ticks": "", "fixedrange": True}
    return bare | {"tickmode": "array", "tickfont": {"size": 12}}


def _row_labels(words: list[str], n_rows: int) -> dict:
    ticks = {"tickvals": list(range(n_rows)), "ticktext": [escape(word) for word in words]}
    return ticks | {"range": [n_rows - 0.5, -0.5], "automargin": True, "ticklabelstandoff": 4}


def _dimension_axis(dims: range, block: int, n_cells: int, language: str) -> dict:
    shown = thinned(n_cells, 6)
    title = message("figure.norm_rows.dimension", language)
    font = {"size": 11, "color": theme.LIGHT["muted"]}
    ticks = {"tickvals": shown, "ticktext": [str(dims.start + cell * block) for cell in shown], "tickangle": 0}
    return _bare() | ticks | {"range": [-0.5, n_cells - 0.5], "title": {"text": title, "standoff": 2, "font": font}}
