"""One head as a heat map. Rows look, columns are looked at; each row sums to 1 (Vaswani et al. 2017, section 3.2.1)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz.figures.grid import OVERVIEW
from viz.figures.heat_map import WEIGHTS, heat_map, pooled_map, scores_of


def attention_heatmap(
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    allowed: np.ndarray | None = None,
    selected: tuple[int, int] | None = None,
    title: str | None = None,
    rows: slice | None = None,
    columns: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """Weights (query, key) of one head; `allowed` (query, key) bool is False where the mask forbids looking.

    `selected` is the (query, key) of the orange cell. Texts over 128 tokens are drawn pooled (each cell the largest
    weight of its block), or exactly within a window: `rows` and `columns` are slices of the text's positions. `weights`
    and `allowed` may then hold the whole map or just the window. Positions on the axes are positions in the text.
    Raises ValueError where the shapes do not fit.
    """
    return heat_map(
        weights, queries, keys, WEIGHTS,
        allowed=allowed, selected=selected, title=title, rows=rows, columns=columns, language=language,
    )  # fmt: skip


def score_heatmap(
    scores: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    allowed: np.ndarray | None = None,
    selected: tuple[int, int] | None = None,
    title: str | None = None,
    rows: slice | None = None,
    columns: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """The same for scores (query, key) on the way to weights: signed numbers, on a scale symmetric about 0."""
    scores = np.asarray(scores)
    return heat_map(
        scores, queries, keys, scores_of(scores),
        allowed=allowed, selected=selected, title=title, rows=rows, columns=columns, language=language,
    )  # fmt: skip


def attention_blocks(n_tokens: int) -> int:
    """How many tokens per side a cell of `pooled_attention` holds for a text of `n_tokens`."""
    return -(-n_tokens // OVERVIEW)


def pooled_attention(
    pooled: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    block: int,
    selected: tuple[int, int] | None = None,
    language: str = "en",
) -> go.Figure:
    """The map of a text too long to be made whole: `pooled` (query block, key block), the largest weight of `block` ×
    `block` tokens, NaN where the mask forbids all of them. `selected` is a (query, key) of tokens."""
    return pooled_map(pooled, queries, keys, WEIGHTS, block=block, selected=selected, language=language)
