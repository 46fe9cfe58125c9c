"""What a visitor clicked, pressed or set. It comes from the browser, so anything may be in it: here it is checked."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

KEYS = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "Enter")


@dataclass(frozen=True)
class Pick:
    """Of a figure: where; of HTML: the `data-…` of what was clicked. None where the browser sent nothing usable."""

    column: int | None = None  # on the grid in the figure's `layout.meta["select"]`, see `viz.figures.axes.selectable`
    row: int | None = None
    x: float | None = None
    y: float | None = None
    z: float | None = None
    curve: int | None = None
    custom: float | None = None  # the `customdata` of the point
    key: str | None = None  # one of KEYS
    data: Mapping[str, str] = field(default_factory=dict)

    def whole(self, name: str) -> int | None:
        """The whole number in `data-<name>`."""
        return whole(self.data.get(name))


def picked(event: gr.EventData) -> Pick:
    data = data_of(event)
    column, row, curve = (whole(data.get(name)) for name in ("column", "row", "curve"))
    x, y, z, custom = (real(data.get(name)) for name in ("x", "y", "z", "custom"))
    key = data.get("key")
    texts = {name: value for name, value in data.items() if isinstance(name, str) and isinstance(value, str)}
    return Pick(column, row, x, y, z, curve, custom, key if isinstance(key, str) and key in KEYS else None, texts)


def data_of(event: gr.EventData) -> dict[str, Any]:
    """What the browser sent, unchecked."""
    data = getattr(event, "_data", None)
    return dict(data) if isinstance(data, Mapping) else {}


def whole_of(event: gr.EventData, name: str) -> int | None:
    """The whole number in `data-<name>` of what was clicked, None if there is none."""
    return whole(data_of(event).get(name))


def real(value: object) -> float | None:
    """A number that came from the browser; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > 32:
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def whole(value: object) -> int | None:
    """A whole number that came from the browser; None for anything else."""
    number = real(value)
    return int(number) if number is not None and number.is_integer() and abs(number) < 2**31 else None
