"""The page: its names, what its handlers change, and that nothing a visitor sends can break it."""

import json
import re
from collections.abc import Iterable
from html import unescape
from typing import Any

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer.engine import LONGEST_TEXT, Engine
from transformer.messages import LANGUAGES, message
from viz.pages import run_words
from viz.pages.examples import examples, examples_for
from viz.pages.explore import Explore
from viz.pages.look import page_header
from viz.pages.selection import Selection
from viz.pages.stage import stage_value

# The names that links, tests and teachers' notes lean on.
NAMES = ("model", "text", "run", "examples", "token-strip", "diagram", "panels", "stage", "language")
BLOCKS = {
    "mosaic",
    "chooser",
    "head-title",
    "head-map",
    "head-lines",
    "seal",
    "arithmetic",
    "next-title",
    "next-tokens",
}
OPEN_ENDPOINTS = {"run", "attention", "next_tokens"}


@pytest.fixture(scope="module")
def page(engine: Engine) -> Explore:
    return Explore("en", engine)


@pytest.fixture(scope="module")
def families(shelf: ShelfEngine) -> Explore:
    return Explore("en", shelf)


def _event(**data: Any) -> gr.EventData:
    return gr.EventData(None, data)


def _stage(updates: dict, page: Explore) -> dict[str, dict]:
    """The blocks of the stage, by name."""
    return {block["name"]: block for column in json.loads(updates[page.stage])["columns"] for block in column}


def _last(updates: Iterable[dict]) -> dict:
    return list(updates)[-1]


def _notice(page: Explore, updates: dict) -> str:
    """The message, of updates that change nothing else."""
    assert set(updates) == {page.notice}, "a message must leave the last picture alone"
    return unescape(re.sub(r"<[^>]*>", "", updates[page.notice]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_promised_name_is_on_the_page_once(engine: Engine, language: str) -> None:
    page = Explore(language, engine)
    names = [block.elem_id for block in page.blocks.blocks.values() if getattr(block, "elem_id", None)]
    names += re.findall(r' id="([^"]+)"', page_header(language))
    assert {name: names.count(name) for name in NAMES} == dict.fromkeys(NAMES, 1)


def test_the_page_comes_with_a_finished_picture(page: Explore) -> None:
    assert page.strip.value and page.diagram.value and page.panels.value
    blocks = _stage({page.stage: page.stage.value}, page)
    assert set(blocks) >= BLOCKS and all(block["value"] for block in blocks.values())
    assert page.text.value == examples_for("untrained")[0].text and page.model.value == "untrained"


def test_only_the_named_endpoints_are_open_and_all_say_what_they_do(page: Explore) -> None:
    public = [block for block in page.blocks.fns.values() if block.api_visibility == "public"]
    assert {block.api_name for block in public} == OPEN_ENDPOINTS
    assert all(block.fn.__doc__ for block in public)


def test_a_run_changes_everything(page: Explore) -> None:
    updates = _last(page.on_run("untrained", TEXT, "", page.start.selection))
    changed = {view.elem_id for view in updates if getattr(view, "elem_id", None)}
    assert set(NAMES) - {"text", "run", "examples", "language"} <= changed
    chosen = updates[page.state]
    assert (chosen.model, chosen.text, chosen.target) == ("untrained", TEXT, None)
    scene = page._scene(chosen)
    assert updates[page.strip] == run_words.strip(scene) and _stage(updates, page) == _stage(
        {page.stage: stage_value(scene)}, page
    )


def test_a_sentence_that_was_run_costs_no_second_pass(page: Explore, engine: Engine) -> None:
    _last(page.on_run("untrained", "once", "", page.start.selection))
    passes = engine.store.passes
    updates = _last(page.on_run("untrained", "once", "", page.start.selection))
    page.on_pick(updates[page.state], _event(block="mosaic", column=1, row=1))
    assert engine.store.passes == passes


def test_boxes_keep_what_was_typed_meanwhile(page: Explore) -> None:
    updates = _last(page.on_run("untrained", "meanwhile", "", page.start.selection))
    assert all("value" not in updates[box] for box in (page.model, page.text, page.target, page.pad))


def test_the_same_again_leaves_the_view(page: Explore) -> None:
    shown = _last(page.on_run("untrained", TEXT, "", page.start.selection))[page.state]
    assert list(page.on_run("untrained", TEXT, "", shown)) == [{page.notice: ""}]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_cannot_run_is_one_sentence_in_the_language_of_the_page(engine: Engine, language: str) -> None:
    page = Explore(language, engine)

    def said(model: Any, text: Any) -> str:
        return _notice(page, _last(page.on_run(model, text, "", page.start.selection)))

    assert said("untrained", "") == message("error.empty_text", language)
    assert said("untrained", None) == message("error.empty_text", language)
    assert said("untrained", ["a"]) == message("error.empty_text", language)
    too_many = message("error.too_many_tokens", language, got=601, limit=512, model="untrained")
    assert said("untrained", "word " * 120) == too_many
    assert said("untrained", "word " * 5000) == message("error.text_too_long", language, got=25_000, limit=LONGEST_TEXT)
    broken = message("error.broken_text", language, position=2, character="\\ud800")
    assert said("untrained", "a\ud800") == broken


@pytest.mark.parametrize(
    "name",
    ["", " ", "nobody", "<img src=x onerror=alert(1)>", "../../etc/passwd", "/etc", "${7*7}", "a\x00b", "m" * 5000],
)
def test_a_model_that_is_none_is_one_sentence(page: Explore, name: str) -> None:
    updates = _last(page.on_run(name, "hello", "", page.start.selection))
    words = _notice(page, updates)
    assert len(words) < 6000 and "Traceback" not in words and "<img" not in updates[page.notice]


@pytest.mark.parametrize("odd", [None, float("nan"), float("inf"), "x", [1], {"a": 1}, 10**30, -1])
def test_odd_values_break_no_handler(page: Explore, odd: Any) -> None:
    for name in ("attention", "head", "query", "stage", "words", "nothing"):
        updates = page.on_pick(page.start.selection, _event(block="chooser", set=name, value=odd))
        assert updates.get(page.state, page.start.selection).attention in range(4)
    assert _last(page.on_run("untrained", "odd", odd, page.start.selection))[page.state].text == "odd"
    assert _notice(page, _last(page.on_run("ours:" * 2000, "odd", "", page.start.selection)))


def test_blank_text_is_tokens_or_a_sentence(page: Explore) -> None:
    updates = _last(page.on_run("untrained", "   \n ", "", page.start.selection))
    assert updates[page.state].text == "   \n "


def test_the_second_text_appears_where_a_model_reads_two(families: Explore) -> None:
    asked, updates = list(families.on_run("t5", TEXT, "", families.start.selection))
    assert updates[families.target]["visible"] and updates[families.state].target == asked[families.target]
    mine = _last(families.on_run("t5", TEXT, "a tac", families.start.selection))
    assert mine[families.state].target == "a tac"
    back = _last(families.on_run("grouped", TEXT, "a tac", mine[families.state]))
    assert not back[families.target]["visible"]


@pytest.mark.parametrize("name", ["grouped", "t5", "bert", "bloom"])
def test_every_head_token_and_box_of_every_family_can_be_clicked(families: Explore, name: str) -> None:
    chosen = _last(families.on_run(name, TEXT, "a tac", families.start.selection))[families.state]
    trace = families._trace(chosen)
    for number, site in enumerate(trace.attention_sites()):
        head = trace.attention[site].heads - 1
        updates = families.on_pick(chosen, _event(block="mosaic", column=head, row=number))
        assert (updates[families.state].attention, updates[families.state].head) == (number, head)
        boxed = families.on_box(updates[families.state], _event(site=site))
        assert boxed[families.state].attention == number
        for event in (_event(block="head-lines", x=0, y=2), _event(block="head-lines", x=1, y=2)):
            assert families.on_pick(boxed[families.state], event)[families.state].attention == number
        last = len(trace.tokens(site, "query")) - 1
        assert families.on_pick(boxed[families.state], _event(token=str(last)))[families.state].query == last
        opened = families.on_pick(boxed[families.state], _event(block="head-map", table="head-map"))
        assert _stage(opened, families)["head-map-table"]["value"].startswith("<div")


def test_what_the_browser_has_is_not_sent_again(page: Explore) -> None:
    before = page.start.selection
    have = {name: block["key"] for name, block in _stage({page.stage: page.stage.value}, page).items()}
    moved = page.on_pick(before, _event(block="head-map", x=0, y=3, have=have))
    sent = {name for name, block in _stage(moved, page).items() if "value" in block}
    assert {"head-map", "head-lines", "arithmetic", "head-title"} <= sent and not {"mosaic", "chooser", "seal"} & sent
    again = page.on_pick(before, _event(refresh=1, have=have))
    assert all("value" in block for block in _stage(again, page).values())


def test_a_newer_question_is_not_overwritten_by_an_older_answer(page: Explore) -> None:
    """However it was asked: typed, by an example, by a link."""
    visitor = gr.Request(query_params={}, session_hash="ann")
    slow = page.on_run("untrained", "long words " * 40, "", page.start.selection, visitor)
    assert page.notice in next(slow)  # it says that it runs, and then takes its time
    number = examples().index(examples_for("untrained")[1])
    _last(page.on_example("untrained", page.start.selection, _event(example=number), visitor))
    assert list(slow) == []
    bob = page.on_run("untrained", "long words " * 40, "", page.start.selection, gr.Request(session_hash="bob"))
    assert page.state in _last(bob), "another visitor's question is another matter"


def test_what_is_chosen_during_a_run_stays(page: Explore) -> None:
    visitor = gr.Request(query_params={}, session_hash="eve")
    running = page.on_run("untrained", "long words " * 46, "", page.start.selection, visitor)
    assert set(next(running)) == {page.notice}
    page.on_pick(page.start.selection, _event(panel="norm"), visitor)
    assert _last(running)[page.state].panel == "norm"


def test_a_panel_that_is_none_is_the_present_one(page: Explore) -> None:
    updates = list(page.on_link(page.start.selection, _request({"model": "untrained", "text": "x", "panel": "nobody"})))
    assert updates[-1][page.state].panel == "attention"


def test_a_link_says_what_is_run_and_shown(page: Explore) -> None:
    query = {"model": "untrained", "text": "abc", "site": "decoder.3.self", "head": "2", "query": "3", "key": "1"}
    updates = list(page.on_link(page.start.selection, _request(query)))
    assert updates[0] == {page.model: "untrained", page.text: "abc", page.target: ""}
    assert updates[-1][page.state] == Selection("untrained", "abc", None, 3, 2, 3, 1)


def test_a_link_says_which_panel_and_how_it_is_set(page: Explore) -> None:
    query = {"model": "untrained", "text": "abc", "panel": "attention", "stage": "scaled", "words": "on", "utm": "mail"}
    chosen = list(page.on_link(page.start.selection, _request(query)))[-1][page.state]
    assert chosen.panel == "attention" and dict(chosen.options) == {"stage": "scaled", "words": "on"}


def test_a_link_with_nothing_in_it_changes_nothing(page: Explore) -> None:
    for query in ({}, {"lang": "en"}, {"head": "<b>", "utm_source": "mail"}, {"hide": "seal"}):
        assert [set(update) for update in page.on_link(page.start.selection, _request(query))] == [{page.notice}]


def _request(query: dict[str, str]) -> gr.Request:
    return gr.Request(query_params=query)


_junk = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just([])


_names = [
    "column",
    "row",
    "x",
    "y",
    "token",
    "site",
    "example",
    "key",
    "set",
    "value",
    "table",
    "panel",
    "have",
    "layer",
]


@given(data=st.dictionaries(st.sampled_from([*_names, "block", "exact", "refresh", "turn", "take"]), _junk))
def test_no_event_breaks_a_handler(page: Explore, data: dict[str, Any]) -> None:
    before = page.start.selection
    for handler in (page.on_pick, page.on_box, page.on_take):
        updates = handler(before, _event(**data))
        assert updates, "Gradio takes an empty answer for empty values"
        chosen = updates.get(page.state, before)
        assert chosen.text == before.text and chosen.head < 4 and chosen.attention < 4
    assert list(page.on_example("untrained", before, _event(**data)))
