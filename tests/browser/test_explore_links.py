"""A link brings back what somebody saw; visitors never see each other's."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import ExplorePage
from transformer.messages import message

pytestmark = pytest.mark.browser

TEXT = "小明 & the\tcat\n100% <b>"
Visit = Callable[..., Visitor]


def _at(site: Site, path: str = "/", text: str = TEXT, **rest: object) -> str:
    query = {"model": "untrained", "text": text, **rest}
    return f"{site.address}{path}?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())


def test_a_link_restores_text_layer_head_and_cell(visit: Visit, site: Site) -> None:
    page = ExplorePage(visit(_at(site, layer=3, head=2, query=9, key=4)), site)
    page.shows(page.trace(TEXT), "decoder.3.self", 2, (9, 4))
    assert page.page.input_value("#text textarea") == TEXT
    again = ExplorePage(visit(page.page.url), site)
    again.shows(page.trace(TEXT), "decoder.3.self", 2, (9, 4))
    assert again.link() == page.link() and page.problems() == again.problems() == []


def test_the_link_button_copies_the_view_with_its_language(visit: Visit, site: Site) -> None:
    page = ExplorePage(visit(_at(site, "/zh/", layer=0, head=3, query=5, key=2)), site)
    page.shows(page.trace(TEXT), "decoder.0.self", 3, (5, 2), "zh")
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.page.click("[data-stt=link]")
    page.until(lambda: page.page.evaluate("document.querySelector('#stt-said')?.textContent"), "the page says: copied")
    there = ExplorePage(visit(page.page.evaluate("navigator.clipboard.readText()")), site)
    there.shows(page.trace(TEXT), "decoder.0.self", 3, (5, 2), "zh")
    assert there.page.evaluate("document.documentElement.lang") == "zh-CN" and there.problems() == []


def test_the_other_language_shows_the_same_view(visit: Visit, site: Site) -> None:
    page = ExplorePage(visit(site.address), site)
    page.type("the cat")
    page.shows_run(page.trace("the cat"))
    page.click_head(1, 3)
    page.shows(page.trace("the cat"), "decoder.1.self", 3, page.link().cell)
    cell = page.link().cell
    for language, lang in (("zh", "zh-CN"), ("en", "en")):
        page.page.click("#language")
        page.visitor.wait(f"document.documentElement?.lang === '{lang}'")
        page = ExplorePage(page.visitor, site)
        page.shows(page.trace("the cat"), "decoder.1.self", 3, cell, language)
        assert page.page.input_value("#text textarea") == "the cat"
        assert message("explore.run", language) == page.words("run")
    assert page.problems() == []


def test_the_chinese_page_is_chinese(visit: Visit, site: Site) -> None:
    page = ExplorePage(visit(site.address, locale="zh-CN"), site)
    assert page.page.url.endswith("/zh/")
    for name, key in (("run", "run"), ("diagram", None), ("seal", None), ("head-title", None), ("next-title", None)):
        words = page.words(name)
        assert any("\u4e00" <= letter <= "\u9fff" for letter in words), name
        assert key is None or words == message(f"explore.{key}", "zh")
    page.type("")
    page.says("notice", message("error.empty_text", "zh"))
    assert page.problems() == []


def test_two_visitors_do_not_mix(visit: Visit, site: Site) -> None:
    ann, bob = (ExplorePage(visit(site.address), site) for _ in range(2))
    for page, text in ((ann, "the cat"), (bob, "a mouse ran")):
        page.type(text)
    ann.shows_run(ann.trace("the cat"))
    bob.shows_run(bob.trace("a mouse ran"))
    ann.click_head(3, 1)
    bob.click_head(0, 2)
    ann.shows(ann.trace("the cat"), "decoder.3.self", 1, ann.link().cell)
    bob.shows(bob.trace("a mouse ran"), "decoder.0.self", 2, bob.link().cell)
    ann.click_cell(5, 3)
    ann.shows(ann.trace("the cat"), "decoder.3.self", 1, (5, 3))
    assert bob.tokens() == list(bob.trace("a mouse ran").encodings["decoder"].tokens)
    assert ann.problems() == bob.problems() == []


@pytest.mark.parametrize(
    "query",
    [
        "model=nobody&text=hello",
        "text=" + "x" * 700,
        "model=<script>alert(1)</script>&text=<img src=x onerror=alert(1)>",
        "layer=99999&head=-1&query=1e9&key=__proto__&view=${alert(1)}&lang=../..",
    ],
)
def test_a_link_that_fits_nothing_leaves_a_whole_page(visit: Visit, site: Site, query: str) -> None:
    page = ExplorePage(visit(f"{site.address}/?{query}"), site)
    page.until(lambda: page.words("notice") or "layer=" in query or page.link().text, "a sentence, or a run")
    assert page.numbers().ndim == 2 and page.problems() == []
    assert page.page.locator("img[onerror], script:not([src]):has-text('alert(1)')").count() == 0
