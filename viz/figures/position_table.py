"""The vectors of positions, one row each: the striped picture of sines and cosines, or whatever was learned."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import frame, note, selectable, token_axes
from viz.figures.chart import wrapped
from viz.figures.signed_map import TICKS, block_of, cells, dimension_axis, end_of, farthest, left_of, signed_bar

ROWS_UP_TO = 128
MOST_HIGH = 460  # pixels
BAR = 40  # pixels for the scale of colours


def position_table(
    rows: np.ndarray,
    names: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    part: slice | None = None,
    step: int = 1,
    language: str = "en",
) -> go.Figure:
    """`rows` (position, d_model) of at most 128 positions, called `names`; `selected` is (row, dimension).

    More than 128 dimensions share cells, each the value farthest from 0; `part` is a slice of the dimensions to draw
    one by one. `step`: every so-manieth position is shown, which the caption says. Raises ValueError where the shapes
    do not fit.
    """
    rows = np.asarray(rows, np.float64)
    if rows.ndim != 2 or len(rows) != len(names) or not rows.size or len(rows) > ROWS_UP_TO:
        raise ValueError(f"rows {rows.shape} do not fit {len(names)} names (at most {ROWS_UP_TO})")
    dims = range(rows.shape[1])[part or slice(None)]
    block = 1 if part is not None else block_of(rows.shape[1])
    shown = farthest(rows[:, dims.start : dims.stop], block)
    top, key = end_of(shown), "cell" if block == 1 else "block"
    hover = message(
        f"figure.positions.{key}", language, position="%{y}", dimension="%{x}", value="%{z:.6g}", size=block
    )
    below = TICKS + 4
    main = cells(shown, top, x0=dims.start + (block - 1) / 2, dx=block) | {
        "hovertemplate": f"{hover}<extra></extra>",
        "showscale": True,
        "colorbar": signed_bar(top, message("figure.positions.scale", language), below),
    }
    # The visible labels are an axis of their own, which needs a trace.
    labels = cells(np.zeros((1, 1)), 1.0) | {"yaxis": "y2", "hoverinfo": "skip", "opacity": 0, "x0": dims.start}
    return theme.figure([main, labels], _layout(rows.shape, names, dims, block, selected, step, language))


def _layout(
    shape: tuple[int, ...],
    names: Sequence[str],
    dims: range,
    block: int,
    selected: tuple[int, int] | None,
    step: int,
    language: str,
) -> dict:
    told = [message("figure.positions.caption", language, first=dims.start, last=dims.stop - 1, count=shape[1])]
    told += [message("figure.positions.step", language, step=step)] if step > 1 else []
    told += [message("figure.positions.pooled", language, size=block)] if block > 1 else []
    lines = [line for one in told for line in wrapped(one, 46)]
    count = -(-len(dims) // block), len(names)
    row = None if selected is None or not 0 <= selected[0] < len(names) else selected[0]
    inside = row is not None and selected is not None and selected[1] in dims
    at = ((selected[1] - dims.start) // block, row) if inside and selected is not None and row is not None else None
    foot = TICKS + BAR + 14 * len(lines) + 10
    high = round(max(72, len(names) * min(26, MOST_HIGH / len(names))))
    shapes = []
    if at is not None:
        left = dims.start - 0.5 + at[0] * block
        shapes = [frame(0, at[1]) | {"x0": left, "x1": left + block}]
    select = selectable((dims.start - 0.5, -0.5), 1, count, at) | {"pitch": [block, 1], "size": [block, 1]}
    return {
        **token_axes(names, list(range(len(names))), axis="y", selected=row),
        "xaxis": dimension_axis(dims, block, language),
        "height": high + 8 + foot,
        "margin": {"l": 8, "r": 8, "t": 8, "b": foot},
        "shapes": shapes,
        "annotations": [note("\n".join(lines), below=TICKS + BAR + 4, left=left_of(names))],
        "meta": {"caption": " ".join(told), "block": block, "select": select},
    }
