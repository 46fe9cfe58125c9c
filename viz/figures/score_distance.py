"""What rotary positions do to one score: q·k of the same two tokens, were they any other distance apart."""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.arithmetic import number
from viz.figures.chart import Panel, chart
from viz.figures.curves import curve, linear


def score_by_distance(
    distances: np.ndarray,
    scores: np.ndarray,
    *,
    current: int,
    reach: int,
    names: tuple[str, str] = ("query", "key"),
    language: str = "en",
) -> go.Figure:
    """`scores` (distance,) over `distances`, whole numbers in order; positive: the key stands so far before the query.

    The orange mark is the `current` distance. Up to `reach` the run has such distances; beyond it the line is dashed.
    `names` are the tokens. Raises ValueError where the shapes do not fit or the current distance is not among them.
    """
    distances, scores = np.asarray(distances), np.asarray(scores, np.float64)
    if scores.shape != distances.shape or current not in distances.tolist():
        raise ValueError(f"scores {scores.shape} do not fit distances {distances.shape} with {current} among them")
    here = int(np.flatnonzero(distances == current)[0])
    inside = np.abs(distances) <= reach
    known = message("figure.score_distance.known", language, reach=reach)
    beyond = message("figure.score_distance.beyond", language)
    traces = [_line(distances, np.where(inside, scores, np.nan), known, "solid")]
    if not inside.all():  # the dashed parts begin where the solid one ends
        outside = np.abs(distances) >= reach
        traces.append(_line(distances, np.where(outside, scores, np.nan), beyond, "dot"))
    marked = message("figure.score_distance.here", language, distance=current, score=number(float(scores[here])))
    mark = curve(np.array([current]), scores[here : here + 1].astype(np.float32), marked, 0)
    traces.append(mark | {"mode": "markers", "marker": {"color": theme.LIGHT["select"], "size": 11}, "line": {}})
    x = {"type": "linear", "range": [float(distances[0]) - 0.5, float(distances[-1]) + 0.5], "nticks": 8}
    unit, below = message("figure.score_distance.unit", language), message("figure.score_distance.axis", language)
    return chart(
        traces,
        [Panel(unit, linear(float(scores.min()), float(scores.max())), x, below)],
        title=message("figure.score_distance.title", language, query=names[0], key=names[1]),
        facts=message("figure.score_distance.facts", language),
        panel_height=220,
    )


def _line(distances: np.ndarray, scores: np.ndarray, name: str, dash: str) -> dict:
    line = curve(distances.astype(np.float32), scores.astype(np.float32), name, 0, dash=dash)
    return line | {"mode": "lines", "marker": {}, "line": line["line"] | {"color": theme.LIGHT["accent"]}}
