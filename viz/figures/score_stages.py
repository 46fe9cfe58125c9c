"""One query's row step by step: q · k, scaled, biased, masked, and the weights that the softmax makes of it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, labelled, note, selectable, shorten, token_axes, width
from viz.figures.chart import wrapped
from viz.figures.grid import window_of
from viz.figures.hatch import hatched_column
from viz.figures.narrow import CAPTION, LONGEST_NAME, MOST_ROWS_HIGH, NUMBERS_UP_TO, compact, scale_of
from viz.figures.predictions import percent

ROW, HEAD = 20, 26  # pixels of a row, and of the names of the stages


def score_table(
    stages: Sequence[np.ndarray],
    names: Sequence[str],
    keys: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    rows: slice | None = None,
    sink: float | None = None,
    language: str = "en",
) -> go.Figure:
    """A row per key and a column per stage; −∞ is hatched, and the last column holds the weights.

    `stages` (stage, key) numbers of one query, `names` which steps they are ("dot", "scaled", "capped", "biased",
    "masked", "weights"). `selected` is the (key, stage) of the orange cell; `rows` a slice of the keys; `sink` the
    share of the row that a sink takes. Each stage is coloured on its own scale, symmetric about 0. Raises ValueError
    where the shapes do not fit.
    """
    table = np.array([np.asarray(stage, np.float64) for stage in stages]).T  # (key, stage)
    if table.shape != (len(keys), len(names)):
        raise ValueError(f"stages {table.shape[::-1]} do not fit {len(names)} names and {len(keys)} keys")
    part = window_of(rows, len(keys))
    caption = _caption(part, len(keys), sink, language)
    traces = _traces(table[part], names, part.start, language)
    return theme.figure(
        traces, _layout(names, [keys[index] for index in part], part.start, selected, caption, language)
    )


def _say(key: str, language: str, /, **values: object) -> str:
    return message(f"figure.score_row.{key}", language, **values)


def _caption(part: range, count: int, sink: float | None, language: str) -> str:
    said = [_say("scale", language)]
    if sink is not None:
        said.append(_say("sink", language, share=percent(sink)))
    if len(part) < count:
        said.append(_say("window", language, first=part.start, last=part.stop - 1, count=count))
    return "\n".join(said)


def _traces(table: np.ndarray, names: Sequence[str], first: int, language: str) -> list[dict]:
    """A map of one column for each stage, so that each has its own scale and the hover its own numbers."""
    traces = []
    for place, name in enumerate(names):
        values = table[:, place]
        forbidden = np.isneginf(values)
        seen = np.where(forbidden, np.nan, values).astype(np.float32)[:, None]
        ends = (0.0, 1.0) if name == "weights" else (-scale_of(values[~forbidden]), scale_of(values[~forbidden]))
        scale = theme.WEIGHTS if name == "weights" else theme.SIGNED
        hover = _say("hover", language, key="%{y}", stage=escape(_say(name, language)), value="%{z:.4g}")
        traces.append(
            {"type": "heatmap", "z": seen, "x0": place, "dx": 1, "y0": first, "dy": 1, "xgap": 3, "ygap": 1}
            | {"zmin": ends[0], "zmax": ends[1], "colorscale": scale, "showscale": False, "hoverongaps": False}
            | {"hovertemplate": f"{hover}<extra></extra>"}
        )
        if forbidden.any():
            traces.append(hatched_column(forbidden, place, first=first, half=0.47))
    return [*traces, _texts(table, names, first)]


def _texts(table: np.ndarray, names: Sequence[str], first: int) -> dict:
    """All numbers in one trace, which also carries the tokens' labels."""
    shown = table if len(table) <= NUMBERS_UP_TO else table[:0]
    finite = np.where(np.isneginf(shown), 0, shown)
    tops = np.array([1.0 if name == "weights" else scale_of(finite[:, place]) for place, name in enumerate(names)])
    inks = [theme.CELL_INKS[ink][1][0] for ink in theme.cell_ink(np.abs(finite) / tops).ravel().tolist()]
    hidden = np.isneginf(shown).ravel().tolist()
    places = np.indices(shown.shape)
    return {
        "type": "scatter",
        "mode": "text",
        "x": places[1].ravel().astype(np.float32),
        "y": (places[0].ravel() + first).astype(np.float32),
        "text": [
            "−∞" if nothing else compact(value) for nothing, value in zip(hidden, shown.ravel().tolist(), strict=True)
        ],
        "textfont": {
            "size": 11,
            "color": [theme.LIGHT["muted"] if nothing else ink for nothing, ink in zip(hidden, inks, strict=True)],
        },
        "yaxis": "y2",
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _layout(
    names: Sequence[str],
    keys: Sequence[str],
    first: int,
    selected: tuple[int, int] | None,
    caption: str,
    language: str,
) -> dict:
    told = wrapped(caption, CAPTION)
    below = 14 * len(told) + 10
    at = None if selected is None else (selected[1], selected[0] - first)
    at = at if at is not None and 0 <= at[1] < len(keys) else None
    short = [shorten(key, LONGEST_NAME) for key in keys]
    positions = [first + row for row in range(len(keys))]
    axes = token_axes(keys, positions, axis="y", selected=None if at is None else at[1], labels=short)
    most = MOST_ROWS_HIGH // ROW
    axes["yaxis2"] |= labelled(short, positions, most, None if at is None else at[1]) | {"tickfont": {"size": 12}}
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": "", "tickangle": 0, "fixedrange": True}
    headings = [f"<b>{escape(_say(name, language))}</b>" for name in names]
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": headings, "tickfont": {"size": 11}}
    axes["xaxis"] = bare | ticks | {"range": [-0.5, len(names) - 0.5], "side": "top"}
    return {
        **axes,
        "height": round(min(ROW, MOST_ROWS_HIGH / len(keys)) * len(keys)) + HEAD + below,
        "margin": {"l": 8, "r": 8, "t": HEAD, "b": below},
        "shapes": [] if at is None else [frame(at[0], at[1] + first)],
        "annotations": [note("\n".join(told), left=8 + 6 * max(map(width, short)))],
        "meta": {"caption": caption, "select": selectable((-0.5, first - 0.5), 1, (len(names), len(keys)), at)},
    }
