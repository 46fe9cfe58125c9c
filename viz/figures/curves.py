"""Curves of measurements: lines with signs, bands over runs, grey levels for what theory says, and their axes."""

from collections.abc import Sequence

import numpy as np

from viz.figures import theme
from viz.figures.axes import escape, thinned

DASHES = ("solid", "dash", "dot", "dashdot")
SIGNS = ("circle", "square", "diamond", "triangle-up")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))  # from where, in what
MOST_TICKS = 8  # more numbers do not stand side by side on a phone


def curve(x: np.ndarray, y: np.ndarray, name: str, style: int, *, panel: int = 0, dash: str | None = None) -> dict:
    """One line with a sign at each point. Colour, dash and sign go together: `style` counts them."""
    colour = theme.CLASSES[style % len(theme.CLASSES)]
    number = "" if panel == 0 else str(panel + 1)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": np.asarray(x),
        "y": np.asarray(y),
        "name": escape(name),
        "legendgroup": str(style),
        "showlegend": panel == 0,
        "line": {"color": colour, "width": 2, "dash": dash or DASHES[style % len(DASHES)]},
        "marker": {"color": colour, "size": 7, "symbol": SIGNS[style % len(SIGNS)]},
        "hovertemplate": f"{escape(name)}<br>%{{x}} · <b>%{{y:.4g}}</b><extra></extra>",
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "cliponaxis": False,
    }


def band(x: np.ndarray, runs: np.ndarray, style: int, *, panel: int = 0) -> list[dict]:
    """From the lowest to the highest of `runs` (run, x) as a pale band; nothing where there is one run."""
    if len(runs) < 2:
        return []
    number = "" if panel == 0 else str(panel + 1)
    outline = {
        "type": "scatter",
        "mode": "lines",
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([runs.max(0), runs.min(0)[::-1]]),
        "fill": "toself",
        "fillcolor": theme.CLASSES[style % len(theme.CLASSES)],
        "line": {"width": 0},
        "opacity": 0.16,
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": str(style),
    }
    return [outline | {"xaxis": f"x{number}", "yaxis": f"y{number}"}]


def level(x: Sequence[float], y: Sequence[float], name: str, *, panel: int = 0) -> dict:
    """A thin grey line for what theory or guessing gives."""
    line = curve(np.asarray(x, float), np.asarray(y, float), name, 0, panel=panel)
    grey = {"color": theme.LIGHT["muted"], "width": 1.5, "dash": "dot"}
    return line | {"mode": "lines", "line": grey, "legendgroup": escape(name), "showlegend": True, "marker": {}}


def logarithmic(low: float, high: float) -> dict:
    """A log axis from a little below `low` to a little above `high`, ticks at powers of ten, or 1, 2, 5 in between."""
    first, last = np.log10(low), np.log10(high)
    edge = max(0.06 * (last - first), 0.02)
    powers = np.arange(np.ceil(first - edge), np.floor(last + edge) + 1)
    if len(powers) > 2:
        ticks = (10.0 ** powers[:: -(-len(powers) // 6)]).tolist()
    else:
        powers = np.arange(np.floor(first), np.ceil(last) + 1)
        ticks = [step * 10.0**power for power in powers.tolist() for step in (1, 2, 5)]
    return {
        "type": "log",
        "range": [first - edge, last + edge],
        "tickvals": ticks,
        "ticktext": [short_number(tick) for tick in ticks],
    }


def at(values: np.ndarray, *, log: bool = False) -> dict:
    """An axis with its ticks at the measured `values`, as many as can stand side by side."""
    numbers = np.asarray(values, float)
    places = np.log10(numbers) if log else numbers
    low, high = float(places[0]), float(places[-1])
    edge = 0.04 * (high - low) or 0.5
    ticks: list[int] = []
    for index in thinned(len(numbers), MOST_TICKS):
        if not ticks or places[index] - places[ticks[-1]] >= 0.75 * (high - low) / MOST_TICKS:
            ticks.append(index)
    shown = numbers[ticks].tolist()
    axis = {"type": "log" if log else "linear", "range": [low - edge, high + edge], "tickvals": shown}
    return axis | {"ticktext": [short_number(tick) for tick in shown]}


def linear(low: float, high: float) -> dict:
    edge = 0.05 * (high - low) or 0.5
    return {"type": "linear", "range": [low - edge, high + edge], "nticks": 6}


def percents() -> dict:
    """Shares from 0 to 1."""
    ticks = [0, 0.25, 0.5, 0.75, 1]
    return {"type": "linear", "range": [-0.04, 1.04], "tickvals": ticks, "ticktext": [f"{tick:.0%}" for tick in ticks]}


def short_number(value: float) -> str:
    """ "512", "0.25", "1.05M", and far from 1 a power of ten, "3·10⁻⁶": for ticks and legends."""
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-3 or size >= 1e12:
        power = int(np.floor(np.log10(size) + 1e-9))
        factor = f"{value / 10.0**power:.3g}"
        text = ("" if factor == "1" else f"{factor}·") + "10" + str(power).translate(_RAISED)
    else:
        unit, letter = next(((unit, letter) for least, unit, letter in _UNITS if size >= least), (1.0, ""))
        text = f"{value / unit:.3g}{letter}" if letter else f"{value:.4g}"
    return text.replace("-", "−")
