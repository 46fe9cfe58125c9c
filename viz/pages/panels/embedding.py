"""Embedding & positions: from ids to vectors, and whichever way this model tells where a token stands.

Its sub-views lie in the `embedding_….py` beside this file.
"""

from viz.pages import controls
from viz.pages.blocks import Block, Columns, Piece
from viz.pages.panels import embedding_added, embedding_bias, embedding_turns, embedding_vectors
from viz.pages.panels.chooser import chooser
from viz.pages.panels.embedding_look import DIMENSION, TAB, TABLE, Look
from viz.pages.panels.panel import Panel
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading
from viz.pages.selection import Selection

PER_LAYER = ("rotary", "alibi", "relative")  # what each attention has for itself


def columns(scene: Scene) -> Columns:
    look = Look(scene)
    tabs = Piece("embed-tabs", None, lambda: _tabs(scene))
    if TAB.of(scene.selection) == "vectors":
        rows, beside = embedding_vectors.blocks(scene, look)
        return [[tabs, *rows], beside] if beside else [[tabs, *rows]]
    left, right = _positions(scene, look)
    return [[tabs, *left], right] if right else [[tabs, *left]]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    look = Look(scene)
    if block in ("embed-rows", "embed-all"):
        return embedding_vectors.pick(look, block, pick)
    if block.startswith("position-") and look.rows is not None:
        return embedding_added.pick(scene, look, look.rows, block, pick)
    return embedding_bias.pick(look, block, pick) if block.startswith("bias-") else None


def spoken(scene: Scene) -> str:
    """ "token it, dimension 17: 0.139", or which positions the model has."""
    look = Look(scene)
    if TAB.of(scene.selection) == "positions":
        return f"{look.token}: {_names(scene, look)}"
    if look.sum is None:
        return scene.say("embedding.vectors.title", token=look.token)
    value = f"{look.sum.total[look.query, look.dimension]:.4g}"
    return scene.say("embedding.spoken", token=look.token, dimension=look.dimension, value=value)


def _tabs(scene: Scene) -> str:
    words = [(value, scene.say(f"embedding.tab.{value}")) for value in TAB.values]
    return controls.tabs(TAB.name, scene.say("embedding.tab"), words)


def _names(scene: Scene, look: Look) -> str:
    """ "rotary", "learned · relative", or that there are none."""
    if look.kinds.names:
        return " · ".join(scene.say(f"embedding.kind.{name}") for name in look.kinds.names)
    return scene.say("embedding.none.title" if look.kinds.has_none else "embedding.unknown.title")


def _positions(scene: Scene, look: Look) -> tuple[list[Block], list[Block]]:
    """Every kind that was found, one below the other, and what could not be seen."""
    kinds = look.kinds
    left: list[Block] = []
    right: list[Block] = []
    if set(kinds.names) & set(PER_LAYER):
        left.append(chooser(scene))
    parts: list[tuple[list[Block], list[Block]]] = []
    if look.rows is not None:
        parts.append(embedding_added.blocks(scene, look, look.rows))
    if "rotary" in kinds.names:
        parts.append(embedding_turns.blocks(scene, look))
    if "alibi" in kinds.names or "relative" in kinds.names:
        parts.append(embedding_bias.blocks(scene, look))
    for main, beside in parts:
        left += main
        right += beside
    if look.site != scene.site:
        left.insert(0, Piece("position-across", look.site, lambda: empty(scene.say("embedding.across"))))
    if kinds.unknown or kinds.has_none:
        left.append(Piece("position-unknown", look.site, lambda: _unknown(scene, look)))
    return left, right


def _unknown(scene: Scene, look: Look) -> str:
    """That there are no positions, or what nobody can tell, and why."""
    if look.kinds.has_none:
        lead = scene.html("embedding.none.lead", layer=scene.layer_name(look.site))
        return heading(scene.say("embedding.none.title"), lead)
    told = [f"{scene.say(f'embedding.unknown.{place}')} {scene.say(reason)}" for place, reason in look.kinds.unknown]
    return heading(scene.say("embedding.unknown.title")) + "".join(empty(one) for one in told)


PANEL = Panel("embedding", columns, pick, spoken, options=(TAB, DIMENSION, TABLE), boxes=("embedding", "positions"))
