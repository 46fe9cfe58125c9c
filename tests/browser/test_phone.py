"""On a phone, in Chinese and in the dark, no panel and none of its views scrolls the page sideways."""

from collections.abc import Callable

import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import ExplorePage
from viz.pages.panels.registry import PANELS

pytestmark = pytest.mark.browser

WIDTH = 360
TABS = """() => [...document.querySelectorAll('#stage .stt-tab[data-set]')]
   .map(one => [one.dataset.set, one.dataset.value])"""
# What stands over the right edge without a box around it that scrolls in itself.
OVER = """() => [...document.querySelectorAll('body *')].filter(node => {
   const edge = node.getBoundingClientRect();
   if (!edge.width || edge.right <= innerWidth + 1) return false;
   for (let at = node.parentElement; at && at !== document.body; at = at.parentElement)
     if (getComputedStyle(at).overflowX !== 'visible') return false;
   return true; }).map(node => `${node.tagName}.${node.getAttribute('class')}`)"""


@pytest.mark.parametrize("model", ["mini-gpt", "mini-translator", "digit-vit"])
def test_no_panel_scrolls_the_page_sideways(visit: Callable[..., Visitor], site: Site, model: str) -> None:
    page = ExplorePage(visit(f"{site.address}/zh/?model={model}", width=WIDTH, dark=True), site)
    page.until(lambda: page.link().model == model and page.link().cell is not None, f"{model} has run")
    wide, seen = [], 0
    for name in PANELS:
        page.open_panel(name)
        at, done = (name, ""), set()
        while True:
            seen += 1
            over = page.page.evaluate(OVER)
            if over or page.page.evaluate("document.documentElement.scrollWidth") > WIDTH:
                wide.append((at, over[:3]))
            left = [one for one in map(tuple, page.page.evaluate(TABS)) if one not in done]
            if not left:
                break
            at = left[0]
            done.add(at)
            page.press_tab(*at)
    assert wide == [] and seen > len(PANELS)
    assert page.problems() == []
