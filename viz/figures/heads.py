"""One head against several: how often both neighbours of a token are named, while training."""

from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures.chart import Panel, chart
from viz.figures.curves import band, curve, linear, percents
from viz.figures.predictions import percent


class Settings(Protocol):
    @property
    def batch(self) -> int: ...
    @property
    def judged(self) -> int: ...
    @property
    def length(self) -> int: ...


class Curves(Protocol):
    """What is needed of `HeadsCurves` (see `transformer/measure_heads.py`)."""

    @property
    def n_heads(self) -> tuple[int, ...]: ...
    @property
    def steps(self) -> np.ndarray: ...
    @property
    def both(self) -> np.ndarray: ...  # (n_heads, run, evaluation)
    @property
    def before(self) -> np.ndarray: ...
    @property
    def after(self) -> np.ndarray: ...
    @property
    def parameters(self) -> np.ndarray: ...  # (n_heads,)
    @property
    def settings(self) -> Settings: ...


def heads_chart(curves: Curves, *, language: str = "en") -> go.Figure:
    """A curve for each number of heads: mean of the runs, band from the worst to the best.

    The note says what the smallest number of heads reaches on either neighbour at the end.
    """
    steps, both = np.asarray(curves.steps), np.asarray(curves.both)
    traces = []
    for style, n_heads in enumerate(curves.n_heads):
        name = message("figure.heads.one" if n_heads == 1 else "figure.heads.several", language, count=n_heads)
        traces += [*band(steps, both[style], style), curve(steps, both[style].mean(0), name, style)]
    fewest = int(np.argmin(curves.n_heads))
    ends = np.stack([curves.before[fewest, :, -1], curves.after[fewest, :, -1]])  # (neighbour, run)
    caption = message(
        "figure.heads.caption",
        language,
        count=curves.n_heads[fewest],
        better=percent(float(ends.max(0).mean())),
        worse=percent(float(ends.min(0).mean())),
    )
    sizes = dict.fromkeys(f"{int(size):,}" for size in curves.parameters)
    facts = {"batch": curves.settings.batch, "judged": curves.settings.judged, "runs": both.shape[1]}
    along = linear(float(steps[0]), float(steps[-1]))
    return chart(
        traces,
        [Panel(message("figure.heads.accuracy", language), percents(), along, message("figure.heads.steps", language))],
        title=message("figure.heads.title", language),
        facts=message("figure.heads.facts", language, parameters=" / ".join(sizes), **facts),
        caption=caption,
        panel_height=220,
    )
