"""How undecided each head is: entropy of all heads of all layers, one cell each."""

import numpy as np
import plotly.graph_objects as go

from transformer.head_maps import HeadSummary
from transformer.head_seals import seal_summary
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection


def blocks(scene: Scene) -> list[Block]:
    """The grid does not change with the choice; only its rectangle moves."""
    chosen = scene.selection
    return [
        Piece("together-entropy-lead", (scene.site, scene.head), lambda: _lead(scene)),
        Plot(
            "together-entropy",
            None,
            scene.say("attention.together.entropy.label"),
            lambda: _draw(scene),
            data=lambda: _data(scene),
            code=lambda: _code(scene),
            seal=lambda: _seal(scene),
            select=(chosen.head, chosen.attention),
        ),
    ]


def pick(scene: Scene, pick: Pick) -> Selection | None:
    if pick.row is None or pick.column is None:
        return None
    return move.to_head(scene.trace, scene.selection, pick.row, pick.column)


def _summaries(scene: Scene) -> list[HeadSummary]:
    return [scene.engine.heads.summary(scene.trace, site) for site in scene.trace.attention_sites()]


def _layers(scene: Scene) -> list[str]:
    return [scene.layer_name(site) for site in scene.trace.attention_sites()]


def _draw(scene: Scene) -> go.Figure:
    found = _summaries(scene)
    told = [[_told(scene, one, head) for head in range(len(one.nats))] for one in found]
    return figures.head_grid(
        [one.relative for one in found],
        _layers(scene),
        told=told,
        selected=(scene.selection.attention, scene.head),
        caption=scene.say("attention.together.entropy.caption"),
        language=scene.language,
    )


def _told(scene: Scene, one: HeadSummary, head: int) -> str:
    facts = {"nats": f"{one.nats[head]:.3f}", "rows": int(one.rows[head])}
    if np.isnan(one.relative[head]):
        return scene.say("attention.together.entropy.cell_nats", **facts)
    return scene.say("attention.together.entropy.cell", share=f"{one.relative[head]:.3f}", **facts)


def _data(scene: Scene) -> Data:
    found, layers = _summaries(scene), _layers(scene)
    most = max(len(one.nats) for one in found)
    values = np.full((len(found), most), np.nan)
    for row, one in enumerate(found):
        values[row, : len(one.relative)] = one.relative
    corner = f"{scene.say('figure.layer')} ↓ · {scene.say('figure.head')} →"
    sites = scene.trace.attention_sites()
    more = {f"{site}.nats": one.nats for site, one in zip(sites, found, strict=True)}
    return Data(values, layers, [str(head) for head in range(most)], corner, ~np.isnan(values), more)


def _code(scene: Scene) -> str:
    caption, language = scene.say("attention.together.entropy.caption"), scene.language
    return (
        "from transformer.head_maps import summary\n"
        "from transformer.messages import message\n\n"
        "found = [summary(trace, site) for site in trace.attention_sites()]\n\n\n"
        "def told(one, head):\n"
        "    key = 'cell_nats' if np.isnan(one.relative[head]) else 'cell'\n"
        "    share, nats = f'{one.relative[head]:.3f}', f'{one.nats[head]:.3f}'\n"
        f"    return message(f'attention.together.entropy.{{key}}', {language!r}, share=share, nats=nats,"
        " rows=one.rows[head])\n\n\n"
        f"figure = figures.head_grid([one.relative for one in found], {_layers(scene)!r},\n"
        "    told=[[told(one, head) for head in range(len(one.nats))] for one in found],\n"
        f"    selected=({scene.selection.attention}, {scene.head}), caption={caption!r}, language={language!r})"
    )


def _seal(scene: Scene) -> str:
    one = scene.engine.heads.summary(scene.trace, scene.site)
    return scene.seal_line("attention.together.sealed.entropy", seal_summary(scene.trace, scene.site, scene.head, one))


def _lead(scene: Scene) -> str:
    one, title = scene.engine.heads.summary(scene.trace, scene.site), scene.say("attention.together.entropy.title")
    said = [scene.html("attention.together.entropy.lead")]
    nats = one.nats[scene.head]
    if np.isnan(nats):
        said.append(scene.html("attention.together.entropy.no_row"))
    else:
        facts = {"layer": scene.layer_name(scene.site), "head": scene.head}
        said.append(f"{scene.html('attention.together.entropy.head', **facts, told=_told(scene, one, scene.head))}")
    unseen = f"{scene.site}.allowed" in scene.trace.lacks
    why = empty(scene.say("attention.together.entropy.unseen")) if unseen else ""
    return heading(title, joined(said)) + why
