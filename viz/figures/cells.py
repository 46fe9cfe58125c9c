"""A table of numbers as shaded cells with names along both sides: the lens, the heads' shares, cosines."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viz.figures import theme
from viz.figures.axes import frame, labelled, most_labels, note, selectable, shorten, thinned, token_axes, width
from viz.figures.chart import wrapped

HIGHEST, LARGEST, SMALLEST = 640, 40, 14  # pixels of all rows together, and of one row
WIDE = 520  # pixels of the cells on a wide screen
LABEL = 15  # pixels that a row's name needs
CAPTION, NARROW = 15, 46  # pixels of a line of it, and its character widths


@dataclass(frozen=True)
class Scale:
    """Which colours: signed ones are symmetric about 0."""

    low: float
    high: float

    @property
    def colours(self) -> list[tuple[float, str]]:
        return theme.SIGNED if self.low < 0 else theme.WEIGHTS


def signed(values: np.ndarray) -> Scale:
    """As far as these finite values reach to either side."""
    high = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    return Scale(-high, high)


SHARES = Scale(0.0, 1.0)
COSINES = Scale(-1.0, 1.0)


def cells(
    values: np.ndarray, scale: Scale, hover: str, *, texts: np.ndarray | None = None, whole: np.ndarray | None = None
) -> list[dict]:
    """Traces of `values` (row, column), NaN where there is nothing. `texts` (row, column) stand in the cells, `whole`
    are the words that "%{hovertext}" of `hover` shows."""
    n_rows, n_columns = values.shape
    gap = 2 if n_columns <= 16 and n_rows <= 16 else 1 if n_columns <= 64 else 0
    place = {"type": "heatmap", "x0": 0, "dx": 1, "y0": 0, "dy": 1, "xgap": gap, "ygap": gap, "showscale": False}
    main = place | {
        "z": values.astype(np.float32),
        "zmin": scale.low,
        "zmax": scale.high,
        "colorscale": scale.colours,
        "hoverongaps": False,
        "hovertemplate": f"{hover}<extra></extra>",
    }
    main |= {} if whole is None else {"hovertext": whole.tolist()}
    return [main, *_written(values, scale, texts, place)]


def _written(values: np.ndarray, scale: Scale, texts: np.ndarray | None, place: dict) -> list[dict]:
    """Clear maps that only write, one per ink, on the axes whose labels are seen: these need a trace."""
    clear = {"xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip", "colorscale": [[0, theme.CLEAR], [1, theme.CLEAR]]}
    if texts is None:
        return [place | clear | {"z": np.zeros((1, 1), np.uint8)}]
    inks = theme.cell_ink(np.abs(np.nan_to_num(values)) / max(scale.high, 1e-30))
    traces = []
    for number, (_, (ink, _)) in enumerate(theme.CELL_INKS):
        mine = (inks == number) & np.isfinite(values)
        if mine.any():
            # Plotly finds one size of type per trace from neighbouring texts: all traces get the same neighbours.
            blank = np.where(np.arange(values.size).reshape(values.shape) % 2, "", " ").astype(object)
            written = {"text": np.where(mine, texts, blank).tolist(), "texttemplate": "%{text}"}
            traces.append(place | clear | written | {"z": np.zeros(values.shape, np.uint8), "textfont": {"color": ink}})
    return traces


def cell_layout(
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    titles: tuple[str, str],
    selected: tuple[int, int] | None = None,
    caption: str = "",
) -> dict:
    """`titles` are of the (row, column) names; `selected` the (row, column) of the orange cell."""
    row, column = selected if selected is not None else (None, None)
    axes = token_axes(columns, range(len(columns)), axis="x", selected=column)
    axes |= token_axes(rows, range(len(rows)), axis="y", selected=row)
    most = HIGHEST // LABEL
    axes["yaxis2"] |= labelled(rows, range(len(rows)), most, row)
    beside = max(width(shorten(rows[index])) for index in thinned(len(rows), most, row))
    for axis, words in zip(("yaxis2", "xaxis2"), titles, strict=True):
        muted = {"size": 12, "color": theme.LIGHT["muted"]}
        axes[axis]["title"] = {"text": words if axis == "xaxis2" else "", "font": muted, "standoff": 6}
    told = [titles[0], *wrapped(caption, NARROW)] if caption else [titles[0]]
    above, below = 24 + _label_height(columns, rows), 10 + CAPTION * len(told)
    at = None if row is None or column is None else (column, row)
    return {
        **axes,
        "height": round(row_height(len(rows)) * len(rows) + above + below),
        "margin": {"l": 8, "r": 8, "t": above, "b": below},
        "shapes": [] if at is None else [frame(at[0], at[1])],
        "annotations": [note("\n".join(told), left=6 * beside)],
        "meta": {"caption": caption, "select": selectable((-0.5, -0.5), 1, (len(columns), len(rows)), at)},
    }


def row_height(count: int) -> float:
    return max(SMALLEST, min(LARGEST, HIGHEST / count))


def _label_height(columns: Sequence[str], rows: Sequence[str]) -> float:
    """One line where the names can stand side by side on a wide screen, else as high as they are long."""
    shown = thinned(len(columns), most_labels("x", len(columns)))
    wide = [6.5 * width(shorten(columns[index])) for index in shown]
    room = (WIDE - 6.5 * max(width(shorten(name)) for name in rows)) / len(shown)
    return 16 if max(wide) <= room - 4 else 8 + max(wide)
