"""Beam search: several texts grow side by side; a tree of what lived on, what was complete, and what was dropped."""

from html import escape

import numpy as np
import plotly.graph_objects as go

from transformer.beam import Beam, node_of
from transformer.cache_state import Work
from transformer.generation_seals import seal_by_run, seal_scores
from viz import figures
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.generate_code import tree_code
from viz.pages.panels.generate_steps import STRIP_UP_TO, compared
from viz.pages.panels.generated import Search
from viz.pages.scene import Scene, heading, joined

TABLE = ("pass", "parent", "token", "log_p", "score")  # the columns of the tree's numbers


def tree_block(scene: Scene, found: Search) -> Plot:
    return Plot(
        "generate-tree",
        (found.settings, len(found.steps), found.node),
        scene.say("generate.tree"),
        lambda: _draw(scene, found),
        data=lambda: _data(scene, found),
        code=lambda: tree_code(found),
        seal=lambda: _seal(scene, found),
    )


def text_blocks(scene: Scene, found: Search) -> list[Block]:
    of = (found.settings, len(found.steps), found.node)
    return [
        Piece("generate-node", of, lambda: _node(scene, found)),
        Piece("generate-texts", of, lambda: _texts(scene, found)),
        Piece("generate-beam-cache", of[:2], lambda: _cache(scene, found)),
    ]


def _names(found: Search) -> list[str]:
    return ["" if node.token is None else found.name(node.token) for node in found.nodes]


def _draw(scene: Scene, found: Search) -> go.Figure:
    return figures.beam_tree(found.nodes, _names(found), selected=found.node, language=scene.language)


def _data(scene: Scene, found: Search) -> Data:
    nodes = [(one.step, one.parent, one.token, one.log_p, one.score) for one in found.nodes]
    values = np.array([[np.nan if one is None else one for one in node] for node in nodes])
    names = [scene.say("figure.beam.given"), *_names(found)[1:]]
    columns = [scene.say(f"generate.tree.column.{name}") for name in TABLE]
    return Data(values, names, columns, scene.say("generate.column.token"), allowed=~np.isnan(values))


def _seal(scene: Scene, found: Search) -> str:
    lines = [scene.seal_line("generate.sealed.scores", seal_scores(found.nodes))]
    first = [node for node in found.nodes if node.step == 1]
    tokens = [node.token for node in first if node.token is not None]
    by_run = seal_by_run(scene.trace, found.steps[0].parents[0].ids, tokens, [node.p for node in first])
    if by_run is not None:
        lines.append(compared(scene, "run", by_run))
    return "".join(lines)


def _node(scene: Scene, found: Search) -> str:
    """The text that ends in the box that is looked at, and how it comes by its score."""
    way, node, ids = found.way[1:], found.nodes[found.node], found.ids
    log_p = [found.nodes[at].log_p for at in way]
    strip = figures.generated_strip(
        np.array([found.nodes[at].p for at in way]),
        found.engine.encoding_of(found.model, ids),
        selected=len(way) - 1,
        first=len(ids) - STRIP_UP_TO,
        language=scene.language,
    )
    tokens = [found.name(token) for token in ids[len(ids) - len(way) :]]
    numbers = figures.beam_arithmetic(
        log_p, tokens, score=node.score, penalty=found.settings.length_penalty, language=scene.language
    )
    code = escape(figures.beam_code(log_p, found.settings.length_penalty))
    copy = f'<button type="button" class="stt-copy" data-copy="{code}">{scene.html("explore.cell.copy")}</button>'
    title = scene.say("generate.node", fate=scene.say(f"figure.beam.fate.{node.fate}"))
    shown = f'<div class="stt-panel">{numbers}{copy}</div>' if way else ""
    return f"{heading(title, scene.html('generate.node.lead'))}{strip}{shown}"


def _texts(scene: Scene, found: Search) -> str:
    """What is complete and what still grows, each best first."""
    last = found.steps[-1]
    rows = [_row(found, beam, True) for beam in last.finished] + [_row(found, beam, False) for beam in last.beams]
    table = figures.beam_texts(rows, selected=found.node, language=scene.language)
    exponent = scene.html("generate.texts.lead", penalty=f"{found.settings.length_penalty:g}")
    return heading(scene.say("generate.texts"), exponent) + table


def _row(found: Search, beam: Beam, finished: bool) -> figures.BeamText:
    new = beam.ids[len(found.steps[0].parents[0].ids) :]
    names = [found.name(token) for token in new]
    return figures.BeamText(names, beam.score, beam.rating, finished, node_of(found.nodes, new))


def _cache(scene: Scene, found: Search) -> str:
    last = found.steps[-1]
    states = [step.cache for step in found.steps if step.cache is not None]
    if last.cache is None:
        return ""
    texts = len(last.parents)
    numbers = figures.cache_arithmetic(last.cache, Work.of(states), texts=texts, language=scene.language)
    said = joined([scene.html("generate.beam.cache", texts=texts)])
    return heading(scene.say("generate.cache"), said) + f'<div class="stt-panel">{numbers}</div>'
