"""Examples: each is a button for its models, texts are safe on a page, and views name what exists."""

import re
from html import unescape

import pytest

from transformer.image import LEVELS, ImageShape
from transformer.messages import LANGUAGES
from viz.pages.examples import ANY_TEXT, example_buttons, examples, examples_for, is_image, is_meant_for, view_on
from viz.pages.links import View

IMAGE = "\n".join(["01230123"] * 8)
SHAPE = ImageShape(1, 8, 8, 2)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("model", ["mini-gpt", "mini-translator", "rule-classifier", "copycat", "smollm2", "a/folder"])
def test_each_example_of_a_model_is_one_button_with_its_number(language: str, model: str) -> None:
    found = re.findall(r'<button[^>]*data-example="(\d+)"[^>]*>([^<]+)</button>', example_buttons(model, language))
    own = examples_for(model)
    assert own and [examples()[int(number)] for number, _ in found] == list(own)
    assert [unescape(words) for _, words in found] == [one.words[language] for one in own]


def test_a_model_of_ours_has_examples_of_its_own() -> None:
    assert all(ANY_TEXT in one.models for one in examples_for("smollm2"))
    assert not any(ANY_TEXT in one.models for one in examples_for("mini-gpt"))
    assert example_buttons("digit-vit", "en", reads_images=True) == ""


def test_a_view_is_opened_only_on_its_model() -> None:
    one = next(one for one in examples() if "smollm2" in one.views)
    assert view_on(one.text, "smollm2") == one.views["smollm2"] != View()
    assert view_on(one.text, "untrained") == view_on("any other text", "smollm2") == View()


def test_an_examples_text_makes_room_and_a_typed_text_stays() -> None:
    translation = examples_for("mini-translator")[0].text
    assert is_meant_for(translation, "mini-translator") and not is_meant_for(translation, "mini-gpt")
    assert is_meant_for("what I typed", "mini-gpt") and is_meant_for("what I typed", "copycat")
    assert not is_meant_for(IMAGE, "mini-gpt") and is_meant_for(IMAGE, "digit-vit", SHAPE)
    for text in ("what I typed", "12 45 7 99 30", "ada"):
        assert not is_meant_for(text, "digit-vit", SHAPE)


def test_numbers_are_no_image() -> None:
    assert is_image(IMAGE) and not is_image("12 45 7 99 30 8 61 24 12 45 7 99 30 8 61 24 33 2")
    assert not is_image("0") and set("0123") <= set(LEVELS)
