"""The Generate panel: steps are the model's, the dials reach it, and what cannot write says so."""

import re
from typing import Any

import gradio as gr
import numpy as np
import pytest

from tests.viz.pages.conftest import TEXT, ShelfEngine, figure
from transformer import run
from transformer.generate import GenerationSettings, generate
from viz.pages.explore import Explore
from viz.pages.generate import MOST_STEPS, Generate, Grown
from viz.pages.selection import Selection

GREEDY = ("greedy", 1.0, 0, 1.0, 0)


@pytest.fixture(scope="module")
def page(shelf: ShelfEngine) -> Explore:
    return Explore("en", shelf)


@pytest.fixture
def panel(page: Explore) -> Generate:
    return page.generate


def _played(panel: Generate, model: str = "grouped", tokens: int = 3, dials: tuple[Any, ...] = GREEDY) -> list[dict]:
    return list(panel.on_play(Selection(model, TEXT), Grown(), tokens, *dials))


def test_each_step_is_shown_and_is_the_models(panel: Generate, shelf: ShelfEngine) -> None:
    updates = _played(panel)
    assert [one[panel.state].count for one in updates] == [1, 2, 3]
    expected = list(generate(shelf.load("grouped"), TEXT, settings=GenerationSettings(max_new_tokens=3)))
    assert panel._steps(updates[-1][panel.state])[-1].ids == expected[-1].ids
    assert len(re.findall(r'data-step="', updates[-1][panel.strip])) == 3


def test_the_bars_are_the_next_tokens_of_the_same_text(panel: Generate, shelf: ShelfEngine) -> None:
    """Generation and recording are two roads to one distribution."""
    first = _played(panel, tokens=1)[-1]
    shown = figure(first[panel.bars])
    trace = run(shelf.load("grouped"), TEXT)
    _, shares = trace.probabilities(-1)
    bars = np.concatenate([one["x"] for one in shown["data"][:-1]])  # the last bar is what all others share
    assert np.sort(bars)[::-1] == pytest.approx(shares[:10], abs=1e-6)


def test_one_more_and_one_back(panel: Generate) -> None:
    grown = _played(panel)[-1][panel.state]
    more = panel.on_more(Selection("grouped", TEXT), grown, *GREEDY)[panel.state]
    assert (more.count, more.selected) == (4, 3)
    back = panel.on_back(more)[panel.state]
    assert (back.count, back.selected) == (3, 2)
    assert panel._steps(back)[-1].ids == panel._steps(grown)[-1].ids


def test_other_dials_begin_anew_and_the_same_seed_gives_the_same(panel: Generate) -> None:
    grown = _played(panel)[-1][panel.state]
    sampled = ("sample", 1.5, 20, 0.9, 7)
    anew = panel.on_more(Selection("grouped", TEXT), grown, *sampled)[panel.state]
    assert anew.count == 1 and anew.settings.temperature == 1.5
    ids = [panel._steps(_played(panel, tokens=5, dials=sampled)[-1][panel.state])[-1].ids for _ in range(2)]
    assert ids[0] == ids[1]
    other = panel._steps(_played(panel, tokens=5, dials=("sample", 1.5, 20, 0.9, 8))[-1][panel.state])[-1].ids
    assert other != ids[0]


def test_a_click_on_a_token_shows_its_step(panel: Generate) -> None:
    grown = _played(panel)[-1][panel.state]
    chosen = panel.on_step(grown, gr.EventData(None, {"step": "1"}))
    assert chosen[panel.state].selected == 1 and chosen[panel.state].count == 3
    for wrong in ({}, {"step": "3"}, {"step": "-1"}, {"step": "x"}):
        assert set(panel.on_step(grown, gr.EventData(None, wrong))) == {panel.notice}


def test_the_cache_is_drawn_as_it_is(panel: Generate, shelf: ShelfEngine) -> None:
    last = _played(panel)[-1]
    step = panel._steps(last[panel.state])[-1]
    assert step.cache.cached and step.cache.nbytes == step.cache.formula.nbytes
    assert f"{step.cache.nbytes:,}" in last[panel.cache]


@pytest.mark.parametrize("name", ["bert"])
def test_a_model_that_cannot_write_says_so(panel: Generate, name: str) -> None:
    (refused,) = _played(panel, name)
    assert set(refused) == {panel.notice} and "stt-error" in refused[panel.notice]


@pytest.mark.parametrize("dials", [("sample", 0, 0, 0, 0), ("dance", 1.0, 0, 1.0, 0), ("sample", 1.0, -3, 1.0, -1)])
def test_dials_that_do_not_fit_are_one_sentence_or_put_right(panel: Generate, dials: tuple[Any, ...]) -> None:
    updates = _played(panel, dials=dials)
    assert all("Traceback" not in one[panel.notice] for one in updates)


@pytest.mark.parametrize("odd", [None, float("nan"), float("inf"), "", "x", [1], {}, -5])
def test_whatever_the_browser_sends_is_no_traceback(panel: Generate, odd: Any) -> None:
    for place in range(1, 5):
        dials: list[Any] = ["sample", 1.0, 0, 1.0, 0]
        dials[place] = odd
        assert _played(panel, tokens=1, dials=tuple(dials))
    assert len(list(panel.on_play(Selection("grouped", TEXT), Grown(), odd, *GREEDY))) == 1


def test_an_encoder_decoder_writes_its_answer(panel: Generate, shelf: ShelfEngine) -> None:
    updates = _played(panel, "t5", tokens=2)
    expected = list(generate(shelf.load("t5"), source=TEXT, settings=GenerationSettings(max_new_tokens=2)))
    assert panel._steps(updates[-1][panel.state])[-1].ids == expected[-1].ids


def test_it_never_grows_beyond_the_page(panel: Generate) -> None:
    assert _played(panel, tokens=10_000)[-1][panel.state].count <= MOST_STEPS


def test_the_text_so_far_is_run_in_all_panels(page: Explore) -> None:
    grown = _played(page.generate)[-1][page.generate.state]
    updates = list(page.on_grown(grown, page.start.selection))
    written = page.generate.text_so_far(grown)
    if written:
        assert updates[0] == {page.model: "grouped", page.text: written, page.target: ""}
        assert updates[-1][page.state].text == written
    assert [set(one) for one in page.on_grown(Grown(), page.start.selection)] == [{page.notice}]


def test_greedy_shows_no_cuts_and_its_dials_are_idle(panel: Generate) -> None:
    last = _played(panel, tokens=1)[-1]
    assert "figure.sampling" not in last[panel.bars] and '"dash"' not in last[panel.bars]
    assert all(not update["interactive"] for update in panel.on_mode("greedy").values())
    assert all(update["interactive"] for update in panel.on_mode("sample").values())
