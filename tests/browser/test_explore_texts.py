"""Whatever is typed comes back character for character, runs nowhere, and is refused in words where it must be."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import ExplorePage, same
from transformer.engine import LONGEST_TEXT
from transformer.messages import message
from transformer.visible import visible
from viz.figures.axes import shorten

pytestmark = pytest.mark.browser

_CASES = json.loads((Path(__file__).parents[1] / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = {case["id"]: case["text"] if "text" in case else case["repeat"][0] * case["repeat"][1] for case in _CASES}
RUNS = [name for name in TEXTS if name not in ("empty", "too-long")]
FOREIGN = "document.querySelectorAll('img, script, iframe, object, embed, svg[onload]').length"
# What a reader sees in the strip: the whole character above its pieces, else the token.
_SHOWN = """() => [...document.querySelectorAll('#token-strip .stt-word > *')].map(node =>
   (node.querySelector('.stt-whole') || node.querySelector('.stt-token-text')).textContent)"""
_LABELS = """(name) => Object.fromEntries(['y2tick', 'x2tick'].map(kind => [kind,
   [...document.querySelectorAll('#head-map .' + kind + ' text')].map(node => node.textContent)]))"""


@pytest.fixture(scope="module")
def page(stay: Callable[..., Visitor], site: Site) -> ExplorePage:
    return ExplorePage(stay(site.address), site)


@pytest.fixture(scope="module")
def chinese(stay: Callable[..., Visitor], site: Site) -> ExplorePage:
    return ExplorePage(stay(site.address + "/zh/"), site)


@pytest.mark.parametrize("name", RUNS)
def test_a_text_comes_back_character_for_character(page: ExplorePage, name: str) -> None:
    text, before = TEXTS[name], page.page.evaluate(FOREIGN)
    encoding = page.trace(text).encodings["decoder"]
    page.type(text)
    page.shows_run(page.trace(text))
    graphemes = [visible(piece) or encoding.tokens[first] for piece, first, _ in encoding.graphemes]
    assert page.page.evaluate(_SHOWN) == graphemes
    assert "".join(graphemes[1:]) == visible(text)
    titles = page.page.locator("#token-strip .stt-token").evaluate_all("nodes => nodes.map(node => node.title)")
    assert all(token in title for token, title in zip(encoding.tokens, titles, strict=True))
    assert page.page.evaluate(FOREIGN) == before, "a text became an element"
    assert page.problems() == []


@pytest.mark.parametrize("name", ["one", "html", "template", "entities", "space-newline"])
def test_the_labels_of_the_map_are_the_tokens(page: ExplorePage, name: str) -> None:
    text = TEXTS[name][:13]
    page.type(text)
    page.shows_run(page.trace(text))
    tokens = [shorten(token) for token in page.trace(text).encodings["decoder"].tokens]
    labels = page.page.evaluate(_LABELS, name)
    assert labels == {"y2tick": tokens, "x2tick": tokens} and page.problems() == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_cannot_run_is_said_and_the_last_picture_stays(
    page: ExplorePage, chinese: ExplorePage, language: str
) -> None:
    page = page if language == "en" else chinese
    page.type("the cat")
    page.shows_run(page.trace("the cat"), language=language)
    address, tokens, numbers = page.page.url, page.tokens(), page.numbers()
    for text, key, values in (
        ("", "empty_text", {}),
        (TEXTS["too-long"], "text_too_long", {"got": len(TEXTS["too-long"]), "limit": LONGEST_TEXT}),
        ("x" * 600, "too_many_tokens", {"got": 601, "limit": 512, "model": "untrained"}),
    ):
        page.type(text)
        page.says("notice", message(f"error.{key}", language, **values))
        assert page.page.url == address and page.tokens() == tokens and same(page.numbers(), numbers)
    page.type("the cat!")
    page.shows_run(page.trace("the cat!"), language=language)
    assert page.words("notice").strip() == "" and page.problems() == []


NOBODY = ["nobody", "<img src=x onerror=alert(1)>", "../../etc/passwd", "${alert(1)}", "{{value}}", "m" * 300, "no/one"]


@pytest.mark.parametrize("name", NOBODY)
def test_a_model_that_is_none_is_said_and_the_last_picture_stays(page: ExplorePage, name: str) -> None:
    page.type("the cat")
    page.shows_run(page.trace("the cat"))
    numbers, before = page.numbers(), page.page.evaluate(FOREIGN)
    page.choose("model", name)
    page.says("notice", name[:40])
    assert same(page.numbers(), numbers) and page.page.evaluate(FOREIGN) == before
    page.choose("model", message("model.untrained"))
    page.type("the cat sat")
    page.shows_run(page.trace("the cat sat"))
    assert page.words("notice").strip() == "" and page.problems() == []


def test_a_long_text_is_pooled_and_exact_in_its_window(page: ExplorePage) -> None:
    text = "".join(chr(97 + index * index % 26) for index in range(399))
    trace, site = page.trace(text), "decoder.2.self"
    page.type(text)
    page.until(lambda: page.link().text == text, "the text has run")
    weights = trace.weights(site, 0)
    largest = np.maximum.reduceat(np.maximum.reduceat(weights, range(0, 400, 4), axis=0), range(0, 400, 4), axis=1)
    page.until(lambda: page.numbers().shape == (100, 100), "a pooled map")
    np.testing.assert_allclose(np.nan_to_num(page.numbers()), largest, rtol=1e-6)
    page.click_cell(201, 101)
    page.until(lambda: page.link().cell is not None and page.link().cell[0] in range(200, 204), "a block was chosen")
    query, key = page.link().cell
    page.page.click("[data-exact]")
    page.until(lambda: page.numbers().shape == (64, 64), "the exact window")
    rows, columns = slice(query - 32, query + 32), slice(key - 32, key + 32)
    expected = np.where(trace.allowed(site, 0), weights, np.nan)[rows, columns]
    assert same(page.numbers(), expected) and page.link().view == "exact"
    page.click_cell(query + 5, key - 7)
    page.until(lambda: page.link().cell == (query + 5, key - 7), "an exact cell")
    page.until(lambda: abs(page.result() - weights[query + 5, key - 7]) <= 1e-5, "its weight")
    page.page.click("[data-exact]")
    page.until(lambda: page.numbers().shape == (100, 100), "the whole text again")
    page.type("short")
    page.shows_run(page.trace("short"))
    assert page.page.locator("[data-exact]").count() == 0 and page.problems() == []
