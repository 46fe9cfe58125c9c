"""The clock of `make bench` in a real page: it stops, and in the right order. No time decides."""

from collections.abc import Callable

import pytest

from tests.bench.clicks import waits
from tests.bench.memory import grown
from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import ExplorePage
from viz.pages.panels.registry import PANELS

pytestmark = pytest.mark.browser


def test_every_kind_of_click_is_timed(visit: Callable[..., Visitor], site: Site) -> None:
    page = ExplorePage(visit(f"{site.address}/?model=untrained&text=the%20cat&head=2"), site)
    page.until(lambda: page.link().cell is not None, "the text has run")
    done, before, after = grown(page, updates=4, warm=1)
    assert done == 4
    assert before.keys() == after.keys() == {"JSHeapUsedSize", "Nodes", "JSEventListeners"}
    assert min(before.values()) > 0 and after["Nodes"] > 100  # how much a page grows, only many updates tell
    found = {one.what: one for one in waits(page, rounds=1, switches=1)}
    assert {f"panel {name}" for name in PANELS} | {"a cell", "a head", "a token"} < set(found)
    for one in found.values():
        assert one.count == 1 and 0 < one.first <= one.last == one.most, one
    assert page.problems() == []
