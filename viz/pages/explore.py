"""Explore: one run, from text to probabilities. This file says what happens when; where things stand is in `layout.py`,
what the panels show in `panels/`, what is chosen in `selection.py`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gradio as gr

from transformer.engine import Engine
from transformer.errors import SeeThroughError, TooManyTokens
from transformer.messages import message
from viz.pages import run_words
from viz.pages import selection as move
from viz.pages.api import Endpoints
from viz.pages.draw_pad import drawn_image, in_rows
from viz.pages.examples import example_buttons, examples, view_on
from viz.pages.inputs import Question, first_text, question
from viz.pages.layout import address
from viz.pages.links import View, from_query
from viz.pages.looks import Looks, Updates, line
from viz.pages.options import read_all
from viz.pages.panels.generate import opened_text
from viz.pages.panels.generate_picks import anew
from viz.pages.panels.registry import OPTIONS, PANELS
from viz.pages.pick import data_of, whole_of
from viz.pages.scene import Scene
from viz.pages.selection import Selection
from viz.pages.stage import panel_buttons, stage_value
from viz.pages.taking import offered, told_of_run, whole_run

LONG_TEXT = 500  # characters; beyond, the page says what it is doing
Asked = tuple[str, str, str | None]  # model, text, second text
COMPUTING = "cpu"  # one queue for everything that runs a model: as many at a time as there are cores


def open_engine(**options: Any) -> Engine:
    """The engine of this server, with its first model loaded; see `Engine` for the options."""
    engine = Engine(**options)
    engine.warm_up(first_text(engine, engine.model))
    return engine


def build(language: str, engine: Engine) -> gr.Blocks:
    """The page in one language, with a finished picture in it."""
    return Explore(language, engine).blocks


class Explore(Looks):
    """The page: the components of `Layout`, and the handlers that fill them."""

    def __init__(self, language: str, engine: Engine) -> None:
        super().__init__(language, engine)
        self._waiting: dict[object, list[Asked]] = {}  # visitor -> what runs for them now
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
        self.pad.drawn(self.on_drawn, [self.model, self.state], self._all(), trigger_mode="multiple", **slow)
        self.blocks.load(self.on_link, [self.state], self._all(), **slow)
        quick = {"queue": False, "show_progress": "hidden", "api_visibility": "private", "trigger_mode": "multiple"}
        for view, handler in (
            (self.stage, self.on_pick), (self.panels, self.on_pick), (self.strip, self.on_pick),
            (self.diagram, self.on_box),
        ):  # fmt: skip
            view.pick(self._kindly(handler), [self.state], self._of_pick(), **quick)
        taking = slow | {"concurrency_id": "taken", "concurrency_limit": 2}
        self.stage.take(self._kindly(self.on_take), [self.state], [self.download, self.notice], **taking)
        asking = slow | {"concurrency_id": "asked", "concurrency_limit": 2}  # a long text's whole seal takes minutes
        self.stage.ask(self.on_asked, [self.state], self._all(), **asking)
        for name, function in Endpoints(self.engine).by_name().items():
            gr.api(function, api_name=name, concurrency_id=COMPUTING)

    def _all(self) -> list[Any]:
        return [
            *self._of_pick(), self.model, self.text, self.target, self.pad, self.examples, self.status, self.download,
        ]  # fmt: skip

    # --- a run (slow: the text or the model changed) -----------------------------------------------------------------

    def _run(self, model: str, text: str, target: str | None, view: View) -> Scene:
        trace = self.engine.trace(model, text, target)
        begun = Selection(model, text, target, options=read_all(dict(view.options), OPTIONS))
        chosen = move.first_look(trace, begun, view)
        return Scene(self.engine, trace, replace(chosen, exact=view.view == "exact"), self.language)

    def _first_picture(self) -> Scene:
        """What the page opens with: the model's first example, or a letter where that is too long for this server."""
        model = self.engine.model
        try:
            asked = self._question(model, first_text(self.engine, model), None, Selection(model, ""))
            return self._run(model, asked.text, asked.target, view_on(asked.text, model))
        except TooManyTokens:
            return self._run(model, "a", "a", View())

    def _question(self, model: str, text: str, target: str | None, before: Selection) -> Question:
        return question(self.engine, model, text, target, before)

    def on_run(
        self, model: str, text: str, target: str, before: Selection, request: gr.Request | None = None
    ) -> Iterator[Updates]:
        """Run what stands in the boxes.

        The model box tells a choice twice, when it is made and when it is left: what is shown already stays as it is,
        and what this visitor is waiting for already is not started again.
        """
        asked, shown = (model, text, target), (before.model, before.text, before.target or "")
        if asked == shown or self._is_waited_for(asked, request):
            yield {self.notice: ""} if asked == shown else self._nothing()
            return
        yield from self._latest(
            asked, request, self._running(model, text, target, view_on(text, model), before, self._last(request))
        )

    def on_example(
        self, model: str, before: Selection, event: gr.EventData, request: gr.Request | None = None
    ) -> Iterator[Updates]:
        number = whole_of(event, "example")
        if number is None or not 0 <= number < len(examples()):
            yield self._nothing()
            return
        one, model = examples()[number], str(model or "")
        yield {self.text: one.text}
        running = self._running(model, one.text, before.target, view_on(one.text, model), before, self._last(request))
        yield from self._latest((model, one.text, None), request, running)

    def on_drawn(
        self, model: str, before: Selection, event: gr.EventData, request: gr.Request | None = None
    ) -> Iterator[Updates]:
        """An image that was drawn or taken on the pad."""
        drawn = drawn_image(event)
        image = in_rows(drawn or "")
        if drawn is None or (model, image) == (before.model, before.text):
            yield self._nothing()
            return
        yield {self.text: image}  # unseen, but what the Run button runs
        running = self._running(str(model or ""), image, None, View(), before, self._last(request))
        yield from self._latest((model, image, None), request, running)

    def on_asked(self, before: Selection, event: gr.EventData, request: gr.Request | None = None) -> Iterator[Updates]:
        """What takes longer than a click: a text of a panel in all panels, a file of the run, or its seal."""
        asked = data_of(event).get("ask")
        if asked == "open":
            yield from self._on_opened(before, request)
        elif asked == "run":
            yield from self._on_run_wanted(before)
        else:
            yield from self.on_ask(before, event)

    def _on_opened(self, before: Selection, request: gr.Request | None) -> Iterator[Updates]:
        """A generated text, up to the step that is looked at, in all panels."""
        try:
            opened = opened_text(self._scene(before))
        except SeeThroughError as error:
            yield {self.notice: line("stt-error", error.text(self.language))}
            return
        if opened is None:
            yield {self.notice: line("stt-note", message("generate.nothing", self.language))}
            return
        text, target = opened
        yield {self.text: text, self.target: target or ""}
        running = self._running(
            before.model, text, target, View(panel="attention"), replace(before, target=None), self._last(request)
        )
        yield from self._latest((before.model, text, target), request, running)

    def _on_run_wanted(self, before: Selection) -> Iterator[Updates]:
        """The whole run as a file."""
        yield {self.notice: line("stt-note", message("take.run.making", self.language))}
        try:
            scene = self._scene(before)
            file = whole_run(scene)
            yield {self.download: offered(file), self.notice: line("stt-note", told_of_run(scene, file))}
        except SeeThroughError as error:
            yield {self.notice: line("stt-error", error.text(self.language))}

    def on_link(self, before: Selection, request: gr.Request) -> Iterator[Updates]:
        """Restore what a link says; without one the page is finished already."""
        view = from_query(dict(request.query_params))
        asked = (view.model or before.model, view.text or before.text, view.target or before.target)
        if replace(view, language=None, options=read_all(dict(view.options), OPTIONS)) == View():
            yield self._nothing()
            return
        yield {self.model: asked[0], self.text: asked[1], self.target: asked[2] or ""}
        try:
            if self.engine.is_here(asked[0]):
                yield from self._latest(asked, request, self._running(*asked, view, before, self._last(request)))
            else:  # a link must not make anybody's computer fetch a model
                yield {self.notice: line("stt-note", self.say("not_here", model=asked[0]))}
        except SeeThroughError as error:
            yield {self.notice: line("stt-error", error.text(self.language))}

    def _latest(self, asked: Asked, request: gr.Request | None, running: Iterator[Updates]) -> Iterator[Updates]:
        """The updates of a run as long as its visitor asked for nothing newer: that must not be overwritten by this."""
        visitor, mine = getattr(request, "session_hash", None) or object(), [asked]
        self._waiting[visitor] = mine
        try:
            for updates in running:
                if self._waiting.get(visitor) is not mine:
                    return
                yield updates
        finally:
            if self._waiting.get(visitor) is mine:
                del self._waiting[visitor]

    def _is_waited_for(self, asked: Asked, request: gr.Request | None) -> bool:
        return self._waiting.get(getattr(request, "session_hash", None)) == [asked]

    def _running(
        self, model: str, text: str, target: str | None, view: View, before: Selection, last: list[Selection]
    ) -> Iterator[Updates]:
        """Stages while it takes long, then every panel; a sentence where it cannot be, and nothing else changes.

        `last` holds what the visitor chose last: picks go on while a run is made, and it must not put them back.
        """
        last[:] = [before]
        model, text = str(model or "").strip(), text if isinstance(text, str) else ""
        target = target if isinstance(target, str) else None
        try:
            if not self.engine.is_loaded(model):
                yield from (
                    {self.notice: line("stt-note", step.text(self.language))} for step in self.engine.bring(model)
                )
                yield {self.notice: line("stt-note", self.say("loading", model=model))}
            asked = self._question(model, text, target, before)
            if (asked.text, asked.target) != (text, target or None):
                yield {self.text: asked.text, self.target: asked.target or ""}
            text, target = asked.text, asked.target
            if view.site is None and view.layer is None and view.cell is None:  # where the example has its answer
                shown = view_on(text, model)
                view = replace(view, site=shown.site, layer=shown.layer, head=shown.head, cell=shown.cell)
            if len(text) > LONG_TEXT:
                yield {self.notice: line("stt-note", self.say("running", count=f"{len(text):,}"))}
            self.engine.trace(model, text, target)
            if len(text) > LONG_TEXT:
                yield {self.notice: line("stt-note", self.say("drawing"))}
            now = last[0] if last else before
            scene = self._run(model, text, target, _as_before(view, model, now))
            scene.selection = replace(scene.selection, tables=now.tables)
            yield self._updates_of_run(scene)
        except SeeThroughError as error:
            yield {self.notice: line("stt-error", error.text(self.language))}

    def _on_paper(self, scene: Scene) -> Updates:
        """What the pad shows: the image that ran; what was drawn on it stays while texts are read."""
        return {"value": scene.selection.text} if scene.reads_images else {}

    def _updates_of_run(self, scene: Scene) -> Updates:
        chosen = scene.selection
        return {
            self.state: chosen,
            self.strip: run_words.strip(scene),
            self.diagram: run_words.diagram(scene),
            self.panels: panel_buttons(scene),
            self.stage: stage_value(scene),
            self.status: run_words.status(scene),
            self.address: address(scene),
            self.notice: "",
            # Not what stands in the boxes: a visitor may have changed that meanwhile, and it runs next.
            self.model: gr.update(choices=self.model_choices()),
            self.examples: example_buttons(chosen.model, self.language, reads_images=scene.reads_images),
            self.text: gr.update(visible=not scene.reads_images),
            self.target: gr.update(visible=len(scene.trace.encodings) > 1),
            self.pad: gr.update(visible=scene.reads_images) | self._on_paper(scene),
        }


def _as_before(view: View, model: str, now: Selection) -> View:
    """The view of a new run: where nothing else is asked for, what is looked at stays."""
    if view == View() and model == now.model:
        view = View(layer=now.attention, head=now.head)
    panel = view.panel if view.panel in PANELS else None
    return replace(view, panel=panel or now.panel, options=view.options or (() if panel else anew(now).options))
