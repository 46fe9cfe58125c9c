"""One token's vectors, as part of the panel "embedding": token + position = sum, in rows, and one number of them."""

from html import escape

import plotly.graph_objects as go

from transformer.embedding_sum import EmbeddingSum, why_no_sum
from transformer.position_rows import wave_of
from viz import figures
from viz.figures import EmbeddingTerm, Wave
from viz.pages import controls
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.embedding_look import EXACT_UP_TO, Look
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection


def blocks(scene: Scene, look: Look) -> tuple[list[Block], list[Block]]:
    """The rows, and beside them the chosen dimension."""
    where = (look.stack, look.query)
    title = Piece("embed-title", where, lambda: _title(scene, look), live=True)
    if look.sum is None:
        return [title], []
    rows: list[Block] = [title]
    if look.part is not None:
        rows.append(_plot(scene, look, whole=True))
    rows.append(_plot(scene, look, whole=False))
    cell = (*where, look.dimension)
    beside: list[Block] = [
        Piece("embed-cell", cell, lambda: _cell(scene, look)),
        Piece("embed-lengths", where, lambda: _lengths(scene, look)),
    ]
    return rows, beside


def pick(look: Look, block: str, pick: Pick) -> Selection | None:
    if pick.column is None or look.sum is None:
        return None
    if block == "embed-all":
        return look.to_dimension(pick.column * -(-look.width // EXACT_UP_TO))
    return look.to_dimension(look.first + pick.column) if block == "embed-rows" else None


def _names(look: Look, found: EmbeddingSum) -> tuple[str, ...]:
    """As `figures.embedding_rows` calls them: the tokens of an image are patches, but for what stands before them."""
    image = look.image
    is_patch = image is not None and not image.special[look.query]
    return tuple("patch" if name == "token" and is_patch else name for name in found.names)


# --- words -----------------------------------------------------------------------------------------------------------


def _title(scene: Scene, look: Look) -> str:
    title = scene.say("embedding.vectors.title", token=look.token)
    found = look.sum
    if found is None:
        return heading(title) + empty(scene.say(why_no_sum(look.trace, look.stack)))
    told = [scene.html("embedding.vectors.lead", position=look.query, count=look.width)]
    table = look.table("token")
    if table is not None:
        row = {"row": f"{int(table.taken[look.query]):,}", "count": f"{len(table.rows):,}"}
        told.append(scene.html("embedding.vectors.row", **row))
        if table.factor != 1:
            told.append(scene.html("embedding.vectors.scaled_before", factor=figures.number(table.factor)))
    if any(factor != 1 for factor in found.factors):
        told.append(scene.html("embedding.vectors.scaled", factor=figures.number(max(found.factors))))
    if found.names == ("token",):
        told.append(scene.html("embedding.vectors.alone"))
    return heading(title, joined(told))


def _lengths(scene: Scene, look: Look) -> str:
    """How long the vectors are, and whether token and position point the same way."""
    found = look.sum
    assert found is not None
    words = [scene.say(f"figure.embedding_rows.{name}") for name in (*_names(look, found), "sum")]
    facts = [
        (scene.say("embedding.length", vector=word), figures.number(length))
        for word, length in zip(words, found.lengths(look.query), strict=True)
    ]
    cosine = found.cosine(look.query)
    if cosine is not None:
        facts.append((scene.say("embedding.cosine", one=words[0], other=words[1]), figures.number(cosine)))
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f'<dl class="stt-facts">{rows}</dl>'


def _cell(scene: Scene, look: Look) -> str:
    found = look.sum
    assert found is not None
    title = heading(scene.say("embedding.cell.title", dimension=look.dimension), scene.html("embedding.cell.lead"))
    terms = [_term(look, found, place, name) for place, name in enumerate(_names(look, found))]
    panel = figures.embedding_arithmetic(
        terms,
        float(found.total[look.query, look.dimension]),
        look.dimension,
        d_model=look.width,
        language=scene.language,
    )
    copy = controls.copied(scene.say("explore.cell.copy"), figures.embedding_as_numpy(terms))
    return f'{title}<div class="stt-panel">{panel}{copy}</div>'


def _term(look: Look, found: EmbeddingSum, place: int, name: str) -> EmbeddingTerm:
    """One number that is added, and where it comes from, if that is known."""
    value, factor = float(found.terms[place, look.query, look.dimension]), found.factors[place]
    rows = look.rows
    if name == "position" and rows is not None and rows.layout is not None:
        function, exponent = wave_of(look.dimension, look.width, rows.layout)
        wave = Wave(function, int(rows.positions[look.query]), exponent, look.width)
        return EmbeddingTerm(name, value, factor, wave=wave)
    table = look.table("token" if name == "patch" else name)
    if table is None:
        return EmbeddingTerm(name, value, factor)
    row = int(table.taken[look.query])
    entry = float(table.rows[row, look.dimension])
    return EmbeddingTerm(name, value, factor, row=row, entry=entry, table_factor=table.factor)


# --- the rows --------------------------------------------------------------------------------------------------------


def _plot(scene: Scene, look: Look, *, whole: bool) -> Plot:
    """All dimensions, neighbours sharing a cell, or the chosen one and its neighbours one by one."""
    part = None if whole else look.part
    first, size = 0 if part is None else part.start, -(-look.width // EXACT_UP_TO) if whole else 1
    label = scene.say("embedding.rows.all") if whole else scene.say("embedding.rows", token=look.token)
    seal = None if whole else (lambda: _seal(scene, look))
    return Plot(
        "embed-all" if whole else "embed-rows",
        (look.stack, look.query, first),
        label,
        lambda: _draw(scene, look, part),
        data=lambda: _data(scene, look, part),
        code=lambda: _code(scene, look, part),
        seal=seal,
        select=((look.dimension - first) // size, 0),
    )


def _draw(scene: Scene, look: Look, part: slice | None) -> go.Figure:
    found = look.sum
    assert found is not None
    return figures.embedding_rows(
        found.scaled(look.query),
        found.total[look.query],
        _names(look, found),
        factors=found.factors,
        normed=None if found.normed is None else found.normed[look.query],
        selected=look.dimension,
        part=part,
        language=scene.language,
    )


def _code(scene: Scene, look: Look, part: slice | None) -> str:
    found = look.sum
    assert found is not None
    return (
        "from transformer.embedding_sum import embedding_sum\n"
        f"found, position = embedding_sum(trace, {look.stack!r}), {look.query}\n"
        "figure = figures.embedding_rows(\n"
        f"    found.scaled(position), found.total[position], {_names(look, found)!r}, factors=found.factors,\n"
        "    normed=None if found.normed is None else found.normed[position],\n"
        f"    selected={look.dimension}, part={part}, language={scene.language!r},\n"
        ")"
    )


def _data(scene: Scene, look: Look, part: slice | None) -> Data:
    found = look.sum
    assert found is not None
    dims = range(look.width)[part or slice(None)]
    words = [scene.say(f"figure.embedding_rows.{name}") for name in (*_names(look, found), "sum")]
    words += [] if found.normed is None else [scene.say("figure.embedding_rows.norm")]
    values = found.rows(look.query)[:, dims.start : dims.stop]
    corner = f"{scene.say('embedding.vector')} ↓ · {scene.say('figure.signed.dimension')} →"
    return Data(values, words, [str(one) for one in dims], corner)


def _seal(scene: Scene, look: Look) -> str:
    assert look.sum is not None
    return scene.seal_line("embedding.seal.sum", look.sum.seal)
