"""What the page shows and hears: the clickable figure, clickable HTML of our own, and the state in the address bar.

Each is a `gr.HTML` made by a function (a subclass would make Gradio write files beside this module). Their scripts lie
in `assets/js` and are put into the page by `server.serve`. No text of a visitor goes through a template, where it could
run: values reach the page as strings that our scripts take up.

Wire a `pick` with `queue=False, show_progress="hidden", trigger_mode="multiple"`: Gradio's "always_last" loses the data
of the event, and our scripts see to it that picks go one after the other.
"""

import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr
import orjson
import plotly.graph_objects as go

KEYS = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "Enter")
DEFAULT_HEIGHT = 360  # pixels of a figure that does not say its own


@dataclass(frozen=True)
class Pick:
    """What a visitor clicked or pressed, checked; None where the browser sent nothing usable."""

    column: int | None = None  # on the grid in the figure's `layout.meta["select"]`, see `viz.figures.axes.selectable`
    row: int | None = None
    x: float | None = None
    y: float | None = None
    z: float | None = None
    curve: int | None = None
    custom: float | None = None  # the `customdata` of the point
    key: str | None = None  # one of KEYS


def figure_json(figure: go.Figure | None, *, zoom: str | None = None) -> str | None:
    """`figure` as the one string that `plot_view` shows; None clears the view.

    A zoom is kept over updates until `zoom` changes (the trace's key, say).
    """
    if figure is None:
        return None
    parts = figure.to_dict()  # arrays become base64: 20 times faster to write than lists
    layout = {**parts["layout"], "uirevision": zoom or "stt"}
    layout.pop("template", None)
    # orjson also writes NumPy's numbers, and null for NaN, which JSON does not know.
    text = orjson.dumps({"data": parts["data"], "layout": layout}, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return text.replace("<", "\\u003c")  # so that no "<script" of a token looks like markup to Gradio


def plot_view(value: str | None, *, elem_id: str, label: str, height: int | None = None) -> gr.HTML:
    """A figure that tells `pick` when it is clicked or keys are pressed on it. `value` comes from `figure_json`.

    `label` is what a screen reader says. Wire it with `view.pick(handler, …)`; the handler takes an
    `event: gr.EventData`, reads `picked(event)` and returns a new `figure_json`, or `move_selection` to move only the
    rectangle. Where the figure has a grid, the rectangle has moved already when the handler is called.
    """
    tall = height or (json.loads(value)["layout"].get("height") if value else None) or DEFAULT_HEIGHT
    return gr.HTML(
        value=value,
        select=None,
        elem_id=elem_id,
        elem_classes=["stt-view"],
        html_template=(
            f'<div class="stt-plot" tabindex="0" role="img" aria-label="{attribute(label)}" style="height:{tall:d}px">'
            '<canvas aria-hidden="true"></canvas><div class="stt-plot-live"></div></div>'
        ),
        js_on_load="stt.plotView(element, trigger, props, watch); // tells 'pick'",
        apply_default_css=False,
    )


def move_selection(column: int, row: int) -> Any:
    """An update for a `plot_view` that moves its rectangle and sends no figure."""
    return gr.HTML(select=json.dumps([column, row]))


def html_view(value: str, *, elem_id: str, label: str, live: bool = False) -> gr.HTML:
    """HTML of ours, escaped where it was made. What carries `data-…` there tells `pick` its data, by mouse and keys.

    An element with `data-copy="…"` copies that text instead. `live` has a screen reader read out what changes.
    """
    polite = ' aria-live="polite"' if live else ""
    return gr.HTML(
        value=value,
        elem_id=elem_id,
        elem_classes=["stt-view"],
        html_template=f'<div class="stt-html" role="group" aria-label="{attribute(label)}"{polite}></div>',
        js_on_load="stt.htmlView(element, trigger, props, watch); // tells 'pick'",
        apply_default_css=False,
    )


def address_view(query: str) -> gr.HTML:
    """An unseen view: its value, a query string from `links.to_query`, goes to the address bar when it changes."""
    return gr.HTML(
        value=query,
        elem_id="address",
        visible="hidden",
        html_template="<span></span>",
        js_on_load="stt.addressView(element, trigger, props, watch);",
        apply_default_css=False,
    )


def picked(event: gr.EventData) -> Pick:
    """The figure's event as a `Pick`. It comes from the browser, so anything may be in it."""
    data = data_of(event)
    column, row, curve = (whole(data.get(name)) for name in ("column", "row", "curve"))
    x, y, z, custom = (real(data.get(name)) for name in ("x", "y", "z", "custom"))
    key = data.get("key")
    return Pick(column, row, x, y, z, curve, custom, key if isinstance(key, str) and key in KEYS else None)


def data_of(event: gr.EventData) -> dict[str, Any]:
    """The `data-…` of what was clicked in an `html_view`: names as in JavaScript's dataset, values short strings."""
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


def attribute(text: str) -> str:
    """`text` for an attribute of a template. Gradio evaluates `${…}` and `{{…}}` there: their signs become entities."""
    entities = {"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;", "\\": "&#92;"}
    return "".join(entities.get(letter, letter) for letter in html.escape(text))
