"""All heads together: their mean and largest weight, rollout through the layers, entropy, sinks and labels."""

from dataclasses import dataclass
from functools import cached_property
from math import floor

import plotly.graph_objects as go

from transformer.head_maps import ROLLOUT_UP_TO, why_no_rollout
from transformer.parts import Array
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Choice
from viz.pages.panels import together_entropy, together_labels, together_sinks
from viz.pages.panels.seen import Seen, exact_windows, joined_words, names_code, tokens_at
from viz.pages.panels.word_view import WORDS, switch
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

TOGETHER = Choice("together", ("mean", "max", "rollout", "entropy", "sinks", "labels"))
OPTIONS = (TOGETHER, together_sinks.WITHOUT, together_labels.LABELS)
_MADE = {  # map -> (its function in `transformer.head_maps`, the one that says where it can be more than 0)
    "mean": ("mean_map", "allowed_by_any"),
    "max": ("largest_map", "allowed_by_any"),
    "rollout": ("rollout", "reachable"),
}


def blocks(scene: Scene) -> list[Block]:
    """The tabs, and what the chosen one shows."""
    which = TOGETHER.of(scene.selection)
    tabs: list[Block] = [Piece("together-tabs", None, lambda: _tabs(scene))]
    others = {"entropy": together_entropy, "sinks": together_sinks, "labels": together_labels}
    if which in others:
        return [*tabs, *others[which].blocks(scene)]
    return [*tabs, *_map_blocks(scene, which)]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """A cell of a map chooses the cell, one of a grid of heads its head."""
    if block.startswith(("together-map", "together-rescaled")):
        if pick.x is None or pick.y is None:
            return None
        row, column = floor(pick.y + 0.5), floor(pick.x + 0.5)
        cell = (row, column) if block.startswith("together-rescaled") else tokens_at(scene, row, column)
        return move.to_cell(scene.trace, scene.selection, *cell)
    if block.startswith("together-sink"):
        return together_sinks.pick(scene, block, pick)
    if block.startswith("together-label"):
        return together_labels.pick(scene, block, pick)
    return together_entropy.pick(scene, pick)


def _tabs(scene: Scene) -> str:
    names = [(name, scene.say(f"attention.together.{name}")) for name in TOGETHER.values]
    return controls.tabs(TOGETHER.name, scene.say("attention.together.views"), names)


# --- the maps --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Made:
    """One map of all heads; made when a block needs it."""

    scene: Scene
    kind: str

    @cached_property
    def both(self) -> tuple[Array, Array | None]:
        return self.scene.engine.heads.map(self.scene.trace, self.scene.site, self.kind)

    @cached_property
    def drawn(self) -> Seen:
        """Token by token, or word by word."""
        return joined_words(self.scene, *self.both)

    @property
    def window(self) -> tuple[slice | None, slice | None]:
        return exact_windows(self.scene, self.drawn)

    def draw(self) -> go.Figure:
        drawn, (rows, columns) = self.drawn, self.window
        return figures.attention_heatmap(
            drawn.weights,
            drawn.queries,
            drawn.keys,
            allowed=drawn.allowed,
            selected=(drawn.query, drawn.key),
            rows=rows,
            columns=columns,
            language=self.scene.language,
        )

    def data(self) -> Data:
        scene, drawn = self.scene, self.drawn
        rows, columns = (part or slice(None) for part in self.window)
        known = None if drawn.allowed is None else drawn.allowed[rows, columns]
        return Data(drawn.weights[rows, columns], drawn.queries[rows], drawn.keys[columns], scene.corner, known)

    def code(self) -> str:
        scene, (make, reach), (rows, columns) = self.scene, _MADE[self.kind], self.window
        return (
            f"from transformer.head_maps import {', '.join(sorted((make, reach)))}\n\n"
            f"weights, allowed = {make}(trace, {scene.site!r}), {reach}(trace, {scene.site!r})  # (query, key)\n"
            f"{names_code(scene, allowed=self.both[1] is not None)}"
            "figure = figures.attention_heatmap(weights, queries, keys, allowed=allowed,"
            f" selected=({self.drawn.query}, {self.drawn.key}), rows={rows}, columns={columns},"
            f" language={scene.language!r})"
        )

    def seal(self) -> str:
        scene = self.scene
        found = scene.engine.heads.map_seal(scene.trace, scene.site, self.kind)
        return scene.seal_line(f"attention.together.sealed.{self.kind}", found)


def _map_blocks(scene: Scene, kind: str) -> list[Block]:
    made = _Made(scene, kind)
    why = why_no_rollout(scene.trace, scene.site) if kind == "rollout" else None
    told = Piece("together-lead", (kind, scene.site), lambda: _lead(scene, kind, why))
    if why is not None:
        return [told]
    drawn = (kind, scene.site, scene.query, scene.key, scene.selection.exact, WORDS.of(scene.selection))
    plot = Plot(
        "together-map",
        drawn,
        scene.say(f"attention.together.{kind}.label"),
        made.draw,
        data=made.data,
        code=made.code,
        seal=made.seal,
    )
    words = Piece("together-words", None, lambda: switch(scene))
    if not move.is_long(scene.trace, scene.selection):
        return [told, words, plot]
    exact = Piece("together-exact", scene.selection.exact, lambda: _exact(scene))
    return [told, words, exact, plot]


def _exact(scene: Scene) -> str:
    key = "explore.whole" if scene.selection.exact else "explore.exact"
    return controls.row(controls.button(scene.say(key), name="exact", value="turn"))


def _lead(scene: Scene, kind: str, why: str | None) -> str:
    title = scene.say(f"attention.together.{kind}.title", layer=scene.layer_name(scene.site))
    if why is not None:
        return heading(title) + empty(scene.say(why, limit=ROLLOUT_UP_TO))
    said = [scene.html(f"attention.together.{kind}.lead", count=scene.how.heads, layer=scene.layer)]
    if kind == "rollout":
        said.append(scene.html("attention.together.rollout.heuristic"))
        if any(site.startswith(f"{scene.stack}.") and site.endswith(".cross") for site in scene.trace.attention):
            said.append(scene.html("attention.together.rollout.cross"))
    elif scene.how.sinks is not None:
        said.append(scene.html("explore.head.sinks"))
    return heading(title, joined(said))
