"""One token's vectors as rows of signed cells: token, + position, + segment, = sum, and what a norm makes of it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.arithmetic import number
from viz.figures.axes import escape, note, width
from viz.figures.chart import wrapped
from viz.figures.curves import short_number
from viz.figures.signed_map import TICKS, bare_axis, block_of, cells, column_grid, dimension_axis, end_of, farthest

ROW = 34  # pixels
KNOWN = ("token", "patch", "position", "segment")


def embedding_rows(
    terms: np.ndarray,
    total: np.ndarray,
    names: Sequence[str],
    *,
    factors: Sequence[float] | None = None,
    normed: np.ndarray | None = None,
    selected: int | None = None,
    part: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """`terms` (term, d_model), factors included, add up to `total` (d_model,); `names` are some of KNOWN.

    A factor other than 1 is told beside its row. `normed` (d_model,) is drawn on a scale of its own. `selected` is the
    dimension in the orange frame. More than 128 dimensions share cells, each the value farthest from 0; `part` is a
    slice of the dimensions to draw one by one. Raises ValueError where the shapes do not fit.
    """
    terms, total = np.asarray(terms, np.float64), np.asarray(total, np.float64)
    if terms.ndim != 2 or terms.shape != (len(names), total.size) or not terms.size:
        raise ValueError(f"terms {terms.shape} do not fit {len(names)} names and a sum {total.shape}")
    if normed is not None and np.shape(normed) != total.shape:
        raise ValueError(f"norm {np.shape(normed)} does not fit a sum {total.shape}")
    labels = _labels(names, factors or [1.0] * len(names), normed is not None, language)
    dims = range(total.size)[part or slice(None)]
    block = 1 if part is not None else block_of(total.size)
    shown = farthest(np.vstack([terms, total])[:, dims.start : dims.stop], block)
    after = None if normed is None else farthest(np.asarray(normed, np.float64)[None, dims.start : dims.stop], block)
    tops = [end_of(shown)] * len(shown) + ([] if after is None else [end_of(after)])
    middle = dims.start + (block - 1) / 2
    traces = [cells(shown, tops[0], x0=middle, dx=block)]
    traces += [] if after is None else [cells(after, tops[-1], x0=middle, dx=block, y0=len(shown))]
    hover = _hover(block, language)
    traces = [trace | {"hovertemplate": hover, "ygap": 4, "xgap": 1 if shown.shape[1] <= 48 else 0} for trace in traces]
    # The ends of the scales are an axis of their own, which needs a trace.
    ends = cells(np.zeros((1, 1)), 1.0) | {"yaxis": "y2", "x0": dims.start, "hoverinfo": "skip", "opacity": 0}
    return theme.figure([*traces, ends], _layout(labels, tops, dims, block, selected, language))


def _labels(names: Sequence[str], factors: Sequence[float], normed: bool, language: str) -> list[str]:
    """ "11.31 · token", "+ position", "= sum", "norm"."""
    words = [message(f"figure.embedding_rows.{name}", language) for name in names]
    words = [
        word if factor == 1 else f"{number(factor, 2)} · {word}" for word, factor in zip(words, factors, strict=True)
    ]
    added = [word if place == 0 else f"+ {word}" for place, word in enumerate(words)]
    total = message("figure.embedding_rows.sum", language)
    after = [message("figure.embedding_rows.norm", language)] if normed else []
    return [*added, f"= {total}", *after]


def _hover(block: int, language: str) -> str:
    key = "figure.embedding_rows.cell" if block == 1 else "figure.embedding_rows.block"
    return message(key, language, row="%{y}", dimension="%{x}", value="%{z:.6g}", size=block) + "<extra></extra>"


def _layout(labels: list[str], tops: list[float], dims: range, block: int, selected: int | None, language: str) -> dict:
    n_rows = len(labels)
    told = [message("figure.embedding_rows.caption", language)]
    if block > 1:
        told.append(message("figure.embedding_rows.pooled", language, size=block, count=len(dims)))
    lines = [line for one in told for line in wrapped(one, 48)]
    foot = TICKS + 14 * len(lines) + 8
    shapes, select = column_grid(dims, block, n_rows, selected)
    ends = [f"±{short_number(float(f'{top:.3g}'))}" for top in tops]
    muted = {"size": 11, "color": theme.LIGHT["muted"]}
    return {
        "xaxis": dimension_axis(dims, block, language),
        "yaxis": _rows(labels) | {"side": "left", "tickfont": {"size": 12}},
        "yaxis2": _rows(ends) | {"side": "right", "overlaying": "y", "matches": "y", "tickfont": muted},
        "height": ROW * n_rows + 6 + foot,
        "margin": {"l": 8, "r": 8, "t": 6, "b": foot},
        "shapes": shapes,
        "annotations": [note("\n".join(lines), below=TICKS + 2, left=6.5 * max(map(width, labels)))],
        "meta": {"caption": " ".join(told), "block": block, "select": select},
    }


def _rows(labels: list[str]) -> dict:
    ticks = {"tickvals": list(range(len(labels))), "ticktext": [escape(label) for label in labels]}
    return bare_axis() | ticks | {"range": [len(labels) - 0.5, -0.5], "automargin": True, "ticklabelstandoff": 4}
