"""Words across a figure that shows numbers which are not the model's own: they go wherever the picture goes."""

import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.axes import escape
from viz.figures.chart import wrapped

NARROW = 20  # character widths of a line across the figure, so that it fits on a phone
FOOT = 30  # of a line below it


def watermarked(fig: go.Figure, words: str) -> go.Figure:
    """A copy of `fig` with `words` across it, level and half clear, and once more, plainly, as a note at its foot.

    `fig` stays as it is; `layout.meta["watermark"]` holds the words.
    """
    layout = fig.layout.to_plotly_json()
    margin = layout.get("margin", {})
    lines = wrapped(words, FOOT)
    below, more = margin.get("b", 8), 15 * len(lines) + 8
    annotations = [*layout.get("annotations", ()), _across(words), _foot(lines, below)]
    layout |= {
        "annotations": annotations,
        "margin": margin | {"b": below + more},
        "meta": (layout.get("meta") or {}) | {"watermark": words},
    }
    if layout.get("height") is not None:
        layout["height"] += more
    return theme.figure([trace.to_plotly_json() for trace in fig.data], layout)


def _across(words: str) -> dict:
    text = "<br>".join(f"<b>{escape(line)}</b>" for line in wrapped(words, NARROW))
    font = {"size": 15, "color": theme.LIGHT["bad"]}
    place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "xanchor": "center", "yanchor": "middle"}
    return {"name": "watermark", "text": text, "showarrow": False, "font": font, "opacity": 0.42, **place}


def _foot(lines: list[str], below: int) -> dict:
    font = {"size": 12, "color": theme.LIGHT["bad"]}
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xanchor": "left", "yanchor": "top", "yshift": -below}
    text = "<br>".join(map(escape, lines))
    return {"name": "watermark-foot", "text": text, "showarrow": False, "align": "left", "font": font, **place}
