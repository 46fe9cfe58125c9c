"""Generate: the text grows token by token; each step shows what could have come, what was cut, and what was kept."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from transformer.engine import Engine
from transformer.errors import SeeThroughError
from transformer.generate import GenerationSettings, Step
from transformer.growing import Growing
from transformer.messages import message
from transformer.next_pass import check_generator
from viz import figures
from viz.pages.plot_view import figure_json, html_view, plot_view, real, whole, whole_of
from viz.pages.selection import Selection

MOST_STEPS = 48  # new tokens; more would be a book, and the page shows every step
SHOWN = 10  # candidates of a step
Updates = dict[Any, Any]


@dataclass(frozen=True)
class Grown:
    """What is shown of a generation: of which question, with which dials, how many steps, and the one looked at."""

    model: str = ""
    text: str = ""
    settings: GenerationSettings = GenerationSettings()  # noqa: RUF009 (frozen)
    count: int = 0
    selected: int = 0


class Generate:
    """The panel: `lay_out` inside the page, then `wire` to the page's own state."""

    def __init__(self, language: str, engine: Engine) -> None:
        self.language, self.engine = language, engine

    def say(self, key: str, /, **values: object) -> str:
        return message(f"generate.{key}", self.language, **values)

    def lay_out(self, model: str) -> None:
        """`model`: the one that the page opens with."""
        with gr.Accordion(self.say("title"), open=False, elem_id="generate", elem_classes=["stt-generate"]):
            self.state = gr.State(Grown())
            lead = self._lead(self._reason(model))
            self.notice = html_view(lead, elem_id="generate-notice", label=self.say("title"), live=True)
            with gr.Row(elem_classes=["stt-row", "stt-dials"]):
                self._dials()
            with gr.Row(elem_classes=["stt-actions"]):
                self.play = gr.Button(self.say("play"), variant="primary", elem_id="generate-play", min_width=96)
                self.more = gr.Button(self.say("more"), elem_id="generate-more", min_width=96)
                self.back = gr.Button(self.say("back"), elem_id="generate-back", min_width=96)
                self.stop = gr.Button(self.say("stop"), elem_id="generate-stop", min_width=96)
                self.open = gr.Button(self.say("open"), elem_id="generate-open", min_width=160)
            self.strip = html_view("", elem_id="generate-strip", label=self.say("strip"))
            with gr.Row(elem_classes=["stt-pair"]):
                self.bars = plot_view(None, elem_id="generate-bars", label=self.say("bars"), height=340)
                self.cache = plot_view(None, elem_id="generate-cache", label=self.say("cache"), height=260)

    def _dials(self) -> None:
        choices = [(self.say("mode.greedy"), "greedy"), (self.say("mode.sample"), "sample")]
        self.mode = gr.Dropdown(choices, value="greedy", label=self.say("mode"), elem_id="generate-mode", min_width=140)
        slider = {"min_width": 140}
        idle = slider | {"interactive": False}  # nothing to turn where the most probable token is taken
        self.temperature = gr.Slider(
            0.1, 2.0, 1.0, step=0.1, label=self.say("temperature"), elem_id="generate-temperature", **idle
        )
        self.top_k = gr.Slider(0, 50, 0, step=1, label=self.say("top_k"), elem_id="generate-top-k", **idle)
        self.top_p = gr.Slider(0.05, 1.0, 1.0, step=0.05, label=self.say("top_p"), elem_id="generate-top-p", **idle)
        self.tokens = gr.Slider(
            1, MOST_STEPS, 12, step=1, label=self.say("tokens"), elem_id="generate-tokens", **slider
        )
        self.seed = gr.Number(
            0, precision=0, minimum=0, label=self.say("seed"), elem_id="generate-seed", min_width=100, interactive=False
        )

    def wire(self, chosen: gr.State, slow: dict[str, Any], quick: dict[str, Any]) -> None:
        """`chosen` is the page's selection: its text is what grows."""
        dials = [self.mode, self.temperature, self.top_k, self.top_p, self.seed]
        shown = [self.state, self.notice, self.strip, self.bars, self.cache]
        turned = [self.temperature, self.top_k, self.top_p, self.seed]
        self.mode.input(self.on_mode, [self.mode], turned, **quick)
        playing = self.play.click(self.on_play, [chosen, self.state, self.tokens, *dials], shown, **slow)
        self.more.click(self.on_more, [chosen, self.state, *dials], shown, **slow)
        self.back.click(self.on_back, [self.state], shown, **quick)
        self.strip.pick(self.on_step, [self.state], shown, trigger_mode="multiple", **quick)
        self.stop.click(None, None, None, cancels=[playing], queue=False, api_visibility="private")

    # --- what happens ------------------------------------------------------------------------------------------------

    def on_play(self, chosen: Selection, before: Grown, tokens: float, *dials: Any) -> Iterator[Updates]:
        """One step after the other, each shown as soon as it is there."""
        try:
            grown = self._asked(chosen, before, dials)
            most = max(1, min(whole(tokens) or 1, MOST_STEPS))
            least = grown.count if grown.count < most else 0
            for count in range(least + 1, most + 1):
                grown = replace(grown, count=count, selected=count - 1)
                steps = self._steps(grown)
                yield self._updates(replace(grown, count=len(steps), selected=len(steps) - 1))
                if steps[-1].stop is not None:
                    return
        except SeeThroughError as error:
            yield self._refused(error)

    def on_more(self, chosen: Selection, before: Grown, *dials: Any) -> Updates:
        try:
            grown = self._asked(chosen, before, dials)
            grown = replace(grown, count=min(grown.count + 1, MOST_STEPS))
            steps = self._steps(grown)
            return self._updates(replace(grown, count=len(steps), selected=len(steps) - 1))
        except SeeThroughError as error:
            return self._refused(error)

    def fresh(self, model: str) -> Updates:
        """The panel before anything was generated by a model; one that cannot write says why."""
        reason = self._reason(model)
        buttons = (self.play, self.more, self.back, self.open)
        return {
            self.state: Grown(),
            self.notice: self._lead(reason),
            self.strip: "",
            self.bars: None,
            self.cache: None,
            **{button: gr.update(interactive=reason is None) for button in buttons},
        }

    def _reason(self, model: str) -> str | None:
        """Why a model writes no text; None: it does."""
        try:
            check_generator(self.engine.load(model))
        except SeeThroughError as error:
            return error.text(self.language)
        return None

    def _lead(self, reason: str | None) -> str:
        return self._note("lead") if reason is None else f'<p class="stt-lead">{escape(reason)}</p>'

    def outputs(self) -> list[Any]:
        """What `fresh` may change."""
        return [
            self.state, self.notice, self.strip, self.bars, self.cache, self.play, self.more, self.back, self.open,
        ]  # fmt: skip

    def on_mode(self, mode: str) -> Updates:
        """The dials and the seed turn nothing where the most probable token is taken."""
        turns = gr.update(interactive=mode == "sample")
        return dict.fromkeys((self.temperature, self.top_k, self.top_p, self.seed), turns)

    def on_back(self, before: Grown) -> Updates:
        """One token fewer; the step before it is looked at."""
        if before.count <= 1:
            return {self.notice: gr.skip()}
        return self._again(replace(before, count=before.count - 1, selected=before.count - 2))

    def on_step(self, before: Grown, event: gr.EventData) -> Updates:
        number = whole_of(event, "step")
        if number is None or not 0 <= number < before.count:
            return {self.notice: gr.skip()}
        return self._again(replace(before, selected=number))

    def text_so_far(self, grown: Grown) -> str | None:
        """The text up to the step that is looked at, for all other panels; None where nothing was generated."""
        if not grown.count:
            return None
        ids = self._steps(grown)[grown.selected].ids
        return self.engine.spelled(grown.model, ids)

    # --- what is shown -----------------------------------------------------------------------------------------------

    def _asked(self, chosen: Selection, before: Grown, dials: tuple[Any, ...]) -> Grown:
        """What is to grow now: the same as before goes on, anything else begins anew."""
        mode, temperature, top_k, top_p, seed = dials
        settings = GenerationSettings(
            mode=str(mode),
            temperature=real(temperature) or 1.0,
            top_k=whole(top_k) or None,
            top_p=share if (share := real(top_p) or 1.0) < 1 else None,
            max_new_tokens=MOST_STEPS,
            seed=whole(seed) or 0,
            shown=SHOWN,
        )
        asked = Grown(chosen.model, chosen.text, settings)
        same = (before.model, before.text, before.settings) == (asked.model, asked.text, asked.settings)
        return before if same else asked

    def _growing(self, grown: Grown) -> Growing:
        return self.engine.growing(grown.model, grown.text, grown.settings)

    def _steps(self, grown: Grown) -> list[Step]:
        return self._growing(grown).steps(grown.count)

    def _updates(self, grown: Grown) -> Updates:
        steps = self._steps(grown)
        step, last = steps[grown.selected], steps[-1]
        greedy = grown.settings.mode == "greedy"
        chosen = step.distribution.uncut if greedy else step.distribution
        names = [self.engine.token(grown.model, int(one)) for one in chosen.ids]
        shares = np.array([one.distribution.scaled[one.distribution.place] for one in steps])
        encoding = self.engine.encoding_of(grown.model, last.ids)
        read = [self.engine.token(grown.model, one) for one in step.ids[:-1]]
        cache = step.cache
        return {
            self.state: grown,
            self.notice: self._note(f"stop.{last.stop}" if last.stop else "going", count=len(steps)),
            self.strip: figures.generated_strip(shares, encoding, selected=grown.selected, language=self.language),
            self.bars: figure_json(figures.sampling_bars(chosen, names, language=self.language)),
            self.cache: figure_json(
                figures.cache_grid(
                    cache.cells(),
                    read,
                    nbytes=cache.nbytes,
                    formula=cache.formula,
                    why=cache.why,
                    language=self.language,
                )
            ),
        }

    def _again(self, grown: Grown) -> Updates:
        """Another look at what was generated; it is computed again should it have left the engine."""
        try:
            return self._updates(grown)
        except SeeThroughError as error:
            return self._refused(error)

    def _refused(self, error: SeeThroughError) -> Updates:
        return {self.notice: f'<p class="stt-error">{escape(error.text(self.language))}</p>'}

    def _note(self, key: str, **values: object) -> str:
        return f'<p class="stt-lead">{escape(self.say(key, **values))}</p>'
