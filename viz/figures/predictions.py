"""What a model answers: the next token, over the whole vocabulary and the largest first, or a class."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note, shorten, width

BAR = 28  # pixels per token


def next_tokens(
    probabilities: np.ndarray,
    tokens: Sequence[str],
    *,
    n_vocabulary: int,
    rest: float | None = None,
    language: str = "en",
) -> go.Figure:
    """Bars for `probabilities` (k,) of `tokens`, already softmaxed over all `n_vocabulary` tokens, largest on top.

    `rest` is what the tokens that are not shown share; by default what is missing to 1. Raises ValueError where the
    shapes do not fit.
    """
    shares = np.asarray(probabilities, np.float64)
    if shares.shape != (len(tokens),):
        raise ValueError(f"probabilities {shares.shape} do not fit {len(tokens)} tokens")
    order = np.argsort(-shares, kind="stable")
    values, names = shares[order], [tokens[index] for index in order]
    share = max(0.0, 1 - float(shares.sum())) if rest is None else rest
    others = f"{n_vocabulary - len(names):,}"
    caption = message("figure.next.note", language, n=others, rest=percent(share))
    hover = message("figure.next.hover", language, token="%{hovertext}", probability="%{x:.4g}")
    return theme.figure([_bars(values, names, hover)], _layout(values, names, caption))


def class_probabilities(
    probabilities: np.ndarray, classes: Sequence[str], *, n_classes: int | None = None, language: str = "en"
) -> go.Figure:
    """Bars for `probabilities` (class,), one per class in the order given.

    They sum to 1 unless they are only some of `n_classes`; the caption then says what the others share. Raises
    ValueError where the shapes do not fit.
    """
    shares = np.asarray(probabilities, np.float64)
    if shares.shape != (len(classes),):
        raise ValueError(f"probabilities {shares.shape} do not fit {len(classes)} classes")
    hover = message("figure.next.hover_class", language, token="%{hovertext}", probability="%{x:.4g}")
    others = (n_classes or len(classes)) - len(classes)
    rest = percent(max(0.0, 1 - float(shares.sum())))
    caption = message("figure.next.note_classes", language, n=len(classes))
    if others:
        caption = message("figure.next.note_other_classes", language, n=f"{others:,}", rest=rest)
    names = list(classes)
    return theme.figure([_bars(shares, names, hover)], _layout(shares, names, caption))


def percent(share: float) -> str:
    """0.7713 is "77.1 %"; what would round to nothing is "<0.1 %", and never "0 %"."""
    return "<0.1 %" if 0 < share < 0.0005 else ">99.9 %" if 0.9995 <= share < 1 else f"{share * 100:.1f} %"


def _bars(values: np.ndarray, names: list[str], hover: str) -> dict:
    first = values == values.max(initial=-1)
    return {
        "type": "bar",
        "orientation": "h",
        "x": values.astype(np.float32),
        "y": np.arange(len(values), dtype=np.float32),
        "text": [percent(value) for value in values.tolist()],
        "textposition": "outside",
        "textangle": 0,
        "cliponaxis": False,
        "textfont": {"color": theme.LIGHT["ink"], "size": 12},
        "marker": {
            "color": [theme.LIGHT["accent"] if top else theme.SOFT_ACCENT for top in first.tolist()],
            "cornerradius": 4,
        },
        "hovertext": [escape(name) for name in names],
        "hovertemplate": f"{hover}<extra></extra>",
    }


def _layout(values: np.ndarray, names: list[str], caption: str) -> dict:
    largest = float(values.max(initial=0)) or 1.0
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": ""}
    return {
        # A quarter of the width stays free for the text behind the longest bar.
        "xaxis": bare | {"range": [0, largest * 1.33], "showticklabels": False},
        "yaxis": bare
        | {
            "range": [len(names) - 0.5, -0.5],
            "tickmode": "array",
            "tickvals": list(range(len(names))),
            "ticktext": [escape(shorten(name)) for name in names],
            "ticklabelstandoff": 6,
            "automargin": True,
        },
        "bargap": 0.32,
        "annotations": [note(caption, left=6 * max((width(shorten(name)) for name in names), default=0))],
        "meta": {"caption": caption},
        "height": BAR * max(len(names), 1) + 4 + 26,
        "margin": {"l": 8, "r": 8, "t": 4, "b": 26},
    }
