"""The pad before any script has run, and what is believed of what a browser tells."""

import json
import re
from html import unescape
from pathlib import Path

import gradio as gr
import numpy as np
import pytest

from transformer.image import LEVELS, ImageShape, image_of
from transformer.messages import LANGUAGES
from transformer.strokes import picture_of, ready_digits
from viz.pages import draw_pad as module
from viz.pages.draw_pad import BLANK, clean, draw_pad, drawn_image, ready_texts

STEPS = (LEVELS * 4)[:64]  # every level, each at several places


def _event(image: object) -> gr.EventData:
    return gr.EventData(None, {"image": image})


def _opacities(pad: gr.HTML) -> list[float]:
    return [float(value) for value in re.findall(r'class="stt-pixel"[^>]*fill-opacity="([\d.]+)"', pad.html_template)]


def test_the_first_picture_needs_no_script() -> None:
    pad = draw_pad(STEPS, elem_id="pad")
    assert np.array_equal(_opacities(pad), image_of(STEPS, ImageShape(1, 8, 8, 2)).ravel())
    assert pad.value == STEPS and 'class="stt-pad-ink" d=""' in pad.html_template
    assert _opacities(draw_pad("no picture", elem_id="pad")) == [0] * 64


def test_a_ready_digit_is_shown_with_its_strokes() -> None:
    template = draw_pad(ready_texts()[7], elem_id="pad").html_template
    (path,) = re.findall('class="stt-pad-ink" d="([^"]+)"', template)
    (x, y), *_ = ready_digits()[7].strokes[0]
    assert path.startswith(f"M{x:g} {y:g}L") and path.count("M") == len(ready_digits()[7].strokes)
    assert re.findall(r'data-ready="(\d+)"[^>]*aria-pressed="true"', template) == ["7"]


def test_ready_digits_stand_in_two_rows_of_ten() -> None:
    template = draw_pad("", elem_id="pad").html_template
    order = [int(number) for number in re.findall(r'data-ready="(\d+)"', template)]
    assert [ready_digits()[number].digit for number in order] == [*range(10), *range(10)]
    assert sorted(order) == list(range(20)) and template.count('tabindex="0"') == 2  # one stop for them, one for pixels
    assert re.findall(r'data-ready="(\d+)"[^>]*tabindex="0"', template) == ["0"]


def test_ready_texts_are_the_pictures_of_the_strokes() -> None:
    for text, one in zip(ready_texts(), ready_digits(), strict=True):
        assert (image_of(text, ImageShape(1, 8, 8, 2))[0] == picture_of(one.strokes)).all()


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_in_the_template_can_run(language: str) -> None:
    pad = draw_pad('${alert(1)}<img src=x onerror="x">' * 3, elem_id="pad", language=language)
    assert not set(pad.html_template) & set("$`{}\\") and "alert" not in pad.html_template and pad.value == BLANK
    words = unescape(re.findall('data-words="([^"]+)"', pad.html_template)[0])
    assert set(re.findall(r"\{(\w+)\}", words)) == {"row", "column", "level"}
    assert set(json.loads(unescape(re.findall('data-kit="([^"]+)"', pad.html_template)[0]))) == {"rule", "digits"}


def test_a_good_picture() -> None:
    assert drawn_image(_event(STEPS)) == STEPS
    lines = "\r\n".join(STEPS[at : at + 8].upper() for at in range(0, 64, 8))
    assert clean(f" {lines}\n") == STEPS


@pytest.mark.parametrize(
    "bad",
    [None, "", 0, True, [STEPS], {"a": 1}, b"0" * 64, STEPS[:-1], STEPS + "0", STEPS + " " * 999]
    + [sign * 64 for sign in ("h", "-", "٣", "\x00", "²")],
)
def test_a_bad_picture_is_nothing(bad: object) -> None:
    assert drawn_image(_event(bad)) is None


def test_an_event_without_data_is_nothing() -> None:
    assert drawn_image(gr.EventData(None, None)) is None


def test_the_pad_speaks_of_drawn_and_leaves_no_file_behind() -> None:
    with gr.Blocks():
        assert callable(draw_pad("", elem_id="pad").drawn)
    assert not list(Path(module.__file__).parent.glob("*.pyi"))
