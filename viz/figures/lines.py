"""One head as lines between two columns of tokens: the left ones look, the right ones are looked at."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, labelled, note, shorten, width

MOST_LINES = 400  # more are a fog, and slow; the strongest are drawn and the note says how many there are
POINTS = 13  # per curve
LEVELS = (0.1, 0.25, 0.5)  # weights at which a line becomes thicker
WIDTHS = (1, 2.2, 4, 6.5)  # pixels
OPACITIES = (0.4, 0.5, 0.55, 0.6)
MOST_DOTS = 128  # tokens per column; in longer texts only tokens with a line get a dot
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
    left, right = token_heights(len(queries), len(keys))
    drawn = weights[rows, columns], left[rows], right[columns]
    orange = np.zeros(len(rows), bool) if selected_query is None else rows == selected_query
    said = "note" if len(rows) < total else "all"
    caption = message(f"figure.lines.{said}", language, drawn=len(rows), total=total, threshold=f"{threshold:g}")
    faint = 1.0 if selected_query is None else 0.55
    traces = [*_curves(*drawn, ~orange, "accent", faint), *_curves(*drawn, orange, "select", 1.5)]
    dotted = dotted_tokens(rows, len(queries)), dotted_tokens(columns, len(keys))
    traces.append(_dots(weights, queries, keys, (left, right), dotted, selected_query, language))
    return theme.figure(traces, columns_layout(queries, keys, (left, right), selected_query, caption, language))


def line_token(x: float, y: float, n_queries: int, n_keys: int) -> tuple[str, int]:
    """Which token lies at (x, y) of the figure: ("query" or "key", its index)."""
    side = "query" if x < 0.5 else "key"
    heights = token_heights(n_queries, n_keys)[0 if side == "query" else 1]
    return side, int(np.abs(heights - y).argmin())


def _strongest(weights: np.ndarray, threshold: float, selected: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows and columns of the lines to draw, and how many pass the threshold; the selected query goes first."""
    rows, columns = np.nonzero(np.nan_to_num(weights) >= threshold)
    rank = weights[rows, columns] + (2.0 * (rows == selected) if selected is not None else 0.0)
    if len(rank) > MOST_LINES:
        strong = np.argpartition(rank, -MOST_LINES)[-MOST_LINES:]
        kept = strong[np.argsort(rank[strong], kind="stable")]
    else:
        kept = np.argsort(rank, kind="stable")
    return rows[kept], columns[kept], len(rows)


def token_heights(n_queries: int, n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the tokens of both columns stand; the shorter column is spread over the height of the longer one."""
    most = max(n_queries, n_keys)
    left, right = ((np.arange(count) + 0.5) * most / count - 0.5 for count in (n_queries, n_keys))
    return left, right


def _curves(
    weights: np.ndarray, starts: np.ndarray, ends: np.ndarray, mine: np.ndarray, tone: str, strength: float
) -> list[dict]:
    """One trace per width, never one per line: its curves follow each other with a NaN between them."""
    level = np.digitize(weights, LEVELS)
    traces = []
    for number, (thick, opacity) in enumerate(zip(WIDTHS, OPACITIES, strict=True)):
        chosen = np.flatnonzero(mine & (level == number))
        if not len(chosen):
            continue
        x, y = cables(starts[chosen], ends[chosen])
        line = {"color": theme.LIGHT[tone], "width": thick}
        place = {"type": "scatter", "mode": "lines", "x": x, "y": y}
        traces.append(place | {"line": line, "opacity": min(opacity * strength, 1), "hoverinfo": "skip"})
    return traces


def cables(starts: np.ndarray, ends: np.ndarray, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """x and y of curves from height `starts` at x = 0 to `ends` at x = 1, one after the other with a NaN between them:
    level at both ends, like a cable between two sockets."""
    along = np.linspace(0, 1, points, dtype=np.float32)
    x = np.full((len(starts), points + 1), np.nan, np.float32)
    y = x.copy()
    x[:, :points] = along
    y[:, :points] = starts[:, None] + (ends - starts)[:, None] * along * along * (3 - 2 * along)
    return x.ravel(), y.ravel()


def dotted_tokens(ends: np.ndarray, count: int) -> np.ndarray:
    """Which tokens of a column get a dot: all, and in long texts those where a line ends."""
    return np.arange(count) if count <= MOST_DOTS else np.unique(ends)


def _dots(
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    heights: tuple[np.ndarray, np.ndarray],
    dotted: tuple[np.ndarray, np.ndarray],
    selected: int | None,
    language: str,
) -> dict:
    """A dot per token, x = 0 for queries and 1 for keys: something to click, and its strongest partners as hover.

    `customdata` is the token's position in its text, because heights are not where the columns differ in length.
    """
    texts = _partners(weights, queries, keys, dotted[0], "figure.lines.query", language)
    texts += _partners(weights.T, keys, queries, dotted[1], "figure.lines.key", language)
    counts = len(dotted[0]), len(dotted[1])
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.repeat([0, 1], counts).astype(np.float32),
        "y": np.concatenate([heights[side][dotted[side]] for side in (0, 1)]).astype(np.float32),
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": 7, "color": _dot_colours(dotted, selected)},
        "customdata": np.concatenate(dotted).astype(np.uint16),
        "cliponaxis": False,
        "yaxis": "y2",
    }


def _dot_colours(dotted: tuple[np.ndarray, np.ndarray], selected: int | None) -> list[str]:
    """Muted, so that orange says one thing only: the chosen token."""
    queries, keys = dotted
    chosen = [theme.LIGHT["select"] if query == selected else theme.LIGHT["muted"] for query in queries.tolist()]
    return chosen + [theme.LIGHT["muted"]] * len(keys)


def _partners(
    weights: np.ndarray, tokens: Sequence[str], others: Sequence[str], dotted: np.ndarray, key: str, language: str
) -> list[str]:
    best = _largest(np.nan_to_num(weights[dotted]))
    lines = []
    for index, partners in zip(dotted.tolist(), best.tolist(), strict=True):
        seen = [other for other in partners if weights[index, other] > 0]
        pairs = (f"{weights[index, other]:.3f} {escape(others[other])}" for other in seen)
        lines.append(message(key, language, token=escape(tokens[index]), partners="<br>".join(pairs)))
    return lines


def _largest(weights: np.ndarray) -> np.ndarray:
    """The columns of each row's largest weights, largest first."""
    some = np.argpartition(weights, -min(NAMED, weights.shape[1]), axis=1)[:, -NAMED:]
    order = np.argsort(-np.take_along_axis(weights, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


def columns_layout(
    queries: Sequence[str],
    keys: Sequence[str],
    heights: tuple[np.ndarray, np.ndarray],
    selected: int | None,
    caption: str,
    language: str,
) -> dict:
    count = max(len(queries), len(keys))
    height = max(count * min(26, 460 / count), 60)
    bare = {"type": "linear", "showgrid": False, "zeroline": False}
    axis = bare | {"ticks": "", "tickmode": "array", "tickfont": {"size": 12}, "ticklabelstandoff": 8}
    axis |= {"range": [count - 0.5, -0.5], "automargin": True}
    most = int(height / 16)
    return {
        "xaxis": bare | {"range": [-0.02, 1.02], "showticklabels": False},
        "yaxis": axis | labelled(queries, heights[0].tolist(), most, selected),
        "yaxis2": axis | labelled(keys, heights[1].tolist(), most, None) | {"overlaying": "y", "side": "right"},
        "annotations": [
            note(caption),
            _heading("figure.looks", "q-text", 0, queries, language),
            _heading("figure.looked_at", "k-text", 1, keys, language),
        ],
        "height": round(height + 30 + 24),
        "margin": {"l": 8, "r": 8, "t": 30, "b": 24},
        "meta": {"caption": caption},
    }


def _heading(key: str, tone: str, x: float, tokens: Sequence[str], language: str) -> dict:
    """Over its column, and over the labels beside it as far as they reach: a phone has room for both only so."""
    out = min(44, 6 * max(width(shorten(token)) for token in tokens))
    side = {"xanchor": "right", "xshift": out} if x else {"xanchor": "left", "xshift": -out}
    font = {"size": 12, "color": theme.LIGHT[tone]}
    place = {"xref": "paper", "yref": "paper", "x": x, "y": 1, "yanchor": "bottom", "yshift": 6, **side}
    return {"text": message(key, language), "showarrow": False, "font": font, **place}
