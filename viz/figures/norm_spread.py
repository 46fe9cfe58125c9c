"""The numbers of one token's vector as dots on a line, before a norm, normalised, and after γ and β."""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note
from viz.figures.chart import wrapped
from viz.figures.norm_rows import rows_of

STRIP, ABOVE, BELOW = 46, 22, 20  # pixels of a strip, of its name above and its ticks below
MOST_DOTS = 1024  # of more dimensions, only every second, third … is drawn, and the caption says so
TONES = {"before": "residual", "normalized": "muted", "after": "accent"}
_TURN = 0.618034  # the golden ratio's fraction: neighbours lie far apart


def norm_spread(
    before: np.ndarray,
    normalized: np.ndarray,
    after: np.ndarray,
    *,
    selected: int | None = None,
    language: str = "en",
) -> go.Figure:
    """All vectors are (d_model,); a dot's height means nothing. The band reaches one standard deviation to each side of
    the mean. `selected` is the dimension with the orange dot. Raises ValueError where the shapes do not fit."""
    values, names = rows_of(before, normalized, after)
    step = -(-values.shape[1] // MOST_DOTS)
    dims = np.unique(np.append(np.arange(0, values.shape[1], step), [] if selected is None else [selected])).astype(int)
    traces, layout = [], _layout(values, names, step, language)
    for row, name in enumerate(names):
        traces += _dots(values[row, dims], dims, name, row, language)
        if selected is not None:
            traces.append(_chosen(values[row, selected], selected, row))
    return theme.figure(traces, layout)


def _axis_name(row: int) -> str:
    return "" if row == 0 else str(row + 1)


def _heights(dims: np.ndarray) -> np.ndarray:
    """Where a dot stands between the edges of its strip: always the same for a dimension, and without meaning."""
    return (0.12 + 0.76 * ((dims * _TURN) % 1)).astype(np.float32)


def _dots(values: np.ndarray, dims: np.ndarray, name: str, row: int, language: str) -> list[dict]:
    hover = message("figure.norm_spread.dot", language, dimension="%{customdata}", value="%{x:.6g}")
    place = {"xaxis": f"x{_axis_name(row)}", "yaxis": f"y{_axis_name(row)}"}
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": values.astype(np.float32),
            "y": _heights(dims),
            "customdata": dims.astype(np.int32),
            "marker": {"color": theme.LIGHT[TONES[name]], "size": 5, "opacity": 0.55},
            "name": escape(message(f"figure.norm_rows.{name}", language)),
            "hovertemplate": f"{hover}<extra></extra>",
            "cliponaxis": False,
            **place,
        }
    ]


def _chosen(value: float, dimension: int, row: int) -> dict:
    ring = {"color": theme.LIGHT["select"], "size": 10, "line": {"color": theme.LIGHT["card"], "width": 1.5}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.array([value], np.float32),
        "y": _heights(np.array([dimension])),
        "customdata": np.array([dimension], np.int32),
        "marker": ring,
        "hoverinfo": "skip",
        "cliponaxis": False,
        "xaxis": f"x{_axis_name(row)}",
        "yaxis": f"y{_axis_name(row)}",
    }


def _layout(values: np.ndarray, names: tuple[str, ...], step: int, language: str) -> dict:
    each = ABOVE + STRIP + BELOW
    told = [message("figure.norm_spread.caption", language)]
    if step > 1:
        told.append(message("figure.norm_spread.thinned", language, step=step, count=values.shape[1]))
    lines = [line for one in told for line in wrapped(one, 48)]
    plot, foot = each * len(names) - ABOVE - BELOW, BELOW + 14 * len(lines) + 8
    layout: dict = {
        "height": ABOVE + plot + foot,
        "margin": {"l": 12, "r": 12, "t": ABOVE, "b": foot},
        "shapes": [],
        "annotations": [note("\n".join(lines), below=BELOW + 4, left=4)],
        "meta": {"caption": " ".join(told)},
    }
    for row, name in enumerate(names):
        top = 1 - row * each / plot
        mean, std = float(values[row].mean()), float(values[row].std())
        layout |= _axes(values[row], row, [max(0.0, top - STRIP / plot), top])
        layout["shapes"] += _band(mean, std, row)
        layout["annotations"].append(_heading(name, mean, std, top, language))
    return layout


def _axes(values: np.ndarray, row: int, domain: list[float]) -> dict:
    low, high = float(values.min()), float(values.max())
    edge = 0.04 * (high - low) or 0.5
    number = _axis_name(row)
    line = {"showgrid": True, "gridcolor": theme.LIGHT["line"], "zeroline": True, "zerolinecolor": theme.LIGHT["hatch"]}
    across = line | {"type": "linear", "range": [low - edge, high + edge], "nticks": 7, "tickfont": {"size": 11}}
    across |= {"ticks": "", "tickangle": 0, "fixedrange": True, "anchor": f"y{number}"}
    along = {"range": [0, 1], "visible": False, "domain": domain, "anchor": f"x{number}", "fixedrange": True}
    return {f"xaxis{number}": across, f"yaxis{number}": along}


def _band(mean: float, std: float, row: int) -> list[dict]:
    """One standard deviation to each side of the mean, and the mean."""
    place = {"xref": f"x{_axis_name(row)}", "yref": f"y{_axis_name(row)} domain", "y0": 0, "y1": 1, "layer": "below"}
    band = place | {
        "type": "rect",
        "x0": mean - std,
        "x1": mean + std,
        "fillcolor": theme.LIGHT["line"],
        "line": {"width": 0},
    }
    middle = place | {"type": "line", "x0": mean, "x1": mean, "line": {"color": theme.LIGHT["ink"], "width": 1.5}}
    return [band | {"name": "spread"}, middle | {"name": "mean"}]


def _heading(name: str, mean: float, std: float, top: float, language: str) -> dict:
    settled = 0.0 if abs(mean) < 1e-6 * std else mean  # rounding around 0 is no mean
    numbers = {"mean": f"{settled:.4g}".replace("-", "−"), "std": f"{std:.4g}"}
    words = message("figure.norm_spread.strip", language, row=message(f"figure.norm_rows.{name}", language), **numbers)
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": top, "xanchor": "left", "yanchor": "bottom", "yshift": 3}
    return {"text": escape(words), "showarrow": False, "font": {"size": 12, "color": theme.LIGHT["ink"]}, **place}
