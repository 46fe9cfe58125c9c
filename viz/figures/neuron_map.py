"""Tokens and neurons: how strong each of some neurons is at each token."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import frame, note, selectable, shorten, token_axes, width
from viz.figures.chart import wrapped

ROW, MOST_HIGH = 20, 520  # pixels of a row, and of all rows together
ABOVE = 52  # pixels for the neurons' numbers, upright, and their title


def neuron_map(
    strengths: np.ndarray,
    tokens: Sequence[str],
    neurons: Sequence[int],
    *,
    selected: tuple[int, int] | None = None,
    first: int = 0,
    count: int | None = None,
    language: str = "en",
) -> go.Figure:
    """`strengths` (position, neuron), signed, as a heat map symmetric about 0.

    `selected` is (position, neuron), both as the text and the model count them; the first of `tokens` stands at
    `first`. `count`: how many neurons there are in all. Raises ValueError where the shapes do not fit.
    """
    cells = np.asarray(strengths, np.float32)
    if cells.shape != (len(tokens), len(neurons)) or not cells.size:
        raise ValueError(f"strengths {cells.shape} do not fit {len(tokens)} tokens and {len(neurons)} neurons")
    top = float(np.abs(cells).max()) or 1.0
    positions = list(range(first, first + len(tokens)))
    columns = list(neurons)
    at = None
    if selected is not None and selected[0] in positions and selected[1] in columns:
        at = columns.index(selected[1]), selected[0] - first
    words = {"token": "%{y}", "neuron": "%{x}", "strength": "%{z:.4g}"}
    place = {"type": "heatmap", "x0": 0, "dx": 1, "y0": first, "dy": 1, "showscale": False}
    cells_trace = place | {
        "z": cells,
        "zmin": -top,
        "zmax": top,
        "colorscale": theme.SIGNED,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": message("figure.neurons.token", language, **words) + "<extra></extra>",
    }
    clear = [[0, theme.CLEAR], [1, theme.CLEAR]]
    labels = place | {"z": [[0]], "colorscale": clear, "hoverinfo": "skip", "xaxis": "x2", "yaxis": "y2"}
    caption = message(
        "figure.neurons.map", language, shown=len(columns), all=f"{count or len(columns):,}", top=f"{top:.3g}"
    )
    return theme.figure([cells_trace, labels], _layout(tokens, columns, first, at, selected, caption, language))


def _layout(
    tokens: Sequence[str],
    neurons: Sequence[int],
    first: int,
    at: tuple[int, int] | None,
    selected: tuple[int, int] | None,
    caption: str,
    language: str,
) -> dict:
    positions, columns = list(range(first, first + len(tokens))), list(range(len(neurons)))
    row = None if selected is None or selected[0] not in positions else selected[0] - first
    axes = token_axes(tokens, positions, axis="y", selected=row)
    axes |= token_axes([str(neuron) for neuron in neurons], columns, axis="x", selected=None if at is None else at[0])
    numbers = [str(neuron) for neuron in neurons]
    if at is not None:
        numbers[at[0]] = f'<b style="color:{theme.LIGHT["select-text"]}">{numbers[at[0]]}</b>'
    axes["xaxis2"] |= {"tickvals": columns, "ticktext": numbers, "tickangle": -90, "tickfont": {"size": 10}}
    font = {"size": 12, "color": theme.LIGHT["muted"]}
    axes["xaxis2"]["title"] = {"text": message("figure.neurons.neuron", language), "font": font, "standoff": 4}
    lines = wrapped(caption)
    high = min(ROW * len(tokens), MOST_HIGH)
    return {
        **axes,
        "shapes": [] if at is None else [frame(at[0], at[1] + first)],
        "annotations": [note("\n".join(lines), left=6.5 * max(width(shorten(token)) for token in tokens))],
        "meta": {"caption": caption, "select": selectable((-0.5, first - 0.5), 1, (len(neurons), len(tokens)), at)},
        "height": max(high, 40) + ABOVE + 16 + 15 * len(lines),
        "margin": {"l": 8, "r": 8, "t": ABOVE, "b": 12 + 15 * len(lines)},
    }
