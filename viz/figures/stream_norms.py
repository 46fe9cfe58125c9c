"""The residual stream layer by layer: how long its vectors are, what each part added, and in which direction."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, selectable, thinned
from viz.figures.chart import Panel, chart
from viz.figures.curves import linear, logarithmic

WIDE_RANGE = 30  # from the shortest to the longest: more, and the axis is logarithmic
MOST_TICKS = 8
_LATER = {"ffn": theme.CLASSES[2], "cross": theme.CLASSES[1]}
_SIGNS = {"self": "circle", "cross": "diamond", "ffn": "square"}


class Spread(Protocol):
    """What is needed of a `Spread` (see `transformer/residual_stream.py`): over tokens, (point,) each."""

    @property
    def mean(self) -> np.ndarray: ...
    @property
    def low(self) -> np.ndarray: ...
    @property
    def high(self) -> np.ndarray: ...


def stream_norms(
    lengths: np.ndarray,
    others: Spread | None = None,
    first: np.ndarray | None = None,
    *,
    token: str,
    selected: int | None = None,
    language: str = "en",
) -> go.Figure:
    """‖x‖ of the chosen `token` (layer + 1,): what enters layer 0, then what leaves each layer.

    `others` are the text's other tokens, `first` its first one, whose stream is often far longer than any other.
    `selected` is the layer in the orange frame. Raises ValueError where the shapes do not fit.
    """
    lengths = np.asarray(lengths, np.float64)
    lines = [lengths, *([] if others is None else [others.mean, others.low, others.high])]
    lines += [] if first is None else [np.asarray(first)]
    if lengths.ndim != 1 or len(lengths) < 2 or any(np.shape(line) != lengths.shape for line in lines):
        raise ValueError(f"lines by layer have one length, got {[np.shape(line) for line in lines]}")
    x = np.arange(-1, len(lengths) - 1)
    traces: list[dict] = []
    if others is not None:
        traces += [_band(x, others), _line(x, others.mean, _say("others", language), "muted", "solid", 1.5, language)]
    if first is not None:
        traces.append(_line(x, first, _say("first", language), "muted", "dot", 1.5, language))
    chosen = _line(x, lengths, _say("chosen", language, token=token), "residual", "solid", 3, language)
    traces.append(chosen | {"mode": "lines+markers", "marker": {"color": theme.LIGHT["residual"], "size": 6}})
    every = np.concatenate(lines)
    log = _is_wide(every)
    panel = Panel(
        _unit("length", log, language),
        _axis(every, log),
        _layers(len(lengths) - 1, True, language),
        _say("layer", language),
    )
    return _selectable(_chart(traces, panel, "norms", language), len(lengths), -1, selected)


def stream_added(
    added: Mapping[str, np.ndarray],
    *,
    token: str,
    selected: int | None = None,
    language: str = "en",
) -> go.Figure:
    """‖what each part added‖ to the stream of `token`: part ("self", "cross", "ffn", …) → (layer,), NaN if unknown.

    Bars from 0; where lengths differ by more than thirty times, dots on a logarithmic axis, since a bar has no foot
    there. Raises ValueError where the shapes do not fit.
    """
    values = _checked(added)
    every = np.concatenate(list(values.values()))
    known = every[np.isfinite(every) & (every > 0)]
    log = _is_wide(known)
    count = len(next(iter(values.values())))
    traces = []
    for place, (part, one) in enumerate(values.items()):
        shift = (place - (len(values) - 1) / 2) * 0.8 / len(values)
        mark = (
            _part_dots(part, one, 0.0, language) if log else _part_bars(part, one, shift, 0.8 / len(values), language)
        )
        traces.append(mark)
    axis = (
        _axis(known, True)
        if log
        else {"type": "linear", "range": [0, 1.05 * float(known.max(initial=0)) or 1], "nticks": 6}
    )
    panel = Panel(_unit("added", log, language), axis, _layers(count, False, language), _say("layer", language))
    return _selectable(_chart(traces, panel, "added", language, token=token), count, 0, selected)


def stream_directions(
    added: Mapping[str, np.ndarray],
    between: np.ndarray,
    *,
    token: str,
    selected: int | None = None,
    language: str = "en",
) -> go.Figure:
    """Cosines −1 … 1 for `token`: of what each part added with the stream it was added to, part → (layer,), and of the
    stream before a layer with the stream behind it, `between` (layer,). Raises ValueError where the shapes do not fit.
    """
    values = _checked(added, len(between))
    x = np.arange(len(between))
    traces = [_line(x, np.asarray(between), _say("between", language), "residual", "solid", 2, language)]
    traces += [_part_dots(part, one, 0.0, language) for part, one in values.items()]
    axis: dict = {"type": "linear", "range": [-1.08, 1.08], "tickvals": [-1, -0.5, 0, 0.5, 1]}
    axis |= {"ticktext": ["−1", "−0.5", "0", "0.5", "1"], "zeroline": True, "zerolinecolor": theme.LIGHT["muted"]}
    panel = Panel(_say("cosine", language), axis, _layers(len(between), False, language), _say("layer", language))
    return _selectable(_chart(traces, panel, "directions", language, token=token), len(between), 0, selected)


def part_name(part: str, language: str = "en") -> str:
    """ "attention", "cross-attention", "feed-forward", "feed-forward 2"."""
    known = part if part in ("self", "cross") else "ffn"
    number = part.removeprefix("ffn") if known == "ffn" else ""
    return f"{message(f'norm.part.{known}', language)}{' ' + number if number else ''}"


# --- marks -----------------------------------------------------------------------------------------------------------


def _say(key: str, language: str, **values: object) -> str:
    return message(f"figure.stream.{key}", language, **values)


def _line(x: np.ndarray, y: np.ndarray, name: str, tone: str, dash: str, width: float, language: str) -> dict:
    hover = _say("hover", language, name=escape(name), layer="%{x}", value="%{y:.5g}")
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x.astype(np.int32),
        "y": np.asarray(y, np.float32),
        "name": escape(name),
        "line": {"color": theme.LIGHT[tone], "width": width, "dash": dash},
        "showlegend": True,
        "hovertemplate": f"{hover}<extra></extra>",
        "cliponaxis": False,
    }


def _band(x: np.ndarray, others: Spread) -> dict:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.concatenate([x, x[::-1]]).astype(np.int32),
        "y": np.concatenate([others.high, others.low[::-1]]).astype(np.float32),
        "fill": "toself",
        "fillcolor": theme.LIGHT["muted"],
        "line": {"width": 0},
        "opacity": 0.18,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _tone(part: str) -> str:
    """Attention in the accent, as its weights are; the others in tones of kinds."""
    return _LATER.get("ffn" if part.startswith("ffn") else part, theme.LIGHT["accent"])


def _part_bars(part: str, values: np.ndarray, shift: float, width: float, language: str) -> dict:
    layers = np.arange(len(values))
    hover = _say("hover", language, name=escape(part_name(part, language)), layer="%{customdata}", value="%{y:.5g}")
    return {
        "type": "bar",
        "x": (layers + shift).astype(np.float32),
        "y": values.astype(np.float32),
        "width": width,
        "customdata": layers.astype(np.int32),
        "name": escape(part_name(part, language)),
        "marker": {"color": _tone(part)},
        "showlegend": True,
        "hovertemplate": f"{hover}<extra></extra>",
    }


def _part_dots(part: str, values: np.ndarray, shift: float, language: str) -> dict:
    line = _line(np.arange(len(values)), values, part_name(part, language), "muted", "dot", 1, language)
    line["x"] = (line["x"] + shift).astype(np.float32)
    sign = _SIGNS.get(part, "triangle-up")
    return line | {
        "mode": "lines+markers",
        "line": {"color": _tone(part), "width": 1, "dash": "dot"},
        "marker": {"color": _tone(part), "size": 8, "symbol": sign},
    }


# --- places ----------------------------------------------------------------------------------------------------------


def _checked(added: Mapping[str, np.ndarray], count: int | None = None) -> dict[str, np.ndarray]:
    values = {part: np.asarray(one, np.float64) for part, one in added.items()}
    shapes = {one.shape for one in values.values()}
    if len(shapes) > 1 or any(len(shape) != 1 or count not in (None, shape[0]) for shape in shapes):
        raise ValueError(f"lines by layer have one length, got {[one.shape for one in values.values()]}")
    return values


def _is_wide(values: np.ndarray) -> bool:
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=0))
    return 0 < low < np.inf and high > WIDE_RANGE * low


def _axis(values: np.ndarray, log: bool) -> dict:
    low, high = float(values.min()), float(values.max())
    return logarithmic(low, high) if log else linear(0.0, high)


def _layers(count: int, with_entrance: bool, language: str) -> dict:
    """Layers by number; with what enters the first one at −1."""
    first = -1 if with_entrance else 0
    shown = thinned(count, MOST_TICKS)
    values, text = list(shown), [str(layer) for layer in shown]
    if with_entrance:
        kept = slice(1 if count > 12 else 0, None)  # where layers lie close, "in" takes the room of the 0
        values, text = [-1, *shown[kept]], [_say("enters", language), *text[kept]]
    return {"type": "linear", "range": [first - 0.6, count - 0.4], "tickvals": values, "ticktext": text}


def _unit(key: str, log: bool, language: str) -> str:
    unit = _say(f"unit.{key}", language)
    return _say("logarithmic", language, unit=unit) if log else unit


def _chart(traces: list[dict], panel: Panel, kind: str, language: str, **values: object) -> go.Figure:
    title, caption = (_say(f"{kind}.{one}", language) for one in ("title", "caption"))
    return chart(traces, [panel], title=title, facts=_say(f"{kind}.facts", language, **values), caption=caption)


def _selectable(figure: go.Figure, count: int, first: int, selected: int | None) -> go.Figure:
    """A grid of whole columns, one per layer: the page moves the orange frame on it."""
    at = None if selected is None else (selected - first, 0)
    box = frame(0, 0) | {"yref": "y domain", "y0": 0, "y1": 1}
    figure.layout.meta = dict(figure.layout.meta) | {"select": selectable((first - 0.5, 0), 1, (count, 1), at)}
    figure.layout.shapes = [] if selected is None else [box | {"x0": selected - 0.5, "x1": selected + 0.5}]
    return figure
