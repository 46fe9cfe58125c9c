"""What the page shows and hears: the clickable figure, clickable HTML of our own, and the state in the address bar.

Each is a `gr.HTML` made by a function (a subclass would make Gradio write files beside this module). Their scripts lie
in `assets/js` and are put into the page by `server.serve`. No text of a visitor goes through a template, where it could
run: values reach the page as strings that our scripts take up.

Wire a `pick` with `queue=False, show_progress="hidden", trigger_mode="multiple"`: Gradio's "always_last" loses the data
of the event, and our scripts see to it that picks go one after the other.
"""

import html
import json
from typing import Any

import gradio as gr
import orjson
import plotly.graph_objects as go

DEFAULT_HEIGHT = 360  # pixels of a figure that does not say its own


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
    `event: gr.EventData`, reads `pick.picked(event)` and returns a new `figure_json`, or `move_selection` to move only
    the rectangle. Where the figure has a grid, the rectangle has moved already when the handler is called.
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


def attribute(text: str) -> str:
    """`text` for an attribute of a template. Gradio evaluates `${…}` and `{{…}}` there: their signs become entities."""
    entities = {"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;", "\\": "&#92;"}
    return "".join(entities.get(letter, letter) for letter in html.escape(text))
