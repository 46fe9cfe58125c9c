"""A browser that has a block already is not sent it again: equal keys must mean equal content, whatever was changed."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import wrap
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, key_of
from viz.pages.links import View
from viz.pages.options import Choice, Option, Switch
from viz.pages.panels.registry import PANELS, panel_of
from viz.pages.plot_view import figure_json
from viz.pages.scene import WHOLE_UP_TO, Scene
from viz.pages.selection import Selection

STEPS = 40  # changes of one field at a time
TYPED = {"heads": "0,2", "batch": "a b", "norm": "norm2", "other-text": "a dog", "gen-branch": "0:97", "gen-count": "3"}


def changed(scene: Scene, options: tuple[Option, ...], draw: random.Random) -> Selection:
    """The selection with one of its fields anew."""
    trace, chosen, sites = scene.trace, scene.selection, scene.trace.attention_sites()
    what = draw.choice(("query", "key", "head", "attention", "exact", *(["option"] * 4 if options else [])))
    if what in ("query", "key"):
        return move.within(trace, replace(chosen, **{what: draw.randrange(len(scene.keys))}))
    if what == "exact":
        return replace(chosen, exact=not chosen.exact)
    if what != "option":
        return move.within(trace, replace(chosen, **{what: draw.randrange(scene.how.heads * len(sites))}))
    option = draw.choice(options)
    if isinstance(option, Choice):
        return move.with_option(chosen, option, draw.choice(option.values))
    value = draw.choice(("on", "off")) if isinstance(option, Switch) else TYPED.get(option.name, str(draw.randrange(9)))
    return move.with_option(chosen, option, value)


def content(block: Block) -> tuple[str, ...]:
    """What the browser would keep; not the rectangle, which moves by itself."""
    if isinstance(block, Piece):
        return (block.make(),)
    drawn: dict[str, Any] = json.loads(figure_json(block.draw()) or "{}")
    if block.select is not None:
        drawn["layout"].get("meta", {}).get("select", {}).pop("at", None)
        shapes = drawn["layout"].get("shapes", [])
        drawn["layout"]["shapes"] = [one for one in shapes if one.get("name") != "selected" and len(shapes) > 1]
    data = block.data() if block.data else None
    return json.dumps(drawn), "" if data is None else repr((data.values.tobytes(), data.rows, data.columns))


def walk(engine: ShelfEngine, name: str, text: str, panel: str, steps: int) -> Iterator[tuple[Selection, Block, str]]:
    """Every block after every change, with its key."""
    draw = random.Random(5)
    trace = engine.trace(name, text)
    chosen = move.first_look(trace, Selection(name, text, panel=panel), View())
    for _ in range(steps):
        scene = Scene(engine, trace, chosen, "en")
        for column in panel_of(chosen).columns(scene):
            for block in column:
                yield chosen, block, key_of(block, scene.about)
        chosen = changed(scene, PANELS[panel].options, draw)


def check(engine: ShelfEngine, name: str, text: str, panel: str, steps: int) -> int:
    """How often a key came again."""
    first: dict[tuple[str, str], tuple[tuple[str, ...], Selection]] = {}
    again = 0
    for chosen, block, key in walk(engine, name, text, panel, steps):
        made = content(block)
        known, then = first.setdefault((block.name, key), (made, chosen))
        assert made == known, f"{block.name}: {then} and {chosen} have one key"
        again += then is not chosen
    return again


@pytest.mark.parametrize("panel", PANELS)
def test_what_has_the_same_key_is_the_same(shelf: ShelfEngine, panel: str) -> None:
    assert check(shelf, "grouped", TEXT, panel, STEPS) > STEPS


def test_so_it_is_in_the_windows_of_a_vast_text() -> None:
    sizes = {"d_model": 20, "n_layers": 1, "n_heads": 2, "max_positions": 1300}
    config = ModelConfig(vocab_size=ByteTokenizer.vocab_size, positions="rotary", **sizes)
    model = wrap(DecoderLM(config, generator=torch.Generator().manual_seed(3)), ByteTokenizer(), "vast")
    text = TEXT * (WHOLE_UP_TO // len(TEXT) + 1)
    assert check(ShelfEngine({"vast": model}), "vast", text, "attention", STEPS // 2) > STEPS // 2
