"""What is added to the scores by distance: ALiBi's straight lines and their slopes, T5's learned steps."""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.arithmetic import number
from viz.figures.axes import frame, note, selectable, thinned
from viz.figures.chart import Panel, chart, wrapped
from viz.figures.curves import curve, linear
from viz.figures.predictions import BAR
from viz.figures.signed_map import TICKS, bare_axis, cells, end_of, signed_bar

SCALE = 40  # pixels for the scale of colours


def bias_lines(
    distances: np.ndarray, bias: np.ndarray, *, selected: int, current: int | None = None, language: str = "en"
) -> go.Figure:
    """`bias` (head, distance) over `distances`, positive: the key stands so far before the query.

    The `selected` head is strong, the others grey; a click on a line tells its head. `current` is the distance of the
    chosen cell. Raises ValueError where the shapes do not fit.
    """
    distances, bias = _checked(distances, bias, selected)
    heads = np.array([head for head in range(len(bias)) if head != selected])
    traces = [_others(distances, bias, heads, language)] if len(heads) else []
    name = message("figure.bias.head", language, head=selected)
    line = curve(distances.astype(np.float32), bias[selected].astype(np.float32), name, 0)
    strong = {
        "line": {"color": theme.LIGHT["accent"], "width": 3},
        "marker": {"color": theme.LIGHT["accent"], "size": 5},
    }
    traces.append(line | strong | {"customdata": np.full(len(distances), selected, np.float32)})
    if current is not None and current in distances.tolist():
        value = bias[selected, distances.tolist().index(current)]
        marked = message("figure.bias.here", language, distance=current, bias=number(float(value)))
        mark = curve(np.array([current]), np.array([value], np.float32), marked, 0)
        traces.append(mark | {"mode": "markers", "marker": {"color": theme.LIGHT["select"], "size": 11}, "line": {}})
    x = {"type": "linear", "range": [float(distances[0]) - 0.5, float(distances[-1]) + 0.5], "nticks": 8}
    unit = message("figure.bias.unit", language)
    return chart(
        traces,
        [Panel(unit, linear(float(bias.min()), float(bias.max())), x, message("figure.score_distance.axis", language))],
        title=message("figure.bias.title", language),
        facts=message("figure.bias.facts", language, heads=len(bias)),
        panel_height=220,
    )


def bias_map(distances: np.ndarray, bias: np.ndarray, *, selected: int, language: str = "en") -> go.Figure:
    """`bias` (head, distance) as a map, rows are heads; a click on a row chooses its head. Raises ValueError."""
    distances, bias = _checked(distances, bias, selected)
    top, caption = end_of(bias), message("figure.bias.map", language)
    hover = message("figure.bias.cell", language, head="%{y}", distance="%{customdata}", bias="%{z:.6g}")
    main = cells(bias, top) | {
        "customdata": np.broadcast_to(distances.astype(np.float32), bias.shape),
        "hovertemplate": f"{hover}<extra></extra>",
        "showscale": True,
        "colorbar": signed_bar(top, message("figure.bias.unit", language), TICKS + 4),
    }
    heads, count = bias.shape
    lines, shown = wrapped(caption, 46), thinned(count, 8)
    high = round(heads * min(26, 380 / heads))
    title = {"text": message("figure.score_distance.axis", language), "standoff": 2, "font": {"size": 11}}
    x = bare_axis() | {"tickvals": shown, "ticktext": [str(distances[one]).replace("-", "−") for one in shown]}
    y = bare_axis() | {"tickvals": (down := thinned(heads, 16)), "ticktext": [str(one) for one in down]}
    foot = TICKS + SCALE + 14 * len(lines) + 10
    row = frame(0, selected) | {"x0": -0.5, "x1": count - 0.5}
    tall = {"pitch": [count, 1], "size": [count, 1]}
    layout = {
        "xaxis": x | {"range": [-0.5, count - 0.5], "title": title},
        "yaxis": y | {"range": [heads - 0.5, -0.5], "automargin": True},
        "height": max(high, 60) + 8 + foot,
        "margin": {"l": 8, "r": 8, "t": 8, "b": foot},
        "shapes": [row],
        "annotations": [note("\n".join(lines), below=TICKS + SCALE + 4)],
        "meta": {"caption": caption, "select": selectable((-0.5, -0.5), 1, (1, heads), (0, selected)) | tall},
    }
    return theme.figure([main], layout)


def slope_bars(slopes: np.ndarray, *, selected: int, language: str = "en") -> go.Figure:
    """`slopes` (head,): how much each head takes off per token of distance; a click on a bar tells its head."""
    slopes = np.asarray(slopes, np.float64)
    if slopes.ndim != 1 or not 0 <= selected < len(slopes):
        raise ValueError(f"head {selected} is none of {slopes.shape}")
    heads = np.arange(len(slopes))
    colours = [theme.LIGHT["accent"] if head == selected else theme.SOFT_ACCENT for head in heads.tolist()]
    hover = message("figure.bias.slope_hover", language, head="%{y}", slope="%{x:.6g}")
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": slopes.astype(np.float32),
        "y": heads.astype(np.float32),
        "customdata": heads.astype(np.float32),
        "text": [f"{slope:.4g}" for slope in slopes.tolist()],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"color": theme.LIGHT["ink"], "size": 12},
        "marker": {"color": colours, "cornerradius": 4},
        "hovertemplate": f"{hover}<extra></extra>",
    }
    caption = message("figure.bias.slopes", language)
    lines = wrapped(caption, 46)
    y = {
        "tickvals": heads.tolist(),
        "ticktext": [message("figure.bias.head", language, head=head) for head in heads.tolist()],
    }
    foot = 14 * len(lines) + 12
    layout = {
        "xaxis": bare_axis() | {"range": [0, float(slopes.max(initial=0)) * 1.33 or 1], "showticklabels": False},
        "yaxis": bare_axis() | y | {"range": [len(slopes) - 0.5, -0.5], "automargin": True, "ticklabelstandoff": 6},
        "bargap": 0.32,
        "annotations": [note("\n".join(lines), below=4)],
        "meta": {"caption": caption},
        "height": BAR * len(slopes) + 4 + foot,
        "margin": {"l": 8, "r": 8, "t": 4, "b": foot},
    }
    return theme.figure([bars], layout)


def _checked(distances: np.ndarray, bias: np.ndarray, selected: int) -> tuple[np.ndarray, np.ndarray]:
    distances, bias = np.asarray(distances), np.asarray(bias, np.float64)
    if bias.ndim != 2 or bias.shape[1:] != distances.shape or not 0 <= selected < len(bias) or not bias.size:
        raise ValueError(f"bias {bias.shape} does not fit {distances.shape} distances and head {selected}")
    return distances, bias


def _others(distances: np.ndarray, bias: np.ndarray, heads: np.ndarray, language: str) -> dict:
    """All other heads in one trace, NaN between them; each point carries its head."""
    gap = np.full((len(heads), 1), np.nan)
    x = np.hstack([np.broadcast_to(distances, (len(heads), len(distances))), gap])
    y = np.hstack([bias[heads], gap])
    line = curve(x.ravel().astype(np.float32), y.ravel().astype(np.float32), message("figure.bias.others", language), 0)
    hover = message("figure.bias.cell", language, head="%{customdata}", distance="%{x}", bias="%{y:.4g}")
    grey = {"line": {"color": theme.LIGHT["muted"], "width": 1}, "mode": "lines", "marker": {}}
    owner = np.repeat(heads, len(distances) + 1).astype(np.float32)
    return line | grey | {"opacity": 0.6, "customdata": owner, "hovertemplate": f"{hover}<extra></extra>"}
