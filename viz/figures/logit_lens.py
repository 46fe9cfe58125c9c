"""The logit lens: what the model would answer after each layer, token by token (nostalgebraist 2020)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, shorten
from viz.figures.cells import SHARES, cell_layout, cells
from viz.figures.chart import Panel, chart
from viz.figures.curves import at, curve, logarithmic
from viz.figures.predictions import percent

SMALLEST = 1e-300  # an exact zero has no place on a logarithmic axis
ROOM = ((1, 24), (2, 16), (4, 11), (8, 7))  # (up to this many columns, character widths of a cell)


def lens_map(
    probabilities: np.ndarray,
    answers: Sequence[Sequence[str]],
    layers: Sequence[str],
    tokens: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    classes: bool = False,
    language: str = "en",
) -> go.Figure:
    """`answers` (layer, token): the most probable token after each layer, with its `probabilities`, shaded 0 … 1.

    The first layer stands on top, the last row is the model's own answer. `selected` is the (layer, token) of the
    orange cell; `classes`: the answers are classes of the whole input. Raises ValueError where the shapes do not fit.
    """
    values, words = np.asarray(probabilities, np.float32), np.array(answers, dtype=object)
    if values.shape != (len(layers), len(tokens)) or words.shape != values.shape:
        raise ValueError(f"probabilities {values.shape} do not fit {len(layers)} layers and {len(tokens)} tokens")
    longest = next((room for most, room in ROOM if len(tokens) <= most), 5)
    texts = np.vectorize(lambda word: escape(shorten(word, longest)), otypes=[object])(words)
    if len(tokens) <= 2:
        texts = texts + np.vectorize(lambda share: f"  {percent(share)}", otypes=[object])(values)
    kind = "class" if classes else "cell"
    told = {"layer": "%{y}", "token": "%{x}", "answer": "%{hovertext}", "p": "%{z:.4g}"}
    hover = message(f"figure.lens.{kind}", language, **told)
    whole = np.vectorize(escape, otypes=[object])(words)
    caption = message("figure.lens.caption", language)
    titles = message("figure.lens.layers", language), "" if classes else message("figure.lens.tokens", language)
    layout = cell_layout(layers, tokens, titles=titles, selected=selected, caption=caption)
    return theme.figure(cells(values, SHARES, hover, texts=texts, whole=whole), layout)


def class_lens_map(
    probabilities: np.ndarray,
    layers: Sequence[str],
    classes: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    language: str = "en",
) -> go.Figure:
    """The same for a classifier of few classes: `probabilities` (layer, class) of all of them; each row sums to 1."""
    values = np.asarray(probabilities, np.float32)
    if values.shape != (len(layers), len(classes)):
        raise ValueError(f"probabilities {values.shape} do not fit {len(layers)} layers and {len(classes)} classes")
    hover = message("figure.lens.share", language, layer="%{y}", token="%{x}", p="%{z:.4g}")
    texts = np.vectorize(lambda share: f"{share:.2f}", otypes=[object])(values)
    titles = message("figure.lens.layers", language), message("figure.lens.classes", language)
    caption = message("figure.lens.caption_classes", language)
    layout = cell_layout(layers, classes, titles=titles, selected=selected, caption=caption)
    return theme.figure(cells(values, SHARES, hover, texts=texts), layout)


def lens_curve(
    probabilities: np.ndarray, token: str, *, selected: int | None = None, language: str = "en"
) -> go.Figure:
    """How probable one `token` is after each layer, `probabilities` (layer,), on a logarithmic axis."""
    values = np.asarray(probabilities, np.float64)
    layers = np.arange(len(values))
    drawn = np.maximum(values, SMALLEST)  # in float64: 1e-50 is none in float32
    line = curve(layers.astype(np.float32), drawn, token, 0) | {"showlegend": False}
    told = message("figure.lens.of_token_hover", language, layer="%{x}", token=escape(token), p="%{y:.4g}")
    line["hovertemplate"] = f"{told}<extra></extra>"
    line["line"] = {"color": theme.LIGHT["accent"], "width": 2}
    line["marker"] = {"color": [_mark(layer == selected) for layer in layers.tolist()], "size": 8}
    low, high = float(drawn.min()) / 1.5, min(1.0, float(drawn.max()) * 1.5)
    unit = message("figure.lens.of_token_unit", language)
    below = message("figure.lens.layer", language)
    return chart(
        [line],
        [Panel(unit, probability_axis(low, high), at(layers), below)],
        title=message("figure.lens.of_token", language, token=token),
        facts="",
        panel_height=140,
    )


def probability_axis(low: float, high: float) -> dict:
    """A logarithmic axis that ends at 1."""
    axis = logarithmic(low, high)
    shown = [(tick, text) for tick, text in zip(axis["tickvals"], axis["ticktext"], strict=True) if tick <= 1]
    return axis | {"tickvals": [tick for tick, _ in shown], "ticktext": [text for _, text in shown]}


def _mark(chosen: bool) -> str:
    return theme.LIGHT["select"] if chosen else theme.LIGHT["accent"]
