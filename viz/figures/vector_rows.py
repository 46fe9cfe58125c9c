"""Vectors of several tokens as rows of signed cells, with single vectors above and below them and numbers at the right.

Both halves of an attention's arithmetic are drawn so: q ⊙ k with its sums, and weight · v with its sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.axes import escape, frame, labelled, note, selectable, shorten, thinned, token_axes, width
from viz.figures.chart import wrapped
from viz.figures.hatch import hatched_column
from viz.figures.narrow import CAPTION, LONGEST_NAME, MOST_ROWS_HIGH, NUMBERS_UP_TO, compact, scale_of

ROW, STRIP, GAP = 16, 18, 8  # pixels of a row, of a single vector, and between the two
ABOVE = 24  # pixels for the headings of the columns
TICKS = 34  # pixels for the numbers of the dimensions and their title
COLUMN = 0.155  # of the width


@dataclass(frozen=True)
class Strip:
    """A single vector: `top` is where its colours end, its own largest value where it is None."""

    label: str
    tone: str  # of `theme.TONES`, for its name and outline
    values: np.ndarray  # (dimension,)
    top: float | None = None


@dataclass(frozen=True)
class Numbers:
    """A column of numbers beside the rows; weights are coloured."""

    title: str
    values: np.ndarray  # (row,)
    weights: bool = False


@dataclass(frozen=True)
class Table:
    """What is drawn: `cells` (row, dimension) of `tokens`, the first of which stands at position `first`."""

    cells: np.ndarray
    tokens: Sequence[str]
    hover: str  # Plotly's template of a cell
    strip_hover: str
    first: int = 0
    top: float | None = None
    above: Sequence[Strip] = ()
    below: Sequence[Strip] = ()
    numbers: Sequence[Numbers] = ()
    forbidden: np.ndarray | None = None  # (row,) bool
    selected: tuple[int, int] | None = None  # (position, dimension)
    dimension: str = "d"
    caption: str = ""


def vector_rows(table: Table) -> go.Figure:
    """The figure; a click on a cell is (dimension, row) of its grid."""
    return theme.figure(_traces(table), _layout(table, _sizes(table)))


# --- marks -------------------------------------------------------------------------------------------------------


def _traces(table: Table) -> list[dict]:
    cells = np.asarray(table.cells, np.float32)
    main = _signed(cells, scale_of(cells) if table.top is None else table.top)
    main |= {"y0": table.first, "dy": 1, "hovertemplate": f"{table.hover}<extra></extra>"}
    main |= {"xgap": 1 if cells.shape[1] <= 32 else 0, "ygap": 1}
    traces = [main, *_strips(table.above, "y3", table.strip_hover), *_strips(table.below, "y4", table.strip_hover)]
    return [*traces, *_number_traces(table)]


def _signed(values: np.ndarray, top: float) -> dict:
    place = {"type": "heatmap", "z": values, "zmin": -top, "zmax": top, "colorscale": theme.SIGNED, "showscale": False}
    return place | {"x0": 0, "dx": 1}


def _strips(strips: Sequence[Strip], axis: str, hover: str) -> list[dict]:
    return [
        _signed(np.asarray(one.values, np.float32)[None], scale_of(one.values) if one.top is None else one.top)
        | {"y0": place, "dy": 1, "ygap": 3, "yaxis": axis}
        | {"hovertemplate": hover.replace("%{name}", escape(one.label)) + "<extra></extra>"}
        for place, one in enumerate(strips)
    ]


def _number_traces(table: Table) -> list[dict]:
    """Colours of the weights, hatches, and all numbers in one trace, which also carries the tokens' labels."""
    traces, forbidden = [], _forbidden(table)
    for place, column in enumerate(table.numbers):
        if column.weights:
            z = np.where(forbidden, np.nan, column.values).astype(np.float32)[:, None]
            shades = {"type": "heatmap", "z": z, "zmin": 0, "zmax": 1, "colorscale": theme.WEIGHTS, "showscale": False}
            shades |= {"x0": place, "dx": 1, "y0": table.first, "dy": 1, "xgap": 2, "ygap": 1, "xaxis": "x3"}
            traces.append(shades | {"hoverinfo": "skip"})
            if forbidden.any():
                traces.append(hatched_column(forbidden, place, first=table.first, half=0.46) | {"xaxis": "x3"})
    return [*traces, _texts(table, forbidden)]


def _forbidden(table: Table) -> np.ndarray:
    return np.zeros(len(table.cells), bool) if table.forbidden is None else np.asarray(table.forbidden, bool)


def _texts(table: Table, forbidden: np.ndarray) -> dict:
    texts, inks, x, y = [], [], [], []
    for place, column in enumerate(table.numbers if len(table.cells) <= NUMBERS_UP_TO else ()):
        shades = theme.cell_ink(np.asarray(column.values))
        for row, value in enumerate(np.asarray(column.values).tolist()):
            hidden = bool(forbidden[row])
            texts.append("" if hidden and column.weights else compact(value))
            ink = theme.CELL_INKS[int(shades[row])][1][0] if column.weights else theme.LIGHT["ink"]
            inks.append(theme.LIGHT["muted"] if hidden else ink)
            x.append(place)
            y.append(row + table.first)
    return {
        "type": "scatter",
        "mode": "text",
        "x": np.asarray(x, np.float32),
        "y": np.asarray(y, np.float32),
        "text": texts,
        "textfont": {"size": 10, "color": inks},
        "xaxis": "x3" if table.numbers else "x",
        "yaxis": "y2",
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


# --- places ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sizes:
    """Pixels from top to bottom."""

    above: int
    rows: int
    below: int

    @property
    def all(self) -> int:
        return self.above + self.rows + self.below


def _sizes(table: Table) -> _Sizes:
    count = len(table.cells)
    rows = round(min(ROW, MOST_ROWS_HIGH / count) * count)
    above, below = (STRIP * len(strips) + GAP if strips else 0 for strips in (table.above, table.below))
    return _Sizes(above, max(rows, ROW), below)


def _layout(table: Table, sizes: _Sizes) -> dict:
    n_rows, n_dims = np.shape(table.cells)
    head = ABOVE if table.numbers and not table.above else 8
    told = wrapped(table.caption, CAPTION) if table.caption else []
    foot = TICKS + (14 * len(told) + 6 if told else 0)
    at = None if table.selected is None else (table.selected[1], table.selected[0] - table.first)
    inside = at is not None and 0 <= at[0] < n_dims and 0 <= at[1] < n_rows
    chosen = at if inside else None
    corner = -0.5, table.first - 0.5
    return {
        **_axes(table, sizes),
        "height": sizes.all + head + foot,
        "margin": {"l": 8, "r": 8, "t": head, "b": foot},
        "shapes": [*_outlines(table), *([] if chosen is None else [frame(chosen[0], chosen[1] + table.first)])],
        "annotations": [
            *_headings(table, sizes),
            *([note("\n".join(told), below=TICKS, left=_labels(table))] if told else []),
        ],
        "meta": {"caption": table.caption, "select": selectable(corner, 1, (n_dims, n_rows), chosen)},
    }


def _labels(table: Table) -> float:
    """About how many pixels the labels beside the rows take."""
    names = [shorten(token, LONGEST_NAME) for token in table.tokens]
    return 8 + 6 * max(width(name) for name in [*names, *(one.label for one in (*table.above, *table.below))])


def _axes(table: Table, sizes: _Sizes) -> dict:
    main = 1 - COLUMN * len(table.numbers)
    low, high = sizes.below / sizes.all, 1 - sizes.above / sizes.all
    axes = _row_axes(table, [low, high]) | {"xaxis": _dimension_axis(table) | {"domain": [0, main]}}
    if table.numbers:
        ends = [-0.5, len(table.numbers) - 0.5]
        axes["xaxis3"] = _bare() | {"domain": [main + 0.01, 1], "range": ends, "showticklabels": False, "anchor": "y"}
    if table.above:
        axes["yaxis3"] = _strip_axis(table.above) | {"domain": [high + GAP / sizes.all, 1]}
    if table.below:
        axes["yaxis4"] = _strip_axis(table.below) | {"domain": [0, low - GAP / sizes.all]}
    return axes


def _bare() -> dict:
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "showline": False, "ticks": "", "fixedrange": True}
    return bare | {"tickfont": {"size": 11}}


def _row_axes(table: Table, domain: list[float]) -> dict[str, dict]:
    """Every row has its label, unless there are so many that rows are lower than type."""
    names = [shorten(token, LONGEST_NAME) for token in table.tokens]
    chosen = None if table.selected is None else table.selected[0] - table.first
    positions = [table.first + row for row in range(len(names))]
    axes = token_axes(table.tokens, positions, axis="y", selected=chosen, labels=names)
    axes["yaxis2"] |= labelled(names, positions, MOST_ROWS_HIGH // ROW, chosen) | {"tickfont": {"size": 11}}
    return {name: axis | {"domain": domain} for name, axis in axes.items()}


def _dimension_axis(table: Table) -> dict:
    n_dims = np.shape(table.cells)[1]
    shown = thinned(n_dims, 8)
    title = {"text": escape(table.dimension), "standoff": 2, "font": {"size": 11, "color": theme.LIGHT["muted"]}}
    ticks = {"tickmode": "array", "tickvals": shown, "ticktext": [str(one) for one in shown], "tickangle": 0}
    place = {"range": [-0.5, n_dims - 0.5], "side": "bottom", "anchor": "y4" if table.below else "y"}
    return _bare() | ticks | place | {"title": title}


def _strip_axis(strips: Sequence[Strip]) -> dict:
    names = [f'<b style="color:{theme.LIGHT[one.tone]}">{escape(one.label)}</b>' for one in strips]
    ticks = {"tickmode": "array", "tickvals": list(range(len(strips))), "ticktext": names, "tickfont": {"size": 11}}
    return (
        _bare()
        | ticks
        | {"range": [len(strips) - 0.5, -0.5], "side": "left", "automargin": True, "ticklabelstandoff": 4}
    )


def _outlines(table: Table) -> list[dict]:
    """Each single vector in the colour of its kind: blue q, orange k, green v."""
    n_dims = np.shape(table.cells)[1]
    return [
        {
            "type": "rect",
            "xref": "x",
            "yref": axis,
            "x0": -0.5,
            "x1": n_dims - 0.5,
            "y0": place - 0.42,
            "y1": place + 0.42,
            "line": {"color": theme.LIGHT[one.tone.removesuffix("-text")], "width": 2},
        }
        for strips, axis in ((table.above, "y3"), (table.below, "y4"))
        for place, one in enumerate(strips)
    ]


def _headings(table: Table, sizes: _Sizes) -> list[dict]:
    """Over the columns of numbers, level."""
    top = 1 - sizes.above / sizes.all
    font = {"size": 11, "color": theme.LIGHT["muted"]}
    place = {"xref": "x3", "yref": "paper", "y": top, "yanchor": "bottom", "xanchor": "center", "yshift": 2}
    return [
        {"text": escape(column.title), "showarrow": False, "font": font, "x": number, **place}
        for number, column in enumerate(table.numbers)
    ]
