"""The components of Explore and where they stand; every one has an `elem_id` that stays."""

from typing import Any

import gradio as gr

from transformer.engine import Engine
from transformer.messages import message
from viz.pages import selection as move
from viz.pages.draw_pad import draw_pad
from viz.pages.examples import example_buttons
from viz.pages.generate import Generate
from viz.pages.panels import Panels
from viz.pages.plot_view import address_view, html_view, plot_view


class Layout:
    """The page without its behaviour: components by name, filled with a finished picture."""

    def __init__(self, language: str, engine: Engine) -> None:
        self.language, self.engine = language, engine
        self.generate = Generate(language, engine)

    def say(self, key: str, /, **values: object) -> str:
        return message(f"explore.{key}", self.language, **values)

    def lay_out(self, panels: Panels) -> None:
        chosen = panels.selection
        self.state = gr.State(chosen)
        with gr.Row(elem_classes=["stt-row"]):
            self.model = gr.Dropdown(
                self.model_choices(), value=chosen.model, label=self.say("model"), allow_custom_value=True,
                elem_id="model", scale=3, min_width=220,
            )  # fmt: skip
            self.text = gr.Textbox(
                chosen.text, label=self.say("text"), lines=1, max_lines=6, elem_id="text", scale=7,
                visible=not panels.reads_images,
            )  # fmt: skip
            self.target = gr.Textbox(
                chosen.target or "", label=self.say("target"), lines=1, max_lines=6, elem_id="target", scale=5,
                visible=len(panels.trace.encodings) > 1,
            )  # fmt: skip
            self.run = gr.Button(self.say("run"), variant="primary", elem_id="run", scale=1, min_width=96)
        self.notice = html_view("", elem_id="notice", label=self.say("notice"), live=True)
        with gr.Row(elem_classes=["stt-row", "stt-under"]):
            buttons = example_buttons(chosen.model, self.language, reads_images=panels.reads_images)
            self.examples = html_view(buttons, elem_id="examples", label=self.say("try"))
            self.status = html_view(panels.status(), elem_id="status", label=self.say("status.label"), live=True)
        with gr.Row(elem_classes=["stt-given-row"]):
            self.pad = draw_pad(
                chosen.text if panels.reads_images else "", elem_id="pad", language=self.language,
                visible=panels.reads_images,
            )  # fmt: skip
            self.strip = html_view(panels.strip(), elem_id="token-strip", label=self.say("strip"))
        self.diagram = html_view(panels.diagram(), elem_id="diagram", label=self.say("diagram"))
        with gr.Row(elem_classes=["stt-columns"]):
            self._columns(panels)
        self.generate.lay_out(chosen.model)
        self.address = address_view(panels.address())

    def _columns(self, panels: Panels) -> None:
        with gr.Column(elem_classes=["stt-overview"]):
            self.mosaic_title = html_view(panels.mosaic_title(), elem_id="mosaic-title", label=self.say("mosaic.label"))
            self.mosaic = plot_view(panels.mosaic(), elem_id="mosaic", label=self.say("mosaic.label"))
        with gr.Column(elem_classes=["stt-detail"]):
            with gr.Column(elem_classes=["stt-head"]):
                with gr.Row(elem_classes=["stt-chooser"]):
                    self.layer = gr.Dropdown(
                        **self.layers(panels), label=self.say("layer"), elem_id="layer", min_width=0
                    )
                    self.head = gr.Dropdown(**self.heads(panels), label=self.say("head"), elem_id="head", min_width=0)
                self.head_title = html_view(
                    panels.head_title(), elem_id="head-title", label=self.say("head.label"), live=True
                )
            self.exact = gr.Button(
                **self.exactness(panels), elem_id="exact", elem_classes=["stt-pill"], size="sm", min_width=0
            )
            self.head_map = plot_view(panels.head_map(), elem_id="head-map", label=self.say("head.map"))
            self.head_lines = plot_view(panels.head_lines(), elem_id="head-lines", label=self.say("head.lines"))
            self.seal = html_view(panels.seal(), elem_id="seal", label=self.say("seal.label"))
            with gr.Accordion(self.say("table"), open=False, elem_id="head-table-box") as self.table_box:
                self.table = html_view("", elem_id="head-table", label=self.say("table"))
        with gr.Column(elem_classes=["stt-numbers"]):
            self.arithmetic = html_view(panels.arithmetic(), elem_id="arithmetic", label=self.say("cell.title"))
            self.next_title = html_view(panels.next_title(), elem_id="next-title", label=self.say("next.title"))
            self.next_tokens = plot_view(panels.next_tokens(), elem_id="next-tokens", label=self.say("next.title"))

    def model_choices(self) -> list[tuple[str, str]]:
        return [(self._choice_label(choice), choice.name) for choice in self.engine.choices()]

    def _choice_label(self, choice: Any) -> str:
        words = message(f"model.{choice.name}", self.language)
        if choice.ready or choice.pack is None:
            return words
        return self.say("model.cost", words=words, mb=round(choice.pack.wheel_bytes / 1e6), seconds=choice.pack.seconds)

    def layers(self, panels: Panels) -> dict[str, Any]:
        names = [(panels.layer_name(site), number) for number, site in enumerate(panels.trace.attention_sites())]
        return {"choices": names, "value": panels.selection.attention}

    def heads(self, panels: Panels) -> dict[str, Any]:
        return {
            "choices": [(str(number), number) for number in range(panels.how.heads)],
            "value": panels.selection.head,
        }

    def exactness(self, panels: Panels) -> dict[str, Any]:
        key = "whole" if panels.selection.exact else "exact"
        return {"value": self.say(key), "visible": move.is_long(panels.trace, panels.selection)}
