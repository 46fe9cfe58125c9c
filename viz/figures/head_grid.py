"""One cell per head, layers from top to bottom: a number 0 … 1 of each, or a word."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, note, selectable, thinned, width
from viz.figures.chart import wrapped

WRITTEN_UP_TO = 16  # heads per layer: with more, nothing that is written fits its cell on a phone
ROW = 22  # pixels, where layers are few
HIGHEST = 640  # pixels of all rows


def head_grid(
    values: Sequence[np.ndarray],
    layers: Sequence[str],
    *,
    words: Sequence[Sequence[str]] | None = None,
    told: Sequence[Sequence[str]] | None = None,
    selected: tuple[int, int] | None = None,
    caption: str = "",
    language: str = "en",
) -> go.Figure:
    """`values` (head,) of each layer, 0 … 1, NaN where there is none: grey; layers may differ in their heads.

    `words` stand in the cells instead of the numbers, `told` is more for the hover. `selected` is (layer, head).
    Raises ValueError where the shapes do not fit.
    """
    rows = [np.asarray(row, np.float32) for row in values]
    for given in (words, told):
        if given is not None and [len(row) for row in given] != [len(row) for row in rows]:
            raise ValueError(f"words {[len(row) for row in given]} do not fit heads {[len(row) for row in rows]}")
    if not rows or len(rows) != len(layers):
        raise ValueError(f"values of {len(rows)} layers do not fit {len(layers)} names")
    most = max(map(len, rows))
    canvas = np.full((len(rows), most), np.nan, np.float32)  # (layer, head)
    for place, row in zip(canvas, rows, strict=True):
        place[: len(row)] = row
    texts = _texts(rows, words)
    traces = [_cells(canvas, layers, told, most, language), *_unknown(rows, most, language)]
    traces += _written(canvas, texts) if most <= WRITTEN_UP_TO else []
    return theme.figure(traces, _layout(layers, most, selected, caption, language))


def _texts(rows: list[np.ndarray], words: Sequence[Sequence[str]] | None) -> list[list[str]]:
    if words is not None:
        return [[escape(word) for word in row] for row in words]
    return [["–" if np.isnan(one) else _number(float(one)) for one in row] for row in rows]


def _number(value: float) -> str:
    """ ".54": two digits fit the cell of a phone."""
    text = f"{value:.2f}"
    return text.removeprefix("0") if text < "1" else "1.0"


def _place(count: int, most: int) -> dict:
    gap = 2 if max(count, most) <= 24 else 1
    return {"type": "heatmap", "x0": 0, "dx": 1, "y0": 0, "dy": 1, "xgap": gap, "ygap": gap, "showscale": False}


def _cells(
    canvas: np.ndarray, layers: Sequence[str], told: Sequence[Sequence[str]] | None, most: int, language: str
) -> dict:
    names = [
        [message("figure.head_grid.hover", language, layer=escape(layer), head=head) for head in range(most)]
        for layer in layers
    ]
    for row, lines in enumerate(told or ()):
        for head, line in enumerate(lines):
            names[row][head] += f"<br>{escape(line)}"
    more = "<br>%{z:.3f}" if told is None else ""
    return _place(len(layers), most) | {
        "z": canvas,
        "zmin": 0,
        "zmax": 1,
        "colorscale": theme.WEIGHTS,
        "hoverongaps": False,
        "hovertext": names,
        "hovertemplate": f"%{{hovertext}}{more}<extra></extra>",
    }


def _unknown(rows: list[np.ndarray], most: int, language: str) -> list[dict]:
    """Grey for heads without a number, and the hover says so. Where a layer has no such head, nothing is drawn."""
    grey = np.full((len(rows), most), np.nan, np.float32)
    for place, row in zip(grey, rows, strict=True):
        place[: len(row)][np.isnan(row)] = 1
    if np.isnan(grey).all():
        return []
    flat = [[0, theme.LIGHT["masked"]], [1, theme.LIGHT["masked"]]]
    hover = f"{message('figure.head_grid.unknown', language)}<extra></extra>"
    return [_place(len(rows), most) | {"z": grey, "colorscale": flat, "hoverongaps": False, "hovertemplate": hover}]


def _written(canvas: np.ndarray, texts: list[list[str]]) -> list[dict]:
    """Clear maps that only write, one for each ink. Spaces in all of them give them the same size of type."""
    inks = theme.cell_ink(np.nan_to_num(canvas))
    clear = [[0, theme.CLEAR], [1, theme.CLEAR]]
    traces = []
    for number, (_, (ink, _)) in enumerate(theme.CELL_INKS):
        mine = [
            [text if inks[row, head] == number else " " for head, text in enumerate(line)]
            + [" "] * (canvas.shape[1] - len(line))
            for row, line in enumerate(texts)
        ]
        if any(text.strip() for line in mine for text in line):
            trace = _place(*canvas.shape) | {"z": np.zeros(canvas.shape, np.uint8), "colorscale": clear}
            style = {"text": mine, "texttemplate": "%{text}", "textfont": {"color": ink, "size": 11}}
            traces.append(trace | style | {"hoverinfo": "skip"})
    return traces


def _layout(layers: Sequence[str], most: int, selected: tuple[int, int] | None, caption: str, language: str) -> dict:
    count = len(layers)
    row = max(11, min(ROW, HIGHEST / count))
    at = None if selected is None else (selected[1], selected[0])
    lines = wrapped(caption, 40) if caption else []
    below = 15 * len(lines) + 14 if lines else 8
    out = min(90, 6 * max(map(width, layers)))  # pixels that the layers' names surely take
    axis = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": "", "tickmode": "array"}
    axis |= {"tickfont": {"size": 11}}
    small = {"size": 11, "color": theme.LIGHT["muted"]}
    return {
        "xaxis": axis
        | _ticks([str(head) for head in range(most)], 12)
        | {"range": [-0.5, most - 0.5], "side": "top"}
        | {"title": {"text": message("figure.head", language), "font": small, "standoff": 4}},
        "yaxis": axis
        | _ticks(list(layers), max(1, int(row * count / 18)))
        | {"range": [count - 0.5, -0.5], "automargin": True},
        "shapes": [] if at is None else [frame(*at)],
        "annotations": [
            _corner(message("figure.layer", language), small),
            *([note("\n".join(lines), left=out)] if lines else []),
        ],
        "meta": {"caption": caption, "select": selectable((-0.5, -0.5), 1, (most, count), at)},
        "height": round(row * count + 40 + below),
        "margin": {"l": 40, "r": 8, "t": 40, "b": below},
    }


def _corner(text: str, font: dict) -> dict:
    """The title of the rows, level above their labels."""
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "right", "yanchor": "bottom"}
    return {"text": text, "showarrow": False, "font": font, "xshift": -4, "yshift": 3, **place}


def _ticks(names: list[str], most: int) -> dict:
    shown = thinned(len(names), most)
    return {"tickvals": shown, "ticktext": [escape(names[index]) for index in shown]}
