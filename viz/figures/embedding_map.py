"""A table of vectors as a flat map: a point per token, coloured by its class, and how much the map leaves out."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note, shorten, width
from viz.figures.predictions import percent

MOST_NAMES = 60  # tokens written beside their points; all of them are in the hover
SIGNS = (
    *("circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "x"),
    *("pentagon", "hexagon", "bowtie"),
)
HEIGHT = 460
DRAWN = 300  # pixels of the longer side, about, by which names are kept off each other


def token_map(
    points: np.ndarray,
    tokens: Sequence[str],
    classes: Sequence[str],
    *,
    explained: Sequence[float],
    selected: int | None = None,
    near: Sequence[int] = (),
    language: str = "en",
) -> go.Figure:
    """Points (token, 2), each class with a colour and a sign of its own; `explained`: shares of variance of both axes.

    `selected` is the token in orange, tied by lines to those at the indices `near`. Both axes have one scale, so that
    distances can be compared. Raises ValueError where the shapes do not fit.
    """
    points = np.asarray(points, np.float64)
    if points.shape != (len(tokens), 2) or len(classes) != len(tokens):
        raise ValueError(f"points {points.shape} and {len(classes)} classes do not fit {len(tokens)} tokens")
    named = _named(points, tokens, selected, near)
    traces = [] if selected is None else [_ties(points, selected, near)]
    for number, kind in enumerate(dict.fromkeys(classes)):
        rows = [row for row, of in enumerate(classes) if of == kind]
        traces.append(_cloud(points, tokens, rows, named, kind, number, language))
    traces += [] if selected is None else [_ring(points, selected)]
    return theme.figure(traces, _layout(explained, language))


def _named(points: np.ndarray, tokens: Sequence[str], selected: int | None, near: Sequence[int]) -> set[int]:
    """Tokens whose names can be written over their points without covering another name, or a point.

    The chosen token always has its name, its neighbours' names may cover points.
    """
    pixel = float(np.ptp(points, axis=0).max(initial=0)) / DRAWN or 1.0
    half = np.array([[2 + 3 * width(shorten(token)), 7] for token in tokens]).reshape(-1, 2) * pixel  # (token, 2)
    centre = points + np.array([0, 12 * pixel])  # (token, 2), of the names
    named = [] if selected is None else [selected]
    for row in dict.fromkeys([*near, *range(len(tokens))]):
        covered = (np.abs(points - centre[row]) < half[row] + 4 * pixel).all(axis=1)  # (token,)
        covered[row] = False
        written = (np.abs(centre[named] - centre[row]) < half[named] + half[row]).all(axis=1)  # (named,)
        if len(named) < MOST_NAMES and not written.any() and (row in near or not covered.any()):
            named.append(row)
    return set(named)


def _cloud(
    points: np.ndarray, tokens: Sequence[str], rows: list[int], named: set[int], kind: str, number: int, language: str
) -> dict:
    hover = message("figure.map.hover", language, token="%{hovertext}", kind=escape(kind))
    return {
        "type": "scatter",
        "mode": "markers+text" if named.intersection(rows) else "markers",
        "name": escape(kind),
        "x": points[rows, 0].astype(np.float32),
        "y": points[rows, 1].astype(np.float32),
        "text": [escape(shorten(tokens[row])) if row in named else "" for row in rows],
        "textposition": "top center",
        "textfont": {"size": 11, "color": theme.LIGHT["ink"]},
        "marker": _marker(number),
        "customdata": np.array(rows, np.int32),
        "hovertext": [escape(tokens[row]) for row in rows],
        "hovertemplate": f"{hover}<extra></extra>",
        "cliponaxis": False,
    }


def _marker(number: int) -> dict:
    """Colour and sign of the class of this number; the pair comes again only after 99 classes."""
    colour, sign = theme.CLASSES[number % len(theme.CLASSES)], SIGNS[number % len(SIGNS)]
    return {"size": 9, "color": colour, "symbol": sign, "line": {"width": 1, "color": theme.LIGHT["card"]}}


def _ties(points: np.ndarray, selected: int, near: Sequence[int]) -> dict:
    """Lines from the chosen token to its neighbours, with a NaN between them."""
    ends = np.full((len(near), 3, 2), np.nan, np.float32)  # (neighbour, start end gap, 2)
    ends[:, 0], ends[:, 1] = points[selected], points[list(near)]
    line = {"color": theme.LIGHT["select"], "width": 1.5}
    return _bare("lines", ends.reshape(-1, 2)) | {"line": line}


def _ring(points: np.ndarray, selected: int) -> dict:
    line = {"color": theme.LIGHT["select"], "width": 3}
    marker = {"size": 16, "color": theme.CLEAR, "symbol": "circle", "line": line}
    return _bare("markers", points[[selected]].astype(np.float32)) | {"marker": marker}


def _bare(mode: str, places: np.ndarray) -> dict:
    quiet = {"hoverinfo": "skip", "showlegend": False, "cliponaxis": False}
    return {"type": "scatter", "mode": mode, "x": places[:, 0], "y": places[:, 1], **quiet}


def _layout(explained: Sequence[float], language: str) -> dict:
    both = float(sum(explained))
    caption = message("figure.map.note", language, share=percent(both), others=percent(1 - both))
    if 1 - both < 1e-9:
        caption = message("figure.map.note_all", language)
    muted = {"size": 12, "color": theme.LIGHT["muted"]}
    axis = {"type": "linear", "showgrid": False, "showticklabels": False, "ticks": ""}
    axis |= {"zerolinecolor": theme.LIGHT["line"]}

    def titled(number: int) -> dict:
        words = message("figure.map.axis", language, number=number, share=percent(float(explained[number - 1])))
        return axis | {"title": {"text": words, "font": muted, "standoff": 4}}

    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "itemsizing": "constant"}
    return {
        "xaxis": titled(1),
        "yaxis": titled(2) | {"scaleanchor": "x", "scaleratio": 1},
        "showlegend": True,
        "legend": legend | {"font": {"size": 12}, "bgcolor": theme.CLEAR},
        "annotations": [note(caption, below=26)],
        "meta": {"caption": caption},
        "height": HEIGHT,
        "margin": {"l": 30, "r": 12, "t": 30, "b": 62},
    }
