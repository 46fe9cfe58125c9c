"""Light and dark, wide and narrow, before plotly.js has come: the page is whole."""

import json
import socket
from collections.abc import Callable

import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import FIGURES, ExplorePage
from viz.figures import theme

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
# Every url(#…) of an SVG must lead to something in the page; with a <base>, plotly.js writes whole addresses.
_LOST = """() => [...document.querySelectorAll('svg *')]
   .flatMap(node => ['clip-path', 'fill', 'stroke', 'style'].map(name => node.getAttribute(name) || ''))
   .flatMap(value => [...value.matchAll(/url\\(["']?([^"')]*)["']?\\)/g)].map(found => found[1]))
   .filter(target => !target.startsWith('#') || !document.getElementById(target.slice(1)))"""


def test_before_plotly_the_page_is_whole_and_answers(visit: Visit, site: Site) -> None:
    visitor = visit(site.address, block="**/stt/plotly*")
    pictures = f"{json.dumps(FIGURES)}.every(name => document.querySelector('#' + name + ' .stt-plot')?.dataset.first)"
    visitor.wait(f"{pictures} && !document.querySelector('#stt-stand-in')")
    assert visitor.page.evaluate("window.Plotly === undefined")
    trace = site.engine.trace("untrained", "the cat")
    visitor.page.fill("#text textarea", "the cat")
    visitor.page.press("#text textarea", "Enter")
    visitor.wait("location.search.includes('text=the')")
    assert visitor.page.locator(".stt-token-text").all_text_contents() == list(trace.encodings["decoder"].tokens)
    box = visitor.page.locator("#mosaic canvas").bounding_box()
    visitor.page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.3)
    visitor.wait("location.search.includes('head=3')")
    assert visitor.errors == visitor.outside == visitor.dialogs == []


def test_readable_before_gradio_has_started(visit: Visit, site: Site) -> None:
    visitor = visit(site.address, block="**/assets/index-*.js")
    visitor.wait("document.querySelectorAll('#stt-stand-in canvas').length === 4")
    text = visitor.page.inner_text("body")
    assert "See-Through Transformer" in text and "<bos>" in text and "✓" in text
    assert visitor.outside == []


@pytest.mark.parametrize("dark", [False, True])
def test_figures_follow_light_and_dark(visit: Visit, site: Site, dark: bool) -> None:
    page = ExplorePage(visit(site.address, dark=dark), site)
    paper, ink = (theme.DARK_OF.get(theme.LIGHT[name]) if dark else theme.LIGHT[name] for name in ("paper", "ink"))
    assert page.page.evaluate("getComputedStyle(document.body).backgroundColor") == _rgb(paper)
    for name in FIGURES:
        font = page.page.evaluate(f"document.querySelector('#{name} .stt-plot-live')._fullLayout.font.color")
        assert font == ink, name
    page.type("the cat")
    page.shows_run(page.trace("the cat"))
    other = theme.LIGHT["ink"] if dark else theme.DARK_OF[theme.LIGHT["ink"]]
    page.page.click("[data-stt=theme]")
    page.visitor.wait(f"document.querySelector('#head-map .stt-plot-live')._fullLayout.font.color === '{other}'")
    page.shows_run(page.trace("the cat"))
    assert page.problems() == []


def _rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.parametrize("path", ["/?lang=en", "/zh/"])
def test_a_phone_never_scrolls_sideways(visit: Visit, site: Site, path: str) -> None:
    page = ExplorePage(visit(site.address + path, width=360), site)
    for text in (None, LONG, "x " * 60, "قالت القطة"):
        if text is not None:
            page.type(text)
            page.until(lambda text=text: page.link().text == text, "the text has run")
            page.visitor.wait("document.querySelector('#head-map .stt-plot-live')._fullLayout.width <= 360")
        assert page.page.evaluate("document.documentElement.scrollWidth") == 360, text
    for name in FIGURES:
        box = page.page.locator(f"#{name} .stt-plot").bounding_box()
        assert box["width"] > 250 and box["x"] >= 0 and box["x"] + box["width"] <= 360, name
    assert page.problems() == []


def test_hatches_and_clips_survive_a_new_address(visit: Visit, site: Site) -> None:
    page = ExplorePage(visit(site.address), site)
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.type("the cat")
    page.shows_run(page.trace("the cat"))
    page.click_head(3, 3)
    page.shows(page.trace("the cat"), "decoder.3.self", 3, page.link().cell)
    assert page.page.evaluate(_LOST) == []
    assert page.page.locator("#head-map pattern").count() > 0
    assert [one for one in asked if "/gradio_api/" not in one] == [], "a look asks for nothing but its answer"


def test_nothing_is_asked_of_another_computer(visit: Visit, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    real = socket.getaddrinfo

    def listen_in(host: object, *rest: object, **named: object) -> object:
        looked_up.append(str(host))
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", listen_in)
    page = ExplorePage(visit(site.address), site)
    page.type("nothing leaves")
    page.shows_run(page.trace("nothing leaves"))
    page.click_head(3, 3)
    page.shows(page.trace("nothing leaves"), "decoder.3.self", 3, page.link().cell)
    assert page.visitor.outside == [] and page.problems() == []
    assert set(looked_up) <= {"127.0.0.1", "localhost", "::1", "None"}
