"""What attention gives: the context of a head as a mix of values, and what all heads add to the residual stream."""

from functools import cached_property

import plotly.graph_objects as go

from transformer.head_contributions import (
    HeadOutputs,
    head_outputs,
    joins_the_stream,
    output_projection,
    seal_context,
    seal_output,
)
from transformer.parts import LinearPart
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Choice, Option
from viz.pages.panels.attention_row import DIMENSION, Row
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

CELLS = Choice("mix", ("weighted", "values"))  # what the cells hold: weight · v, or the v vectors themselves
OPTIONS: tuple[Option, ...] = (CELLS, DIMENSION)


class Output(Row):
    """The same row, and what W_O makes of all heads at its query."""

    @property
    def why_not(self) -> str | None:
        """Why the heads' parts are not known, None where they are."""
        scene, site = self.scene, self.scene.site
        if not isinstance(scene.trace.parts.get(f"{site}.projection"), LinearPart):
            return scene.reason(f"{site}.projection")
        return scene.say("attention.output.trained") if scene.trace.weights_changed() else None

    @cached_property
    def heads(self) -> HeadOutputs:
        return head_outputs(self.scene.trace, self.scene.site, self.scene.query)


def blocks(scene: Scene) -> list[Block]:
    """The mix of the chosen head and the arithmetic of one number of it, who shares values, and all heads' parts."""
    row = Output(scene)
    if not row.is_known:
        reason = scene.reason(f"{scene.site}.v")
        return [Piece("mix-title", scene.site, lambda: heading(_say(scene, "title")) + empty(reason))]
    return [*_mix(scene, row), *_groups(scene), *_heads(scene, row)]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """A cell of the mix: its key and dimension; a bar or a button of a head: that head."""
    if block == "mix-map":
        key = Row(scene).key_at(pick.row)
        if key is None or pick.column is None:
            return None
        return move.with_option(move.to_cell(scene.trace, scene.selection, scene.query, key), DIMENSION, pick.column)
    head = {"head-groups": pick.whole("head"), "head-parts": pick.row}.get(block)
    if head is None or not 0 <= head < scene.how.heads:
        return None
    return move.to_head(scene.trace, scene.selection, scene.selection.attention, head)


def _say(scene: Scene, key: str, **values: object) -> str:
    return scene.say(f"attention.output.{key}", **values)


# --- one head's mix --------------------------------------------------------------------------------------------------


def _mix(scene: Scene, row: Output) -> list[Block]:
    return [
        Piece("mix-title", row.place, lambda: _mix_title(row)),
        Plot(
            "mix-map",
            (*row.place, scene.key, CELLS.of(scene.selection)),
            _say(scene, "label"),
            lambda: _draw_mix(row),
            data=lambda: _mix_data(row),
            code=lambda: _mix_code(row),
            seal=lambda: scene.seal_line("attention.output.sealed", seal_context(scene.trace, *row.place)),
            select=(row.value_dimension, scene.key - row.shown.start),
        ),
        Piece("mix-cell", (*row.place, row.value_dimension, scene.key), lambda: _cell(row)),
    ]


def _mix_title(row: Output) -> str:
    scene = row.scene
    said = [scene.html("attention.output.lead", query=scene.queries[scene.query], count=row.mix.values.shape[1])]
    if scene.how.sinks is not None:
        said.append(scene.html("attention.output.sink", share=figures.percent(row.mix.sink)))
    choices = [(name, _say(scene, f"cells.{name}")) for name in CELLS.values]
    tabs = controls.tabs(CELLS.name, _say(scene, "cells"), choices)
    return heading(_say(scene, "title"), joined(said)) + controls.row(tabs)


def _draw_mix(row: Output) -> go.Figure:
    scene = row.scene
    return figures.weighted_values(
        row.mix.weights,
        row.mix.values,
        scene.keys,
        allowed=row.scores.allowed,
        selected=(scene.key, row.value_dimension),
        cells=CELLS.of(scene.selection),
        rows=row.window,
        language=scene.language,
    )


def _mix_data(row: Output) -> Data:
    """Of each key shown its row, and the context below."""
    scene, mix = row.scene, row.mix
    cells = mix.weighted if CELLS.of(scene.selection) == "weighted" else mix.values
    names = [*scene.keys[row.shown], scene.say("figure.mix.context")]
    columns = [f"d{dimension}" for dimension in range(mix.values.shape[1])]
    more = {"weights": mix.weights, "values": mix.values, "context": mix.context}
    return Data(mix.above_its_sum(cells[row.shown]), names, columns, _say(scene, "corner"), more=more)


def _mix_code(row: Output) -> str:
    scene, (site, head, query) = row.scene, row.place
    return (
        "from transformer.head_contributions import mixed_values\n\n"
        f"mix = mixed_values(trace, {site!r}, {head}, {query})\n"
        f"allowed = trace.allowed({site!r}, {head}, slice({query}, {query + 1}))[0]\n"
        f"figure = figures.weighted_values(mix.weights, mix.values, trace.tokens({site!r}, 'key'), allowed=allowed,"
        f" selected=({scene.key}, {row.value_dimension}), cells={CELLS.of(scene.selection)!r}, rows={row.window},"
        f" language={scene.language!r})"
    )


def _cell(row: Output) -> str:
    scene, at = row.scene, row.value_dimension
    context = scene.trace.context(scene.site, scene.head, slice(scene.query, scene.query + 1))[0]
    keys, weight = scene.html("figure.arithmetic.keys"), scene.html("figure.mix.weight")
    panel = figures.sum_arithmetic(
        row.mix.weighted[:, at],
        names=scene.keys,
        total=float(context[at]),
        formula_html=f'Σ<sub>{keys}</sub> {weight} · <span class="stt-v">v<sub>{at}</sub></span>',
        chosen=scene.key,
        code=figures.dot_as_numpy(row.mix.weights, row.mix.values[:, at], ("weights", "v"), at=scene.key),
        language=scene.language,
    )
    return heading(_say(scene, "cell_title"), scene.html("attention.output.cell_lead", dimension=at)) + panel


# --- who shares values -----------------------------------------------------------------------------------------------


def _groups(scene: Scene) -> list[Block]:
    """Only where heads share: elsewhere every head has keys and values of its own."""
    if scene.how.kv_heads == scene.how.heads:
        return []
    return [Piece("head-groups", (scene.site, scene.head), lambda: _brackets(scene))]


def _brackets(scene: Scene) -> str:
    how, chosen = scene.how, scene.how.kv_head(scene.head)
    together = [head for head in range(how.heads) if how.kv_head(head) == chosen]
    words = {"heads": how.heads, "groups": how.kv_heads, "head": scene.head, "group": chosen}
    lead = scene.html("attention.output.groups_lead", **words, first=together[0], last=together[-1])
    drawn = figures.head_group_brackets(how.heads, how.kv_heads, selected=scene.head, language=scene.language)
    return heading(_say(scene, "groups_title"), lead) + drawn


# --- all heads -------------------------------------------------------------------------------------------------------


def _heads(scene: Scene, row: Output) -> list[Block]:
    title = _say(scene, "heads_title")
    reason = row.why_not
    if reason is not None:
        return [Piece("head-parts-title", (scene.site, reason), lambda: heading(title) + empty(reason))]
    sealed = f"{scene.site}.projection.output_check" in scene.trace.arrays
    return [
        Piece("head-parts-title", row.place, lambda: _heads_title(row)),
        Plot(
            "head-parts",
            (scene.site, scene.query),
            _say(scene, "heads_label"),
            lambda: _draw_heads(row),
            data=lambda: _heads_data(row),
            code=lambda: _heads_code(row),
            seal=(lambda: _heads_seal(scene)) if sealed else None,
            select=(0, scene.head),
        ),
    ]


def _heads_title(row: Output) -> str:
    scene = row.scene
    part = output_projection(scene.trace, scene.site)
    out, into = part.weight.shape
    size = into // scene.how.heads
    first = scene.head * size
    facts = {"heads": scene.how.heads, "width": into, "out": out, "head": scene.head}
    said = [scene.html("attention.output.heads_lead", **facts, first=first, last=first + size - 1)]
    said += [] if row.heads.of_bias is None else [scene.html("attention.output.bias")]
    joins = "added" if joins_the_stream(scene.trace, scene.site) else "not_added"
    said.append(scene.html(f"attention.output.{joins}", query=scene.queries[scene.query]))
    return heading(_say(scene, "heads_title"), joined(said))


def _draw_heads(row: Output) -> go.Figure:
    scene, found = row.scene, row.heads
    return figures.head_output_bars(
        found.lengths,
        found.cosines,
        total=found.length,
        bias=found.of_bias,
        selected=scene.head,
        language=scene.language,
    )


def _heads_data(row: Output) -> Data:
    """Length, cosine and their product for each head, and for the bias where there is one."""
    scene, found = row.scene, row.heads
    names = [scene.say("figure.head_outputs.head", head=head) for head in range(scene.how.heads)]
    names += [] if found.of_bias is None else [scene.say("figure.head_outputs.bias")]
    columns = [scene.say(f"figure.head_outputs.{name}") for name in ("length", "cosine", "along")]
    return Data(
        found.table, names, columns, _say(scene, "heads_corner"), more={"parts": found.heads, "bias": found.bias}
    )


def _heads_code(row: Output) -> str:
    scene = row.scene
    return (
        "from transformer.head_contributions import head_outputs\n\n"
        f"parts = head_outputs(trace, {scene.site!r}, {scene.query})  # parts.heads: (head, d_model)\n"
        "figure = figures.head_output_bars(parts.lengths, parts.cosines, total=parts.length, bias=parts.of_bias,"
        f" selected={scene.head}, language={scene.language!r})"
    )


def _heads_seal(scene: Scene) -> str:
    return scene.seal_line("attention.output.heads_sealed", seal_output(scene.trace, scene.site, scene.query))
