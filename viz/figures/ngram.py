"""The next token twice, side by side: as a model expects it, and as an n-gram model does from the last tokens."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note, shorten, width
from viz.figures.predictions import BAR, percent

LONGEST_LABEL = 11  # character widths: two sets of bars must fit beside the labels on a phone
LONGEST_CONTEXT = 8  # of each token that the sentence below names


def next_tokens_beside(
    model: np.ndarray,
    ngram: np.ndarray,
    tokens: Sequence[str],
    *,
    context: Sequence[str],
    seen: int,
    n_vocabulary: int,
    language: str = "en",
) -> go.Figure:
    """Bars for both distributions (k,) over the same `tokens`, in the order given, on one scale.

    `context` are the tokens that the n-gram model's answer rests on and `seen` how often its texts have them; both are
    already softmaxed over all `n_vocabulary` tokens. Raises ValueError where the shapes do not fit.
    """
    both = np.asarray(model, np.float64), np.asarray(ngram, np.float64)
    if any(shares.shape != (len(tokens),) for shares in both):
        raise ValueError(f"probabilities {both[0].shape} and {both[1].shape} do not fit {len(tokens)} tokens")
    caption = _caption(both, context, seen, n_vocabulary - len(tokens), language)
    who = [message(f"figure.ngram.{one}", language) for one in ("model", "ngram")]
    largest = max(float(shares.max(initial=0)) for shares in both) or 1.0
    traces = [_bars(shares, tokens, who[side], side, language) for side, shares in enumerate(both)]
    return theme.figure(traces, _layout(tokens, largest, who, caption))


def _caption(both: tuple[np.ndarray, np.ndarray], context: Sequence[str], seen: int, others: int, language: str) -> str:
    saw = message("figure.ngram.context_none", language)
    if context:
        named = " ".join(shorten(token, LONGEST_CONTEXT) for token in context)
        saw = message("figure.ngram.context", language, context=named, count=f"{seen:,}")
    model, ngram = (percent(max(0.0, 1 - float(shares.sum()))) for shares in both)
    return f"{saw}\n{message('figure.ngram.rest', language, n=f'{others:,}', model=model, ngram=ngram)}"


def _bars(shares: np.ndarray, tokens: Sequence[str], who: str, side: int, language: str) -> dict:
    hover = message("figure.ngram.hover", language, token="%{hovertext}", who=who, probability="%{x:.4g}")
    return {
        "type": "bar",
        "orientation": "h",
        "name": who,
        "x": shares.astype(np.float32),
        "y": np.arange(len(shares), dtype=np.float32),
        "xaxis": ("x", "x2")[side],
        "text": [percent(share) for share in shares.tolist()],
        "textposition": "outside",
        "textangle": 0,
        "cliponaxis": False,
        "textfont": {"color": theme.LIGHT["ink"], "size": 12},
        "marker": {"color": theme.LIGHT[("accent", "muted")[side]], "cornerradius": 4},
        "hovertext": [escape(token) for token in tokens],
        "hovertemplate": f"{hover}<extra></extra>",
    }


def _layout(tokens: Sequence[str], largest: float, who: Sequence[str], caption: str) -> dict:
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": ""}
    # The space behind the longest bar is for its number, on a phone too.
    across = bare | {"range": [0, largest * 2], "showticklabels": False}
    names = [shorten(token, LONGEST_LABEL) for token in tokens]
    labels = {"tickvals": list(range(len(names))), "ticktext": [escape(name) for name in names]}
    down = bare | labels | {"tickmode": "array", "range": [len(tokens) - 0.5, -0.5], "automargin": True}
    left = 6 * max(map(width, names), default=0)
    return {
        "xaxis": across | {"domain": [0, 0.49]},
        "xaxis2": across | {"domain": [0.51, 1], "anchor": "y"},
        "yaxis": down | {"ticklabelstandoff": 6},
        "bargap": 0.32,
        "annotations": [_heading(who[0], 0, "accent"), _heading(who[1], 0.51, "muted"), note(caption, left=left)],
        "meta": {"caption": caption},
        "height": BAR * max(len(tokens), 1) + 26 + 40,
        "margin": {"l": 8, "r": 8, "t": 26, "b": 40},
    }


def _heading(words: str, x: float, tone: str) -> dict:
    font = {"size": 13, "color": theme.LIGHT[tone]}
    place = {"xref": "paper", "yref": "paper", "x": x, "y": 1, "xanchor": "left", "yanchor": "bottom", "yshift": 4}
    return {"text": f"<b>{words}</b>", "showarrow": False, "font": font, **place}
