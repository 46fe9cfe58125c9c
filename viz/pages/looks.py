"""What a click changes on Explore: another head, cell, token, panel or setting of the same run. It never runs the model
again."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from html import escape
from typing import Any

import gradio as gr

from transformer.engine import Engine
from transformer.errors import SeeThroughError
from transformer.kept import Kept
from transformer.trace import Trace
from viz.pages import run_words
from viz.pages import selection as move
from viz.pages.box_card import kind_of_box
from viz.pages.layout import Layout, address
from viz.pages.panels.places import marked_box
from viz.pages.panels.registry import panel_for, panel_of
from viz.pages.pick import data_of, picked, whole_of
from viz.pages.scene import Scene
from viz.pages.sealing import seal_everything
from viz.pages.selection import Selection
from viz.pages.stage import Have, moved, panel_buttons, part_value, plots, same_value, stage_value
from viz.pages.taking import kinds_of, offered, take

Updates = dict[Any, Any]
VISITORS = 1024  # whose last choice is known


class Looks(Layout):
    """The handlers of the fast clock: a recorded run and a selection in, the panels that change out."""

    def __init__(self, language: str, engine: Engine) -> None:
        super().__init__(language, engine)
        self._looking = Kept[str, list[Selection]](VISITORS)  # visitor -> what they chose last

    def on_pick(self, before: Selection, event: gr.EventData, request: gr.Request | None = None) -> Updates:
        """A click, key or setting anywhere below the text boxes."""
        data, scene = data_of(event), self._scene(before)
        if "refresh" in data:  # the browser missed an answer
            return self._show(scene, before, {})
        chosen = moved(scene, str(data.get("block", "")), picked(event))
        if chosen is None:
            return {self.stage: same_value()}
        chosen = chosen if chosen.box == before.box == "" else replace(chosen, box="")
        self._last(request)[:] = [chosen]
        return self._show(scene, chosen, have_of(data))

    def _last(self, request: gr.Request | None) -> list[Selection]:
        """What a visitor chose last, in a list of one; a run that was begun before must not put it back."""
        visitor = getattr(request, "session_hash", None)
        return [] if visitor is None else self._looking.get_or_make(visitor, list)

    def on_box(self, before: Selection, event: gr.EventData) -> Updates:
        """A box of the diagram opens its panel at its block; a block of the rail is looked into."""
        data, scene = data_of(event), self._scene(before)
        layer, name = whole_of(event, "layer"), str(data.get("site", ""))
        if layer is not None:
            chosen = move.to_layer(scene.trace, before, str(data.get("stack", scene.stack)), layer)
            return self._show(scene, replace(chosen, box=""), have_of(data))
        kind = kind_of_box(scene.trace, name)
        if kind is None:
            return {self.stage: same_value()}
        chosen = move.to_site(scene.trace, before, name)
        panel = panel_for(kind) or before.panel
        chosen = replace(chosen, panel=panel, box="" if name in scene.trace.attention else name)
        chosen = panel_of(chosen).entered(scene, chosen, name)
        return self._show(scene, chosen, have_of(data))

    def on_ask(self, before: Selection, event: gr.EventData) -> Iterator[Updates]:
        """What takes longer than a click: every number of the run recomputed, stage by stage."""
        if data_of(event).get("ask") != "seal":
            yield self._nothing()
            return
        try:
            for found in seal_everything(self._scene(before)):
                yield {self.stage: part_value("seal-all", found)}
        except SeeThroughError as error:
            yield {self.notice: line("stt-error", error.text(self.language))}

    def on_take(self, before: Selection, event: gr.EventData) -> Updates:
        """A file of one figure, made ready for the browser to fetch."""
        data, scene = data_of(event), self._scene(before)
        plot, kind = plots(scene).get(str(data.get("block", ""))), str(data.get("take", ""))
        if plot is None or kind not in kinds_of(plot):
            return self._nothing()
        return {self.download: offered(take(scene, plot, kind)), self.notice: ""}

    def _nothing(self) -> Updates:
        """No change. Gradio takes an empty answer for empty values."""
        return {self.notice: gr.skip()}

    def _trace(self, chosen: Selection) -> Trace:
        """The run that is looked at; it is run again should it have left the store."""
        return self.engine.trace(chosen.model, chosen.text, chosen.target)

    def _scene(self, chosen: Selection) -> Scene:
        return Scene(self.engine, self._trace(chosen), chosen, self.language)

    def _show(self, seen: Scene, chosen: Selection, have: Have) -> Updates:
        """What must change on the page between what was `seen` and another selection of the same run; nothing more."""
        before, scene = seen.selection, Scene(self.engine, seen.trace, chosen, self.language)
        updates: Updates = {self.state: chosen, self.stage: stage_value(scene, have), self.notice: ""}
        updates[self.address] = address(scene)
        if chosen.attention != before.attention or marked_box(scene) != marked_box(seen):
            updates[self.diagram] = run_words.diagram(scene)
        if chosen.panel != before.panel:
            updates[self.panels] = panel_buttons(scene)
        moved_on = (chosen.attention, chosen.query) != (before.attention, before.query)
        if moved_on or (scene.reads_images and chosen.head != before.head):
            updates[self.strip] = run_words.strip(scene)
        return updates

    def _kindly(self, handler: Callable[..., Updates]) -> Callable[..., Updates]:
        """What goes wrong in the world is told in words, and the page stays as it is."""

        @wraps(handler)
        def kind(*given: Any) -> Updates:
            try:
                return handler(*given)
            except SeeThroughError as error:
                return {self.notice: line("stt-error", error.text(self.language))}

        return kind

    def _of_pick(self) -> list[Any]:
        """What a click may change."""
        return [self.state, self.strip, self.diagram, self.panels, self.stage, self.address, self.notice]


def line(css_class: str, words: str) -> str:
    return f'<p class="{css_class}">{escape(words)}</p>'


def have_of(data: Mapping[str, Any]) -> Have:
    """Which blocks the browser shows, as it says; a wrong answer only costs it a picture."""
    have = data.get("have")
    return {str(name): str(key) for name, key in have.items()} if isinstance(have, dict) and len(have) < 200 else {}
