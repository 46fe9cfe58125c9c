"""taking.py: each kind of file of a figure, what its caption names, and the whole run as a file."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote

import gradio as gr
import numpy as np
import plotly.graph_objects as go
import pytest

from tests.viz.pages.conftest import TEXT, ShelfEngine, made
from transformer import Trace
from transformer.messages import LANGUAGES, message
from viz.pages import selection as move
from viz.pages import taking
from viz.pages.blocks import Data, Plot
from viz.pages.downloads import DOWNLOADS, File
from viz.pages.explore import Explore
from viz.pages.links import View
from viz.pages.panels.registry import OPTIONS
from viz.pages.scene import Scene
from viz.pages.stage import plots
from viz.pages.taking import KINDS, RunTooLarge, caption, kinds_of, offered, script, take, whole_run

SceneOf = Callable[..., Scene]


@pytest.fixture
def files() -> Iterator[None]:
    """No test leaves its files behind."""
    before = set(DOWNLOADS._files)
    yield
    for token in set(DOWNLOADS._files) - before:
        del DOWNLOADS._files[token]


@pytest.fixture
def head_map(scene_of: SceneOf) -> tuple[Scene, Plot]:
    scene = scene_of("grouped", View(layer=1, head=4, cell=(5, 2)))
    return scene, plots(scene)["head-map"]


def test_a_figure_has_every_kind(head_map: tuple[Scene, Plot]) -> None:
    scene, plot = head_map
    assert set(kinds_of(plot)) == set(KINDS)
    files = {kind: take(scene, plot, kind) for kind in KINDS}
    assert {kind: file.name for kind, file in files.items()} == {
        kind: f"head-map-grouped-decoder-1-self-head4.{kind}" for kind in KINDS
    }
    assert [files[kind].kind for kind in KINDS] == [
        "text/csv",
        "application/octet-stream",
        "text/html",
        "text/x-python",
    ]
    assert all(file.content for file in files.values())


def test_numbers_are_the_figures_own(head_map: tuple[Scene, Plot]) -> None:
    scene, plot = head_map
    wanted, tokens = scene.trace.weights(scene.site, 4), list(scene.queries)
    text = take(scene, plot, "csv").content.decode("utf-8-sig")
    assert take(scene, plot, "csv").content.startswith(b"\xef\xbb\xbf")  # or spreadsheets take it for another code
    table = list(csv.reader(io.StringIO(text, newline="")))
    assert table[0][1:] == tokens == [row[0] for row in table[1:]]
    for query, row in enumerate(table[1:]):
        assert np.array_equal(np.array(row[1 : query + 2], np.float32), wanted[query, : query + 1])
        assert set(row[query + 2 :]) <= {""}  # what is forbidden holds no number
    with np.load(io.BytesIO(take(scene, plot, "npz").content), allow_pickle=False) as file:
        assert np.array_equal(file["values"], wanted) and file["rows"].tolist() == tokens
        assert np.array_equal(file["allowed"], np.tril(np.ones_like(wanted, bool)))
        assert str(file["caption"]) == caption(scene)


def test_a_page_holds_figure_label_and_caption(head_map: tuple[Scene, Plot]) -> None:
    scene, plot = head_map
    page = take(scene, plot, "html").content.decode()
    assert f"<h1>{plot.label}</h1>" in page and "grouped · “the cat the” · decoder.1.self, head 4" in page


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_script_is_python_that_names_what_ran(scene_of: SceneOf, language: str) -> None:
    scene = scene_of("t5", View(site="decoder.1.cross"), language=language)
    text = take(scene, plots(scene)["head-map"], "py").content.decode()
    compile(text, "taken.py", "exec")
    assert "model = load_model('t5')\n" in text and f"trace = run(model, {TEXT!r}, 'a tac')\n" in text
    assert 'figure.write_html("head-map.html")' in text and f"language={language!r}" in text


def test_hostile_texts_stay_texts_in_a_script(scene_of: SceneOf) -> None:
    scene, hostile = scene_of("grouped"), "'''\n\"\"\"; import os; \\ {x} %s \x00 \u202e"
    scene.selection = replace(scene.selection, text=hostile, model="a'; raise SystemExit('")
    text = script(scene, Plot("x", 0, "x", go.Figure, code=lambda: "figure = np.zeros(1)"))
    found: dict[str, Any] = {}
    body = text.replace("from transformer import load_model, run\nfrom viz import figures\n", "").split("figure = ")[0]
    exec(body, {"load_model": lambda name: name, "run": lambda *given: found.update(given=given)})
    assert found["given"] == ("a'; raise SystemExit('", hostile) and "import numpy as np\n" in text


@pytest.mark.parametrize(
    ("data", "code", "has"),
    [
        (True, False, {"csv", "npz", "html"}),
        (False, True, {"html", "py"}),
        (False, False, {"html"}),
    ],
)
def test_what_a_figure_has_not_is_refused(scene_of: SceneOf, data: bool, code: bool, has: set[str]) -> None:
    scene = scene_of("grouped")
    plot = Plot(
        "bare",
        0,
        "bare",
        lambda: go.Figure(layout={"template": {}}),
        data=(lambda: Data(np.zeros(2), ["a", "b"], ["x"])) if data else None,
        code=(lambda: "figure = None") if code else None,
    )
    assert set(kinds_of(plot)) == has
    for kind in (*KINDS, "exe", "", "../py", "CSV"):
        if kind in has:
            assert take(scene, plot, kind).name.startswith("bare-grouped-") and take(scene, plot, kind).name.endswith(
                kind
            )
        else:
            with pytest.raises(ValueError, match="bare"):
                take(scene, plot, kind)


# --- the caption -----------------------------------------------------------------------------------------------------


def test_a_caption_names_what_was_made_of_what(scene_of: SceneOf) -> None:
    said = caption(scene_of("grouped", View(layer=2, head=5, cell=(3, 1))))
    for part in ("grouped", "“the cat the”", "decoder.2.self", "head 5", version("torch"), version("plotly")):
        assert part in said, part
    queries = scene_of("grouped").queries
    assert f"query {queries[3]}" in said and f"key {queries[1]}" in said and "seed" not in said


def test_a_caption_of_two_texts_names_both_and_speaks_chinese(scene_of: SceneOf) -> None:
    said = caption(scene_of("t5", View(site="decoder.0.cross"), language="zh"))
    assert "the cat the → a tac" in said and "decoder.0.cross" in said and said != caption(scene_of("t5"))
    assert message("take.seed", "zh", seed=0) not in said


def test_chance_is_named_where_it_was_asked(scene_of: SceneOf) -> None:
    scene = scene_of("grouped", View(panel="generate"))
    seeded = move.with_option(scene.selection, OPTIONS["gen-seed"], 17)
    scene.selection = seeded
    assert "seed" not in caption(scene)  # greedy
    scene.selection = move.with_option(seeded, OPTIONS["gen-mode"], "sample")
    assert message("take.seed", "en", seed=17) in caption(scene)
    scene.selection = move.with_option(scene.selection, OPTIONS["gen-seed"], None)
    assert message("take.seed", "en", seed=0) in caption(scene)  # also one that nobody has set
    scene.selection = replace(scene.selection, panel="attention")
    assert "seed" not in caption(scene)


def test_a_long_text_is_shortened_in_a_caption(scene_of: SceneOf) -> None:
    scene = scene_of("grouped")
    scene.selection = replace(scene.selection, text="word\n" * 100 + "{model} {0}")
    said = caption(scene)
    assert "word word" in said and "…" in said and "\n" not in said and len(said) < 300


# --- what the browser is told ----------------------------------------------------------------------------------------


def test_an_offered_file_is_where_the_browser_is_told(files: None) -> None:
    one = File("小 a\"?#%&<'.csv", "text/csv", b"1")
    told = json.loads(offered(one))
    start, token, name = told["address"].split("/")
    assert start == "file" and unquote(name) == one.name == told["name"] and DOWNLOADS.fetch(token) is one
    assert not set("\"?#&<' ") & set(told["address"])


# --- the whole run ---------------------------------------------------------------------------------------------------


def test_the_whole_run_comes_back(scene_of: SceneOf, shelf: ShelfEngine) -> None:
    for name in ("grouped", "t5", "bloom", "bert"):
        scene = scene_of(name)
        file = whole_run(scene)
        back = Trace.load(io.BytesIO(file.content), shelf.load(name))
        assert file.name == f"run-{name}.npz" and back.key == scene.trace.key and back.sites == scene.trace.sites
        assert not Trace.load(io.BytesIO(file.content)).parts


def test_a_model_of_a_folder_gives_a_plain_name(scene_of: SceneOf) -> None:
    scene = scene_of("grouped")
    scene.selection = replace(scene.selection, model="/home/me/models/my gpt")
    assert whole_run(scene).name == "run-my gpt.npz"
    assert take(scene, plots(scene)["head-map"], "csv").name == "head-map-my gpt-decoder-1-self-head0.csv"


@pytest.mark.parametrize("language", LANGUAGES)
def test_too_large_a_run_is_a_sentence_with_python(
    scene_of: SceneOf, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    scene = scene_of("grouped")
    monkeypatch.setattr(taking, "LARGEST_RUN", scene.trace.nbytes)
    assert whole_run(scene).content
    monkeypatch.setattr(taking, "LARGEST_RUN", scene.trace.nbytes - 1)
    monkeypatch.setattr(Trace, "save", lambda *_, **__: pytest.fail("it was made all the same"))
    with pytest.raises(RunTooLarge) as told:
        whole_run(scene)
    said = told.value.text(language)
    assert "trace.save(" in said and "load_model('grouped')" in said and "MB" in said


@pytest.fixture(scope="module")
def page(shelf: ShelfEngine) -> Explore:
    return Explore("en", shelf)


def _asked(page: Explore, scene: Scene, what: str) -> list[dict]:
    return list(page.on_asked(scene.selection, gr.EventData(None, {"ask": what})))


def test_the_button_hands_the_run_to_the_browser(page: Explore, scene_of: SceneOf, files: None) -> None:
    scene = scene_of("grouped")
    making, ready = _asked(page, scene, "run")
    assert set(making) == {page.notice} and set(ready) == {page.notice, page.download}
    told = json.loads(ready[page.download])
    file = DOWNLOADS.fetch(told["address"].split("/")[1])
    assert file is not None and Trace.load(io.BytesIO(file.content)).key == scene.trace.key
    assert f"run-grouped.npz: {len(file.content) / 1e6:.1f} MB" in ready[page.notice]


def test_a_refused_run_changes_nothing_but_the_notice(
    page: Explore, scene_of: SceneOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "LARGEST_RUN", 5)
    *_, last = _asked(page, scene_of("grouped"), "run")
    assert set(last) == {page.notice} and "stt-error" in last[page.notice]


def test_the_button_stands_beside_the_whole_seal(scene_of: SceneOf) -> None:
    offer = made(scene_of("grouped"), "seal-all")
    assert 'data-ask="seal"' in offer and 'data-ask="run"' in offer and message("take.run", "en") in offer


def test_a_kind_that_a_figure_has_not_changes_nothing(page: Explore, scene_of: SceneOf) -> None:
    scene = scene_of("grouped")
    for data in ({"block": "head-map", "take": "exe"}, {"block": "nothing", "take": "csv"}, {"take": "csv"}, {}):
        assert set(page.on_take(scene.selection, gr.EventData(None, data))) == {page.notice}
