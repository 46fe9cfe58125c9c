"""Whatever moves the selection, it stays inside its run."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer.trace import Trace
from viz.pages import selection as move
from viz.pages.links import View, from_query, to_query
from viz.pages.selection import Selection

_any = st.integers(-(2**31), 2**31)
_wild = st.builds(Selection, st.just("t5"), st.just(TEXT), st.just("a tac"), _any, _any, _any, _any, st.booleans())
_number = st.none() | st.integers(0, 99_999)
_view = st.builds(
    View,
    site=st.sampled_from([None, "encoder.2.self", "decoder.1.cross", "decoder.7.self", "no.such.site"]),
    layer=_number,
    head=_number,
    cell=st.none() | st.tuples(st.integers(0, 99_999), st.integers(0, 99_999)),
)


@pytest.fixture(scope="module")
def run(shelf: ShelfEngine) -> Callable[[], Trace]:
    """A run, inside a function: hypothesis prints the arguments of a test that fails, and a trace is long."""
    return lambda: shelf.trace("t5", TEXT, "a tac")


def _is_inside(trace: Trace, chosen: Selection) -> bool:
    site = move.site_of(trace, chosen)
    limits = trace.attention[site].heads, len(trace.tokens(site, "query")), len(trace.tokens(site, "key"))
    return all(0 <= value < limit for value, limit in zip((chosen.head, chosen.query, chosen.key), limits, strict=True))


@given(before=_wild, first=_any, second=_any)
def test_no_move_leaves_the_run(run: Callable[[], Trace], before: Selection, first: int, second: int) -> None:
    trace = run()
    for chosen in (
        move.within(trace, before),
        move.to_head(trace, before, first, second),
        move.to_cell(trace, before, first, second),
        move.to_query(trace, before, first),
    ):
        assert _is_inside(trace, chosen)
        assert (chosen.model, chosen.text, chosen.target, chosen.exact) == ("t5", TEXT, "a tac", before.exact)


@given(view=_view)
def test_no_link_leaves_the_run(run: Callable[[], Trace], view: View) -> None:
    trace = run()
    chosen = move.first_look(trace, Selection("t5", TEXT, "a tac"), view)
    assert _is_inside(trace, chosen)
    if view.site in trace.attention:
        assert move.site_of(trace, chosen) == view.site
    elif view.layer is not None:
        assert chosen.attention == min(view.layer, len(trace.attention) - 1)


@given(before=_wild)
def test_moves_that_fit_are_kept_as_they_are(run: Callable[[], Trace], before: Selection) -> None:
    trace = run()
    inside = move.within(trace, before)
    assert move.within(trace, inside) == inside
    assert move.to_head(trace, inside, inside.attention, inside.head) == inside
    assert move.to_cell(trace, inside, inside.query, inside.key) == inside


@given(before=_wild)
def test_a_link_brings_the_selection_back(run: Callable[[], Trace], before: Selection) -> None:
    trace = run()
    chosen = move.within(trace, before)
    view = from_query(to_query(move.view_of(trace, chosen, "zh")))
    restored = move.first_look(trace, Selection("t5", TEXT, "a tac"), view)
    assert replace(restored, exact=view.view == "exact") == chosen and view.language == "zh"


def test_without_a_wish_the_last_look_across_and_the_last_token_are_shown(run: Callable[[], Trace]) -> None:
    trace = run()
    chosen = move.first_look(trace, Selection("t5", TEXT, "a tac"), View())
    site = move.site_of(trace, chosen)
    assert (site, chosen.head) == ("decoder.1.cross", 0)
    assert chosen.query == len(trace.tokens(site, "query")) - 1
    assert chosen.key == int(np.argmax(trace.weights(site, 0)[chosen.query]))


def test_the_cell_stays_where_another_head_has_it(run: Callable[[], Trace]) -> None:
    trace = run()
    sites = trace.attention_sites()
    before = Selection("t5", TEXT, "a tac", sites.index("decoder.1.self"), 6, 3, 2)
    assert move.to_head(trace, before, sites.index("encoder.2.self"), 5) == replace(before, attention=2, head=5)
    long = replace(before, attention=2, query=11, key=10)
    cross = move.to_head(trace, long, sites.index("decoder.0.cross"), 5)  # 6 queries, 13 keys
    assert (cross.query, cross.key) == (5, 10)


@given(at=st.integers(0, 2000), count=st.integers(1, 2000))
def test_the_window_holds_its_cell_and_stays_in_the_text(at: int, count: int) -> None:
    at = min(at, count - 1)
    part = move.window(at, count)
    assert 0 <= part.start <= at < part.stop <= count and part.stop - part.start == min(count, move.WINDOW)


def test_only_a_long_text_is_long(shelf: ShelfEngine) -> None:
    for count, long in ((move.EXACT_UP_TO - 1, False), (move.EXACT_UP_TO, True)):  # and <bos>
        text = "x" * count
        assert move.is_long(shelf.trace("grouped", text), Selection("grouped", text)) is long
