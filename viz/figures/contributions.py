"""What each part of the pass added to one logit: bars by layer, their running sum, and the heads as a map."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.arithmetic import number
from viz.figures.axes import escape, thinned
from viz.figures.cells import cell_layout, cells, signed
from viz.figures.chart import Panel, chart
from viz.figures.curves import linear

STARTS = ("start", "token", "position", "segment")  # what stands before the first layer
_TONE = {"self": 0, "ffn": 1, "cross": 3, "other": 6, "token": 2, "start": 2, "position": 5, "segment": 7}
NUMBERS_UP_TO = 12  # heads and layers: more, and a number no longer fits its cell


def contribution_chart(
    values: np.ndarray,
    kinds: Sequence[str],
    layers: Sequence[int | None],
    *,
    constant: float = 0.0,
    token: str = "",
    selected: int | None = None,
    language: str = "en",
) -> go.Figure:
    """Signed bars of `values` (part,), and below them their sum so far, from the embedding to the logit.

    `kinds` (part,) are "token", "position", "segment" or "start" before the first layer, "self", "cross", "ffn" or
    "other" in one; `layers` (part,) say in which, None before. `constant` is added at the end whatever the text;
    `selected` is the layer that is marked. Raises ValueError where the shapes do not fit.
    """
    values = np.asarray(values, np.float64)
    if not len(values) == len(kinds) == len(layers):
        raise ValueError(f"values {values.shape} do not fit {len(kinds)} kinds and {len(layers)} layers")
    last = max((layer for layer in layers if layer is not None), default=-1) + 1
    places, wide = _places(kinds, layers)
    traces = [_bars(kind, values, kinds, places, wide, language) for kind in dict.fromkeys(kinds)]
    if constant:
        traces.append(_bar("constant", np.array([constant]), np.array([float(last)]), 0.8, language))
    traces.append(_running(values, places, constant, last, language))
    ends = np.array([0.0, *values, constant])
    sums = np.array([0.0, *np.cumsum(values), values.sum() + constant])
    x = _layer_axis(last, bool(constant), language)
    panels = [
        Panel(message("figure.contributions.unit", language), linear(float(ends.min()), float(ends.max())), x),
        Panel(
            message("figure.contributions.running", language),
            linear(float(sums.min()), float(sums.max())),
            x,
            message("figure.lens.layer", language),
        ),
    ]
    total = number(float(values.sum() + constant), 2)
    figure = chart(
        traces,
        panels,
        title=message("figure.contributions.title", language, token=token),
        facts=message("figure.contributions.facts", language, total=total),
        caption=message("figure.contributions.caption", language),
        panel_height=150,
    )
    low, high = panels[0].y["range"]
    figure.layout.shapes = _marks(selected, low, high)
    figure.layout.hovermode = "x"  # a bar may be a hair high: whatever is above or below it answers too
    figure.layout.meta["select"] = {  # the layers, one beside the other, over the whole height of the bars
        "origin": [-0.5, low],
        "pitch": [1, high - low],
        "size": [1, high - low],
        "count": [last, 1],
        "at": None if selected is None else [selected, 0],
    }
    return figure


def _places(kinds: Sequence[str], layers: Sequence[int | None]) -> tuple[np.ndarray, np.ndarray]:
    """(part,) where each bar stands and how wide it is: the parts of one layer share its place."""
    count = {layer: list(layers).count(layer) for layer in set(layers)}
    done: dict[int | None, int] = {}
    places, wide = [], []
    for layer in layers:
        room = 0.84 / count[layer]
        place = done.get(layer, 0)
        done[layer] = place + 1
        places.append((-1 if layer is None else layer) - 0.42 + room * (place + 0.5))
        wide.append(room * 0.94)
    return np.array(places), np.array(wide)


def _bars(
    kind: str, values: np.ndarray, kinds: Sequence[str], places: np.ndarray, wide: np.ndarray, language: str
) -> dict:
    mine = np.array([one == kind for one in kinds])
    return _bar(kind, values[mine], places[mine], float(wide[mine][0]), language)


def _bar(kind: str, values: np.ndarray, places: np.ndarray, wide: float, language: str) -> dict:
    name = message(f"figure.contributions.kind.{kind}", language)
    colour = theme.LIGHT["muted"] if kind == "constant" else theme.CLASSES[_TONE[kind]]
    layers = np.round(places).astype(int)
    where = "before" if kind in (*STARTS, "constant") else "hover"
    told = {"part": escape(name), "value": "%{y:.4g}"} | ({} if where == "before" else {"layer": "%{customdata}"})
    return {
        "type": "bar",
        "x": places.astype(np.float32),
        "y": values.astype(np.float32),
        "width": wide,
        "customdata": layers,
        "name": escape(name),
        "showlegend": True,
        "marker": {"color": colour},
        "hovertemplate": message(f"figure.contributions.{where}", language, **told) + "<extra></extra>",
        "xaxis": "x",
        "yaxis": "y",
    }


def _running(values: np.ndarray, places: np.ndarray, constant: float, last: int, language: str) -> dict:
    sums, x = np.cumsum(values), places
    if constant:
        sums, x = np.append(sums, values.sum() + constant), np.append(x, last)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": x.astype(np.float32),
        "y": sums.astype(np.float32),
        "line": {"color": theme.LIGHT["residual"], "width": 2},
        "marker": {"color": theme.LIGHT["residual"], "size": 4},
        "name": escape(message("figure.contributions.running", language)),
        "showlegend": False,
        "hovertemplate": message("figure.contributions.so_far", language, value="%{y:.4g}") + "<extra></extra>",
        "xaxis": "x2",
        "yaxis": "y2",
        "cliponaxis": False,
    }


def _layer_axis(last: int, ends: bool, language: str) -> dict:
    shown = [-1, *(layer for layer in thinned(last, 7) if layer or last < 9)]
    names = [message("figure.contributions.start", language), *(str(layer) for layer in shown[1:])]
    return {
        "type": "linear",
        "range": [-1.6, last - 0.4 + ends],
        "tickmode": "array",
        "tickvals": shown,
        "ticktext": names,
    }


def _marks(selected: int | None, low: float, high: float) -> list[dict]:
    """The zero line of the bars, and the rectangle around the chosen layer, which the page moves."""
    zero = {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "yref": "y", "y0": 0, "y1": 0}
    zero |= {"line": {"color": theme.LIGHT["muted"], "width": 1}}
    if selected is None:
        return [zero]
    line = {"color": theme.LIGHT["select"], "width": 2}
    where = {"xref": "x", "x0": selected - 0.5, "x1": selected + 0.5, "yref": "y", "y0": low, "y1": high}
    return [zero, {"name": "selected", "type": "rect", "line": line, "layer": "below", **where}]


def head_contribution_map(
    values: np.ndarray,
    layers: Sequence[str],
    heads: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    language: str = "en",
) -> go.Figure:
    """`values` (layer, head): what each head added to one logit, on a scale symmetric about 0; NaN: there is none.

    Raises ValueError where the shapes do not fit.
    """
    values = np.asarray(values, np.float64)
    if values.shape != (len(layers), len(heads)):
        raise ValueError(f"values {values.shape} do not fit {len(layers)} layers and {len(heads)} heads")
    told = {"layer": "%{y}", "head": "%{x}", "value": "%{z:.4g}"}
    hover = message("figure.contributions.head", language, **told)
    texts = None
    if max(values.shape) <= NUMBERS_UP_TO:
        digits = 0 if signed(values).high >= 100 else 1 if signed(values).high >= 2 else 2
        texts = np.vectorize(lambda one: f"{one:.{digits}f}".replace("-", "−"), otypes=[object])(values)
    titles = message("figure.lens.layer", language), message("figure.contributions.heads", language)
    scale = signed(values)
    caption = message("figure.contributions.scale", language, high=f"{scale.high:.3g}")
    layout = cell_layout(layers, heads, titles=titles, selected=selected, caption=caption)
    return theme.figure(cells(values, scale, hover, texts=texts), layout)
