"""With and without the residual connection: gradients layer by layer, and whether tokens still differ."""

from dataclasses import replace
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures.chart import Panel, chart
from viz.figures.curves import at, curve, logarithmic, short_number

SMALLEST = 1e-17  # an exact zero has no place on a logarithmic axis; double precision ends above this


class Settings(Protocol):
    @property
    def n_layers(self) -> int: ...
    @property
    def d_model(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def length(self) -> int: ...


class Gradients(Protocol):
    """What is needed of `ResidualGradients` (see `transformer/measure_residual.py`)."""

    @property
    def norms(self) -> tuple[str, ...]: ...
    @property
    def weights(self) -> np.ndarray: ...  # (norm, residual, layer)
    @property
    def query_key(self) -> np.ndarray: ...
    @property
    def difference(self) -> np.ndarray: ...  # (norm, residual, layer + 1)
    @property
    def settings(self) -> Settings: ...


def residual_chart(gradients: Gradients, *, language: str = "en") -> go.Figure:
    """Three panels by layer: gradient of all weights, of query and key, and how much the tokens of a text differ."""
    quantities = ("weights", "query_key", "difference")
    traces, panels = [], []
    for panel, quantity in enumerate(quantities):
        values = np.maximum(getattr(gradients, quantity), SMALLEST)
        layers = np.arange(values.shape[-1])
        for place, norm in enumerate(gradients.norms):
            for residual, word in enumerate(("with", "without")):
                name = message(f"figure.residual.{word}", language, norm=message(f"figure.norm.{norm}", language))
                style = 2 * place + residual
                traces.append(curve(layers, values[place, residual], name, style, panel=panel))
        low, high = float(values.min()), float(values.max())
        unit = message(f"figure.residual.{quantity}", language)
        panels.append(Panel(unit, logarithmic(low, high), at(np.arange(gradients.settings.n_layers + 1))))
    below = message("figure.residual.layer", language, last=gradients.settings.n_layers)
    panels[-1] = replace(panels[-1], x_title=below)
    settings = gradients.settings
    names = [message(f"figure.norm.{norm}", language) for norm in gradients.norms]
    kept, lost = (" / ".join(map(short_number, gradients.difference[:, side, -1].tolist())) for side in (0, 1))
    sizes = {"n_layers": settings.n_layers, "d_model": settings.d_model}
    return chart(
        traces,
        panels,
        title=message("figure.residual.title", language),
        facts=message("figure.residual.facts", language, texts=settings.batch, length=settings.length, **sizes),
        caption=message("figure.residual.caption", language, norms=" / ".join(names), kept=kept, lost=lost),
        panel_height=140,
    )
