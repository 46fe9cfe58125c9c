"""Output, second view: one cell of the lens, and one token through all layers."""

import plotly.graph_objects as go

from transformer.full_logits import rank_of
from transformer.logit_lens import lens_answers, lens_column, lens_logits, lens_parts, probability_by_layer
from viz import figures
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.output_answer import logit_panel
from viz.pages.panels.output_layers import Lens
from viz.pages.scene import heading

SHOWN = 5  # of one cell's answers


def cell_blocks(lens: Lens) -> list[Block]:
    answer, scene = lens.answer, lens.scene
    cell = (answer.position, lens.layer, answer.token)
    return [
        Piece("lens-cell", cell, lambda: _cell(lens), live=True),
        Plot(
            "lens-curve",
            cell,
            scene.say("output.lens.curve"),
            lambda: _draw_curve(lens),
            data=lambda: _curve_data(lens),
            code=lambda: _curve_code(lens),
        ),
        Piece("lens-arithmetic", cell, lambda: _arithmetic(lens)),
    ]


def _cell(lens: Lens) -> str:
    """The first answers after one layer, and where the chosen token stands among all."""
    answer, scene = lens.answer, lens.scene
    logits = lens_logits(lens.trace, lens.layer, answer.position)
    ids, shares = lens_answers(lens.trace, lens.layer, answer.position, SHOWN)
    listed = figures.token_list(
        ids.tolist(), answer.names(ids), [figures.percent(share) for share in shares.tolist()], selected=answer.token
    )
    key = "output.lens.cell_class" if lens.trace.is_classified else "output.lens.cell"
    told = scene.html(key, token=answer.before, layer=lens.layer)
    rank = scene.html(
        "output.lens.rank",
        token=answer.name(answer.token),
        rank=f"{rank_of(logits, answer.token) + 1:,}",
        count=f"{answer.vocabulary:,}",
    )
    title = scene.say("output.lens.after", layer=lens.layer)
    return f'{heading(title, told)}{listed}<p class="stt-lead">{rank}</p>'


def _arithmetic(lens: Lens) -> str:
    """The logit of the chosen token after the chosen layer, and its probability there."""
    answer, scene = lens.answer, lens.scene
    found = lens_parts(lens.trace, lens.layer, answer.position, answer.token)
    total = float(lens_column(lens.trace, answer.position).logsumexp[lens.layer])
    lead = scene.html("output.lens.made", token=answer.name(answer.token), layer=lens.layer)
    return heading(scene.say("output.made"), lead) + logit_panel(answer, found, total)


def _draw_curve(lens: Lens) -> go.Figure:
    answer = lens.answer
    shares = probability_by_layer(lens.trace, answer.position, answer.token)
    name = answer.name(answer.token)
    return figures.lens_curve(shares, name, selected=lens.layer, language=lens.scene.language)


def _curve_data(lens: Lens) -> Data:
    answer = lens.answer
    shares = probability_by_layer(lens.trace, answer.position, answer.token)
    return Data(shares, lens.layer_names, [answer.name(answer.token)], lens.scene.say("figure.lens.layer"))


def _curve_code(lens: Lens) -> str:
    answer = lens.answer
    return (
        "from transformer.logit_lens import probability_by_layer\n"
        f"shares = probability_by_layer(trace, {answer.position}, {answer.token})  # (layer,)\n"
        f"figure = figures.lens_curve(shares, {answer.name(answer.token)!r}, selected={lens.layer},"
        f" language={lens.scene.language!r})"
    )
