"""Rotary positions as clocks: each pair of dimensions is a hand that turns with the position, fast ones first.

Su et al. 2021 (RoFormer). Both query and key are turned; their product sees only the angle between both hands.
"""

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import note
from viz.figures.chart import wrapped
from viz.figures.curves import short_number

COLUMNS = 8
CELL = 46  # pixels of a clock with the room around it
LOWER = 1.3  # from row to row, in widths of a clock's room: its number stands below it
RADIUS = 0.44
ROUND = np.linspace(0, 2 * np.pi, 33)
MOST = 128  # clocks


def rotary_dials(
    query_angles: np.ndarray,
    key_angles: np.ndarray,
    pairs: np.ndarray,
    frequencies: np.ndarray,
    *,
    names: tuple[str, str] = ("query", "key"),
    language: str = "en",
) -> go.Figure:
    """`query_angles` and `key_angles` (pair,) in radians, of the chosen query and key, whose tokens are `names`.

    `pairs` (pair, 2) are the dimensions of each pair, `frequencies` (pair,) radians per position. A hand that points up
    has not turned; it turns as a clock's does. Raises ValueError where the shapes do not fit.
    """
    query_angles, key_angles, frequencies = (
        np.asarray(one, np.float64) for one in (query_angles, key_angles, frequencies)
    )
    count, pairs = len(query_angles), np.asarray(pairs)
    if (
        pairs.shape != (count, 2)
        or key_angles.shape != (count,)
        or frequencies.shape != (count,)
        or not 0 < count <= MOST
    ):
        raise ValueError(f"angles {query_angles.shape} and {key_angles.shape} do not fit pairs {pairs.shape}")
    columns = min(COLUMNS, count)
    x, y = (np.arange(count) % columns).astype(np.float64), LOWER * (np.arange(count) // columns)
    traces = [
        _faces(x, y),
        _hands(x, y, key_angles, 0.86 * RADIUS, "k"),
        _hands(x, y, query_angles, RADIUS, "q"),
        _hover(x, y, query_angles, key_angles, pairs, frequencies, language),
    ]
    return theme.figure(traces, _layout(columns, -(-count // columns), names, language))


def _lines(x: np.ndarray, y: np.ndarray, colour: str, width: float) -> dict:
    line = {"color": colour, "width": width}
    place = {"x": x.ravel().astype(np.float32), "y": y.ravel().astype(np.float32)}
    return {"type": "scatter", "mode": "lines", "line": line, "hoverinfo": "skip", **place}


def _faces(x: np.ndarray, y: np.ndarray) -> dict:
    """All rims in one trace, NaN between them."""
    gap = np.full((len(x), 1), np.nan)
    rim_x = np.hstack([x[:, None] + RADIUS * np.sin(ROUND), gap])
    rim_y = np.hstack([y[:, None] - RADIUS * np.cos(ROUND), gap])
    return _lines(rim_x, rim_y, theme.LIGHT["hatch"], 1.2)


def _hands(x: np.ndarray, y: np.ndarray, angles: np.ndarray, long: float, tone: str) -> dict:
    """From the middle outwards; rows are counted downwards, so that up is minus."""
    gap = np.full(len(x), np.nan)
    tips = np.stack([x, x + long * np.sin(angles), gap], axis=1), np.stack([y, y - long * np.cos(angles), gap], axis=1)
    return _lines(*tips, theme.LIGHT[tone], 2.4 if tone == "q" else 3.2)


def _hover(
    x: np.ndarray,
    y: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    pairs: np.ndarray,
    frequencies: np.ndarray,
    language: str,
) -> dict:
    """Clear marks over the clocks that say their numbers; below each, its number."""
    words = [
        message(
            "figure.dials.hover",
            language,
            first=int(first),
            second=int(second),
            query=f"{looks:.4f}",
            key=f"{seen:.4f}",
            frequency=short_number(float(f"{fast:.4g}")),
            wave=short_number(float(f"{2 * np.pi / fast:.4g}")) if abs(fast) > 1e-9 else "∞",
        )
        for (first, second), looks, seen, fast in zip(
            pairs.tolist(), query.tolist(), key.tolist(), frequencies.tolist(), strict=True
        )
    ]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": x.astype(np.float32),
        "y": (y + 0.6).astype(np.float32),
        "text": [str(number) for number in range(len(x))],
        "textfont": {"size": 10, "color": theme.LIGHT["muted"]},
        "textposition": "middle center",
        "marker": {"size": CELL * 0.8, "color": theme.CLEAR},
        "customdata": np.arange(len(x), dtype=np.float32),
        "hovertext": words,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "cliponaxis": False,
    }


def _layout(columns: int, rows: int, names: tuple[str, str], language: str) -> dict:
    caption = message("figure.dials.caption", language, query=names[0], key=names[1])
    lines = wrapped(caption, 46)
    bare = {
        "type": "linear",
        "showgrid": False,
        "zeroline": False,
        "showticklabels": False,
        "ticks": "",
        "fixedrange": True,
    }
    foot = 14 * len(lines) + 12
    return {
        "xaxis": bare | {"range": [-0.55, columns - 0.45], "scaleanchor": "y", "constrain": "domain"},
        "yaxis": bare | {"range": [LOWER * rows - 0.5, -0.55], "constrain": "domain", "constraintoward": "top"},
        "height": round(CELL * LOWER * rows) + 12 + foot,
        "margin": {"l": 8, "r": 8, "t": 4, "b": foot},
        "annotations": [note("\n".join(lines), below=6)],
        "meta": {"caption": caption},
    }
