"""How close texts are: the cosines of their vectors as bars, and those of their tokens as a map."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note, shorten
from viz.figures.cells import COSINES, cell_layout, cells
from viz.figures.chart import wrapped

BAR = 46  # pixels of a text: its words stand above its bar
NUMBERS_UP_TO = 12


def similarity_bars(cosines: np.ndarray, texts: Sequence[str], *, language: str = "en") -> go.Figure:
    """A bar from 0 to each of `cosines` (text,), −1 … 1, with the words of the text above it; the closest is dark."""
    values = np.asarray(cosines, np.float64)
    if values.shape != (len(texts),):
        raise ValueError(f"cosines {values.shape} do not fit {len(texts)} texts")
    rows = np.arange(len(values))
    closest = values == values.max(initial=-2)
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": values.astype(np.float32),
        "y": rows.astype(np.float32),
        "width": 0.36,
        "text": [f"{value:.3f}".replace("-", "−") for value in values.tolist()],
        "textposition": "outside",
        "textangle": 0,
        "cliponaxis": False,
        "textfont": {"color": theme.LIGHT["ink"], "size": 12},
        "marker": {"color": [theme.LIGHT["accent"] if one else theme.SOFT_ACCENT for one in closest.tolist()]},
        "hovertext": [escape(text) for text in texts],
        "hovertemplate": message("figure.similarity.hover", language, text="%{hovertext}", cosine="%{x:.4g}")
        + "<extra></extra>",
    }
    ticks = {"tickmode": "array", "tickvals": [-1, -0.5, 0, 0.5, 1], "ticktext": ["−1", "−0.5", "0", "0.5", "1"]}
    bare = {"type": "linear", "zeroline": False, "ticks": "", "fixedrange": True}
    caption = message("figure.similarity.caption", language)
    told = wrapped(caption)
    below = 30 + 15 * len(told)
    return theme.figure(
        [bars],
        {
            "xaxis": bare | ticks | {"range": [-1, 1.25], "gridcolor": theme.LIGHT["line"], "tickfont": {"size": 11}},
            "yaxis": bare | {"range": [len(values) - 0.5, -0.75], "showgrid": False, "showticklabels": False},
            "shapes": [_zero()],
            "annotations": [*map(_name, texts, rows.tolist()), note("\n".join(told), below=26)],
            "meta": {"caption": caption},
            "height": BAR * len(values) + 8 + below,
            "margin": {"l": 8, "r": 8, "t": 4, "b": below},
        },
    )


def _zero() -> dict:
    place = {"xref": "x", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1}
    return {"type": "line", "line": {"color": theme.LIGHT["muted"], "width": 1}, **place}


def _name(text: str, row: int) -> dict:
    """The words of a text, level above its bar."""
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "y", "y": row - 0.22, "yanchor": "bottom"}
    return {"text": escape(shorten(text, 44)), "showarrow": False, "font": {"size": 12}, "align": "left", **place}


def token_cosine_map(
    cosines: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    language: str = "en",
) -> go.Figure:
    """`cosines` (row, column), −1 … 1, of two texts' tokens. Raises ValueError where the shapes do not fit."""
    values = np.asarray(cosines, np.float64)
    if values.shape != (len(rows), len(columns)):
        raise ValueError(f"cosines {values.shape} do not fit {len(rows)} and {len(columns)} tokens")
    texts = None
    if max(values.shape) <= NUMBERS_UP_TO:
        texts = np.vectorize(lambda one: f"{one:.2f}".replace("-", "−"), otypes=[object])(values)
    hover = message("figure.similarity.pair", language, one="%{y}", other="%{x}", cosine="%{z:.4g}")
    titles = message("figure.similarity.this", language), message("figure.similarity.other", language)
    layout = cell_layout(rows, columns, titles=titles, selected=selected)
    return theme.figure(cells(values, COSINES, hover, texts=texts), layout)
