"""Why scores are divided by √d_k: their variance against d_k, and what softmax makes of scores that are too large."""

from dataclasses import replace
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures.chart import Panel, chart
from viz.figures.curves import at, curve, level, linear, logarithmic


class Variances(Protocol):
    """What is needed of a `ScoreVariance` (see `transformer/measure_scale.py`)."""

    @property
    def d_k(self) -> np.ndarray: ...
    @property
    def plain(self) -> np.ndarray: ...
    @property
    def scaled(self) -> np.ndarray: ...
    @property
    def samples(self) -> int: ...


class Saturation(Protocol):
    """What is needed of a `SoftmaxSaturation` (see `transformer/measure_scale.py`)."""

    @property
    def variance(self) -> np.ndarray: ...
    @property
    def entropy(self) -> np.ndarray: ...
    @property
    def jacobian(self) -> np.ndarray: ...
    @property
    def largest(self) -> np.ndarray: ...
    @property
    def n_keys(self) -> int: ...
    @property
    def samples(self) -> int: ...


def variance_chart(variances: Variances, *, language: str = "en") -> go.Figure:
    """Measured variances as signs, what theory says (d_k and 1) as thin grey lines."""
    d_k = np.asarray(variances.d_k, float)
    measured = np.concatenate([variances.plain, variances.scaled])
    theory = message("figure.scale.theory", language)
    one = level(d_k[[0, -1]].tolist(), [1, 1], theory)
    traces = [
        level(d_k[[0, -1]].tolist(), d_k[[0, -1]].tolist(), theory),
        one | {"showlegend": False},
        curve(d_k, variances.plain, "q · k", 0) | {"mode": "markers"},
        curve(d_k, variances.scaled, "q · k / √d_k", 1) | {"mode": "markers"},
    ]
    low, high = min(float(measured.min()), 1.0), max(float(measured.max()), float(d_k.max()))
    return chart(
        traces,
        [Panel(message("figure.scale.variance", language), logarithmic(low, high), at(d_k, log=True), "d_k")],
        title=message("figure.scale.title", language),
        facts=message("figure.scale.facts", language, samples=f"{variances.samples:,}"),
        panel_height=220,
    )


def saturation_chart(saturation: Saturation, *, language: str = "en") -> go.Figure:
    """Mean largest weight, entropy and gradient of softmax, against the variance of the scores."""
    variance, most = np.asarray(saturation.variance, float), float(np.log(saturation.n_keys))
    even = message("figure.saturation.even", language)
    jacobian = np.asarray(saturation.jacobian)
    ends = variance[[0, -1]].tolist()
    names = [message(f"figure.saturation.{name}", language) for name in ("largest", "entropy", "jacobian")]
    values = saturation.largest, saturation.entropy, jacobian
    traces = [
        curve(variance, value, name, 0, panel=panel) | {"showlegend": False}
        for panel, (value, name) in enumerate(zip(values, names, strict=True))
    ]
    traces.append(level(ends, [1 / saturation.n_keys] * 2, even))
    traces.append(level(ends, [most, most], even, panel=1) | {"showlegend": False})
    axes = linear(0, 1), linear(0, most), linear(0, float(jacobian.max()))
    panels = [Panel(name, axis, at(variance, log=True)) for name, axis in zip(names, axes, strict=True)]
    panels[-1] = replace(panels[-1], x_title=message("figure.saturation.variance", language))
    return chart(
        traces,
        panels,
        title=message("figure.saturation.title", language),
        facts=message("figure.saturation.facts", language, samples=f"{saturation.samples:,}", n_keys=saturation.n_keys),
        caption=message("figure.saturation.caption", language),
        panel_height=120,
    )
