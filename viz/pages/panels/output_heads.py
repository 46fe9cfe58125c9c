"""Output, third view: the heads behind the bars, and the numbers of the chosen layer."""

from collections.abc import Hashable

import numpy as np
import plotly.graph_objects as go

from transformer.direct_contributions import addend_products, seal_heads
from viz import figures
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.output_sum import Parts, found_code
from viz.pages.scene import Scene, empty, heading


def head_blocks(parts: Parts, about: tuple[Hashable, ...]) -> list[Block]:
    """`about`: what the logit depends on."""
    scene = parts.scene
    ffn = Piece("parts-ffn", (*about, parts.layer), lambda: _feed_forward(parts))
    if not parts.sites:
        return [Piece("parts-no-heads", None, lambda: empty(_no_heads(parts))), ffn]
    chosen = (*about, scene.site, scene.head)
    return [
        Piece(
            "parts-heads-title",
            None,
            lambda: heading(scene.say("output.parts.heads"), scene.html("output.parts.heads.lead")),
        ),
        Plot(
            "parts-heads",
            chosen,
            scene.say("output.parts.heads"),
            lambda: _draw_heads(parts),
            data=lambda: _heads_data(parts),
            code=lambda: _heads_code(parts),
            seal=lambda: scene.seal_line("output.parts.heads_sealed", seal_heads(parts.shares)),
        ),
        Piece("parts-sum", chosen, lambda: _sum(parts)),
        ffn,
    ]


def _no_heads(parts: Parts) -> str:
    scene: Scene = parts.scene
    return scene.say("lack.weights_only" if scene.how.weights is not None else "lack.formula_unknown")


def _head_names(parts: Parts) -> list[str]:
    return [str(head) for head in range(parts.shares.values.shape[1])]


def _draw_heads(parts: Parts) -> go.Figure:
    return figures.head_contribution_map(
        parts.shares.values,
        parts.row_names,
        _head_names(parts),
        selected=parts.selected,
        language=parts.scene.language,
    )


def _heads_data(parts: Parts) -> Data:
    shares = parts.shares
    corner = f"{parts.scene.say('figure.lens.layer')} ↓ · {parts.scene.say('figure.contributions.heads')} →"
    more = {"biases": shares.biases, "wholes": shares.wholes}
    return Data(shares.values, parts.row_names, _head_names(parts), corner, np.isfinite(shares.values), more)


def _heads_code(parts: Parts) -> str:
    return (
        f"{found_code(parts)}"
        "shares = head_shares(trace, found)  # shares.values (attention, head)\n"
        f"figure = figures.head_contribution_map(shares.values, {parts.row_names!r}, {_head_names(parts)!r},"
        f" selected={parts.selected}, language={parts.scene.language!r})"
    )


def _sum(parts: Parts) -> str:
    """The heads of the chosen attention sum to its bar."""
    scene, selected = parts.scene, parts.selected
    if selected is None:
        return empty(scene.say("output.parts.other"))
    row, head = selected
    shares = parts.shares
    names = [scene.say("output.parts.head", head=name) for name in _head_names(parts)]
    title = heading(
        scene.say("output.parts.sum", layer=parts.row_names[row]), scene.html("output.parts.sum.lead", token=parts.name)
    )
    formula = f"<span>{scene.html('output.parts.formula')}</span>"
    kept = np.isfinite(shares.values[row])
    return title + figures.sum_arithmetic(
        np.append(shares.values[row][kept], shares.biases[row]),
        names=[*(name for name, there in zip(names, kept, strict=True) if there), scene.say("figure.logit.bias")],
        total=float(shares.wholes[row]),
        formula_html=formula,
        chosen=head,
        language=scene.language,
    )


def _feed_forward(parts: Parts) -> str:
    """The chosen layer's feed-forward bar, dimension by dimension."""
    scene, addends = parts.scene, parts.found.addends
    place = next((n for n, one in enumerate(addends) if one.kind == "ffn" and one.layer == parts.layer), None)
    if place is None:
        return ""
    products = addend_products(scene.trace, parts.found, place)
    title = heading(
        scene.say("output.parts.ffn", layer=parts.layer), scene.html("output.parts.sum.lead", token=parts.name)
    )
    return title + figures.sum_arithmetic(
        products,
        names=[f"d{dimension}" for dimension in range(len(products))],
        total=float(parts.found.values[place]),
        formula_html=f"<span>{scene.html('output.parts.ffn_formula')}</span>",
        language=scene.language,
    )
