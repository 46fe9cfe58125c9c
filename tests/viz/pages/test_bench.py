"""The parts of `make bench` on a tiny case: what they count is what the page sends. No time decides."""

from itertools import islice

import numpy as np
import pytest

from tests.bench import table
from tests.bench.beside_bertviz import attentions, compare
from tests.bench.desk import Desk, page_of, text_of
from tests.bench.length import measure
from tests.bench.views import weigh
from transformer.engine import Engine
from transformer.rows import encode
from viz.pages.explore import Explore
from viz.pages.panels.registry import PANELS
from viz.pages.scene import Scene
from viz.pages.stage import stage_value

TEXT = "the cat\n the"


@pytest.fixture(scope="module")
def page() -> Explore:
    return page_of(Engine("untrained", packs=False))


def test_a_desk_is_answered_like_a_browser(page: Explore) -> None:
    desk = Desk(page, "untrained", TEXT)
    first = desk.show()
    assert {"mosaic", "head-map", "head-lines", "arithmetic", "next-tokens"} <= set(first.blocks)
    assert first.sent == len(stage_value(Scene(page.engine, desk.trace, desk.selection, "en")).encode())
    assert 0 < first.largest[1] < sum(first.blocks.values()) < first.sent and first.seconds > 0
    passes = page.engine.store.passes
    assert desk.nothing().blocks == {}, "what is shown already is not sent again"
    other = desk.head(3, 1)
    assert (desk.selection.attention, desk.selection.head) == (3, 1)
    assert "head-map" in other.blocks and "mosaic" not in other.blocks and other.sent < first.sent
    desk.cell(4, 2)
    assert (desk.selection.query, desk.selection.key) == (4, 2) and page.engine.store.passes == passes


def test_texts_of_a_length(page: Explore) -> None:
    model = page.engine.load("untrained")
    for tokens in (8, 30, 300):
        text = text_of(page.engine, "untrained", tokens)
        assert len(encode(model, text)) <= tokens < len(encode(model, f"{text} {'a' * 5}"))
    assert text_of(page.engine, "untrained", 10_000)  # longer than the model reads


def test_every_panel_is_weighed(page: Explore) -> None:
    found = list(weigh(page, "untrained", TEXT))
    assert [one.panel for one in found] == list(PANELS)
    for one in found:
        assert one.opened.sent <= one.heaviest.sent and one.opened.seconds <= one.slowest
        assert bool(one.setting) == (one.heaviest is not one.opened)
    attention = next(one for one in found if one.panel == "attention")
    assert "mosaic" in attention.opened.blocks and "mosaic" in attention.heaviest.blocks, (
        "as a browser without anything"
    )


def test_a_longer_text_costs_more(page: Explore) -> None:
    short, long = (measure(page, "untrained", tokens) for tokens in (16, 64))
    assert (short.tokens, short.model) == (16, "untrained") and 55 < long.tokens <= 64
    assert long.kept / short.kept == pytest.approx(long.tokens / short.tokens, rel=0.05)
    assert long.first > short.first and min(short.bare, short.ratio, short.show, short.cell, short.head) > 0


def test_bertviz_gets_the_same_maps(page: Explore) -> None:
    desk = Desk(page, "untrained", TEXT)
    given = attentions(desk)
    assert len(given) == 4 and given[0].shape == (1, 4, 13, 13)
    assert np.array_equal(given[2][0, 3], desk.trace.weights("decoder.2.self", 3))
    ours, other = islice(compare(page, "untrained", TEXT), 2)  # bertviz itself is in no environment of the tests
    assert ours.sent > other.sent > 1000 and ours.tokens == 13


def test_tables() -> None:
    assert list(table.lines(("a", "b"), [("long", "1"), ("x", "")])) == ["a     b", "long  1", "x"]
    assert [table.milliseconds(value) for value in (0.0123, 9.9, 61.2)] == ["12 ms", "9900 ms", "61 s"]
    assert [table.kilobytes(value) for value in (999, 123_456, 7e6)] == ["1.0 KB", "123 KB", "7,000 KB"]
    assert table.times(3, 2) == "×1.5" and table.times(3, None) == ""
    assert table.times(3, 0) == ""
