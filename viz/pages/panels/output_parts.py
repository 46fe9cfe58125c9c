"""Output, third view: one logit as the sum of what every part of the pass put into the stream."""

import numpy as np
import plotly.graph_objects as go

from transformer.direct_contributions import (
    seal_contributions,
)
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.output_answer import Answer, cell_of
from viz.pages.panels.output_heads import head_blocks
from viz.pages.panels.output_sum import AGAINST, Parts, found_code
from viz.pages.pick import Pick
from viz.pages.scene import empty, heading
from viz.pages.selection import Selection


def blocks(answer: Answer) -> tuple[list[Block], list[Block]]:
    parts, scene = Parts(answer), answer.scene
    against = Piece("parts-title", (answer.about, parts.mode), lambda: _title(parts))
    if (why := parts.why()) is not None:
        bends = parts.mode != "alone"
        return [*([against] if bends else []), Piece("parts-why", parts.mode, lambda: empty(why))], []
    about = (*answer.about, parts.mode)
    left: list[Block] = [
        against,
        Plot(
            "parts-bars",
            (*about, parts.layer),
            scene.say("output.parts.bars"),
            lambda: _draw(parts),
            data=lambda: _data(parts),
            code=lambda: _code(parts),
            seal=lambda: scene.seal_line("output.parts.sealed", seal_contributions(scene.trace, parts.found)),
        ),
    ]
    return left, head_blocks(parts, about)


def pick(answer: Answer, block: str, pick: Pick) -> Selection | None:
    """A bar chooses its layer, a cell its head."""
    parts, scene = Parts(answer), answer.scene
    if parts.why() is not None:
        return None
    sites = scene.trace.attention_sites()
    row, column = cell_of(pick)
    if block == "parts-bars" and column is not None:
        wanted = [f"{parts.stack}.{column}.{kind}" for kind in (scene.site.rpartition(".")[2], "self")]
        found = next((site for site in wanted if site in sites), None)
        return None if found is None else move.to_head(scene.trace, scene.selection, sites.index(found), scene.head)
    if block != "parts-heads" or row is None or column is None or not 0 <= row < len(parts.sites):
        return None
    return move.to_head(scene.trace, scene.selection, sites.index(parts.sites[row]), column)


def _title(parts: Parts) -> str:
    scene = parts.scene
    choices = [(value, scene.say(f"output.parts.{value}")) for value in AGAINST.values]
    modes = controls.row(controls.choice(AGAINST.name, scene.say("output.parts.against"), choices))
    lead = scene.html("output.parts.lead", token=parts.answer.name(parts.answer.token))
    return heading(scene.say("output.parts"), lead) + modes


# --- bars ------------------------------------------------------------------------------------------------------------


def _draw(parts: Parts) -> go.Figure:
    found = parts.found
    return figures.contribution_chart(
        found.values,
        [one.kind for one in found.addends],
        [one.layer for one in found.addends],
        constant=found.constant,
        token=parts.name,
        selected=parts.layer,
        language=parts.scene.language,
    )


def _data(parts: Parts) -> Data:
    found, say = parts.found, parts.scene.say
    names = []
    for one in found.addends:
        kind = say(f"figure.contributions.kind.{one.kind}")
        names.append(kind if one.layer is None else f"{one.layer} · {kind}")
    values = found.values
    if found.constant:  # as in the figure
        names.append(say("figure.contributions.kind.constant"))
        values = np.append(values, found.constant)
    return Data(values, names, [parts.name], more={"running": found.running})


def _code(parts: Parts) -> str:
    return (
        f"{found_code(parts)}"
        "kinds, layers = [one.kind for one in found.addends], [one.layer for one in found.addends]\n"
        f"figure = figures.contribution_chart(found.values, kinds, layers, constant=found.constant,"
        f" token={parts.name!r}, selected={parts.layer}, language={parts.scene.language!r})"
    )
