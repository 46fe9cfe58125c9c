"""The whole vocabulary by rank, from the most probable token to the least, and where the dials cut it."""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape
from viz.figures.chart import Panel, chart
from viz.figures.curves import logarithmic
from viz.figures.logit_lens import probability_axis
from viz.figures.predictions import percent

POINTS = 320  # of a curve: more cannot be told apart
SMALLEST = 1e-14  # of a probability that has a place on the axis


def rank_curve(
    probabilities: np.ndarray,
    own: np.ndarray,
    *,
    n_kept: int,
    n_after_top_k: int | None = None,
    chosen: tuple[int, str] | None = None,
    language: str = "en",
) -> go.Figure:
    """`probabilities` (vocabulary,) at the temperature and the model's `own`, both by rank, on logarithmic axes.

    Of a large vocabulary the ranks that are drawn lie evenly on the axis; each is exact. `n_kept` tokens may be drawn;
    top-k alone kept `n_after_top_k`. `chosen` is the (rank, name) of a token. Raises ValueError where the shapes do not
    fit.
    """
    values, before = np.asarray(probabilities, np.float64), np.asarray(own, np.float64)
    if values.shape != before.shape or values.ndim != 1:
        raise ValueError(f"probabilities {values.shape} do not fit {before.shape}")
    ranks = drawn_ranks(len(values), n_kept)
    kept = ranks[ranks < n_kept]
    traces = [_line(kept, values, "kept", language)]
    if n_kept < len(values):
        traces.append(_line(ranks[ranks >= n_kept - 1], values, "cut", language))
    if not np.allclose(values, before, rtol=1e-9, atol=0):
        traces.append(_line(ranks, before, "own", language))
    if chosen is not None:
        traces.append(_point(*chosen, float(values[chosen[0]]), language))
    seen = np.concatenate([values[ranks], before[ranks]])
    seen = seen[seen >= SMALLEST]
    below = chosen is not None and values[chosen[0]] < SMALLEST
    panel = Panel(
        message("figure.rank.unit", language),
        probability_axis(float(seen.min()), float(seen.max()) * 1.0001),
        logarithmic(1, max(len(values), 2)),
        message("figure.rank.rank", language),
    )
    caption = _caption(values, n_kept, len(values) if n_after_top_k is None else n_after_top_k, language)
    if below and chosen is not None:
        words = {"token": chosen[1], "p": f"{values[chosen[0]]:.3g}"}
        caption += "\n" + message("figure.rank.below", language, **words)
    figure = chart(
        traces,
        [panel],
        title=message("figure.rank.title", language, count=f"{len(values):,}"),
        facts="",
        caption=caption,
        panel_height=190,
    )
    figure.layout.shapes = _cut(n_kept, len(values))
    return figure


def drawn_ranks(count: int, n_kept: int) -> np.ndarray:
    """Ranks from 0: all of few, else evenly spaced on a logarithmic axis, the last kept and first cut among them."""
    if count <= POINTS:
        return np.arange(count)
    even = np.unique(np.round(np.geomspace(1, count, POINTS)).astype(int)) - 1
    edges = [rank for rank in (n_kept - 1, n_kept) if 0 <= rank < count]
    return np.union1d(even, np.array(edges, int))


def _line(ranks: np.ndarray, values: np.ndarray, kind: str, language: str) -> dict:
    """Probabilities too small for the axis are left out, not drawn at its foot."""
    ranks = ranks[values[ranks] >= SMALLEST]
    style = {
        "kept": {"color": theme.LIGHT["accent"], "width": 3},
        "cut": {"color": theme.LIGHT["muted"], "width": 2, "dash": "dot"},
        "own": {"color": theme.LIGHT["residual"], "width": 1.5, "dash": "dash"},
    }[kind]
    told = message("figure.rank.hover", language, rank="%{x:,}", p="%{y:.4g}")
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(ranks) < 3 else "lines",
        "x": (ranks + 1).astype(np.float32),
        "y": values[ranks],  # float64: a probability of 1e-50 is none in float32
        "name": escape(message(f"figure.rank.{kind}", language)),
        "showlegend": True,
        "line": style,
        "marker": {"color": style["color"], "size": 6},
        "hovertemplate": f"{told}<extra></extra>",
        "xaxis": "x",
        "yaxis": "y",
    }


def _point(rank: int, name: str, value: float, language: str) -> dict:
    told = message("figure.rank.chosen_hover", language, token=escape(name), rank=f"{rank + 1:,}", p=f"{value:.4g}")
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.array([rank + 1], np.float32),
        "y": np.array([max(value, SMALLEST)]),
        "name": escape(name),
        "showlegend": True,
        # One that is too small for the axis stands at its foot and points down.
        "marker": {
            "color": theme.LIGHT["select"],
            "size": 11,
            "symbol": "diamond" if value >= SMALLEST else "triangle-down",
        },
        "hovertemplate": f"{told}<extra></extra>",
        "xaxis": "x",
        "yaxis": "y",
        "cliponaxis": False,
    }


def _cut(n_kept: int, count: int) -> list[dict]:
    if n_kept >= count:
        return []
    line = {"color": theme.LIGHT["muted"], "width": 1.5, "dash": "dash"}
    return [
        {"type": "line", "line": line, "xref": "x", "x0": n_kept + 0.5, "x1": n_kept + 0.5}
        | {"yref": "y domain", "y0": 0, "y1": 1}
    ]


def _caption(values: np.ndarray, n_kept: int, n_after_top_k: int, language: str) -> str:
    counts = {"kept": f"{n_kept:,}", "vocabulary": f"{len(values):,}"}
    if n_kept >= len(values):
        return message("figure.sampling.all", language, **counts)
    told = [message("figure.sampling.kept", language, mass=percent(float(values[:n_kept].sum())), **counts)]
    for dial, part in (("top_p", values[n_kept:n_after_top_k]), ("top_k", values[n_after_top_k:])):
        if len(part):
            told.append(message(f"figure.sampling.cut.{dial}", language, share=percent(float(part.sum()))))
    return "\n".join(told)
