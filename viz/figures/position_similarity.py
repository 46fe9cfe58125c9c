"""How alike the vectors of positions are: cosines of every pair, or of one image patch with all others on the grid."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, note, selectable, token_axes
from viz.figures.chart import wrapped
from viz.figures.signed_map import above_of, bare_axis, cells, left_of, signed_bar

MOST = 128  # positions per side
MOST_HIGH = 420  # pixels
BAR = 40  # pixels for the scale of colours
NUMBERS_UP_TO = 36  # patches


def position_similarity(
    cosines: np.ndarray,
    names: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    step: int = 1,
    language: str = "en",
) -> go.Figure:
    """`cosines` (position, position) −1 … 1 of at most 128 positions, called `names`; NaN where a vector is 0.

    `selected` is the cell in the orange frame. `step`: every so-manieth position is shown, which the caption says.
    Raises ValueError where the shapes do not fit.
    """
    cosines = np.asarray(cosines, np.float64)
    if cosines.shape != (len(names), len(names)) or not 0 < len(names) <= MOST:
        raise ValueError(f"cosines {cosines.shape} do not fit {len(names)} names (at most {MOST})")
    told = [message("figure.position_similarity.caption", language)]
    told += [message("figure.positions.step", language, step=step)] if step > 1 else []
    hover = message("figure.position_similarity.cell", language, one="%{y}", other="%{x}", value="%{z:.4f}")
    main = _main(cosines, hover, language)
    labels = cells(np.zeros((1, 1)), 1.0) | {"xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip", "opacity": 0}
    places, count = list(range(len(names))), len(names)
    axes = token_axes(names, places, axis="x", selected=None if selected is None else selected[1])
    axes |= token_axes(names, places, axis="y", selected=None if selected is None else selected[0])
    axes["xaxis2"] |= {"tickangle": -90} if count > 6 else {}
    at = None if selected is None else (selected[1], selected[0])
    high = round(max(96, count * min(30, MOST_HIGH / count)))
    above = above_of(names, count > 6)
    return theme.figure([main, labels], axes | _layout(told, high, above, (count, count), at, left_of(names)))


def similarity_grid(
    cosines: np.ndarray, *, selected: tuple[int, int], first: int = 1, language: str = "en"
) -> go.Figure:
    """`cosines` (row, column) of one patch's position with every patch's, where the patches lie in the image.

    `selected` (row, column) is the patch itself; rows and columns are counted from `first`. Raises ValueError where the
    patch is not on the grid.
    """
    cosines = np.asarray(cosines, np.float64)
    inside = cosines.ndim == 2 and 0 <= selected[0] < cosines.shape[0] and 0 <= selected[1] < cosines.shape[1]
    if not inside:
        raise ValueError(f"patch {selected} does not lie on a grid {cosines.shape}")
    told = [message("figure.position_similarity.grid", language)]
    values = {"row": "%{y}", "column": "%{x}", "value": "%{z:.4f}"}
    main = _main(cosines, message("figure.position_similarity.patch", language, **values), language)
    traces = [main, *_numbers(cosines)] if cosines.size <= NUMBERS_UP_TO else [main]
    rows, columns = cosines.shape
    axes = {"xaxis": _count(columns, first, "x"), "yaxis": _count(rows, first, "y") | {"automargin": True}}
    axes["xaxis"]["scaleanchor"] = "y"
    axes["xaxis"]["constrain"] = "domain"
    high = round(rows * min(56, 300 / rows))
    return theme.figure(traces, axes | _layout(told, high, 28, (columns, rows), (selected[1], selected[0]), 0))


def _main(cosines: np.ndarray, hover: str, language: str) -> dict:
    bar = signed_bar(1.0, message("figure.position_similarity.scale", language))
    return cells(cosines, 1.0) | {"hovertemplate": f"{hover}<extra></extra>", "showscale": True, "colorbar": bar}


def _numbers(cosines: np.ndarray) -> list[dict]:
    """Clear maps that only write numbers, one for each ink that is legible on its cells."""
    inks, traces = theme.cell_ink(np.abs(np.nan_to_num(cosines))), []
    for kind, (_, (ink, _)) in enumerate(theme.CELL_INKS):
        texts = [
            [f"{value:.2f}".replace("-", "−") if mine else "" for value, mine in zip(row, here, strict=True)]
            for row, here in zip(cosines.tolist(), (inks == kind).tolist(), strict=True)
        ]
        clear = {"z": np.zeros(cosines.shape, np.uint8), "colorscale": [[0, theme.CLEAR], [1, theme.CLEAR]]}
        words = {"text": texts, "texttemplate": "%{text}", "textfont": {"color": ink, "size": 11}, "hoverinfo": "skip"}
        traces += [cells(cosines, 1.0) | clear | words] if (inks == kind).any() else []
    return traces


def _count(count: int, first: int, axis: str) -> dict:
    ticks = {"tickvals": list(range(count)), "ticktext": [escape(str(first + place)) for place in range(count)]}
    ends = [-0.5, count - 0.5]
    place = {"side": "top", "range": ends} if axis == "x" else {"side": "left", "range": ends[::-1]}
    return bare_axis() | ticks | place


def _layout(
    told: list[str], high: int, above: int, count: tuple[int, int], at: tuple[int, int] | None, left: float
) -> dict:
    lines = [line for one in told for line in wrapped(one, 46)]
    foot = BAR + 14 * len(lines) + 12
    return {
        "height": high + above + foot,
        "margin": {"l": 8, "r": 8, "t": above, "b": foot},
        "shapes": [] if at is None else [frame(*at)],
        "annotations": [note("\n".join(lines), below=BAR + 6, left=left)],
        "meta": {"caption": " ".join(told), "select": selectable((-0.5, -0.5), 1, count, at)},
    }
