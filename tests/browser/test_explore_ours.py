"""Our own trained models on the real page: a translation and its alignment, classes, a digit, a text that grows."""

from collections.abc import Callable, Iterator
from urllib.parse import quote

import numpy as np
import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import ExplorePage
from transformer.messages import message
from viz.pages.draw_pad import in_rows, ready_texts
from viz.pages.examples import examples, examples_for

pytestmark = pytest.mark.browser

SENTENCE = "The red cup on the table is new."
BARS = """(name) => { const plot = document.querySelector('#' + name + ' .stt-plot-live')._fullData[0];
   return [[...plot.hovertext], [...plot.x]]; }"""


@pytest.fixture(scope="module")
def open_on(stay: Callable[..., Visitor], site: Site) -> Iterator[Callable[..., ExplorePage]]:
    """`open_on("copycat", text="copy cat")`: a page that a link opened on a model."""
    pages: list[ExplorePage] = []

    def opened(model: str, *, text: str = "", where: str = "", **how: object) -> ExplorePage:
        address = f"{site.address}/{where}?model={model}" + (f"&text={quote(text)}" if text else "")
        page = ExplorePage(stay(address, **how), site)
        pages.append(page)
        page.until(lambda: page.link().model == model and page.link().cell is not None, f"{model} has run")
        return page

    yield opened
    for page in pages:
        assert page.problems() == []


@pytest.fixture(scope="module")
def translator(open_on: Callable[..., ExplorePage]) -> ExplorePage:
    return open_on("mini-translator", text=SENTENCE)


def test_the_second_text_is_the_models_own_answer(translator: ExplorePage) -> None:
    answer = translator.engine.answer("mini-translator", SENTENCE)
    assert answer == "桌子上的红杯子是新的。"
    assert translator.page.input_value("#target textarea") == answer == translator.link().target


def test_another_sentence_gets_another_answer_and_a_typed_one_stays(translator: ExplorePage) -> None:
    translator.type("I like you.")
    translator.until(lambda: translator.page.input_value("#target textarea") == "我喜欢你。", "a new answer")
    translator.until(lambda: translator.link().target == "我喜欢你。", "and its run")
    translator.page.fill("#target textarea", "你喜欢我。")
    translator.page.press("#target textarea", "Enter")
    translator.until(lambda: translator.link().target == "你喜欢我。", "a second text of one's own")
    assert translator.page.input_value("#target textarea") == "你喜欢我。"


def test_cross_attention_is_shown_from_target_to_source(translator: ExplorePage) -> None:
    trace = translator.engine.trace("mini-translator", "I like you.", "你喜欢我。")
    assert translator.link().site == "decoder.1.cross"
    expected = trace.weights("decoder.1.cross", translator.link().head)
    translator.until(lambda: np.allclose(translator.numbers(), expected, atol=1e-6), "the map of the cross-attention")
    assert expected.shape == (len(trace.encodings["decoder"]), len(trace.encodings["encoder"]))


def test_a_classifier_tells_its_classes(open_on: Callable[..., ExplorePage]) -> None:
    page = open_on("rule-classifier", text="12 45 7 99 30")
    names, shares = page.page.evaluate(BARS, "next-tokens")
    trace = page.trace("12 45 7 99 30", "rule-classifier")
    assert names == [message("class.rule-classifier.0"), message("class.rule-classifier.1")]
    ids, expected = trace.probabilities(0)
    assert shares == pytest.approx(expected[np.argsort(ids)], abs=1e-6) and shares[1] > 0.9
    assert message("explore.class.title") in page.words("next-title")
    page.type("12 45 7 98 30")
    page.until(lambda: page.page.evaluate(BARS, "next-tokens")[1][0] > 0.9, "no 99, no class 1")


@pytest.mark.parametrize("dark", [False, True])
def test_a_digit_is_taken_and_drawn(open_on: Callable[..., ExplorePage], dark: bool) -> None:
    page = open_on("digit-vit", dark=dark)
    assert not page.page.is_visible("#text textarea")
    page.page.click(".stt-pad-digit[data-ready='14']")  # a seven
    image = in_rows(ready_texts()[14])
    page.until(lambda: page.link().text == image, "the seven has run")
    page.until(lambda: int(np.argmax(page.page.evaluate(BARS, "next-tokens")[1])) == 7, "it is a seven")
    names, shares = page.page.evaluate(BARS, "next-tokens")
    assert names == [str(digit) for digit in range(10)]
    trace = page.trace(image, "digit-vit")
    ids, expected = trace.probabilities(0)
    assert shares == pytest.approx(expected[np.argsort(ids)], abs=1e-6)
    page.page.click("#token-strip [data-token='6']")  # the second patch of the second row
    page.until(lambda: page.link().cell is not None and page.link().cell[0] == 6, "a patch is the query")
    weights = trace.weights(page.link().site, page.link().head)[6]
    shown = page.page.get_attribute("#token-strip [data-token='3']", "aria-label")
    assert f"{weights[3]:.3f}" in shown or f"{weights[3]:.4g}" in shown
    box = page.page.locator(".stt-pad-paper").bounding_box()
    page.page.click(".stt-pad-clear")
    page.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.1)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.9, steps=8)
    page.page.mouse.up()
    page.until(lambda: page.page.evaluate(BARS, "next-tokens")[1][1] > 0.5, "a stroke is a one")


def test_from_image_to_text_and_back(open_on: Callable[..., ExplorePage]) -> None:
    page = open_on("digit-vit")
    page.choose("model", message("model.copycat"))
    first = examples_for("copycat")[0].text
    page.until(lambda: page.link().model == "copycat" and page.link().text == first, "copycat reads its example")
    assert page.page.is_visible("#text textarea") and page.page.input_value("#text textarea") == first
    page.choose("model", message("model.digit-vit"))
    page.until(lambda: page.link().model == "digit-vit" and page.page.is_visible("#pad"), "and the pad is back")


def test_every_example_of_mini_gpt_runs(open_on: Callable[..., ExplorePage]) -> None:
    page = open_on("mini-gpt")
    for one in examples_for("mini-gpt"):
        page.page.click(f"#examples [data-example='{examples().index(one)}']")
        page.until(lambda one=one: page.link().text == one.text, one.text)
        view = one.views["mini-gpt"]
        page.until(lambda view=view: page.link().cell == view.cell, "the view that answers")
        weight = page.trace(one.text, "mini-gpt").weights(page.link().site, view.head)[view.cell]
        assert weight > 0.3, f"{one.text}: the head that is shown does not look there ({weight})"


def test_what_lies_outside_its_training_is_said(open_on: Callable[..., ExplorePage]) -> None:
    page = open_on("mini-gpt", text="zebra quizzes")
    assert message("explore.unfamiliar.so") in page.words("status")
    page.type("The dog chased the cat and it")
    page.until(lambda: message("explore.unfamiliar.so") not in page.words("status"), "a known text is no news")


def test_a_text_grows_and_is_opened(open_on: Callable[..., ExplorePage]) -> None:
    page = open_on("mini-gpt", text="The keys to the cabinet")
    page.open_panel("generate")
    page.page.click("#generate-actions [data-play]")
    page.until(lambda: page.page.locator("#generate-strip [data-step]").count() >= 2, "two new tokens")
    page.until(lambda: "·are" in page.words("generate-strip"), "the verb that fits")
    page.page.click("#generate-actions [data-play]")
    page.page.click("#generate-strip [data-step='0']")
    page.until(lambda: page.page.get_attribute("#generate-strip [data-step='0']", "aria-pressed") == "true", "step 0")
    page.until(lambda: page.option("gen-step") == "0", "step 0 in the address")
    sizes = "document.querySelector('#generate-cache .stt-plot-live')._fullData.map(t => [t.z.length, t.z[0].length])"
    page.until(lambda: [4, 6] in page.page.evaluate(sizes), "4 layers, <bos> and 5 words")
    page.page.click("#stage [data-ask=open]")
    page.until(lambda: page.link().text == "The keys to the cabinet are", "the longer text in all panels")


def test_a_phone_in_chinese(open_on: Callable[..., ExplorePage]) -> None:
    page = open_on("digit-vit", where="zh/", width=360)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert message("explore.class.title", "zh") in page.words("next-title")
