"""Every example can be read in both languages, fits its model, and is a button."""

import re
from html import unescape

import pytest

from transformer.engine import Engine
from transformer.messages import LANGUAGES
from viz.pages.examples import example_buttons, examples, view_on
from viz.pages.links import View


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_example_is_one_button_with_its_number(language: str) -> None:
    found = re.findall(r'<button[^>]*data-example="(\d+)"[^>]*>([^<]+)</button>', example_buttons(language))
    assert [(int(number), unescape(words)) for number, words in found] == [
        (number, one.words[language]) for number, one in enumerate(examples())
    ]


def test_examples_fit_the_smallest_model_and_differ(engine: Engine) -> None:
    texts = [one.text for one in examples()]
    assert len(set(texts)) == len(texts) >= 4
    for text in texts:
        assert len(engine.trace("untrained", text).encodings["decoder"]) > len(text) // 2


def test_an_example_opens_its_view_only_on_the_model_it_was_found_on() -> None:
    one = next(one for one in examples() if "smollm2" in one.views)
    assert view_on(one.text, "smollm2") == one.views["smollm2"] != View()
    assert view_on(one.text, "untrained") == view_on("anything", "smollm2") == View()


@pytest.mark.weights
def test_the_views_of_smollm2_show_what_they_promise(smollm2_folder: object) -> None:
    engine = Engine("smollm2", packs=False)
    for one in examples():
        if "smollm2" not in one.views:
            continue
        trace, view = engine.trace("smollm2", one.text), one.views["smollm2"]
        site = trace.attention_sites()[view.layer]
        row = trace.weights(site, view.head)[view.cell[0]]
        assert int(row.argmax()) == view.cell[1] and row.max() > 0.3, one.text
