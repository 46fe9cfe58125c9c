"""What each head adds to the stream: the length of its part, and its cosine with the whole output of the attention."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.arithmetic import number
from viz.figures.axes import escape, frame, labelled, note
from viz.figures.chart import wrapped
from viz.figures.narrow import CAPTION

ROW, MOST_HIGH, HEAD = 20, 560, 24  # pixels of a row, of all rows, and of the headings
LENGTHS = 0.56  # of the width
FIRST_COSINE = 0.64


def head_output_bars(
    lengths: np.ndarray,
    cosines: np.ndarray,
    *,
    total: float,
    bias: tuple[float, float] | None = None,
    selected: int | None = None,
    language: str = "en",
) -> go.Figure:
    """`lengths` and `cosines` (head,) of the parts, `total` the length of their sum; `bias` its (length, cosine).

    A row per head, and one for the bias where there is one. Length times cosine is what a part contributes along the
    output; these add up to `total`, the lengths themselves do not. Raises ValueError where the shapes do not fit.
    """
    lengths, cosines = np.asarray(lengths, np.float64), np.asarray(cosines, np.float64)
    if lengths.ndim != 1 or lengths.shape != cosines.shape:
        raise ValueError(f"lengths {lengths.shape} do not fit cosines {cosines.shape}")
    n_heads = len(lengths)
    names = [_say("head", language, head=head) for head in range(n_heads)]
    if bias is not None:
        lengths, cosines = np.append(lengths, bias[0]), np.append(cosines, bias[1])
        names.append(_say("bias", language))
    caption = _say("caption", language, total=number(total), along=number(float(lengths @ cosines)))
    traces = _bars(lengths, cosines, names, n_heads, language)
    return theme.figure(traces, _layout(lengths, names, n_heads, selected, caption, language))


def _say(key: str, language: str, /, **values: object) -> str:
    return message(f"figure.head_outputs.{key}", language, **values)


def _bars(lengths: np.ndarray, cosines: np.ndarray, names: Sequence[str], n_heads: int, language: str) -> list[dict]:
    tones = ["residual"] * n_heads + ["hatch"] * (len(lengths) - n_heads)
    hover = _say("hover", language, name="%{hovertext}", length="%{customdata[0]:.4g}", cosine="%{customdata[1]:.3f}")
    hover += "<br>" + _say("hover_along", language, along="%{customdata[2]:.4g}")
    place: dict = {"type": "bar", "orientation": "h", "y": np.arange(len(lengths), dtype=np.float32)}
    place |= {"textposition": "outside", "textangle": 0, "cliponaxis": False, "textfont": {"size": 11}}
    place |= {"hovertext": [escape(name) for name in names], "hovertemplate": f"{hover}<extra></extra>"}
    place |= {"customdata": np.stack([lengths, cosines, lengths * cosines], axis=1).astype(np.float32)}
    signs = [theme.LIGHT["plus" if cosine >= 0 else "minus"] for cosine in cosines.tolist()]
    return [
        place
        | {"x": lengths.astype(np.float32), "text": [number(one) for one in lengths.tolist()]}
        | {"marker": {"color": [theme.LIGHT[tone] for tone in tones], "cornerradius": 3}},
        place
        | {"x": cosines.astype(np.float32), "text": [number(one, 2) for one in cosines.tolist()]}
        | {"marker": {"color": signs}, "xaxis": "x2"},
    ]


def _layout(
    lengths: np.ndarray, names: Sequence[str], n_heads: int, selected: int | None, caption: str, language: str
) -> dict:
    count, told = len(names), wrapped(caption, CAPTION)
    row = min(ROW, MOST_HIGH / count)
    below = 14 * len(told) + 12
    top = float(lengths.max(initial=0)) or 1.0
    wide = top * 1.3 / LENGTHS  # of the whole width, so that a click anywhere in a row is one on its head
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True}
    grid = {"origin": [0, -0.5], "pitch": [wide, 1], "size": [wide, 1], "count": [1, n_heads]}
    grid |= {"at": None if selected is None else [0, selected]}
    zero = {"zeroline": True, "zerolinecolor": theme.LIGHT["muted"], "zerolinewidth": 1}
    positions = [float(place) for place in range(count)]
    labels = labelled(names, positions, int(MOST_HIGH / 16), selected) | {"tickmode": "array"}
    return {
        "xaxis": bare | {"range": [0, wide], "domain": [0, 1], "showticklabels": False},
        "xaxis2": bare
        | zero
        | {"range": [-1.45, 1.45], "domain": [FIRST_COSINE, 1], "anchor": "y", "showticklabels": False},
        "yaxis": bare
        | labels
        | {"range": [count - 0.5, -0.5], "automargin": True, "tickfont": {"size": 12}, "ticklabelstandoff": 6},
        "bargap": 0.3,
        "height": round(row * count) + HEAD + below,
        "margin": {"l": 8, "r": 8, "t": HEAD, "b": below},
        "shapes": [] if selected is None else [_frame(selected, wide)],
        "annotations": [
            _heading(_say("length", language), 0, "left", "residual-text"),
            _heading(_say("cosine", language), 1, "right", "ink"),
            note("\n".join(told), left=40),
        ],
        "meta": {"caption": caption, "select": grid},
    }


def _frame(head: int, wide: float) -> dict:
    return frame(0, head) | {"x0": 0, "x1": wide}


def _heading(text: str, x: float, anchor: str, tone: str) -> dict:
    font = {"size": 12, "color": theme.LIGHT[tone]}
    place = {"xref": "paper", "yref": "paper", "x": x, "y": 1, "xanchor": anchor, "yanchor": "bottom", "yshift": 3}
    return {"text": escape(text), "showarrow": False, "font": font, **place}
