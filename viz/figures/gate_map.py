"""A gated feed-forward part for one token: every neuron's activated gate times its value is its hidden number."""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.activations import NAMES
from viz.figures.curves import linear
from viz.figures.neuron_dots import axis, dots, drawn_dots, left_out, ring, told_below, unit

PLOT = 350  # pixels


def gate_map(
    activated: np.ndarray,
    value: np.ndarray,
    *,
    activation: str,
    chosen: int | None = None,
    language: str = "en",
) -> go.Figure:
    """A dot per neuron: its `activated` gate across, its `value` up, both (d_ff,); their product colours it.

    On the dashed line lie all pairs with the product of the `chosen` neuron. Raises ValueError where the shapes do not
    fit.
    """
    x, y = np.asarray(activated, np.float32), np.asarray(value, np.float32)
    if x.shape != y.shape or x.ndim != 1 or not x.size:
        raise ValueError(f"{x.shape} gates do not fit {y.shape} values")
    product = x * y
    drawn = drawn_dots(product)
    name = NAMES[activation]
    hover = message(
        "figure.neurons.gate_dot", language, neuron="%{customdata}", gate="%{x:.4g}", value="%{y:.4g}", name=name
    )
    top = float(np.abs(product).max()) or 1.0
    colours = {
        "color": product[drawn],
        "cmin": -top,
        "cmax": top,
        "colorscale": theme.SIGNED,
        "size": 7,
        "opacity": 0.9,
    }
    colours |= {"line": {"width": 0.5, "color": theme.LIGHT["hatch"]}}
    traces = [dots(x[drawn], y[drawn], drawn, hover) | {"marker": colours}]
    if chosen is not None:
        traces += [*_same_product(x, y, chosen), ring(float(x[chosen]), float(y[chosen]), chosen, hover)]
    told = message("figure.neurons.gate_note", language, top=f"{top:.3g}")
    told = "\n".join(filter(None, (told, left_out(len(drawn), len(x), language))))
    said, below = told_below(told)
    layout = {
        "xaxis": axis(f"{name}({message('figure.neurons.gate', language)})") | linear(float(x.min()), float(x.max())),
        "yaxis": axis() | linear(float(y.min()), float(y.max())),
        "annotations": [unit(message("figure.neurons.value", language), 1), *said],
        "height": 24 + PLOT + below,
        "margin": {"l": 44, "r": 12, "t": 24, "b": below},
        "meta": {"caption": told},
    }
    return theme.figure(traces, layout)


def _same_product(x: np.ndarray, y: np.ndarray, chosen: int) -> list[dict]:
    """The branch of the hyperbola through the chosen dot, inside the picture; a product of 0 has none."""
    product = float(x[chosen]) * float(y[chosen])
    if not product:
        return []
    end = float(x.max() if x[chosen] > 0 else x.min())
    across = np.linspace(end / 400, end, 400)
    up = product / across
    inside = (up >= float(y.min())) & (up <= float(y.max()))
    line = {"color": theme.LIGHT["select"], "width": 1.5, "dash": "dash"}
    place = {"x": across[inside].astype(np.float32), "y": up[inside].astype(np.float32)}
    return [{"type": "scatter", "mode": "lines", "line": line, "hoverinfo": "skip", **place}]
