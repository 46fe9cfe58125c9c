"""stage.py: what a pick moves, what goes to the browser, and what does not because it is there already."""

import json
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any

import plotly.graph_objects as go
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot, key_of
from viz.pages.links import View
from viz.pages.panels.panel import Panel
from viz.pages.panels.registry import FIRST, OPTIONS, PANELS, panel_of
from viz.pages.pick import Pick
from viz.pages.scene import Scene
from viz.pages.selection import Selection
from viz.pages.stage import MOST_TABLES, moved, panel_buttons, part_value, plots, settings_of, stage_value

SceneOf = Callable[..., Scene]
ODD = ("", " ", "x", "-1", "1e3", "3.0", "9999999", "9" * 400, "٣", "²", "on", "None", "<script>", "\ud800", "0x1")


def pick_of(**data: str) -> Pick:
    return Pick(data=data)


@pytest.fixture
def scene(scene_of: SceneOf) -> Scene:
    """Layer 1, head 4 of six, query 5 of twelve, key 2."""
    return scene_of("grouped", View(layer=1, head=4, cell=(5, 2)))


def told(scene: Scene, have: dict[str, str] | None = None) -> dict[str, Any]:
    return json.loads(stage_value(scene, have or {}))


def blocks(value: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {block["name"]: block for column in value["columns"] for block in column}


# --- what a pick moves -----------------------------------------------------------------------------------------------


def test_settings_of_the_selection_itself(scene: Scene) -> None:
    before = scene.selection

    def after(name: str, value: str) -> Selection:
        chosen = moved(scene, "chooser", pick_of(set=name, value=value))
        assert chosen is not None
        return chosen

    assert after("attention", "2") == replace(before, attention=2)
    assert after("head", "1") == replace(before, head=1)
    assert after("query", "7") == move.to_query(scene.trace, before, 7) and after("query", "7").query == 7
    assert after("key", "3") == replace(before, key=3)
    for name, most in (("attention", 2), ("head", 5), ("query", 12), ("key", 12)):
        assert getattr(after(name, "999"), name) == min(most, len(scene.queries) - 1)  # never outside of the run


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_can_be_set_wherever_one_is(scene: Scene, name: str) -> None:
    option = OPTIONS[name]
    value = next(v for v in ("on", "1", "0.5", "words", *getattr(option, "values", ())[1:]) if option.read(v))
    chosen = moved(scene, "anything", pick_of(set=name, value=value))
    assert chosen is not None and option.text(chosen) == option.read(value)
    assert replace(chosen, options=()) == replace(scene.selection, options=())
    assert settings_of(Scene(scene.engine, scene.trace, chosen, "en"))[name] == option.text(chosen)


@pytest.mark.parametrize("value", ODD)
def test_odd_values_change_nothing(scene: Scene, value: str) -> None:
    for name in ("attention", "head", "query", "key", "panel", "model", "text", "exact", "", "options"):
        assert moved(scene, "x", pick_of(set=name, value=value)) is None, name
    for name, option in OPTIONS.items():
        chosen = moved(scene, "x", pick_of(set=name, value=value))
        assert option.read(value) is not None or chosen == scene.selection, name
    assert moved(scene, "x", pick_of(panel=value)) is None


def test_a_setting_without_a_value_changes_nothing(scene: Scene) -> None:
    assert moved(scene, "x", pick_of(set="head")) is None
    assert moved(scene, "x", pick_of(set="show")) == scene.selection


def test_a_panel_is_opened(scene: Scene) -> None:
    for name in PANELS:
        assert moved(scene, "x", pick_of(panel=name)) == replace(scene.selection, panel=name)


def test_tables_open_and_close_and_few_stay_open(scene: Scene) -> None:
    chosen = scene.selection
    for number in range(MOST_TABLES + 2):
        found = moved(Scene(scene.engine, scene.trace, chosen, "en"), "x", pick_of(table=f"t{number}"))
        assert found is not None
        chosen = found
    assert chosen.tables == tuple(f"t{number}" for number in range(2, MOST_TABLES + 2))
    closed = moved(Scene(scene.engine, scene.trace, chosen, "en"), "x", pick_of(table="t3"))
    assert closed is not None and closed.tables == ("t2", "t4", "t5")


def test_exact_turns_round(scene: Scene) -> None:
    once = moved(scene, "x", pick_of(exact="turn"))
    assert once == replace(scene.selection, exact=True)
    assert moved(Scene(scene.engine, scene.trace, once, "en"), "x", pick_of(exact="turn")) == scene.selection


def test_a_token_is_chosen_in_its_own_stack(scene_of: SceneOf) -> None:
    scene = scene_of("t5", View(site="decoder.1.cross"))
    assert moved(scene, "x", pick_of(token="3")) == move.to_query(scene.trace, scene.selection, 3)
    there = moved(scene, "x", pick_of(token="4", stack="encoder"))
    assert there == move.to_token(scene.trace, scene.selection, "encoder", 4)
    for odd in ("99999", "-4"):
        chosen = moved(scene, "x", pick_of(token=odd, stack="nowhere"))
        assert chosen is not None and chosen == move.within(scene.trace, chosen)


def test_what_is_none_of_these_is_the_panels_own(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def own(scene: Scene, block: str, pick: Pick) -> Selection:
        heard.append((block, pick))
        return replace(scene.selection, head=0)

    monkeypatch.setitem(PANELS, "attention", replace(PANELS["attention"], pick=own))
    pick = Pick(x=1.0, data={"token": "no number", "foo": "7"})
    assert moved(scene, "head-map", pick) == replace(scene.selection, head=0) and heard == [("head-map", pick)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["set", "value", "panel", "table", "exact", "token", "stack", "foo"]),
        st.one_of(st.sampled_from([*ODD, *OPTIONS, *PANELS, "head", "key", "encoder", "decoder"]), st.text(max_size=5)),
    ),
    st.one_of(st.none(), st.floats(-5, 40)),
    st.sampled_from([*PANELS, "nonsense"]),
)
def test_whatever_is_picked_the_selection_stays_within_the_run(
    scene: Scene, data: dict[str, str], at: float | None, panel: str
) -> None:
    scene.selection = replace(scene.selection, panel=panel, options=(), tables=())
    for block in ("head-map", "mosaic", "", "x"):
        chosen = moved(scene, block, Pick(x=at, y=at, data=data))
        if chosen is not None:
            assert chosen == move.within(scene.trace, chosen)
            assert dict(chosen.options).keys() <= OPTIONS.keys() and len(chosen.tables) <= MOST_TABLES


# --- what goes to the browser ----------------------------------------------------------------------------------------


def test_a_whole_panel(scene: Scene) -> None:
    value = told(scene)
    assert set(value) == {"turn", "panel", "columns", "set", "said", "caption"}
    assert (value["panel"], value["set"]) == ("attention", settings_of(scene))
    assert value["turn"] != told(scene)["turn"], "an answer like the one before would not be noticed"
    assert all("value" in block and block["key"] for block in blocks(value).values())
    names = [block["name"] for column in value["columns"] for block in column]
    assert len(names) == len(set(names)) and 1 <= len(value["columns"]) <= 3
    plot = blocks(value)["head-map"]
    assert plot["kind"] == "plot" and plot["tools"] == ["table", "csv", "npz", "py"] and plot["open"] is False


def test_what_the_browser_has_goes_without_its_content(scene: Scene) -> None:
    first = blocks(told(scene))
    have = {name: block["key"] for name, block in first.items()}
    again = told(scene, have)
    assert not any("value" in block for block in blocks(again).values())
    assert {name: block["key"] for name, block in blocks(again).items()} == have
    have["head-map"] = have["seal"]
    have.pop("arithmetic")
    assert {name for name, block in blocks(told(scene, have)).items() if "value" in block} == {"head-map", "arithmetic"}


def test_only_what_depends_on_a_pick_is_made_again(scene: Scene) -> None:
    have = {name: block["key"] for name, block in blocks(told(scene)).items()}
    scene.selection = replace(scene.selection, key=3)
    made = {name for name, block in blocks(told(scene, have)).items() if "value" in block}
    assert {"head-map", "arithmetic"} <= made and not made & {"head-title", "head-lines", "seal", "next-title"}


def test_another_language_or_run_has_other_keys(scene_of: SceneOf) -> None:
    def keys(**given: Any) -> set[str]:
        return {block["key"] for block in blocks(told(scene_of("grouped", **given))).values()}

    assert not keys() & keys(language="zh") and not keys() & keys(text="the dog\n the") and keys() == keys()


def test_a_key_tells_apart_what_differs() -> None:
    piece = Piece("a", (1, "x"), str)
    plot = Plot("a", (1, "x"), "", go.Figure)
    others: list[tuple[Block, Any]] = [
        (piece, "run"), (plot, "run"), (replace(piece, name="b"), "run"), (replace(piece, of=(1, "y")), "run"),
        (replace(piece, of=("1", "x")), "run"), (piece, "other run"),
    ]  # fmt: skip
    assert len({key_of(*one) for one in others}) == len(others)
    assert key_of(replace(piece, make=repr), "run") == key_of(piece, "run")


def test_an_open_table_follows_its_figure(scene: Scene) -> None:
    scene.selection = replace(scene.selection, tables=("head-map", "no such figure"))
    value = told(scene)
    column = next(column for column in value["columns"] if any(block["name"] == "head-map" for block in column))
    names = [block["name"] for block in column]
    assert names[names.index("head-map") + 1] == "head-map-table" and blocks(value)["head-map"]["open"] is True
    assert blocks(value)["head-map-table"]["value"].startswith("<") and "no such figure-table" not in blocks(value)


def _panel(*column: Block) -> Panel:
    return Panel("attention", lambda _: [list(column)])


def test_a_seal_follows_its_figure_and_tools_are_those_it_has(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Plot("bare", 0, "<b>", lambda: go.Figure(layout={"template": {}}), select=(3, 2))
    sealed = replace(bare, name="sealed", seal=lambda: "<p>sealed</p>")
    monkeypatch.setitem(PANELS, "attention", _panel(bare, sealed, Piece("live", 0, lambda: "<p></p>", live=True)))
    value = told(scene)
    assert [block["name"] for block in value["columns"][0]] == ["bare", "sealed", "sealed-seal", "live"]
    found = blocks(value)
    assert found["bare"]["tools"] == [] and found["bare"]["select"] == [3, 2] and found["bare"]["label"] == "<b>"
    assert found["sealed-seal"]["value"] == "<p>sealed</p>" and found["live"]["live"] is True


def test_no_markup_stands_bare_in_what_is_sent(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "</script><script>alert(1)</script>\u2028"
    monkeypatch.setitem(PANELS, "attention", _panel(Piece("a", 0, lambda: hostile)))
    for value in (stage_value(scene), part_value("a", hostile)):
        assert "<" not in value and hostile in json.dumps(json.loads(value), ensure_ascii=False).replace('\\"', '"')
    assert json.loads(part_value("a", hostile)) == {"part": "a", "value": hostile}


def test_controls_are_told_every_setting(scene: Scene) -> None:
    found = settings_of(scene)
    assert found.keys() == {*OPTIONS, "attention", "head", "query", "key", "panel"}
    assert all(isinstance(value, str) for value in found.values())
    own = {name: found[name] for name in ("attention", "head", "query", "key", "panel")}
    assert own == {"attention": "1", "head": "4", "query": "5", "key": "2", "panel": "attention"}
    for panel in PANELS.values():
        assert {option.name for option in panel.options} <= found.keys(), panel.name


def test_figures_of_the_chosen_panel_only(scene: Scene) -> None:
    assert {"head-map", "head-lines", "mosaic"} <= plots(scene).keys()
    assert all(isinstance(one, Plot) and one.name == name for name, one in plots(scene).items())
    scene.selection = replace(scene.selection, panel="tokens")
    assert "head-map" not in plots(scene)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_row_of_panels_marks_the_present_one(scene_of: SceneOf, language: str) -> None:
    scene = scene_of("grouped", language=language)
    for name in PANELS:
        scene.selection = replace(scene.selection, panel=name)
        row = panel_buttons(scene)
        assert row.count('aria-selected="true"') == 1 and row.count('role="tab"') == len(PANELS)
        assert f'data-panel="{name}" aria-selected="true"' in row and escape(scene.say(f"panel.{name}")) in row


def test_a_panel_that_there_is_not_is_the_first(scene: Scene) -> None:
    scene.selection = replace(scene.selection, panel="nonsense")
    assert panel_of(scene.selection).name == FIRST == told(scene)["panel"]
