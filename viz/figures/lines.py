"""One head as lines between two columns of tokens: the left ones look, the right ones are looked at."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, labelled, note

MOST_LINES = 400  # more are a fog, and slow; the strongest are drawn and the note says how many there are
POINTS = 13  # per curve
LEVELS = (0.1, 0.25, 0.5)  # weights at which a line becomes thicker
WIDTHS = (1, 2.2, 4, 6.5)  # pixels
OPACITIES = (0.4, 0.5, 0.55, 0.6)
NAMED = 3  # partners named in the hover of a token


def attention_lines(
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    selected_query: int | None = None,
    threshold: float = 0.02,
    language: str = "en",
) -> go.Figure:
    """Lines for the weights (query, key) of one head that are at least `threshold`, thicker for larger weights.

    The lines of `selected_query` are orange and always kept. At most eight traces draw all lines, four widths twice.
    Where the text is long only the strongest 400 lines are drawn; the note below says how many of how many.
    Raises ValueError where the shapes do not fit.
    """
    weights = np.asarray(weights)
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(f"weights {weights.shape} do not fit {len(queries)} queries and {len(keys)} keys")
    rows, columns, total = _strongest(weights, threshold, selected_query)
    left, right = _heights(len(queries), len(keys))
    drawn = weights[rows, columns], left[rows], right[columns]
    orange = np.zeros(len(rows), bool) if selected_query is None else rows == selected_query
    caption = message("figure.lines.note", language, drawn=len(rows), total=total, threshold=f"{threshold:g}")
    faint = 1.0 if selected_query is None else 0.55
    traces = [*_curves(*drawn, ~orange, "accent", faint), *_curves(*drawn, orange, "select", 1.5)]
    traces.append(_dots(weights, queries, keys, (left, right), language))
    return theme.figure(traces, _layout(queries, keys, (left, right), selected_query, caption, language))


def _strongest(weights: np.ndarray, threshold: float, selected: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows and columns of the lines to draw, and how many pass the threshold; the selected query goes first."""
    rows, columns = np.nonzero(np.nan_to_num(weights) >= threshold)
    rank = weights[rows, columns] + (2.0 * (rows == selected) if selected is not None else 0.0)
    kept = np.argsort(rank, kind="stable")[-MOST_LINES:]
    return rows[kept], columns[kept], len(rows)


def _heights(n_queries: int, n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the tokens of both columns stand; the shorter column is spread over the height of the longer one."""
    most = max(n_queries, n_keys)
    left, right = ((np.arange(count) + 0.5) * most / count - 0.5 for count in (n_queries, n_keys))
    return left, right


def _curves(
    weights: np.ndarray, starts: np.ndarray, ends: np.ndarray, mine: np.ndarray, tone: str, strength: float
) -> list[dict]:
    """One trace per width, never one per line: its curves follow each other with a NaN between them."""
    along = np.linspace(0, 1, POINTS, dtype=np.float32)
    bend = along * along * (3 - 2 * along)  # level at both ends, like a cable between two sockets
    level = np.digitize(weights, LEVELS)
    traces = []
    for number, (thick, opacity) in enumerate(zip(WIDTHS, OPACITIES, strict=True)):
        chosen = np.flatnonzero(mine & (level == number))
        if not len(chosen):
            continue
        x = np.full((len(chosen), POINTS + 1), np.nan, np.float32)
        y = x.copy()
        x[:, :POINTS] = along
        y[:, :POINTS] = starts[chosen, None] + (ends - starts)[chosen, None] * bend
        line = {"color": theme.LIGHT[tone], "width": thick}
        place = {"type": "scatter", "mode": "lines", "x": x.ravel(), "y": y.ravel()}
        traces.append(place | {"line": line, "opacity": min(opacity * strength, 1), "hoverinfo": "skip"})
    return traces


def _dots(
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    heights: tuple[np.ndarray, np.ndarray],
    language: str,
) -> dict:
    """A dot per token, x = 0 for queries and 1 for keys: something to click, and its strongest partners as hover."""
    texts = _partners(weights, queries, keys, "figure.lines.query", language)
    texts += _partners(weights.T, keys, queries, "figure.lines.key", language)
    counts = len(queries), len(keys)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.repeat([0, 1], counts).astype(np.float32),
        "y": np.concatenate(heights).astype(np.float32),
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": 8, "color": [theme.LIGHT["q"]] * counts[0] + [theme.LIGHT["k"]] * counts[1]},
        "customdata": [*range(counts[0]), *range(counts[1])],
        "cliponaxis": False,
        "yaxis": "y2",
    }


def _partners(weights: np.ndarray, tokens: Sequence[str], others: Sequence[str], key: str, language: str) -> list[str]:
    best = np.argsort(-np.nan_to_num(weights), axis=1, kind="stable")[:, :NAMED].tolist()
    lines = []
    for index, token in enumerate(tokens):
        pairs = (f"{weights[index, other]:.3f} {escape(others[other])}" for other in best[index] if weights[index, other] > 0)
        lines.append(message(key, language, token=escape(token), partners="<br>".join(pairs)))
    return lines


def _layout(
    queries: Sequence[str],
    keys: Sequence[str],
    heights: tuple[np.ndarray, np.ndarray],
    selected: int | None,
    caption: str,
    language: str,
) -> dict:
    count = max(len(queries), len(keys))
    height = max(count * min(26, 460 / count), 60)
    axis = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": "", "tickmode": "array", "automargin": True}
    axis |= {"range": [count - 0.5, -0.5], "tickfont": {"size": 12}, "ticklabelstandoff": 8}
    most = int(height / 16)
    return {
        "xaxis": {"type": "linear", "range": [-0.02, 1.02], "showgrid": False, "zeroline": False, "showticklabels": False},
        "yaxis": axis | labelled(queries, heights[0].tolist(), most, selected),
        "yaxis2": axis | labelled(keys, heights[1].tolist(), most, None) | {"overlaying": "y", "side": "right"},
        "annotations": [
            note(caption),
            _heading("figure.looks", "q-text", 0, "left", language),
            _heading("figure.looked_at", "k-text", 1, "right", language),
        ],
        "height": round(height + 30 + 30),
        "margin": {"l": 8, "r": 8, "t": 30, "b": 30},
        "meta": {"caption": caption},
    }


def _heading(key: str, tone: str, x: float, anchor: str, language: str) -> dict:
    font = {"size": 12, "color": theme.LIGHT[tone]}
    place = {"xref": "paper", "yref": "paper", "x": x, "y": 1, "xanchor": anchor, "yanchor": "bottom", "yshift": 6}
    return {"text": message(key, language), "showarrow": False, "font": font, **place}
