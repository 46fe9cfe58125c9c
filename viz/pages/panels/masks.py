"""Masks: which rule forbids each cell of a head's map, and what padding does when two texts share a batch."""

from math import floor

from transformer.mask_rules import mask_rules, rule_groups
from viz import figures
from viz.figures.mask_map import names_of
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Columns, Piece
from viz.pages.options import Choice
from viz.pages.panels import masks_batch
from viz.pages.panels.chooser import chooser
from viz.pages.panels.masks_map import Shown, cell_block, map_blocks, sentences
from viz.pages.panels.panel import Panel
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

VIEW = Choice("mask-view", ("one", "batch"))


def columns(scene: Scene) -> Columns:
    batch = VIEW.of(scene.selection) == "batch"
    first: list[Block] = [Piece("mask-view", batch, lambda: _view(scene)), chooser(scene)]
    if batch:
        return masks_batch.batch_columns(scene, first)
    shown = Shown(scene, scene.trace, (scene.query, scene.key))
    first.append(Piece("mask-title", shown.of[:3], lambda: _title(shown), live=True))
    layers = Piece("mask-layers", (scene.selection.attention, scene.head), lambda: _layers(scene))
    if shown.hidden:
        return first, [layers]
    return [*first, *map_blocks(shown, "mask-map")], [cell_block(shown), layers]


def _view(scene: Scene) -> str:
    views = [(name, scene.say(f"masks.view.{name}")) for name in VIEW.values]
    parts = [controls.tabs(VIEW.name, scene.say("masks.view"), views)]
    if VIEW.of(scene.selection) == "batch":
        batch = masks_batch.BATCH
        parts.append(controls.line(batch.name, scene.say("masks.batch.text"), batch.longest))
    return controls.row(*parts)


def _title(shown: Shown) -> str:
    scene = shown.scene
    many = len(scene.trace.encodings) > 1
    key = "explore.head.title_of_stack" if many else "explore.head.title"
    title = scene.say(key, layer=scene.layer_name(scene.site), head=scene.head)
    if shown.hidden:
        return heading(title) + empty(scene.reason(f"{scene.site}.allowed"))
    return heading(title, joined(sentences(shown)))


def _layers(scene: Scene) -> str:
    sites = scene.trace.attention_sites()
    groups = [
        (
            figures.rule_words(rules, language=scene.language),
            [(sites.index(site), scene.layer_name(site)) for site in of_group],
        )
        for rules, of_group in rule_groups(scene.trace, scene.head)
    ]
    table = figures.mask_layers(groups, selected=scene.selection.attention, language=scene.language)
    return heading(scene.say("masks.layers.title"), scene.html("masks.layers.lead")) + table


def spoken(scene: Scene) -> str:
    """ "query it, key dog: may not look (causal)"."""
    if VIEW.of(scene.selection) == "batch" or f"{scene.site}.allowed" in scene.trace.lacks:
        return ""
    rules = mask_rules(scene.trace, scene.site, scene.head)
    kinds = names_of(int(rules.codes[scene.query, scene.key]))
    state = "may" if rules.allowed[scene.query, scene.key] else "may_not"
    why = " + ".join(scene.say(f"figure.mask.{name}") for name in kinds)
    query, key = scene.queries[scene.query], scene.keys[scene.key]
    return scene.say(f"masks.spoken.{state}", query=query, key=key) + (f" ({why})" if why else "")


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    chosen = scene.selection
    if (layer := pick.whole("layer")) is not None:
        return move.to_head(scene.trace, chosen, layer, scene.head)
    if pick.x is None or pick.y is None:
        return None
    query, key = floor(pick.y + 0.5), floor(pick.x + 0.5)
    if block == "mask-map":
        return move.to_cell(scene.trace, chosen, query, key)
    return masks_batch.choose(chosen, block, query, key)


OPTIONS = (VIEW, masks_batch.BATCH, masks_batch.ROW, masks_batch.QUERY, masks_batch.KEY)
PANEL = Panel("masks", columns, pick, spoken, options=OPTIONS)
