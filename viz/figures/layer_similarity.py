"""Which layers leave the stream of a token pointing the same way: the cosine of every pair of points."""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import frame, note, selectable, thinned
from viz.figures.chart import wrapped
from viz.figures.scale_bar import scale_bar

NUMBERS_UP_TO = 9  # points per side
MOST_HIGH = 380  # pixels
MOST_TICKS = 10
ABOVE, BELOW, BAR = 40, 6, 34


def layer_similarity(
    similarity: np.ndarray, *, token: str = "", selected: int | None = None, language: str = "en"
) -> go.Figure:
    """`similarity` (layer + 1, layer + 1) holds cosines −1 … 1; the first point is what enters layer 0.

    `selected` is the layer whose cell, from what enters it to what leaves it, is in the orange frame. Raises ValueError
    where `similarity` is no square.
    """
    cosines = np.asarray(similarity, np.float32)
    if cosines.ndim != 2 or cosines.shape[0] != cosines.shape[1] or not cosines.size:
        raise ValueError(f"a square of cosines was expected, got {cosines.shape}")
    return theme.figure(_traces(cosines, language), _layout(len(cosines), token, selected, language))


def _traces(cosines: np.ndarray, language: str) -> list[dict]:
    count = len(cosines)
    gap = 2 if count <= 24 else 1 if count <= 64 else 0
    place = {"type": "heatmap", "x0": -1, "dx": 1, "y0": -1, "dy": 1, "xgap": gap, "ygap": gap}
    hover = message("figure.layer_similarity.cell", language, one="%{y}", other="%{x}", value="%{z:.4f}")
    main = place | {
        "z": cosines,
        "zmin": -1,
        "zmax": 1,
        "colorscale": theme.SIGNED,
        "hovertemplate": f"{hover}<extra></extra>",
        "colorbar": _colorbar(language),
    }
    return [main, *(_numbers(cosines, place) if count <= NUMBERS_UP_TO else [])]


def _colorbar(language: str) -> dict:
    title = message("figure.layer_similarity.cosine", language)
    return scale_bar(title, [-1, 0, 1], ticktext=["−1", "0", "1"])


def _numbers(cosines: np.ndarray, place: dict) -> list[dict]:
    """Clear maps that only write numbers, one per ink that is legible on the cells."""
    inks = theme.cell_ink(np.abs(cosines))
    texts = np.char.replace(np.char.mod("%.2f", cosines), "-", "−")
    clear = {"z": np.zeros(cosines.shape, np.uint8), "colorscale": [[0, theme.CLEAR], [1, theme.CLEAR]]}
    return [
        place
        | clear
        | {
            "text": np.where(inks == number, texts, "").tolist(),
            "texttemplate": "%{text}",
            "textfont": {"color": ink, "size": 11},
            "hoverinfo": "skip",
            "showscale": False,
        }
        for number, (_, (ink, _)) in enumerate(theme.CELL_INKS)
        if (inks == number).any()
    ]


def _layout(count: int, token: str, selected: int | None, language: str) -> dict:
    told = wrapped(message("figure.layer_similarity.caption", language, token=token), 46)
    high = round(max(120, count * min(40, MOST_HIGH / count)))
    at = None if selected is None else (selected + 1, selected)
    foot = BELOW + BAR + 14 * len(told) + 14
    title, first = message("figure.layer_similarity.layer", language), message("figure.stream.enters", language)
    return {
        "xaxis": _axis(count, "x", first) | {"title": _title(title)},
        "yaxis": _axis(count, "y", first),
        "height": ABOVE + high + foot,
        "margin": {"l": 8, "r": 8, "t": ABOVE, "b": foot},
        "shapes": [] if selected is None else [frame(selected, selected - 1)],
        "annotations": [note("\n".join(told), below=BELOW + BAR + 10, left=20)],
        "meta": {"caption": " ".join(told), "select": selectable((-1.5, -1.5), 1, (count, count), at)},
    }


def _title(words: str) -> dict:
    return {"text": words, "font": {"size": 12, "color": theme.LIGHT["residual-text"]}, "standoff": 4}


def _axis(count: int, axis: str, first: str) -> dict:
    """`first` is what enters layer 0; then each layer's number."""
    shown = thinned(count, MOST_TICKS) if count > MOST_TICKS + 2 else list(range(count))
    ends = [-1.5, count - 1.5]
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "showline": False, "ticks": "", "fixedrange": True}
    ticks = {"tickmode": "array", "tickvals": [one - 1 for one in shown], "tickfont": {"size": 11}, "tickangle": 0}
    ticks |= {"ticktext": [first if one == 0 else str(one - 1) for one in shown]}
    place = {"side": "top", "range": ends} if axis == "x" else {"side": "left", "range": ends[::-1], "automargin": True}
    return bare | ticks | place
