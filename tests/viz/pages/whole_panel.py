"""Every block of a panel, made as the page makes it, over models of all kinds; what holds for each of them."""

import json
import re
from html import unescape
from typing import Any

import numpy as np

from transformer.engine import Engine
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot
from viz.pages.links import View
from viz.pages.options import Option
from viz.pages.panels.panel import Panel
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection

DIGIT = "00000000 000gg000 00g00g00 00g00g00 00g00g00 00g00g00 000gg000 00000000"
TEXTS = {
    "mini-gpt": ("The dog chased the cat and it", None),
    "mini-translator": ("Mary gave John a book.", "I like you."),
    "rule-classifier": ("12 45 7 99 30", None),
    "digit-vit": (DIGIT, None),
    "copycat": ("copy cat", "cat"),
    "untrained": ("the cat\n the", None),
}
SHELF = ("grouped", "t5", "bert", "bloom")
EVERY = (*TEXTS, *SHELF)
Options = dict[Option, object]


def scene_on(
    engine: Engine, name: str, text: str, target: str | None = None, language: str = "en", view: View | None = None
) -> Scene:
    trace = engine.trace(name, text, target)
    return Scene(engine, trace, move.first_look(trace, Selection(name, text, target), view or View()), language)


def with_options(scene: Scene, options: Options, **moved: Any) -> Scene:
    """The same run with other options, or another cell: `query=3, key=1`."""
    chosen = scene.selection
    for option, value in options.items():
        before = chosen
        chosen = move.with_option(chosen, option, value)
        assert chosen != before or option.text(before) == str(value), (option.name, value)
    if moved:
        chosen = move.to_cell(scene.trace, chosen, moved.get("query", chosen.query), moved.get("key", chosen.key))
    return Scene(scene.engine, scene.trace, chosen, scene.language)


def plain(html: str) -> str:
    """The words of a piece, without tags and without the code that it copies."""
    return unescape(re.sub("<[^>]*>", "", re.sub('data-copy="[^"]*"', "", html)))


def blocks_of(panel: Panel, scene: Scene) -> dict[str, Block]:
    found = [one for column in panel.columns(scene) for one in column]
    assert len({one.name for one in found}) == len(found), "two blocks of one name"
    return {one.name: one for one in found}


def html_of(panel: Panel, scene: Scene, name: str) -> str:
    block = blocks_of(panel, scene)[name]
    assert isinstance(block, Piece)
    return block.make()


def check_panel(panel: Panel, scene: Scene, most: int = 500_000) -> dict[str, Block]:
    """Every block is made, small enough, in whole sentences; data are the drawn numbers; code draws the same figure."""
    total = 0
    found = blocks_of(panel, scene)
    panel.spoken(scene)
    for name, block in found.items():
        hash(block.of)
        if isinstance(block, Piece):
            html = block.make()
            assert not re.search(r"\{\w+\}", re.sub('data-copy="[^"]*"', "", html)), (
                name,
                "a field that nobody filled",
            )
            total += len(html)
            continue
        drawn = block.draw()
        value = figure_json(drawn)
        assert len(value) < 150_000, (name, len(value))
        total += len(value)
        check_plot(block, scene, json.loads(value))
    assert total < most
    return found


def check_plot(plot: Plot, scene: Scene, drawn: dict[str, Any]) -> None:
    assert plot.data is not None and plot.code is not None
    data = plot.data()
    rows = data.values if data.values.ndim == 2 else data.values[:, None]
    assert rows.shape == (len(data.rows), len(data.columns)), plot.name
    names: dict[str, Any] = {"trace": scene.trace, "figures": figures, "np": np}
    names["model"] = scene.engine.load(scene.selection.model)
    exec(plot.code(), names)
    assert json.loads(figure_json(names["figure"])) == drawn, plot.name
    if plot.seal is not None:
        assert "stt-seal-good" in plot.seal() and "stt-seal-bad" not in plot.seal(), plot.name
