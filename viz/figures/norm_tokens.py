"""Mean and standard deviation of every token's vector before a norm: a norm looks at one token at a time."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, labelled, note, selectable, token_axes
from viz.figures.chart import wrapped
from viz.figures.curves import short_number
from viz.figures.grid import window_of

MOST_HIGH, ROW, LOWEST_ROW = 520, 22, 11  # pixels of all rows, of one, of the lowest whose numbers can be read
ABOVE, TICKS = 22, 22
FAR = 8  # times as long as the middle one: such a line runs out of the picture


def norm_tokens(
    mean: np.ndarray | None,
    std: np.ndarray,
    tokens: Sequence[str],
    *,
    selected: int | None = None,
    part: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """A row per token: a dot at its `mean` (token,), a line one `std` (token,) to each side, and the std in numbers.

    Without a mean (RMSNorm takes none away) `std` is the root mean square, a line from 0. `part` is a slice of the
    tokens. Raises ValueError where the shapes do not fit.
    """
    std = np.asarray(std, np.float64)
    middle = np.zeros(len(std)) if mean is None else np.asarray(mean, np.float64)
    if std.shape != (len(tokens),) or middle.shape != std.shape:
        raise ValueError(f"mean {middle.shape} and std {std.shape} do not fit {len(tokens)} tokens")
    shown = window_of(part, len(tokens))
    rows = np.arange(shown.start, shown.stop, dtype=np.float32)
    low = middle[shown.start : shown.stop] - (std[shown.start : shown.stop] if mean is not None else 0)
    high = (middle + std)[shown.start : shown.stop]
    lines = _lines(rows, low, high)
    dots = _dots(rows, middle, std, shown, mean is None, language)
    return theme.figure(
        [lines, dots, _anchor("y2"), _anchor("y3")],
        _layout(tokens, std, shown, (low, high), selected, mean is None, language),
    )


def _lines(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> dict:
    gap = np.full(len(rows), np.nan)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.stack([low, high, gap], 1).ravel().astype(np.float32),
        "y": np.stack([rows, rows, gap], 1).ravel().astype(np.float32),
        "line": {"color": theme.SOFT_ACCENT, "width": 6},
        "hoverinfo": "skip",
    }


def _dots(rows: np.ndarray, mean: np.ndarray, std: np.ndarray, shown: range, rms: bool, language: str) -> dict:
    part = slice(shown.start, shown.stop)
    key = "figure.norm_tokens.rms" if rms else "figure.norm_tokens.token"
    values = {"token": "%{y}", "std": "%{customdata[1]:.6g}"} | ({} if rms else {"mean": "%{customdata[0]:.6g}"})
    return {
        "type": "scatter",
        "mode": "markers",
        "x": (std if rms else mean)[part].astype(np.float32),
        "y": rows,
        "customdata": np.stack([mean, std], 1)[part].astype(np.float32),
        "marker": {"color": theme.LIGHT["accent"], "size": 7},
        "hovertemplate": message(key, language, **values) + "<extra></extra>",
    }


def _anchor(axis: str) -> dict:
    """Plotly shows an axis only where a trace stands on it."""
    nothing = np.full(1, np.nan, np.float32)
    return {"type": "scatter", "mode": "lines", "x": nothing, "y": nothing, "yaxis": axis, "hoverinfo": "skip"}


def _layout(
    tokens: Sequence[str],
    std: np.ndarray,
    shown: range,
    ends: tuple[np.ndarray, np.ndarray],
    selected: int | None,
    rms: bool,
    language: str,
) -> dict:
    count = len(shown)
    height = max(ROW, round(min(ROW, max(LOWEST_ROW, MOST_HIGH / count)) * count))
    inside = selected is not None and selected in shown
    at = (0, selected - shown.start) if inside and selected is not None else None
    box = frame(0, 0) | {"xref": "x domain", "x0": 0, "x1": 1}
    keys = ["caption_rms" if rms else "caption", *(["cut"] if _reach(*ends)[2] else [])]
    told = [line for key in keys for line in wrapped(message(f"figure.norm_tokens.{key}", language), 40)]
    foot = TICKS + 14 * len(told) + 8
    low, high, _ = _reach(*ends)
    edge = 0.04 * (high - low) or 0.5
    names = [tokens[index] for index in shown]
    axes = token_axes(names, list(shown), axis="y", selected=None if at is None else at[1])
    axes["yaxis2"] |= labelled(names, list(shown), MOST_HIGH // LOWEST_ROW, None if at is None else at[1])
    axes["yaxis2"] |= {"tickfont": {"size": min(12, max(9, height // count - 3))}}
    numbers = [short_number(float(f"{std[index]:.3g}")) for index in shown]
    right = axes["yaxis2"] | {"side": "right", "ticktext": numbers, "tickvals": list(shown), "matches": "y"}
    right |= {"tickfont": {"size": min(11, max(8, height // count - 2))}}
    line = {"showgrid": True, "gridcolor": theme.LIGHT["line"], "zeroline": True, "zerolinecolor": theme.LIGHT["hatch"]}
    return {
        **axes,
        "yaxis3": right,
        "xaxis": line
        | {"type": "linear", "range": [low - edge, high + edge], "nticks": 5, "fixedrange": True}
        | {"tickfont": {"size": 11}, "tickangle": 0, "ticks": ""},
        "height": ABOVE + height + foot,
        "margin": {"l": 8, "r": 8, "t": ABOVE, "b": foot},
        "shapes": [] if at is None else [box | {"y0": at[1] + shown.start - 0.5, "y1": at[1] + shown.start + 0.5}],
        "annotations": [_column_name(rms, language), note("\n".join(told), below=TICKS + 2, left=4)],
        "meta": {"caption": " ".join(told), "select": selectable((0, shown.start - 0.5), 1, (1, count), at)},
    }


def _reach(low: np.ndarray, high: np.ndarray) -> tuple[float, float, bool]:
    """From where to where is drawn, and whether something reaches beyond: one token's stream may be a hundred times as
    long as all others', and would leave nothing of them to see."""
    usual = np.median(high - low)
    kept = high - low <= FAR * usual
    if kept.all() or usual == 0:
        return min(float(low.min()), 0.0), float(high.max()), False
    return min(float(low[kept].min()), 0.0), float(high[kept].max()) * 1.5, True


def _column_name(rms: bool, language: str) -> dict:
    """What the numbers at the right are."""
    words = message("figure.norm_tokens.rms_short" if rms else "figure.norm_tokens.std_short", language)
    place = {"xref": "paper", "yref": "paper", "x": 1, "y": 1, "xanchor": "right", "yanchor": "bottom", "yshift": 4}
    return {"text": escape(words), "showarrow": False, "font": {"size": 11, "color": theme.LIGHT["muted"]}, **place}
