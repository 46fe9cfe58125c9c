"""The pad: paper to draw a digit on, the 8 × 8 pixels that a model sees of it, and ready digits to take instead.

What happens while the pen moves lies in `assets/js/draw_pad.js`. The picture travels as text (`transformer/image.py`).
"""

from collections.abc import Sequence
from functools import cache

import gradio as gr

from transformer.image import LEVELS, text_of
from transformer.messages import message
from transformer.strokes import RULE, Stroke, picture_of, ready_digits, rule_and_digits
from viz.pages.pick import data_of
from viz.pages.plot_view import attribute

SIDE = RULE.side // RULE.cell  # pixels per side of the picture
BLANK = LEVELS[0] * SIDE**2


def draw_pad(value: str, *, elem_id: str, language: str = "en", visible: bool = True) -> gr.HTML:
    """A pad with a picture on it: `value` is its text of 8 × 8 characters, anything else is empty paper.

    Wire it with `pad.drawn(handler, …)`; the handler takes an `event: gr.EventData` and reads `drawn_image(event)`. It
    is told when the pen is lifted, a digit is taken, or the last change by keys is a moment ago. A new value, as text,
    shows another picture and tells nothing.
    """
    shown = clean(value) or BLANK
    strokes = next((one.strokes for one, text in zip(ready_digits(), ready_texts(), strict=True) if text == shown), ())
    return gr.HTML(
        value=shown,
        elem_id=elem_id,
        visible=visible,
        elem_classes=["stt-view"],
        html_template=_template(shown, strokes, language),
        js_on_load="stt.drawPad(element, trigger, props, watch); // tells 'drawn'",
        apply_default_css=False,
    )


def drawn_image(event: gr.EventData) -> str | None:
    """The text of the picture that was drawn, 64 characters; None where the browser sent nothing usable."""
    return clean(data_of(event).get("image"))


def clean(text: object) -> str | None:
    """The picture's text without white space, in small letters; None if it is not 8 × 8 pixels."""
    if not isinstance(text, str) or len(text) > 4 * len(BLANK):  # white space is welcome, a book is not
        return None
    signs = "".join(text.split()).lower()
    return signs if len(signs) == len(BLANK) and not set(signs) - set(LEVELS) else None


def in_rows(text: str) -> str:
    """The picture's text with a line for each row of pixels, as `text_of` writes it."""
    return "\n".join(text[start : start + SIDE] for start in range(0, len(text), SIDE))


@cache
def ready_texts() -> tuple[str, ...]:
    """The text of each ready digit's picture, in the order of `ready_digits`."""
    return tuple("".join(text_of(picture_of(one.strokes)).split()) for one in ready_digits())


def _template(shown: str, strokes: Sequence[Stroke], language: str) -> str:
    def say(name: str, **values: object) -> str:
        return attribute(message(f"pad.{name}", language, **values))

    cell = say("cell", row="{row}", column="{column}", level="{level}")
    return (
        # The kit lies in the template: properties of its own do not reach a view that was hidden when the page began.
        f'<div class="stt-pad" role="group" aria-label="{say("label")}" data-kit="{attribute(rule_and_digits())}">'
        '<div class="stt-pad-boards">'
        f'<div class="stt-pad-board"><p class="stt-pad-name">{say("draw")}</p>'
        f'<svg class="stt-pad-paper" viewBox="0 0 1 1" role="img" aria-label="{say("paper")}">'
        f'<path class="stt-pad-ink" d="{_path(strokes)}"/></svg></div>'
        f'<div class="stt-pad-board"><p class="stt-pad-name">{say("seen")}</p>'
        f'<svg class="stt-pad-pixels" viewBox="0 0 {SIDE} {SIDE}" tabindex="0" role="application"'
        f' aria-label="{say("pixels")}" data-words="{cell}">{_pixels(shown)}</svg></div></div>'
        '<div class="stt-pad-tools">'
        f'<button type="button" class="stt-pill stt-pad-undo" disabled>{say("undo")}</button>'
        f'<button type="button" class="stt-pill stt-pad-clear">{say("clear")}</button>'
        '<span class="stt-pad-said" role="status"></span></div>'
        f'<p class="stt-pad-name">{say("ready")}</p>'
        f'<div class="stt-pad-ready" role="group" aria-label="{say("ready")}">{_ready(shown, language)}</div>'
        f'<p class="stt-pad-keys">{say("keys")}</p></div>'
    )


def _path(strokes: Sequence[Stroke]) -> str:
    """The strokes as an SVG path; a stroke of one point is a dot."""
    return "".join("M" + "L".join(f"{x:g} {y:g}" for x, y in (*stroke, stroke[-1])) for stroke in strokes)


def _pixels(shown: str) -> str:
    squares = "".join(
        f'<rect class="stt-pixel" x="{at % SIDE}" y="{at // SIDE}" width="1" height="1"'
        f' fill-opacity="{LEVELS.index(sign) / 16:g}"/>'
        for at, sign in enumerate(shown)
    )
    lines = "".join(f"M0 {step}h{SIDE}M{step} 0v{SIDE}" for step in range(1, SIDE))
    return f'{squares}<path class="stt-pad-lines" d="{lines}"/><rect class="stt-pad-cursor" width="1" height="1"/>'


def _ready(shown: str, language: str) -> str:
    """A button per ready digit, 0 … 9 in the first hand, then in the second."""
    hands: dict[int, int] = {}
    buttons: list[tuple[int, int, str]] = []
    for number, (one, text) in enumerate(zip(ready_digits(), ready_texts(), strict=True)):
        hand = hands[one.digit] = hands.get(one.digit, 0) + 1
        words = attribute(message("pad.digit", language, digit=one.digit, hand=hand))
        button = (
            f'<button type="button" class="stt-pad-digit" data-ready="{number}" aria-label="{words}" title="{words}"'
            f' aria-pressed="{"true" if text == shown else "false"}" tabindex="{-1 if buttons else 0}">'
            f'<svg viewBox="0.14 0.04 0.72 0.92" aria-hidden="true"><path d="{_path(one.strokes)}"/></svg></button>'
        )
        buttons.append((hand, one.digit, button))
    return "".join(button for _, _, button in sorted(buttons))
