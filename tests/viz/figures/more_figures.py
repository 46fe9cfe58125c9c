"""Figures that `every_figure` draws beside its own: one of each that is exported, from plain arrays and lists."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from tests.viz.figures.measured import charts
from viz import figures


def more_figures(tokens: Sequence[str]) -> dict[str, go.Figure]:
    """`tokens` (7 or more): names that try to be markup."""
    return {
        **_of_positions(tokens),
        **_of_answers(tokens),
        **_of_heads(tokens),
        **{f"chart {name}": fig for name, fig in charts("en").items()},
    }


def _sharp() -> np.ndarray:
    return np.linspace(0, 1, 49, dtype=np.float32).reshape(7, 7)


def _of_positions(tokens: Sequence[str]) -> dict[str, go.Figure]:
    sharp, few, away = _sharp(), tokens[:7], np.arange(-3, 4)
    return {
        "bias lines": figures.bias_lines(away, -sharp[:5], selected=2, current=1),
        "bias map": figures.bias_map(away, sharp[:5] - 0.5, selected=2, language="zh"),
        "slopes": figures.slope_bars([0.5, 0.25, 0.125], selected=1),
        "embedding rows": figures.embedding_rows(
            [sharp[0], sharp[1] - 0.5], sharp[0] + sharp[1] - 0.5, ["token", "position"],
            factors=[2.0, 1.0], normed=sharp[3] - 0.2, selected=4,
        ),
        "position curves": figures.position_curves(
            away, sharp[:4] - 0.3, few[:4], at=1, dots=(away, sharp[1:5]), title=tokens[5], facts=tokens[7]
        ),
        "position similarity": figures.position_similarity(2 * sharp - 1, few, selected=(3, 2), step=5),
        "position grid": figures.similarity_grid(2 * sharp[:, :5] - 1, selected=(6, 1), language="zh"),
        "position table": figures.position_table(sharp - 0.5, few, selected=(3, 2), step=3, language="zh"),
        "rotary": figures.rotary_dials(
            [0.1, 2.0, -1.0], [3.0, 0.5, 0.0], [[0, 3], [1, 4], [2, 5]], [1.0, 0.1, 0.01], names=tuple(tokens[5:7])
        ),
        "by distance": figures.score_by_distance(away, sharp[2], current=1, reach=2, names=tuple(tokens[5:7])),
    }  # fmt: skip


def _of_answers(tokens: Sequence[str]) -> dict[str, go.Figure]:
    sharp, few, layers = _sharp(), list(tokens[:7]), [str(layer) for layer in range(7)]
    shares = sharp / sharp.sum(axis=1, keepdims=True)
    return {
        "classes": figures.class_probabilities([0.7, 0.2, 0.1], tokens[4:7], n_classes=11),
        "class lens": figures.class_lens_map(shares[:, :3], layers, tokens[4:7], selected=(3, 1), language="zh"),
        "lens": figures.lens_map(shares, [few] * 7, layers, few, selected=(2, 4)),
        "lens curve": figures.lens_curve(shares[1], tokens[5], selected=3, language="zh"),
        "ranks": figures.rank_curve(
            np.sort(shares[6])[::-1], np.sort(shares[3])[::-1], n_kept=4, n_after_top_k=5, chosen=(2, tokens[5])
        ),
        "contributions": figures.contribution_chart(
            [0.5, -0.25, 0.125, 1.5, -2.0], ["token", "self", "ffn", "cross", "other"], [None, 0, 0, 1, 1],
            constant=0.3, token=tokens[5], selected=1,
        ),
        "head contributions": figures.head_contribution_map(
            np.where(sharp > 0.9, np.nan, sharp - 0.5), layers, few, selected=(1, 4), language="zh"
        ),
        "similar texts": figures.similarity_bars([0.5, -0.25, 0.75], tokens[5:8]),
        "similar tokens": figures.token_cosine_map(2 * sharp[:5] - 1, few[:5], few, selected=(1, 4), language="zh"),
    }  # fmt: skip


def _of_heads(tokens: Sequence[str]) -> dict[str, go.Figure]:
    sharp, few = _sharp(), tokens[:7]
    scores = np.where(sharp > 0.8, -np.inf, sharp * 6 - 3)
    return {
        "head grid": figures.head_grid(
            [sharp[0], sharp[1, :5]], tokens[3:5], words=[few, few[:5]], told=[few, few[:5]],
            selected=(1, 2), caption=tokens[5],
        ),
        "unknown heads": figures.head_grid([[0.5, np.nan], [0.25, 1.0]], ["0", "1"], language="zh"),
        "several heads": figures.head_lines(
            np.stack([sharp, sharp.T, sharp[::-1]]), [0, 3, 11], few, few, selected_query=4, threshold=0.3
        ),
        "blocks": figures.pooled_attention(sharp[:5, :5], [*few, "a", "b"], [*few, "a", "b"], block=2, selected=(3, 4)),
        "scores": figures.score_heatmap(
            scores, few, few, allowed=np.isfinite(scores), selected=(5, 2), title=tokens[5], language="zh"
        ),
        "marked": figures.watermarked(figures.slope_bars([0.5, 0.25], selected=0), tokens[5]),
    }  # fmt: skip
