"""Several heads at once as lines between two columns of tokens, each head in a colour, dash and lane of its own.

The view of several heads beside each other is that of Vig 2019, "A Multiscale Visualization of Attention in the
Transformer Model" (BertViz's head view).
"""

from collections.abc import Sequence
from html import escape as html_escape

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note, shorten, width
from viz.figures.lines import cables, columns_layout, dotted_tokens, token_heights

MOST_HEADS = 8  # more cannot be told apart
MOST_LINES = 500
LEVELS = (0.25, 0.5)  # weights at which a line becomes thicker
WIDTHS = (1.2, 2.4, 4.2)  # pixels
POINTS = 9  # per curve
LANES = 0.5  # of a row: over this the heads' lines are spread, so that equal lines lie beside each other
NAMED = 4  # partners named in the hover of a token
ENTRIES, ENTRY, ENTRY_WIDE = 3, 20, 82  # heads in a row of the legend, as a phone has room for; pixels of an entry
DASHES = (  # one for each of `theme.CLASSES`: colours alone are not told apart by everybody
    "solid", "7px,3px", "2px,3px", "14px,4px", "9px,3px,2px,3px", "4px,4px", "14px,3px,3px,3px,3px,3px", "2px,7px",
    "20px,4px,6px,4px",
)  # fmt: skip

Lines = tuple[np.ndarray, np.ndarray, np.ndarray]  # the head's place, the query, the key of each line


def head_lines(
    weights: np.ndarray,
    heads: Sequence[int],
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    selected_query: int | None = None,
    threshold: float = 0.1,
    language: str = "en",
) -> go.Figure:
    """Lines for the weights (head, query, key) of at least `threshold`; `heads` are the heads' numbers, at most 8.

    Lines of `selected_query` are strong and always kept, the others faint. At most 500 lines are drawn, the largest
    weights; the note says how many of how many. Raises ValueError where the shapes do not fit.
    """
    weights = np.asarray(weights)
    if weights.shape != (len(heads), len(queries), len(keys)) or not 0 < len(heads) <= MOST_HEADS:
        raise ValueError(
            f"weights {weights.shape} do not fit {len(heads)} heads (1 … {MOST_HEADS}), {len(queries)} queries and "
            f"{len(keys)} keys"
        )
    lines, total = lines_of_heads(weights, threshold, selected_query)
    heights = token_heights(len(queries), len(keys))
    drawn = len(lines[0])
    said = "note" if drawn < total else "all"
    caption = message(f"figure.lines.{said}", language, drawn=drawn, total=total, threshold=f"{threshold:g}")
    traces: list[dict] = []
    for place, style in enumerate(head_styles(heads)):
        traces += _of_head(weights[place], lines, place, style, heights, len(heads), selected_query)
    traces.append(_answers(weights, lines, heads, queries, keys, heights, language))
    traces.append(_dots(weights, lines, heads, queries, keys, heights, selected_query, language))
    layout = columns_layout(queries, keys, heights, selected_query, caption, language)
    return theme.figure(traces, _with_legend(layout, heads, queries, caption, language))


def lines_of_heads(weights: np.ndarray, threshold: float, selected_query: int | None) -> tuple[Lines, int]:
    """Which lines of (head, query, key) are drawn, the weakest first, and how many weights pass the threshold."""
    place, query, key = np.nonzero(np.nan_to_num(weights) >= threshold)
    rank = weights[place, query, key] + (2.0 * (query == selected_query) if selected_query is not None else 0.0)
    order = np.argsort(rank, kind="stable")[-MOST_LINES:]
    return (place[order], query[order], key[order]), len(rank)


def head_styles(heads: Sequence[int]) -> list[int]:
    """The number of each head's colour and dash: its own number, or the next that is free."""
    taken: list[int] = []
    for head in heads:
        wanted = head % len(theme.CLASSES)
        taken.append(
            next(one % len(theme.CLASSES) for one in range(wanted, 99) if one % len(theme.CLASSES) not in taken)
        )
    return taken


def head_toggles(count: int, shown: Sequence[int], *, language: str = "en") -> str:
    """HTML: a button for each of `count` heads with the line that it is drawn with; `data-toggle` is its number."""
    styles = dict(zip(shown, head_styles(shown), strict=True))
    label = html_escape(message("figure.head_lines.heads", language))
    buttons = "".join(_toggle(head, styles.get(head), language) for head in range(count))
    return f'<div class="stt-head-toggles" role="group" aria-label="{label}">{buttons}</div>'


def _toggle(head: int, style: int | None, language: str) -> str:
    said = html_escape(message("figure.head", language))
    dash = "" if style is None else f' stroke-dasharray="{DASHES[style].replace("px", "").replace("solid", "none")}"'
    tone = "line" if style is None else f"class-{style}"
    sample = (
        f'<svg viewBox="0 0 28 6" aria-hidden="true"><path d="M0 3H28" style="stroke:var(--stt-{tone})"{dash}/></svg>'
    )
    pressed = "false" if style is None else "true"
    return (
        f'<button type="button" class="stt-head-toggle" data-toggle="{head}" aria-pressed="{pressed}"'
        f' aria-label="{said} {head}">{sample}{head}</button>'
    )


def _line(style: int, thick: float) -> dict:
    return {"color": theme.CLASSES[style], "width": thick, "dash": DASHES[style]}


def _lane(place: np.ndarray | int, n_heads: int) -> np.ndarray | float:
    return (place - (n_heads - 1) / 2) * LANES / n_heads


def _of_head(
    weights: np.ndarray,
    lines: Lines,
    place: int,
    style: int,
    heights: tuple[np.ndarray, np.ndarray],
    n_heads: int,
    selected: int | None,
) -> list[dict]:
    """At most six traces: three widths, and the chosen query's lines apart from the others."""
    mine = lines[0] == place
    query, key = lines[1][mine], lines[2][mine]
    level, chosen = np.digitize(weights[query, key], LEVELS), query == selected
    traces = []
    for strong in (False, True):
        opacity = 0.95 if strong else 0.6 if selected is None else 0.3
        for number, thick in enumerate(WIDTHS):
            some = (chosen == strong) & (level == number)
            if some.any():
                lane = _lane(place, n_heads)
                x, y = cables(heights[0][query[some]] + lane, heights[1][key[some]] + lane, POINTS)
                trace = {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": _line(style, thick)}
                traces.append(trace | {"opacity": opacity, "hoverinfo": "skip"})
    return traces


def _answers(
    weights: np.ndarray,
    lines: Lines,
    heads: Sequence[int],
    queries: Sequence[str],
    keys: Sequence[str],
    heights: tuple[np.ndarray, np.ndarray],
    language: str,
) -> dict:
    """A clear point on each line that answers the pointer; heads have theirs at different places."""
    place, query, key = lines
    along = 0.35 + 0.3 * (place + 0.5) / len(heads)
    start, end = heights[0][query], heights[1][key]
    y = start + (end - start) * along * along * (3 - 2 * along) + _lane(place, len(heads))
    said = [
        message(
            "figure.head_lines.line",
            language,
            head=heads[one],
            query=escape(queries[row]),
            key=escape(keys[column]),
            weight=f"{weights[one, row, column]:.3f}",
        )
        for one, row, column in zip(place.tolist(), query.tolist(), key.tolist(), strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": along.astype(np.float32),
        "y": y.astype(np.float32),
        "text": said,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": 8, "opacity": 0, "color": theme.LIGHT["muted"]},
        "customdata": query.astype(np.uint16),
    }


def _dots(
    weights: np.ndarray,
    lines: Lines,
    heads: Sequence[int],
    queries: Sequence[str],
    keys: Sequence[str],
    heights: tuple[np.ndarray, np.ndarray],
    selected: int | None,
    language: str,
) -> dict:
    """A dot per token, x = 0 for queries and 1 for keys, with its strongest partners over all heads as hover;
    `customdata` is the token's position."""
    left, right = dotted_tokens(lines[1], len(queries)), dotted_tokens(lines[2], len(keys))
    texts = [_partners(weights[:, row], heads, queries[row], keys, "figure.lines.query", language) for row in left]
    texts += [_partners(weights[:, :, row], heads, keys[row], queries, "figure.lines.key", language) for row in right]
    tones = [theme.LIGHT["select" if row == selected else "muted"] for row in left.tolist()]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.repeat([0, 1], (len(left), len(right))).astype(np.float32),
        "y": np.concatenate([heights[0][left], heights[1][right]]).astype(np.float32),
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": 7, "color": tones + [theme.LIGHT["muted"]] * len(right)},
        "customdata": np.concatenate([left, right]).astype(np.uint16),
        "cliponaxis": False,
        "yaxis": "y2",
    }


def _partners(
    weights: np.ndarray, heads: Sequence[int], token: str, others: Sequence[str], key: str, language: str
) -> str:
    """The largest of (head, other)."""
    flat = np.nan_to_num(weights).ravel()
    best = [one for one in np.argsort(-flat, kind="stable")[:NAMED].tolist() if flat[one] > 0]
    said = message("figure.head", language)
    named = (divmod(one, weights.shape[1]) for one in best)
    pairs = [f"{weights[place, other]:.3f} {escape(others[other])} · {said} {heads[place]}" for place, other in named]
    return message(key, language, token=escape(token), partners="<br>".join(pairs))


def _with_legend(layout: dict, heads: Sequence[int], queries: Sequence[str], caption: str, language: str) -> dict:
    """The same layout with a legend above the columns, and its note as far left as the labels reach.

    Plotly's own legend is as wide as the columns stand apart, which on a phone is less than two of its entries.
    """
    rows, out = -(-len(heads) // ENTRIES), min(44, 6 * max(width(shorten(query)) for query in queries))
    above, said = ENTRY * rows + 8, message("figure.head", language)
    shapes, words = [], []
    for number, (head, style) in enumerate(zip(heads, head_styles(heads), strict=True)):
        row, column = divmod(number, ENTRIES)
        x, y = column * ENTRY_WIDE - out, 34 + ENTRY * (rows - row - 1)  # pixels from the plot's upper left corner
        shapes.append(_sample(style, x, y))
        place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "middle"}
        font = {"size": 12, "color": theme.LIGHT["ink"]}
        words.append(
            {"text": f"{said} {head}", "showarrow": False, "font": font, "xshift": x + 28, "yshift": y, **place}
        )
    return layout | {
        "annotations": [note(caption, left=out), *layout["annotations"][1:], *words],
        "shapes": shapes,
        "margin": layout["margin"] | {"t": layout["margin"]["t"] + above},
        "height": layout["height"] + above,
    }


def _sample(style: int, x: float, y: float) -> dict:
    """A short line, in pixels from the plot's upper left corner."""
    place = {"xref": "paper", "yref": "paper", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": 0, "yanchor": 1}
    return {"type": "line", "line": _line(style, 2.4), "x0": x, "x1": x + 24, "y0": y, "y1": y, **place}
