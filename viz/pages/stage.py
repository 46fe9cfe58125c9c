"""The stage: the one component that shows the chosen panel. A panel's blocks go to the browser as one JSON string, and
a block that the browser has already goes without its content.

    {"turn": 7, "panel": "norm", "columns": [[{"name", "kind", "key", "value", …}, …], …], "set": {…}, "said": "…"}
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import count
from typing import Any

import gradio as gr

from viz.figures import matrix_table
from viz.pages.blocks import Block, Data, Piece, Plot, key_of
from viz.pages.box_card import box_card, kind_of_box
from viz.pages.panels.panel import Panel
from viz.pages.panels.registry import OPTIONS, PANELS, panel_for, panel_of
from viz.pages.pick import Pick
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection, to_cell, to_head, to_query, to_token, with_option
from viz.pages.taking import caption

Have = Mapping[str, str]  # what the browser shows: block -> key
NOTHING: Have = {}
_TURNS = count()
MOST_TABLES = 4  # open at once
LONGEST_NAME = 40  # of a block; what is longer is none, and is not kept


def stage_view(value: str, *, elem_id: str = "stage") -> gr.HTML:
    """The component: it tells `pick` (the fast clock), `ask` (what takes long) and `take` (a download)."""
    return gr.HTML(
        value=value,
        elem_id=elem_id,
        elem_classes=["stt-view"],
        html_template='<div class="stt-stage"></div><div class="stt-unseen" aria-live="polite"></div>',
        js_on_load="stt.stageView(element, trigger, props, watch); // tells 'pick', 'ask', 'take'",
        apply_default_css=False,
    )


def stage_value(scene: Scene, have: Have = NOTHING) -> str:
    """The chosen panel for a browser that has `have`. No two answers are alike, so that each is noticed."""
    panel = panel_of(scene.selection)
    columns = [[_block(one, scene, have) for one in column] for column in _columns(panel, scene)]
    told = {
        "turn": next(_TURNS),
        "panel": panel.name,
        "columns": columns,
        "set": settings_of(scene),
        "said": panel.spoken(scene),
        "caption": caption(scene),
    }
    return json.dumps(told, ensure_ascii=False).replace("<", "\\u003c")


def same_value() -> str:
    """Nothing has changed; only that a pick was heard."""
    return json.dumps({"part": "", "value": "", "turn": next(_TURNS)})


def part_value(name: str, html: str) -> str:
    """One piece of HTML anew, the rest of the stage as it is."""
    return json.dumps({"part": name, "value": html}, ensure_ascii=False).replace("<", "\\u003c")


def settings_of(scene: Scene) -> dict[str, str]:
    """What every control shows."""
    chosen = scene.selection
    values = {name: option.text(chosen) for name, option in OPTIONS.items()}
    own = {"attention": chosen.attention, "head": chosen.head, "query": chosen.query, "key": chosen.key}
    return values | {name: str(value) for name, value in own.items()} | {"panel": chosen.panel}


def moved(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """The selection after a pick: what all panels know alike is done here, the rest is the panel's own."""
    trace, before, data = scene.trace, scene.selection, pick.data
    if "set" in data:
        return _set(scene, data["set"], data.get("value", ""))
    if "panel" in data:
        return to_panel(before, data["panel"])
    if "table" in data:
        return _with_table(before, data["table"]) if len(data["table"]) <= LONGEST_NAME else None
    if "exact" in data:
        return replace(before, exact=not before.exact)
    if (token := pick.whole("token")) is not None:
        return to_token(trace, before, data.get("stack", scene.stack), token)
    return panel_of(before).pick(scene, block, pick)


def to_panel(selection: Selection, name: str) -> Selection | None:
    return replace(selection, panel=name) if name in PANELS else None


def _set(scene: Scene, name: str, value: str) -> Selection | None:
    """One control: an option of a panel, or a part of the selection itself."""
    trace, before = scene.trace, scene.selection
    if name in OPTIONS:
        return with_option(before, OPTIONS[name], value)
    number = int(value) if value.isascii() and value.isdecimal() and len(value) < 7 else None
    if number is None:
        return None
    if name == "attention":
        return to_head(trace, before, number, before.head)
    if name == "head":
        return to_head(trace, before, before.attention, number)
    if name == "key":
        return to_cell(trace, before, before.query, number)
    return to_query(trace, before, number) if name == "query" else None


def _with_table(selection: Selection, name: str) -> Selection:
    """Its table opened, or closed."""
    kept = tuple(one for one in selection.tables if one != name)
    opened = kept if name in selection.tables else (*kept, name)[-MOST_TABLES:]
    return replace(selection, tables=opened)


# --- what goes to the browser ----------------------------------------------------------------------------------------


def _columns(panel: Panel, scene: Scene) -> list[list[Block]]:
    """Each figure is followed by its seal and, if it is open, its table; a box that has no panel tells what it did."""
    columns = [[each for one in column for each in (one, *_followers(one, scene))] for column in panel.columns(scene)]
    box = scene.selection.box
    if box and panel_for(kind_of_box(scene.trace, box) or "") is None:
        card = Piece(
            "box-card", (box, scene.query), lambda: box_card(scene.trace, box, scene.query, scene.language) or ""
        )
        columns[-1].insert(0, card)
    return columns


def _followers(block: Block, scene: Scene) -> list[Block]:
    if not isinstance(block, Plot):
        return []
    found: list[Block] = []
    if block.seal is not None:
        found.append(Piece(f"{block.name}-seal", (block.of, block.select), block.seal))
    if block.data is not None and block.name in scene.selection.tables:
        found.append(Piece(f"{block.name}-table", block.of, lambda: table_of(block, scene.language)))
    return found


def table_of(plot: Plot, language: str) -> str:
    assert plot.data is not None
    data: Data = plot.data()
    values = data.values if data.values.ndim == 2 else data.values[:, None]
    return matrix_table(values, data.rows, data.columns, allowed=data.allowed, corner=data.corner, language=language)


def _block(block: Block, scene: Scene, have: Have) -> dict[str, Any]:
    key = key_of(block, scene.about)
    told: dict[str, Any] = {"name": block.name, "key": key}
    known = have.get(block.name) == key
    if isinstance(block, Piece):
        told |= {"kind": "html", "live": block.live}
        return told if known else told | {"value": block.make()}
    tools = [*(("table", "csv", "npz") if block.data else ()), *(("py",) if block.code else ())]
    told |= {"kind": "plot", "label": block.label, "tools": tools, "select": block.select}
    told |= {"open": block.name in scene.selection.tables}
    return told if known else told | {"value": figure_json(block.draw(), zoom=f"{scene.trace.key} {block.name}")}


def plots(scene: Scene) -> dict[str, Plot]:
    """The figures of the chosen panel by name: what can be taken along."""
    found: Sequence[Sequence[Block]] = panel_of(scene.selection).columns(scene)
    return {one.name: one for column in found for one in column if isinstance(one, Plot)}


def panel_buttons(scene: Scene) -> str:
    """HTML: the row of panels, the present one marked."""
    chosen = panel_of(scene.selection)
    buttons = "".join(
        f'<button type="button" role="tab" class="stt-panel-tab" data-panel="{name}"'
        f' aria-selected="{"true" if name == chosen.name else "false"}">{escape(scene.say(f"panel.{name}"))}</button>'
        for name in PANELS
    )
    of_image = ".image" if chosen.name == "tokens" and scene.reads_images else ""
    lead = escape(scene.say(f"panel.{chosen.name}.lead{of_image}"))
    return (
        f'<div class="stt-panel-tabs" role="tablist" aria-label="{escape(scene.say("panel.all"))}">{buttons}</div>'
        f'<p class="stt-lead stt-panel-lead">{lead}</p>'
    )
