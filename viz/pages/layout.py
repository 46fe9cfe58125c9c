"""The components of Explore and where they stand; every one has an `elem_id` that stays."""

from typing import Any

import gradio as gr

from transformer.engine import Engine
from transformer.messages import message
from viz.pages import run_words
from viz.pages.draw_pad import draw_pad
from viz.pages.examples import example_buttons
from viz.pages.links import to_query
from viz.pages.plot_view import address_view, html_view
from viz.pages.scene import Scene
from viz.pages.selection import view_of
from viz.pages.stage import panel_buttons, stage_value, stage_view


class Layout:
    """The page without its behaviour: components by name, filled with a finished picture."""

    def __init__(self, language: str, engine: Engine) -> None:
        self.language, self.engine = language, engine

    def say(self, key: str, /, **values: object) -> str:
        return message(f"explore.{key}", self.language, **values)

    def lay_out(self, scene: Scene) -> None:
        chosen = scene.selection
        self.state = gr.State(chosen)
        with gr.Row(elem_classes=["stt-row"], elem_id="inputs"):
            self._inputs(scene)
        self.notice = html_view("", elem_id="notice", label=self.say("notice"), live=True)
        with gr.Row(elem_classes=["stt-row", "stt-under"]):
            buttons = example_buttons(chosen.model, self.language, reads_images=scene.reads_images)
            self.examples = html_view(buttons, elem_id="examples", label=self.say("try"))
            self.status = html_view(
                run_words.status(scene), elem_id="status", label=self.say("status.label"), live=True
            )
        with gr.Row(elem_classes=["stt-given-row"]):
            self.pad = draw_pad(
                chosen.text if scene.reads_images else "", elem_id="pad", language=self.language,
                visible=scene.reads_images,
            )  # fmt: skip
            self.strip = html_view(run_words.strip(scene), elem_id="token-strip", label=self.say("strip"))
        self.diagram = html_view(run_words.diagram(scene), elem_id="diagram", label=self.say("diagram"))
        self.panels = html_view(panel_buttons(scene), elem_id="panels", label=message("panel.all", self.language))
        self.stage = stage_view(stage_value(scene))
        self.download = download_view()
        self.address = address_view(address(scene))

    def _inputs(self, scene: Scene) -> None:
        chosen = scene.selection
        self.model = gr.Dropdown(
            self.model_choices(), value=chosen.model, label=self.say("model"), allow_custom_value=True,
            elem_id="model", scale=3, min_width=220,
        )  # fmt: skip
        self.text = gr.Textbox(
            chosen.text, label=self.say("text"), lines=1, max_lines=6, elem_id="text", scale=7,
            visible=not scene.reads_images,
        )  # fmt: skip
        self.target = gr.Textbox(
            chosen.target or "", label=self.say("target"), lines=1, max_lines=6, elem_id="target", scale=5,
            visible=len(scene.trace.encodings) > 1,
        )  # fmt: skip
        self.run = gr.Button(self.say("run"), variant="primary", elem_id="run", scale=1, min_width=96)

    def model_choices(self) -> list[tuple[str, str]]:
        return [(self._choice_label(choice), choice.name) for choice in self.engine.choices()]

    def _choice_label(self, choice: Any) -> str:
        words = message(f"model.{choice.name}", self.language)
        if choice.ready or choice.pack is None:
            return words
        return self.say("model.cost", words=words, mb=round(choice.pack.wheel_bytes / 1e6), seconds=choice.pack.seconds)


def address(scene: Scene) -> str:
    """What is looked at, as the address bar has it."""
    return to_query(view_of(scene.trace, scene.selection, scene.language))


def download_view() -> gr.HTML:
    """An unseen view: where a prepared file lies, which the browser then fetches."""
    return gr.HTML(
        value="",
        elem_id="download",
        visible="hidden",
        html_template="<span></span>",
        js_on_load="stt.downloadView(element, trigger, props, watch);",
        apply_default_css=False,
    )
