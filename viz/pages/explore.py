"""Explore: one run, from text to probabilities. This file says what happens when; where things stand is in `layout.py`,
what they show in `panels.py`, what is chosen in `selection.py`."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from html import escape
from math import floor
from typing import Any

import gradio as gr

from transformer.engine import Engine
from transformer.errors import SeeThroughError, TooManyTokens
from transformer.trace import Trace
from viz import figures
from viz.pages import selection as move
from viz.pages.api import Endpoints
from viz.pages.box_card import box_card
from viz.pages.examples import examples, view_on
from viz.pages.layout import Layout
from viz.pages.links import View, from_query
from viz.pages.panels import Panels
from viz.pages.plot_view import data_of, move_selection, picked, whole_of
from viz.pages.selection import Selection

LONG_TEXT = 500  # characters; beyond, the page says what it is doing
COMPUTING = "cpu"  # one queue for everything that runs a model: as many at a time as there are cores
Updates = dict[Any, Any]


def open_engine(**options: Any) -> Engine:
    """The engine of this server, with its first model loaded; see `Engine` for the options."""
    engine = Engine(**options)
    engine.warm_up(examples()[0].text)
    return engine


def build(language: str, engine: Engine) -> gr.Blocks:
    """The page in one language, with a finished picture in it."""
    return Explore(language, engine).blocks


class Explore(Layout):
    """The page: the components of `Layout`, and the handlers that fill them."""

    def __init__(self, language: str, engine: Engine) -> None:
        super().__init__(language, engine)
        self._waiting: dict[str | None, tuple[str, str, str]] = {}  # visitor -> what runs for them now
        self.start = self._first_picture()
        with gr.Blocks(title=self.say("title"), analytics_enabled=False) as self.blocks:
            self.lay_out(self.start)
            self._wire()

    # --- wiring ------------------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        texts = [self.model, self.text, self.target]
        slow = {"show_progress": "hidden", "concurrency_id": COMPUTING, "api_visibility": "private"}
        entered = [self.run.click, self.text.submit, self.target.submit, self.model.input]
        gr.on(entered, self.on_run, [*texts, self.state], self._all(), trigger_mode="always_last", **slow)
        self.examples.pick(self.on_example, [self.model, self.state], self._all(), **slow)
        self.blocks.load(self.on_link, [self.state], self._all(), **slow)
        quick = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
        for view, handler in (
            (self.mosaic, self.on_mosaic), (self.head_map, self.on_cell), (self.head_lines, self.on_line),
            (self.strip, self.on_token), (self.diagram, self.on_box),
        ):  # fmt: skip
            view.pick(self._kindly(handler), [self.state], self._of_cell(), trigger_mode="multiple", **quick)
        for control in (self.layer, self.head):
            control.input(self._kindly(self.on_chooser), [self.layer, self.head, self.state], self._of_cell(), **quick)
        sealing = slow | {"concurrency_id": "seal", "concurrency_limit": 1}  # a long text's whole seal takes minutes
        self.seal.pick(self.on_seal, [self.state], [self.seal], **sealing)
        self.exact.click(self._kindly(self.on_exact), [self.state], self._of_cell(), **quick)
        self.table_box.expand(self.on_table, [self.state], [self.state, self.table], **quick)
        self.table_box.collapse(lambda before: replace(before, table=False), [self.state], [self.state], **quick)
        for name, function in Endpoints(self.engine).by_name().items():
            gr.api(function, api_name=name, concurrency_id=COMPUTING)

    def _kindly(self, handler: Callable[..., Updates]) -> Callable[..., Updates]:
        """What goes wrong in the world is told in words, and the page stays as it is."""

        @wraps(handler)
        def kind(*given: Any) -> Updates:
            try:
                return handler(*given)
            except SeeThroughError as error:
                return {self.notice: _line("stt-error", error.text(self.language))}

        return kind

    def _of_cell(self) -> list[Any]:
        """What a click on a head or cell may change."""
        return [
            self.state, self.strip, self.diagram, self.mosaic, self.head_title, self.layer, self.head, self.exact,
            self.head_map, self.head_lines, self.seal, self.table, self.arithmetic, self.next_title, self.next_tokens,
            self.address, self.notice,
        ]  # fmt: skip

    def _all(self) -> list[Any]:
        return [*self._of_cell(), self.model, self.text, self.target, self.status, self.mosaic_title]

    # --- a run (slow: the text or the model changed) -----------------------------------------------------------------

    def _run(self, model: str, text: str, target: str | None, view: View) -> Panels:
        trace = self.engine.trace(model, text, target)
        chosen = move.first_look(trace, Selection(model, text, target), view)
        return self._panels(trace, replace(chosen, exact=view.view == "exact"))

    def _panels(self, trace: Trace, chosen: Selection) -> Panels:
        return Panels(self.engine, trace, chosen, self.language)

    def _first_picture(self) -> Panels:
        """What the page opens with: the first example, or a single letter where that is too long for this server."""
        model, text = self.engine.model, examples()[0].text
        try:
            return self._run(model, text, self._target_for(model, None), view_on(text, model))
        except TooManyTokens:
            return self._run(model, "a", "a", View())

    def _target_for(self, model: str, target: str | None) -> str | None:
        """The second text of a model that needs one: what was typed, else the first example."""
        needed = self.engine.load(model).encoder_decoder
        return (target or examples()[0].text) if needed else target or None

    def on_run(
        self, model: str, text: str, target: str, before: Selection, request: gr.Request | None = None
    ) -> Iterator[Updates]:
        """Run what stands in the boxes.

        The model box tells a choice twice, when it is made and when it is left: what is shown already stays as it is,
        and what this visitor is waiting for already is not started again.
        """
        visitor, asked = getattr(request, "session_hash", None), (model, text, target)
        shown = (before.model, before.text, before.target or "")
        if asked == shown or (visitor is not None and self._waiting.get(visitor) == asked):
            yield {self.notice: ""} if asked == shown else self._nothing()
            return
        self._waiting[visitor] = asked
        try:
            for updates in self._running(model, text, target, view_on(text, model), before):
                if self._waiting.get(visitor) != asked:
                    return  # a newer question came meanwhile; its answer must not be overwritten by this one
                yield updates
        finally:
            if self._waiting.get(visitor) == asked:
                del self._waiting[visitor]

    def on_example(self, model: str, before: Selection, event: gr.EventData) -> Iterator[Updates]:
        number = whole_of(event, "example")
        if number is None or not 0 <= number < len(examples()):
            yield self._nothing()
            return
        one, model = examples()[number], str(model or "")
        yield {self.text: one.text}
        yield from self._running(model, one.text, before.target, view_on(one.text, model), before)

    def on_link(self, before: Selection, request: gr.Request) -> Iterator[Updates]:
        """Restore what a link says; without one the page is finished already."""
        view = from_query(dict(request.query_params))
        asked = (view.model or before.model, view.text or before.text, view.target or before.target)
        if view == View(language=view.language):
            yield self._nothing()
            return
        yield {self.model: asked[0], self.text: asked[1], self.target: asked[2] or ""}
        try:
            if self.engine.is_here(asked[0]):
                yield from self._running(*asked, view, before)
            else:  # a link must not make anybody's computer fetch a model
                yield {self.notice: _line("stt-note", self.say("not_here", model=asked[0]))}
        except SeeThroughError as error:
            yield {self.notice: _line("stt-error", error.text(self.language))}

    def _running(self, model: str, text: str, target: str | None, view: View, before: Selection) -> Iterator[Updates]:
        """Stages while it takes long, then every panel; a sentence where it cannot be, and nothing else changes."""
        model, text = str(model or "").strip(), text if isinstance(text, str) else ""
        try:
            if not self.engine.is_loaded(model):
                yield from (
                    {self.notice: _line("stt-note", step.text(self.language))} for step in self.engine.bring(model)
                )
                yield {self.notice: _line("stt-note", self.say("loading", model=model))}
            typed, target = target, self._target_for(model, target)
            if target != (typed or None):
                yield {self.target: target}
            if view == View() and model == before.model:
                view = View(layer=before.attention, head=before.head)
            if len(text) > LONG_TEXT:
                yield {self.notice: _line("stt-note", self.say("running", count=f"{len(text):,}"))}
            self.engine.trace(model, text, target)
            if len(text) > LONG_TEXT:
                yield {self.notice: _line("stt-note", self.say("drawing"))}
            panels = self._run(model, text, target, view)
            panels.selection = replace(panels.selection, table=before.table)
            yield self._updates_of_run(panels)
        except SeeThroughError as error:
            yield {self.notice: _line("stt-error", error.text(self.language))}

    def _updates_of_run(self, panels: Panels) -> Updates:
        return {
            **self._updates_of_head(panels),
            self.mosaic: panels.mosaic(),
            self.mosaic_title: panels.mosaic_title(),
            self.status: panels.status(),
            # Not what stands in the boxes: a visitor may have changed that meanwhile, and it runs next.
            self.model: gr.update(choices=self.model_choices()),
            self.target: gr.update(visible=len(panels.trace.encodings) > 1),
        }

    # --- a look (fast: another head or cell of the same run) ---------------------------------------------------------

    def on_mosaic(self, before: Selection, event: gr.EventData) -> Updates:
        found, trace = picked(event), self._trace(before)
        sites = trace.attention_sites()
        if found.column is None or found.row is None or not 0 <= found.row < len(sites):
            return self._nothing()
        if not 0 <= found.column < trace.attention[sites[found.row]].heads:
            return self._nothing()
        return self._show(before, move.to_head(trace, before, found.row, found.column))

    def on_chooser(self, layer: int, head: int, before: Selection) -> Updates:
        return self._show(before, move.to_head(self._trace(before), before, int(layer or 0), int(head or 0)))

    def on_cell(self, before: Selection, event: gr.EventData) -> Updates:
        found = picked(event)
        if found.x is None or found.y is None:
            return self._nothing()
        return self._show(before, move.to_cell(self._trace(before), before, floor(found.y + 0.5), floor(found.x + 0.5)))

    def on_line(self, before: Selection, event: gr.EventData) -> Updates:
        found, trace = picked(event), self._trace(before)
        if found.x is None or found.y is None:
            return self._nothing()
        site = move.site_of(trace, before)
        sides = [len(trace.tokens(site, axis)) for axis in ("query", "key")]
        axis, index = figures.line_token(found.x, found.y, *sides)
        is_query = axis == "query"
        chosen = move.to_query(trace, before, index) if is_query else move.to_cell(trace, before, before.query, index)
        return self._show(before, chosen)

    def on_token(self, before: Selection, event: gr.EventData) -> Updates:
        index, trace = whole_of(event, "token"), self._trace(before)
        if index is None:
            return self._nothing()
        stack = str(data_of(event).get("stack", next(iter(trace.encodings))))
        return self._show(before, move.to_token(trace, before, stack, index))

    def on_box(self, before: Selection, event: gr.EventData) -> Updates:
        """A box of the diagram: an attention is shown as a head, any other part by what it did to the chosen token."""
        trace, name = self._trace(before), str(data_of(event).get("site", ""))
        if name in trace.attention:
            return self._show(before, move.to_head(trace, before, trace.attention_sites().index(name), before.head))
        card = box_card(trace, name, before.query, self.language)
        if card is None:
            return self._nothing()
        return {self.arithmetic: card, self.diagram: self._panels(trace, before).diagram(name)}

    def on_exact(self, before: Selection) -> Updates:
        trace = self._trace(before)
        return self._updates_of_head(self._panels(trace, replace(before, exact=not before.exact)))

    def on_seal(self, before: Selection) -> Iterator[str]:
        """Recompute the whole pass, and keep the lines of this view above the result."""
        panels = self._panels(self._trace(before), before)
        lines = panels.seal()
        yield from (lines + found for found in panels.seal_all())

    def on_table(self, before: Selection) -> Updates:
        panels = self._panels(self._trace(before), replace(before, table=True))
        return {self.state: panels.selection, **self._updates_of_table(panels)}

    def _nothing(self) -> Updates:
        """No change. Gradio takes an empty answer for empty values."""
        return {self.notice: gr.skip()}

    def _trace(self, chosen: Selection) -> Trace:
        """The run that is looked at; it is run again should it have left the store."""
        return self.engine.trace(chosen.model, chosen.text, chosen.target)

    def _show(self, before: Selection, chosen: Selection) -> Updates:
        """What must change on the page between two selections of one run, and nothing more."""
        panels = self._panels(self._trace(chosen), chosen)
        if (chosen.attention, chosen.head) != (before.attention, before.head):
            return self._updates_of_head(panels) | {self.mosaic: move_selection(chosen.head, chosen.attention)}
        updates = {
            self.state: chosen,
            self.diagram: panels.diagram(),
            self.head_map: panels.head_map(),
            self.arithmetic: panels.arithmetic(),
            self.address: panels.address(),
            **self._updates_of_table(panels),
        }
        return updates if chosen.query == before.query else updates | self._updates_of_row(panels)

    def _updates_of_table(self, panels: Panels) -> Updates:
        """A closed table is not made: it is the largest piece of the page."""
        return {self.table: panels.table()} if panels.selection.table else {}

    def _updates_of_row(self, panels: Panels) -> Updates:
        return {
            self.strip: panels.strip(),
            self.head_title: panels.head_title(),
            self.head_lines: panels.head_lines(),
            self.next_title: panels.next_title(),
            self.next_tokens: panels.next_tokens(),
            self.seal: panels.seal(),
        }

    def _updates_of_head(self, panels: Panels) -> Updates:
        return {
            self.state: panels.selection,
            **self._updates_of_row(panels),
            self.diagram: panels.diagram(),
            self.layer: gr.update(**self.layers(panels)),
            self.head: gr.update(**self.heads(panels)),
            self.exact: gr.update(**self.exactness(panels)),
            self.head_map: panels.head_map(),
            self.arithmetic: panels.arithmetic(),
            self.address: panels.address(),
            self.notice: "",
            **self._updates_of_table(panels),
        }


def _line(css_class: str, words: str) -> str:
    return f'<p class="{css_class}">{escape(words)}</p>'
