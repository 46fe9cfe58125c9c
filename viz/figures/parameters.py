"""Where the parameters are: a bar for each layer, parted by what they do, and the list of all matrices."""

from collections.abc import Sequence
from html import escape as html_escape
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, shorten
from viz.figures.chart import Panel, chart
from viz.figures.curves import short_number
from viz.figures.predictions import percent

BAR = 22  # pixels of one layer
NAMED = 3  # shared matrices that the note names
# Names of modules are long: they wrap, so that the numbers beside them are seen on a phone.
FIRST_COLUMN = "text-align:left;white-space:normal;overflow-wrap:break-word;min-width:8em"
MOST_ROWS = 400  # of the list; more freeze a page
PATTERNS = ("", "/", "", "\\", "", "x", ".")  # kinds that stand side by side are told apart without colour too


class Row(Protocol):
    """What is needed of a `ParameterRow` (see `transformer/measure_parameters.py`)."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def count(self) -> int: ...
    @property
    def part(self) -> str: ...
    @property
    def stack(self) -> str | None: ...
    @property
    def layer(self) -> int | None: ...
    @property
    def also(self) -> tuple[str, ...]: ...


class Map(Protocol):
    """What is needed of a `ParameterMap`."""

    @property
    def rows(self) -> Sequence[Row]: ...
    @property
    def places(self) -> Sequence[tuple[str | None, int | None]]: ...
    @property
    def parts(self) -> Sequence[str]: ...
    @property
    def counts(self) -> np.ndarray: ...  # (place, part)
    @property
    def total(self) -> int: ...


def parameter_bars(parameters: Map, *, language: str = "en") -> go.Figure:
    """One bar per layer and one for what is outside the layers, each parted by what the numbers are for.

    The legend says what share of all parameters each part has; parts that the model does not have are left out.
    """
    counts = np.asarray(parameters.counts)
    names = [_place(*place, language) for place in parameters.places]
    present = np.flatnonzero(counts.sum(0)).tolist()
    traces = [_bar(parameters, index, names, language) for index in present]
    shared = [f"{row.name} = {' = '.join(row.also)}" for row in parameters.rows if row.also]
    more = "" if len(shared) <= NAMED else " …"
    said = message("figure.parameters.shared", language, names="\n".join(shared[:NAMED]) + more) if shared else ""
    # A fifth of the width stays free for the sum behind the longest bar.
    across = {"type": "linear", "nticks": 4, "range": [0, 1.24 * (float(counts.sum(1).max()) or 1.0)]}
    rows = {"type": "linear", "range": [len(names) - 0.4, -0.6], "showgrid": False, "tickmode": "array"}
    rows |= {"tickvals": list(range(len(names))), "ticktext": [escape(name) for name in names]}
    fig = chart(
        [*traces, _sums(counts)],
        [Panel("", rows, across, message("figure.parameters", language))],
        title=message("figure.parameters.title", language, total=f"{parameters.total:,}"),
        facts=message("figure.parameters.facts", language, matrices=len(parameters.rows)),
        caption=said,
        panel_height=max(60, BAR * len(names)),
    )
    fig.layout.update(barmode="stack", bargap=0.25)
    return fig


def parameter_table(parameters: Map, *, language: str = "en") -> str:
    """HTML of all parameters: name, shape, count, part, layer; the first 400, and a notice where there are more."""
    columns = ("name", "shape", "count", "part", "layer")
    heads = [message(f"figure.parameters.column.{name}", language) for name in columns]
    head = "".join(f'<th scope="col" style="text-align:left">{html_escape(name)}</th>' for name in heads)
    body = "".join(_row(row, language) for row in parameters.rows[:MOST_ROWS])
    shown, total = min(len(parameters.rows), MOST_ROWS), len(parameters.rows)
    cut = message("figure.parameters.cut", language, shown=shown, total=total)
    notice = f'<p class="stt-notice">{html_escape(cut)}</p>' if shown < total else ""
    table = f'<table class="stt-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="stt-table-box" tabindex="0">{notice}{table}</div>'


def shape_text(shape: Sequence[int]) -> str:
    """(4, 10, 128), as NumPy and torch write it."""
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def with_breaks(name: str) -> str:
    """HTML of a module's name that may be broken behind its dots."""
    return html_escape(name).replace(".", ".<wbr>")


def _row(row: Row, language: str) -> str:
    also = "".join(f"<br>= {with_breaks(name)}" for name in row.also)
    part = message(f"figure.part.{row.part}", language)
    layer = _place(row.stack, row.layer, language) if row.stack is not None else ""
    cells = (shape_text(row.shape), f"{row.count:,}", part, layer)
    return (
        f'<tr><th scope="row" style="{FIRST_COLUMN}"><bdi>{with_breaks(row.name)}</bdi>{also}</th>'
        + "".join(f"<td>{html_escape(cell)}</td>" for cell in cells)
        + "</tr>"
    )


def _place(stack: str | None, layer: int | None, language: str) -> str:
    if stack is None:
        return message("figure.parameters.outside", language)
    return f"{shorten(stack)} {layer}" if stack else message("figure.parameters.layer", language, layer=layer)


def _bar(parameters: Map, index: int, names: list[str], language: str) -> dict:
    counts = np.asarray(parameters.counts)[:, index]
    part = escape(message(f"figure.part.{parameters.parts[index]}", language))
    places = np.flatnonzero(counts)
    pattern = {"shape": PATTERNS[index], "fgcolor": theme.LIGHT["card"], "fillmode": "overlay", "size": 7}
    return {
        "type": "bar",
        "orientation": "h",
        "x": counts[places],
        "y": places,
        "name": f"{part} · {percent(float(counts.sum()) / parameters.total)}",
        "showlegend": True,
        "marker": {
            "color": theme.CLASSES[index],
            "pattern": pattern | {"solidity": 0.18},
            "line": {"color": theme.LIGHT["card"], "width": 1},
        },
        "hovertext": [f"{escape(names[place])} · {part}" for place in places.tolist()],
        "hovertemplate": "%{hovertext}<br><b>%{x:,}</b><extra></extra>",
    }


def _sums(counts: np.ndarray) -> dict:
    """What a whole bar holds, in figures behind it."""
    sums = counts.sum(1)
    return {
        "type": "scatter",
        "mode": "text",
        "x": sums,
        "y": np.arange(len(sums)),
        "text": [f" {short_number(int(one))}" for one in sums.tolist()],
        "textposition": "middle right",
        "textfont": {"color": theme.LIGHT["ink"], "size": 11},
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": False,
    }
