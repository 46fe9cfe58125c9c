"""Attention: who looks at whom. All heads, one head, one cell; its sub-views lie in the `attention_….py` beside it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from viz.pages import controls
from viz.pages.blocks import Block, Columns, Piece
from viz.pages.options import Choice
from viz.pages.panels import (
    attention_cell,
    attention_map,
    attention_output,
    attention_products,
    attention_several,
    attention_together,
    mosaic,
    next_token,
)
from viz.pages.panels.chooser import chooser
from viz.pages.panels.panel import Panel
from viz.pages.panels.word_view import WORDS
from viz.pages.pick import Pick
from viz.pages.scene import Scene
from viz.pages.selection import Selection

SHOW = Choice("show", ("map", "several", "products", "output", "together"))


@dataclass(frozen=True)
class View:
    """One way to look at the chosen head: its blocks, and what a click on them chooses."""

    blocks: Callable[[Scene], list[Block]]
    pick: Callable[[Scene, str, Pick], Selection | None]


VIEWS: Mapping[str, View] = {
    "map": View(attention_map.blocks, attention_map.pick),
    "several": View(attention_several.blocks, attention_several.pick),
    "products": View(attention_products.blocks, attention_products.pick),
    "output": View(attention_output.blocks, attention_output.pick),
    "together": View(attention_together.blocks, attention_together.pick),
}


def columns(scene: Scene) -> Columns:
    view = VIEWS[SHOW.of(scene.selection)]
    return (
        mosaic.blocks(scene),
        [Piece("attention-views", None, lambda: _tabs(scene)), chooser(scene), *view.blocks(scene)],
        [*attention_cell.blocks(scene), *next_token.blocks(scene)],
    )


def _tabs(scene: Scene) -> str:
    names = [(name, scene.say(f"attention.view.{name}")) for name in VIEWS]
    return controls.tabs(SHOW.name, scene.say("attention.view"), names)


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    if block == "mosaic":
        return mosaic.pick(scene, pick)
    return VIEWS[SHOW.of(scene.selection)].pick(scene, block, pick)


PANEL = Panel(
    "attention",
    columns,
    pick,
    attention_cell.spoken,
    options=(
        SHOW,
        attention_map.STAGE,
        WORDS,
        *attention_several.OPTIONS,
        *attention_products.OPTIONS,
        *(option for option in attention_output.OPTIONS if option not in attention_products.OPTIONS),
        *attention_together.OPTIONS,
    ),
    boxes=("attention", "cross", "parallel"),
)
