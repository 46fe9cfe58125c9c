"""A page that is used for long neither grows nor keeps listeners of figures that are gone."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import CDPSession

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import ExplorePage
from viz.pages.panels.registry import PANELS

pytestmark = pytest.mark.browser

TEXT = "The dog chased the cat and it"
ON_DOCUMENT = ("stt-theme", "pointerup", "pointercancel")  # what every figure hears


@pytest.fixture(scope="module")
def page(stay: Callable[..., Visitor], site: Site) -> ExplorePage:
    page = ExplorePage(stay(f"{site.address}/?model=mini-gpt&text={quote(TEXT)}"), site)
    page.until(lambda: page.link().text == TEXT, "mini-gpt has run")
    return page


@pytest.fixture(scope="module")
def devtools(page: ExplorePage) -> CDPSession:
    session = page.page.context.new_cdp_session(page.page)
    session.send("Performance.enable")
    return session


def _counts(page: ExplorePage, devtools: CDPSession) -> tuple[int, int]:
    """(DOM nodes, event listeners) that are still held by something."""
    page.page.wait_for_timeout(500)
    for _ in range(2):
        devtools.send("HeapProfiler.collectGarbage")
    told = {one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]}
    return int(told["Nodes"]), int(told["JSEventListeners"])


def _heads(page: ExplorePage, count: int) -> None:
    for number in range(count):
        layer, head = number // 4 % 4, number % 4
        page.click_head(layer, head)
        page.until(lambda at=(f"decoder.{layer}.self", head): (page.link().site, page.link().head) == at, "the head")


def test_sixty_heads_leave_the_page_as_large_as_it_was(page: ExplorePage, devtools: CDPSession) -> None:
    _heads(page, 16)
    nodes, listeners = _counts(page, devtools)
    _heads(page, 64)
    after = _counts(page, devtools)
    assert after[0] <= nodes * 1.02 + 60 and after[1] <= listeners + 10, f"({nodes}, {listeners}) → {after}"


def _on_document(devtools: CDPSession) -> dict[str, int]:
    found = devtools.send("Runtime.evaluate", {"expression": "document"})["result"]["objectId"]
    heard = devtools.send("DOMDebugger.getEventListeners", {"objectId": found})["listeners"]
    return {name: sum(one["type"] == name for one in heard) for name in ON_DOCUMENT}


def test_figures_that_are_gone_hear_nothing(page: ExplorePage, devtools: CDPSession) -> None:
    def round_trip() -> None:
        for name in (*PANELS, "attention"):
            page.open_panel(name)

    round_trip()
    figures, (nodes, listeners) = len(page.figures()), _counts(page, devtools)
    before = _on_document(devtools)
    assert before["stt-theme"] >= figures, "the figures that are there follow light and dark"
    for _ in range(3):
        round_trip()
    after = _counts(page, devtools)
    assert _on_document(devtools) == before, "figures of other panels still listen"
    assert after[0] <= nodes * 1.05 + 100 and after[1] <= listeners + 20, f"({nodes}, {listeners}) → {after}"
    page.open_panel("tokens")
    assert page.figures() == [] and _on_document(devtools)["pointerup"] == before["pointerup"] - figures
    assert page.problems() == []
