"""Add & norm: one norm on one token, number by number, or the residual stream through all layers."""

from html import escape

from transformer.norm_placement import norm_placement, norm_sites
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Columns, Piece
from viz.pages.options import Choice
from viz.pages.panels import residual
from viz.pages.panels.chooser import chooser
from viz.pages.panels.norm_vector import (
    DIMENSION,
    NORM,
    Chosen,
    block_name,
    cell_blocks,
    picked_dimension,
    row_blocks,
    short,
    token_blocks,
)
from viz.pages.panels.panel import Panel
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading
from viz.pages.selection import Selection

SHOW = Choice("norm-show", ("norm", "stream"))


def columns(scene: Scene) -> Columns:
    chosen = Chosen(scene)
    first: list[Block] = [chooser(scene, heads=False), Piece("norm-show", None, lambda: _show(scene))]
    if SHOW.of(scene.selection) == "stream":
        own, layers, pairs = residual.blocks(scene)
        return [[*first, _order(scene, ""), *own], layers, pairs]
    which = Piece("norm-which", (chosen.sites, chosen.site), lambda: _which(scene, chosen))
    title = Piece("norm-title", (scene.site, chosen.site, scene.query), lambda: _title(scene, chosen), live=True)
    order = _order(scene, short(chosen.site))
    if not chosen.known:
        return [[*first, which, order], [title]]
    left = [*first, which, order, *token_blocks(scene, chosen)]
    return [left, [title, *row_blocks(scene, chosen)], cell_blocks(scene, chosen)]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    chosen = Chosen(scene)
    if (norm := pick.data.get("norm")) is not None:
        shown = move.with_option(scene.selection, NORM, norm)
        return move.with_option(shown, SHOW, "norm") if norm in map(short, chosen.sites) else None
    if block.startswith("stream-"):
        return residual.pick(scene, block, pick)
    if block == "norm-tokens" and pick.y is not None:
        return move.to_query(scene.trace, scene.selection, round(pick.y))
    dimension = picked_dimension(chosen, block, pick)
    return None if dimension is None else move.with_option(scene.selection, DIMENSION, dimension)


def spoken(scene: Scene) -> str:
    chosen = Chosen(scene)
    if SHOW.of(scene.selection) == "stream" or not chosen.known:
        return scene.say("norm.spoken.plain", block=block_name(scene), token=chosen.token)
    told = {"title": chosen.title, "token": chosen.token, "std": f"{chosen.numbers.std:.4g}"}
    if chosen.rms:
        return scene.say("norm.spoken.rms", **told)
    return scene.say("norm.spoken", **told, mean=f"{chosen.numbers.mean:.4g}")


# --- what is looked at -----------------------------------------------------------------------------------------------


def _show(scene: Scene) -> str:
    words = [(value, scene.say(f"norm.show.{value}")) for value in SHOW.values]
    return controls.tabs(SHOW.name, scene.say("norm.show"), words)


def _which(scene: Scene, chosen: Chosen) -> str:
    """All norms in their order: those of this block, and those of its stack before and behind all blocks."""
    buttons = []
    for one in chosen.sites:
        told = f'data-norm="{short(one)}" aria-pressed="{str(one == chosen.site).lower()}"'
        words = escape(figures.norm_name(short(one), scene.language))
        buttons.append(f'<button type="button" class="stt-tab" {told}>{words}</button>')
    label = escape(scene.say("norm.which"))
    return f'<div class="stt-tabs" role="group" aria-label="{label}">{"".join(buttons)}</div>'


def _order(scene: Scene, marked: str) -> Piece:
    return Piece("norm-order", (scene.site, marked), lambda: _drawn_order(scene, marked))


def _drawn_order(scene: Scene, marked: str) -> str:
    placement = norm_placement(scene.trace, scene.place)
    lead = scene.html("norm.placement.lead", block=block_name(scene))
    drawn = figures.norm_order(placement, selected=marked, language=scene.language)
    return heading(scene.say("norm.placement.title"), lead) + drawn


def _title(scene: Scene, chosen: Chosen) -> str:
    if not chosen.site:
        key = f"{scene.stack}.resid"
        return empty(scene.reason(key) if key in scene.trace.lacks else scene.say("norm.none"))
    kind = chosen.numbers.kind if chosen.known else "unknown"
    where = {"token": chosen.token, "position": scene.query} | ({"count": chosen.width} if chosen.known else {})
    title = heading(chosen.title, scene.html(f"norm.lead.{kind}", **where))
    if not chosen.known:
        return title + empty(scene.reason(chosen.site, "stream"))
    return title + figures.norm_summary(chosen.numbers, language=scene.language)


def entered(scene: Scene, selection: Selection, site: str) -> Selection:
    """From a box of the diagram: the norm that it stands for, or at a + the stream that is added to."""
    trace, (stack, place) = scene.trace, [*site.split("."), ""][:2]
    if not move.site_of(trace, selection).startswith(f"{stack}."):  # outside of all blocks, and of another stack
        last = len(trace.structure.stack(stack).blocks) - 1
        selection = move.to_layer(trace, selection, stack, last if place == "final" else 0)
    is_norm = short(site) in ("embed", "final") or site in norm_sites(trace, site.rpartition(".")[0])
    selection = move.with_option(selection, SHOW, "norm" if is_norm else "stream")
    return move.with_option(selection, NORM, short(site)) if is_norm else selection


PANEL = Panel("norm", columns, pick, spoken, options=(SHOW, NORM, DIMENSION), boxes=("norm", "add"), entered=entered)
