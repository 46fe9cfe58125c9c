"""The colours of a map with what they stand for, level, at the right below it."""

from collections.abc import Sequence
from typing import Any


def scale_bar(title: str, ticks: Sequence[float], *, below: int = 8, **labels: Any) -> dict:
    """For a trace's `colorbar`; `labels` are Plotly's `ticktext` or `tickformat`, `below` pixels under the map."""
    return {
        "orientation": "h",
        "thickness": 8,
        "len": 0.5,
        "x": 1,
        "xanchor": "right",
        "y": 0,
        "yanchor": "top",
        "ypad": below,
        "outlinewidth": 0,
        "tickvals": list(ticks),
        "title": {"text": title, "side": "top", "font": {"size": 11}},
        "tickfont": {"size": 11},
        **labels,
    }
