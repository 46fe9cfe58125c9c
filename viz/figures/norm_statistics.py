"""BatchNorm against LayerNorm: whose mean and spread does padding move?"""

from typing import Literal, Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.chart import Panel, chart
from viz.figures.curves import at, curve, linear


class Statistics(Protocol):
    @property
    def mean(self) -> np.ndarray: ...
    @property
    def std(self) -> np.ndarray: ...


class NormStatistics(Protocol):
    """What is needed of `NormStatistics` (see `transformer/measure_norms.py`)."""

    @property
    def batch_padded(self) -> Statistics: ...
    @property
    def batch_real(self) -> Statistics: ...
    @property
    def layer_padded(self) -> Statistics: ...
    @property
    def layer_real(self) -> Statistics: ...
    @property
    def batch_moved(self) -> float: ...
    @property
    def layer_moved(self) -> float: ...
    @property
    def texts(self) -> np.ndarray: ...
    @property
    def padding(self) -> float: ...


def norm_chart(
    statistics: NormStatistics, *, statistic: Literal["mean", "std"] = "std", language: str = "en"
) -> go.Figure:
    """`statistic` of each feature (BatchNorm, above) and of each real token (LayerNorm, below).

    A ring is what it is without padding, a filled sign what it is with padding; a line joins the two.
    """
    traces: list[dict] = []
    panels = []
    pairs = (statistics.batch_real, statistics.batch_padded), (statistics.layer_real, statistics.layer_padded)
    for panel, (norm, pair) in enumerate(zip(("batch", "layer"), pairs, strict=True)):
        real, padded = (np.asarray(getattr(one, statistic)) for one in pair)
        traces += _dumbbells(real, padded, panel, language)
        axis = linear(float(min(real.min(), padded.min())), float(max(real.max(), padded.max())))
        unit, below = (message(f"figure.norms.{norm}.{word}", language) for word in (statistic, "each"))
        panels.append(Panel(unit, axis, at(np.arange(len(real))), below))
    counts = {"texts": len(np.unique(statistics.texts)), "tokens": len(statistics.texts)}
    moved = {"batch": f"{statistics.batch_moved:.3g}", "layer": f"{statistics.layer_moved:.3g}"}
    return chart(
        traces,
        panels,
        title=message(f"figure.norms.title.{statistic}", language),
        facts=message("figure.norms.facts", language, padding=f"{statistics.padding:.0%}", **counts),
        caption=message("figure.norms.caption", language, **moved),
        panel_height=150,
    )


def _dumbbells(real: np.ndarray, padded: np.ndarray, panel: int, language: str) -> list[dict]:
    """From a ring (without padding) to a filled sign (with it), for each feature or token."""
    places = np.arange(len(real), dtype=float)
    gap = np.full(len(real), np.nan)
    joined = np.stack([real, padded, gap], axis=1).ravel()
    grey = {"color": theme.LIGHT["muted"], "width": 1.5, "dash": "solid"}
    line = curve(np.repeat(places, 3), joined, "", 0, panel=panel)
    line |= {"mode": "lines", "line": grey, "showlegend": False, "hoverinfo": "skip", "hovertemplate": None}
    ring = curve(places, real, message("figure.norms.without", language), 0, panel=panel)
    ring["marker"] = ring["marker"] | {"symbol": "circle-open", "size": 11, "line": {"width": 2}}
    filled = curve(places, padded, message("figure.norms.with", language), 1, panel=panel)
    filled["marker"] = filled["marker"] | {"symbol": "diamond", "size": 6}
    return [line, ring | {"mode": "markers"}, filled | {"mode": "markers"}]
