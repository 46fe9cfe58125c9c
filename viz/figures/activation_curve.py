"""What the activation makes of every neuron's number, for one token."""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.activations import NAMES
from viz.figures.curves import linear
from viz.figures.neuron_dots import axis, dots, drawn_dots, left_out, ring, told_below, unit

BINS = 41
CURVE, COUNT, BETWEEN = 230, 76, 44  # pixels of the curve, of the counts below it, and between the two


def activation_curve(
    curve: tuple[np.ndarray, np.ndarray],
    pre: np.ndarray,
    activated: np.ndarray,
    *,
    activation: str,
    chosen: int | None = None,
    language: str = "en",
) -> go.Figure:
    """The activation as a line `curve` (x, y), every neuron of one token as a dot at (`pre`, `activated`), both
    (d_ff,), and below it how many neurons lie where.

    `activation` is a name of `activations.NAMES`, `chosen` the neuron with a ring. Of more than 4,096 neurons those
    with the largest |activated| are drawn, and the note says so; the counts are of all. Raises ValueError where the
    shapes do not fit.
    """
    x, y = np.asarray(pre, np.float32), np.asarray(activated, np.float32)
    if x.shape != y.shape or x.ndim != 1 or not x.size:
        raise ValueError(f"{x.shape} pre-activations do not fit {y.shape} activated numbers")
    name = NAMES[activation]
    drawn = drawn_dots(y)
    hover = message("figure.neurons.dot", language, neuron="%{customdata}", pre="%{x:.4g}", act="%{y:.4g}", name=name)
    line = {"type": "scatter", "mode": "lines", "x": np.asarray(curve[0], np.float32), "hoverinfo": "skip"}
    line |= {"y": np.asarray(curve[1], np.float32), "line": {"color": theme.LIGHT["muted"], "width": 2}}
    traces = [line, dots(x[drawn], y[drawn], drawn, hover), _counts(x, language)]
    if chosen is not None:
        traces.append(ring(float(x[chosen]), float(y[chosen]), chosen, hover))
    titles = message("figure.neurons.pre", language), f"{name}(z)"
    return theme.figure(traces, _layout(curve, x, y, titles, _note(len(x), len(drawn), y, language), language))


def _counts(x: np.ndarray, language: str) -> dict:
    """How many neurons lie in each of some equal steps."""
    count, edges = np.histogram(x.astype(np.float64), BINS)
    hover = message(
        "figure.neurons.bin", language, count="%{y}", low="%{customdata[0]:.3g}", high="%{customdata[1]:.3g}"
    )
    return {
        "type": "bar",
        "x": ((edges[:-1] + edges[1:]) / 2).astype(np.float32),
        "y": count.astype(np.int32),
        "width": float(edges[1] - edges[0]),
        "customdata": np.stack([edges[:-1], edges[1:]], axis=1).astype(np.float32),
        "marker": {"color": theme.SOFT_ACCENT},
        "hovertemplate": f"{hover}<extra></extra>",
        "yaxis": "y2",
    }


def _note(n_all: int, n_drawn: int, y: np.ndarray, language: str) -> str:
    positive = message("figure.neurons.positive", language, count=f"{int((y > 0).sum()):,}", all=f"{n_all:,}")
    return "\n".join(filter(None, (positive, left_out(n_drawn, n_all, language))))


def _layout(
    curve: tuple[np.ndarray, np.ndarray],
    x: np.ndarray,
    y: np.ndarray,
    titles: tuple[str, str],
    told: str,
    language: str,
) -> dict:
    (said, below), above = told_below(told), 24
    plot = CURVE + BETWEEN + COUNT
    low, high = min(float(curve[0].min()), float(x.min())), max(float(curve[0].max()), float(x.max()))
    return {
        "xaxis": axis(titles[0]) | linear(low, high) | {"anchor": "y2"},
        "yaxis": axis() | linear(float(min(curve[1].min(), y.min())), float(max(curve[1].max(), y.max())))
        | {"domain": [1 - CURVE / plot, 1]},
        "yaxis2": axis() | {"domain": [0, COUNT / plot], "rangemode": "tozero", "nticks": 3},
        "annotations": [
            unit(titles[1], 1),
            unit(message("figure.neurons.how_many", language), COUNT / plot),
            *said,
        ],
        "height": above + plot + below,
        "margin": {"l": 44, "r": 12, "t": above, "b": below},
        "bargap": 0,
        "meta": {"caption": told},
    }  # fmt: skip
