"""Some dimensions of the position vectors as curves over the positions: each sine with its cosine, fast and slow."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.chart import Panel, chart
from viz.figures.curves import curve, linear

DASHES = ("solid", "dot")


def position_curves(
    positions: np.ndarray,
    values: np.ndarray,
    names: Sequence[str],
    *,
    at: float | None = None,
    dots: tuple[np.ndarray, np.ndarray] | None = None,
    title: str = "",
    facts: str = "",
    language: str = "en",
) -> go.Figure:
    """`values` (curve, position) over `positions`; two curves after each other share a colour: a wave and its partner.

    `dots` are (position,) and (curve, position): what was recorded, on lines that a formula drew. `at` is the chosen
    position, a thin orange line. Raises ValueError where the shapes do not fit.
    """
    positions, values = np.asarray(positions, np.float32), np.asarray(values, np.float32)
    if values.shape != (len(names), len(positions)) or not values.size:
        raise ValueError(f"values {values.shape} do not fit {len(names)} names and {len(positions)} positions")
    traces = [
        _line(positions, row, name, place, dots is None)
        for place, (row, name) in enumerate(zip(values, names, strict=True))
    ]
    if dots is not None:
        traces += [_dots(np.asarray(dots[0], np.float32), np.asarray(row), place) for place, row in enumerate(dots[1])]
    low, high = float(values.min()), float(values.max())
    x = {"type": "linear", "range": [float(positions[0]) - 0.5, float(positions[-1]) + 0.5], "nticks": 8}
    traces = [*([] if at is None else [_chosen(at, low, high)]), *traces]
    return chart(
        traces,
        [Panel("", linear(low, high), x, message("figure.position_curves.position", language))],
        title=title,
        facts=facts,
        panel_height=190,
    )


def _chosen(at: float, low: float, high: float) -> dict:
    """A line at the chosen position, behind the curves."""
    line = curve(np.array([at, at], np.float32), np.array([low, high], np.float32), "", 0)
    orange = {"color": theme.LIGHT["select"], "width": 2}
    return line | {"mode": "lines", "line": orange, "marker": {}, "showlegend": False, "hoverinfo": "skip"}


def _line(positions: np.ndarray, row: np.ndarray, name: str, place: int, marked: bool) -> dict:
    line = curve(positions, row, name, place // 2, dash=DASHES[place % 2])
    return line | ({} if marked and len(positions) <= 64 else {"mode": "lines", "marker": {}})


def _dots(positions: np.ndarray, row: np.ndarray, place: int) -> dict:
    """What was recorded, in the colour of its curve."""
    found = curve(positions, row.astype(np.float32), "", place // 2)
    symbol = "circle" if place % 2 == 0 else "circle-open"
    marker = found["marker"] | {"symbol": symbol, "size": 7}
    hover = "%{x} · <b>%{y:.6g}</b><extra></extra>"
    return found | {"mode": "markers", "marker": marker, "showlegend": False, "hovertemplate": hover}
