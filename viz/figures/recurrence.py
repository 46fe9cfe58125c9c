"""A recurrent network beside the encoder: time, waiting and work against length, and recall against distance."""

from dataclasses import replace
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures.chart import Panel, chart
from viz.figures.curves import at, band, curve, level, logarithmic, percents, short_number

PANEL = 130  # pixels; there are three


class Times(Protocol):
    """What is needed of a `TimeAgainstLength` (see `transformer/measure_recurrence.py`)."""

    @property
    def kinds(self) -> tuple[str, ...]: ...
    @property
    def lengths(self) -> np.ndarray: ...
    @property
    def forward_ms(self) -> np.ndarray: ...  # (kind, run, length)
    @property
    def training_ms(self) -> np.ndarray: ...
    @property
    def waiting(self) -> np.ndarray: ...  # (kind, length)
    @property
    def multiply_adds(self) -> np.ndarray: ...
    @property
    def parameters(self) -> np.ndarray: ...  # (kind,)
    @property
    def batch(self) -> int: ...
    @property
    def d_model(self) -> int: ...
    @property
    def n_layers(self) -> int: ...
    @property
    def threads(self) -> int: ...


class RecallSettings(Protocol):
    @property
    def training(self) -> str: ...
    @property
    def steps(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def judged(self) -> int: ...


class Recall(Protocol):
    """What is needed of a `RecallAgainstDistance` (see `transformer/measure_recall.py`)."""

    @property
    def kinds(self) -> tuple[str, ...]: ...
    @property
    def distances(self) -> np.ndarray: ...
    @property
    def accuracy(self) -> np.ndarray: ...  # (kind, run, distance)
    @property
    def parameters(self) -> np.ndarray: ...
    @property
    def seconds(self) -> np.ndarray: ...
    @property
    def chance(self) -> float: ...
    @property
    def settings(self) -> RecallSettings: ...


def time_chart(times: Times, *, training: bool = False, language: str = "en") -> go.Figure:
    """Milliseconds of a forward pass (`training`: and a backward one), cells that wait, and multiplications, by length.

    The line is the median of the runs and the band all of them; all axes are logarithmic.
    """
    taken = np.asarray(times.training_ms if training else times.forward_ms)
    lengths = np.asarray(times.lengths)
    traces = []
    for style, kind in enumerate(times.kinds):
        name = _named(kind, int(times.parameters[style]), language)
        values = np.median(taken[style], axis=0), times.waiting[style], times.multiply_adds[style]
        traces += band(lengths, taken[style], style)
        traces += [curve(lengths, value, name, style, panel=panel) for panel, value in enumerate(values)]
    numbers = taken, times.waiting, times.multiply_adds
    units = [message(f"figure.time.{unit}", language) for unit in ("milliseconds", "waiting", "work")]
    panels = [
        Panel(unit, logarithmic(*_ends(value)), at(lengths, log=True))
        for unit, value in zip(units, numbers, strict=True)
    ]
    panels[-1] = replace(panels[-1], x_title=message("figure.time.length", language))
    facts = {"runs": taken.shape[1], "batch": times.batch, "d_model": times.d_model, "n_layers": times.n_layers}
    which = "training" if training else "forward"
    return chart(
        traces,
        panels,
        title=message(f"figure.time.title.{which}", language),
        facts=message("figure.time.facts", language, threads=times.threads, **facts),
        caption=message("figure.time.caption", language),
        panel_height=PANEL,
    )


def recall_chart(recall: Recall, *, language: str = "en") -> go.Figure:
    """How often the marked token is named, against the number of fillers behind it: mean of the runs, band over all."""
    distances, accuracy, settings = np.asarray(recall.distances), np.asarray(recall.accuracy), recall.settings
    traces = []
    for style, kind in enumerate(recall.kinds):
        name = _named(kind, int(recall.parameters[style]), language)
        traces += [*band(distances, accuracy[style], style), curve(distances, accuracy[style].mean(0), name, style)]
    guessing = message("figure.recall.chance", language, count=f"{1 / recall.chance:g}")
    traces.append(level(distances[[0, -1]].tolist(), [recall.chance] * 2, guessing))
    counts = {"steps": settings.steps, "batch": settings.batch, "judged": settings.judged}
    facts = message(f"figure.recall.facts.{settings.training}", language, runs=accuracy.shape[1], **counts)
    seconds = zip(recall.kinds, recall.seconds.tolist(), strict=True)
    taken = ", ".join(f"{message(f'figure.network.{kind}', language)} {one:.1f} s" for kind, one in seconds)
    below = message("figure.recall.distance", language)
    return chart(
        traces,
        [Panel(message("figure.recall.accuracy", language), percents(), at(distances, log=True), below)],
        title=message("figure.recall.title", language),
        facts=facts,
        caption=message(f"figure.recall.caption.{settings.training}", language, seconds=taken),
    )


def _named(kind: str, parameters: int, language: str) -> str:
    name = message(f"figure.network.{kind}", language)
    return message("figure.network.size", language, name=name, parameters=short_number(parameters))


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(np.min(values)), float(np.max(values))
