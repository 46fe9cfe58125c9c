"""Neurons as dots, one for each: what the pictures of a feed-forward part share."""

import numpy as np

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note
from viz.figures.chart import wrapped

MOST_DOTS = 4096  # more do not fit a figure, nor the eye
TICKS = 40  # pixels below a figure for its numbers and title
LEFT = 36  # pixels from a figure's edge to its vertical axis


def drawn_dots(sizes: np.ndarray) -> np.ndarray:
    """Which neurons are drawn: all, or those with the largest |size|; in their own order."""
    if len(sizes) <= MOST_DOTS:
        return np.arange(len(sizes))
    return np.sort(np.argsort(-np.abs(sizes), kind="stable")[:MOST_DOTS])


def dots(x: np.ndarray, y: np.ndarray, neurons: np.ndarray, hover: str) -> dict:
    """A dot per neuron; a click tells its number."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.asarray(x, np.float32),
        "y": np.asarray(y, np.float32),
        "customdata": np.asarray(neurons, np.uint32 if len(neurons) and neurons.max() > 65_535 else np.uint16),
        "marker": {"color": theme.LIGHT["accent"], "size": 6, "opacity": 0.4},
        "hovertemplate": f"{hover}<extra></extra>",
        "cliponaxis": False,
    }


def ring(x: float, y: float, neuron: int, hover: str) -> dict:
    """Around the chosen neuron's dot."""
    mark = {"symbol": "circle-open", "size": 15, "color": theme.LIGHT["select"], "line": {"width": 3}}
    place = {"x": [x], "y": [y], "customdata": [neuron], "hovertemplate": f"{hover}<extra></extra>"}
    return {"type": "scatter", "mode": "markers", "marker": mark, "cliponaxis": False, **place}


def axis(title: str = "") -> dict:
    """An axis of numbers, with a line through 0."""
    font = {"size": 12, "color": theme.LIGHT["muted"]}
    return {
        "showgrid": True,
        "gridcolor": theme.LIGHT["line"],
        "zeroline": True,
        "zerolinecolor": theme.LIGHT["muted"],
        "zerolinewidth": 1,
        "ticks": "",
        "tickfont": {"size": 11, "color": theme.LIGHT["muted"]},
        "tickangle": 0,
        "fixedrange": True,
        "title": {"text": escape(title), "standoff": 4, "font": font},
    }


def unit(text: str, top: float) -> dict:
    """What the vertical axis counts, level above it."""
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": top, "xanchor": "left", "yanchor": "bottom"}
    return {"text": escape(text), "showarrow": False, "font": {"size": 12}, "xshift": -LEFT, "yshift": 4, **place}


def left_out(drawn: int, count: int, language: str) -> str:
    """A line for the note where not all neurons are drawn, "" otherwise."""
    return message("figure.neurons.left_out", language, drawn=f"{drawn:,}", all=f"{count:,}") if drawn < count else ""


def told_below(told: str) -> tuple[list[dict], int]:
    """A note under the numbers of the axis, and how many pixels both take."""
    lines = [line for part in told.split("\n") for line in wrapped(part)]
    return [note("\n".join(lines), below=TICKS, left=LEFT)], TICKS + 15 * len(lines) + 6
