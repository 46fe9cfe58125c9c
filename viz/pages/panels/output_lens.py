"""Output, second view: the logit lens. What the model would answer if it stopped after each layer."""

import numpy as np
import plotly.graph_objects as go

from transformer.logit_lens import class_lens, lens_column, seal_lens
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.output_answer import WORD, Answer, cell_of
from viz.pages.panels.output_layers import MORE, MOST, Lens
from viz.pages.panels.output_lens_cell import cell_blocks
from viz.pages.pick import Pick
from viz.pages.scene import empty, heading, joined
from viz.pages.selection import Selection


def blocks(answer: Answer) -> tuple[list[Block], list[Block]]:
    lens, scene = Lens(answer), answer.scene
    if (why := lens.why()) is not None:
        return [Piece("lens-why", None, lambda: empty(why))], []
    about = (lens.positions, answer.position, lens.layer)
    left: list[Block] = [
        Piece("lens-title", (lens.positions, answer.position), lambda: _title(lens)),
        Plot(
            "lens-map",
            (*about, answer.token if answer.is_few else None),
            scene.say("output.lens.map"),
            lambda: _draw(lens),
            data=lambda: _data(lens),
            code=lambda: _code(lens),
            seal=lambda: scene.seal_line("output.lens.sealed", seal_lens(scene.trace, lens.positions)),
        ),
    ]
    return left, cell_blocks(lens)


def pick(answer: Answer, block: str, pick: Pick) -> Selection | None:
    """A cell chooses its layer and its token; of classes, the class."""
    lens, scene = Lens(answer), answer.scene
    if lens.why() is not None:
        return None
    if block == "lens-curve":
        step = {"ArrowRight": 1, "ArrowLeft": -1}.get(pick.key or "")
        if step is not None:
            return _to_layer(lens, lens.layer + step)
        return None if pick.x is None else _to_layer(lens, round(pick.x))
    row, column = cell_of(pick)
    if block != "lens-map" or row is None or column is None:
        return None
    chosen = _to_layer(lens, row)
    if chosen is not None and answer.is_few:
        return move.with_option(chosen, WORD, column) if 0 <= column < answer.vocabulary else chosen
    if chosen is None or scene.trace.is_classified or not 0 <= column < len(lens.positions):
        return chosen
    return move.to_query(scene.trace, chosen, lens.positions[column])


def _to_layer(lens: Lens, layer: int) -> Selection | None:
    """The attention of a layer, of the same kind as the one that is looked at."""
    if not 0 <= layer < len(lens.streams):
        return None
    scene, place = lens.scene, lens.streams[layer].removesuffix(".resid.after")
    sites = scene.trace.attention_sites()
    kinds = (f"{place}.{scene.site.rpartition('.')[2]}", f"{place}.self")
    found = next((site for site in kinds if site in sites), None)
    if found is None:
        return None
    return move.to_head(scene.trace, scene.selection, sites.index(found), scene.head)


# --- the table -------------------------------------------------------------------------------------------------------


def _title(lens: Lens) -> str:
    scene = lens.scene
    told = [scene.html("output.lens.lead")]
    shown = len(lens.positions)
    if shown < lens.count:
        told.append(scene.html("output.lens.window", shown=shown, count=lens.count))
    title = heading(scene.say("output.lens"), joined(told))
    if min(lens.count, MOST) <= lens.at_once:
        return title
    seconds = lens_column(lens.trace, lens.answer.position).seconds * (min(lens.count, MOST) - 1)
    words = scene.say("output.lens.more", count=min(lens.count, MOST), seconds=f"{max(seconds, 0.1):.1f}")
    return title + controls.row(controls.switch(MORE.name, words))


def _selected(lens: Lens) -> tuple[int, int]:
    if lens.answer.is_few:
        return lens.layer, lens.answer.token
    return lens.layer, lens.positions.index(lens.answer.position)


def _classes(lens: Lens) -> list[str]:
    return lens.answer.names(np.arange(lens.answer.vocabulary))


def _draw(lens: Lens) -> go.Figure:
    selected, language = _selected(lens), lens.scene.language
    if lens.answer.is_few:
        shares = class_lens(lens.trace)
        return figures.class_lens_map(shares, lens.layer_names, _classes(lens), selected=selected, language=language)
    return figures.lens_map(
        lens.table.probabilities,
        lens.answers,
        lens.layer_names,
        lens.token_names,
        selected=selected,
        classes=lens.trace.is_classified,
        language=language,
    )


def _data(lens: Lens) -> Data:
    corner = lens.scene.say("figure.lens.layer")
    if lens.answer.is_few:
        return Data(class_lens(lens.trace), lens.layer_names, _classes(lens), corner)
    table = lens.table
    return Data(table.probabilities, lens.layer_names, lens.token_names, corner, more={"ids": table.ids})


def _code(lens: Lens) -> str:
    ends = f"selected={_selected(lens)}, language={lens.scene.language!r})"
    if lens.answer.is_few:
        return (
            "from transformer.logit_lens import class_lens\n"
            "shares = class_lens(trace)  # (layer, class)\n"
            f"figure = figures.class_lens_map(shares, {lens.layer_names!r}, {_classes(lens)!r}, {ends}"
        )
    return (
        "from transformer.logit_lens import logit_lens\n"
        f"table = logit_lens(trace, {list(lens.positions)})\n"
        f"answers = {lens.answers!r}  # names of table.ids (layer, position)\n"
        f"figure = figures.lens_map(table.probabilities, answers, {lens.layer_names!r}, {lens.token_names!r},"
        f" classes={lens.trace.is_classified}, {ends}"
    )
