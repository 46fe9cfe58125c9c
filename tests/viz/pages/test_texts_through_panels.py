"""Every text of tests/cases/texts.json through every panel: nothing raises, and no text becomes markup."""

import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.viz.pages.conftest import ShelfEngine, blocks_of
from transformer.engine import Engine
from viz.pages import selection as move
from viz.pages.blocks import Piece, Plot
from viz.pages.links import View
from viz.pages.panels.registry import PANELS
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection
from viz.pages.stage import stage_value
from viz.pages.taking import caption

_CASES = json.loads((Path(__file__).parents[2] / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = {case["id"]: case["text"] for case in _CASES if case.get("text") and case["id"] != "too-long"}
HOSTILE = ("html", "special-names", "template", "entities")
# Further views of the panels.
VIEWS = (
    ("tokens", {"words": "on"}), ("embedding", {"embed": "positions"}),
    *(("attention", {"show": show}) for show in ("several", "products", "output", "together")),
    *(("attention", {"show": "together", "together": kind}) for kind in ("rollout", "entropy", "sinks")),
    ("masks", {"mask-view": "batch"}), ("norm", {"norm-show": "stream"}), ("ffn", {"neuron-by": "output"}),
    ("output", {"output": "lens"}), ("output", {"output": "parts"}), ("output", {"word": "<img src=x>"}),
    ("generate", {"gen-count": "2"}), ("generate", {"gen-mode": "beam", "gen-count": "2"}),
)  # fmt: skip
# What our own pieces are made of, and what plotly.js reads as markup in ours.
FOREIGN = {"img", "script", "s", "iframe", "style", "unk", "pad", "tag", "object", "a", "link", "meta", "form"}
OF_FIGURES = {"b", "i", "br", "span", "sub", "sup", "extra"}


class Markup(HTMLParser):
    """The elements and attributes of a piece of HTML, and the words that a reader sees."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _strings(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _strings(one)


def _scene(engine: Engine, model: str, text: str, panel: str, options: dict[str, str]) -> Scene:
    trace = engine.trace(model, text)
    begun = Selection(model, text, panel=panel, options=tuple(sorted(options.items())))
    return Scene(engine, trace, move.first_look(trace, begun, View()), "en")


def _check(scene: Scene) -> None:
    """All blocks of the panel, with their numbers and code; what a reader reads is what was typed."""
    text, place = scene.selection.text, (scene.selection.panel, scene.selection.options)
    PANELS[scene.selection.panel].spoken(scene)
    for name, block in blocks_of(scene).items():
        html = block.make() if isinstance(block, Piece) else (block.seal() if block.seal else "")
        found = Markup(html)
        assert not found.tags & FOREIGN, (place, name, found.tags & FOREIGN)
        assert not [one for one in found.attributes if one.startswith("on")], (place, name)
        for mark in {"<b>bold", "bold</b>", *re.findall(r"<[^<>]+>", text)} - {"<b>", "</b>"}:
            assert mark not in html, (place, name, mark)
        if isinstance(block, Plot):
            _check_figure(block, (place, name))


def _check_figure(plot: Plot, place: tuple[object, ...]) -> None:
    told = json.loads(figure_json(plot.draw()))
    told["layout"].pop("meta", None)  # plain words for programs: plotly.js draws none of it
    for words in _strings(told):
        tags = set(re.findall(r"<\s*/?\s*([a-zA-Z!][\w|-]*)", words))
        assert tags <= OF_FIGURES, (place, words[:200])
        assert "<b>bold" not in words and "$" not in words, (place, words[:200])


@pytest.mark.parametrize("name", TEXTS)
def test_every_text_through_every_panel(engine: Engine, name: str) -> None:
    for panel, options in [*((panel, {}) for panel in PANELS), *VIEWS]:
        scene = _scene(engine, "mini-gpt", TEXTS[name], panel, options)
        _check(scene)
        value = stage_value(scene)
        assert "<" not in value and json.loads(value)["caption"] == caption(scene)


@pytest.mark.parametrize("name", HOSTILE)
def test_markup_through_every_panel_of_a_byte_model(shelf: ShelfEngine, name: str) -> None:
    for panel in PANELS:
        _check(_scene(shelf, "grouped", TEXTS[name], panel, {}))


@pytest.mark.parametrize("name", TEXTS)
def test_tokens_stand_in_the_panels_as_they_are(engine: Engine, name: str) -> None:
    scene = _scene(engine, "mini-gpt", TEXTS[name], "tokens", {})
    tokens = scene.trace.encodings["decoder"].tokens
    levels = blocks_of(scene)["tokens-table-decoder"]
    assert isinstance(levels, Piece)
    words = Markup(levels.make()).words
    assert set(tokens[-40:]) <= set(words), "of a long text the table shows the tokens around the chosen one"
    assert len(tokens) > 80 or set(tokens) <= set(words)
    attention = _scene(engine, "mini-gpt", TEXTS[name], "attention", {})
    head_map = blocks_of(attention)["head-map"]
    assert isinstance(head_map, Plot)
    shown = json.loads(figure_json(head_map.draw()))["layout"]["yaxis"]["ticktext"]
    assert [unescape(one) for one in shown] == list(tokens)
