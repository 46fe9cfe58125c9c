"""The strongest neurons of one token as bars, and one neuron at every token."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import frame, note, selectable, shorten, token_axes, width
from viz.figures.chart import wrapped
from viz.figures.neuron_dots import axis

BAR = 22  # pixels per neuron
HIGH = 150  # pixels of the bars over tokens


def neuron_bars(
    strengths: np.ndarray,
    neurons: Sequence[int],
    *,
    chosen: int | None = None,
    by: str = "hidden",
    count: int | None = None,
    language: str = "en",
) -> go.Figure:
    """A bar for each of `strengths` (k,) of `neurons`, the first on top; side and colour tell the sign.

    `by` says what they are: "hidden", or "output" for the signed length of what a neuron adds. `count`: how many
    neurons there are in all. Raises ValueError where the shapes do not fit.
    """
    values = np.asarray(strengths, np.float32)
    if values.shape != (len(neurons),):
        raise ValueError(f"strengths {values.shape} do not fit {len(neurons)} neurons")
    top = float(np.abs(values).max(initial=0)) or 1.0
    caption = message(f"figure.neurons.bars.{by}", language, shown=len(neurons), all=f"{count or len(neurons):,}")
    lines = wrapped(caption, 40)
    names = [_named(neuron, neuron == chosen) for neuron in neurons]
    trace = signed_bars(values) | {
        "orientation": "h",
        "x": values,
        "y": np.arange(len(values), dtype=np.float32),
        "customdata": np.asarray(neurons, np.uint32),
        "text": [f"{value:.3g}".replace("-", "−") for value in values.tolist()],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": 11, "color": theme.LIGHT["ink"]},
        "hovertemplate": message("figure.neurons.bar", language, neuron="%{customdata}", strength="%{x:.4g}")
        + "<extra></extra>",
    }
    ends = [-1.4 * top if (values < 0).any() else 0, 1.4 * top if (values > 0).any() or not values.any() else 0]
    rows = {"range": [len(values) - 0.5, -0.5], "tickvals": list(range(len(values))), "ticktext": names}
    layout = {
        "xaxis": axis() | {"range": ends, "showticklabels": False, "showgrid": False},
        "yaxis": axis() | rows | {"showgrid": False, "zeroline": False, "automargin": True, "ticklabelstandoff": 4},
        "bargap": 0.3,
        "annotations": [note("\n".join(lines), below=4, left=40)],
        "meta": {"caption": caption},
        "height": BAR * max(len(values), 1) + 16 + 15 * len(lines),
        "margin": {"l": 8, "r": 8, "t": 4, "b": 12 + 15 * len(lines)},
    }
    return theme.figure([trace], layout)


def _named(neuron: int, chosen: bool) -> str:
    return f'<b style="color:{theme.LIGHT["select-text"]}">{neuron}</b>' if chosen else str(neuron)


def signed_bars(values: np.ndarray) -> dict:
    """Bars whose colour tells the sign."""
    tones = [theme.LIGHT["plus" if value >= 0 else "minus"] for value in np.asarray(values).tolist()]
    return {"type": "bar", "marker": {"color": tones, "cornerradius": 2}}


def neuron_tokens(
    values: np.ndarray,
    tokens: Sequence[str],
    *,
    neuron: int,
    selected: int | None = None,
    rows: slice | None = None,
    by: str = "hidden",
    language: str = "en",
) -> go.Figure:
    """One neuron at every token: a bar for each of `values` (position,), up where positive, down where negative.

    `rows` is the part of the text that is drawn; `selected` the position in the orange frame. A click is a column.
    Raises ValueError where the shapes do not fit.
    """
    shown = range(len(tokens))[rows] if rows is not None else range(len(tokens))
    numbers = np.asarray(values, np.float32)
    if numbers.shape != (len(tokens),) or not len(shown):
        raise ValueError(f"values {numbers.shape} do not fit {len(tokens)} tokens, of which {len(shown)} are drawn")
    drawn, names = numbers[shown.start : shown.stop], [tokens[position] for position in shown]
    top, bottom = max(float(drawn.max()), 0.0), min(float(drawn.min()), 0.0)
    top = top if top > bottom else 1.0
    edge = 0.06 * (top - bottom)
    at = None if selected is None or selected not in shown else selected - shown.start
    words = {"token": "%{x}", "neuron": neuron, "strength": "%{y:.4g}"}
    trace = signed_bars(drawn) | {
        "x": np.asarray(shown, np.float32),
        "y": drawn,
        "hovertemplate": message("figure.neurons.token", language, **words) + "<extra></extra>",
    }
    # A second trace, without any ink, because Plotly hides an axis that no trace is bound to.
    labels = {"type": "scatter", "mode": "markers", "x": [shown.start], "y": [0], "xaxis": "x2", "hoverinfo": "skip"}
    axes = token_axes(names, list(shown), axis="x", selected=at)
    axes["xaxis"] = axes["xaxis"] | {"anchor": "y"}
    wide = 8 + 6.5 * max(width(shorten(name)) for name in names)
    part = "" if len(shown) == len(tokens) else message("figure.neurons.part", language, first=shown[0], last=shown[-1])
    caption = message(f"figure.neurons.over.{by}", language, neuron=neuron) + (f"\n{part}" if part else "")
    lines = [line for paragraph in caption.split("\n") for line in wrapped(paragraph)]
    corner = (shown.start - 0.5, bottom - edge)
    return theme.figure(
        [trace, labels | {"marker": {"color": theme.CLEAR}}],
        {
            **axes,
            "yaxis": axis() | {"range": [bottom - edge, top + edge], "nticks": 5, "automargin": True},
            "bargap": 0.15 if len(shown) <= 64 else 0,
            "shapes": [] if at is None else [_column(shown.start + at, bottom - edge, top + edge)],
            "annotations": [note("\n".join(lines), below=6, left=30)],
            "meta": {"caption": caption, "select": _columns(corner, top - bottom + 2 * edge, len(shown), at)},
            "height": round(HIGH + wide + 12 + 15 * len(lines)),
            "margin": {"l": 8, "r": 8, "t": round(wide), "b": 12 + 15 * len(lines)},
        },
    )


def _column(x: float, low: float, high: float) -> dict:
    return frame(x, 0) | {"y0": low, "y1": high}


def _columns(corner: tuple[float, float], high: float, count: int, at: int | None) -> dict:
    """For `layout.meta.select`: one row of columns, each as high as the picture."""
    grid = selectable(corner, 1, (count, 1), None if at is None else (at, 0))
    return grid | {"pitch": [1, high], "size": [1, high]}
