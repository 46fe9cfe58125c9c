"""What the position vectors of the panel "embedding" are like: who is near whom, as waves, and how long they are."""

import plotly.graph_objects as go

from transformer.parts import Array
from transformer.position_picture import waves
from transformer.position_rows import PositionRows, cosines, lengths
from viz import figures
from viz.pages.blocks import Block, Data, Plot
from viz.pages.panels.embedding_look import Added, Look
from viz.pages.pick import Pick
from viz.pages.selection import Selection

REACH = 63  # positions that the curves of sines and cosines show at least


def blocks(added: Added, where: tuple[object, ...]) -> list[Block]:
    return [_similar(added, where), _curves(added)]


def pick(added: Added, block: str, pick: Pick) -> Selection | None:
    """The token that was clicked."""
    look, token = added.look, None
    if block == "position-patches" and pick.column is not None and pick.row is not None:
        token = _first_patch(look) + pick.row * _grid(look)[1] + pick.column
    elif block == "position-curves" and pick.x is not None:
        token = _token_of(added.rows, round(pick.x))
    elif block == "position-lengths" and pick.x is not None:
        token = added.token_at(round(pick.x / added.picture.step) - int(added.picture.positions[0]))
    elif block == "position-similarity" and pick.row is not None:
        token = added.token_at(pick.row)
    return None if token is None else look.to_token(token)


def _token_of(rows: PositionRows, position: int) -> int | None:
    """The token that stands at a position."""
    return next((token for token, one in enumerate(rows.positions.tolist()) if one == position), None)


def _similar(added: Added, where: tuple[object, ...]) -> Plot:
    """Of the patches of an image, where they lie; else every pair."""
    scene, look = added.scene, added.look
    if look.image is not None and look.image.shape is not None and look.query >= _first_patch(look):
        return Plot(
            "position-patches",
            where,
            scene.say("embedding.patches.label"),
            lambda: figures.similarity_grid(_patch_cosines(added), selected=_place(look), language=scene.language),
            data=lambda: _patch_data(added),
            code=lambda: _patch_code(added),
        )
    cell = None if added.picture.at is None else (added.picture.at, added.picture.at)
    return Plot(
        "position-similarity",
        where,
        scene.say("embedding.similarity.label"),
        lambda: figures.position_similarity(
            added.cosines, added.names, selected=cell, step=added.picture.step, language=scene.language
        ),
        data=lambda: Data(added.cosines, added.names, added.names, scene.say("embedding.position")),
        code=lambda: (
            f"{added.code}figure = figures.position_similarity(cosines(picture.rows), names, selected={cell},"
            f" step=picture.step, language={scene.language!r})"
        ),
    )


def _first_patch(look: Look) -> int:
    assert look.image is not None and look.image.shape is not None
    return look.image.shape.extra_tokens


def _grid(look: Look) -> tuple[int, int]:
    assert look.image is not None and look.image.shape is not None
    return look.image.shape.grid


def _place(look: Look) -> tuple[int, int]:
    """Row and column of the chosen patch."""
    return divmod(look.query - _first_patch(look), _grid(look)[1])


def _patch_cosines(added: Added) -> Array:
    """(row, column): of the chosen patch's position with every patch's."""
    look, rows = added.look, added.rows.rows
    return cosines(rows[look.query : look.query + 1], rows[_first_patch(look) :]).reshape(_grid(look))


def _patch_data(added: Added) -> Data:
    rows, columns = _grid(added.look)
    names = [str(one) for one in range(1, rows + 1)], [str(one) for one in range(1, columns + 1)]
    return Data(_patch_cosines(added), *names, added.scene.say("embedding.patches.corner"))


def _patch_code(added: Added) -> str:
    look = added.look
    return (
        "from transformer.position_rows import cosines\n"
        f"rows = trace['{look.stack}.embed.position']\n"
        f"near = cosines(rows[{look.query}:{look.query + 1}], rows[{_first_patch(look)}:]).reshape({_grid(look)})\n"
        f"figure = figures.similarity_grid(near, selected={_place(look)}, language={added.scene.language!r})"
    )


def _curves(added: Added) -> Plot:
    """Sines and cosines as waves; of a learned table how long its vectors are."""
    scene, look = added.scene, added.look
    if added.rows.layout is None:
        return Plot(
            "position-lengths",
            (look.stack, look.query, added.asks_for_table),
            scene.say("embedding.lengths.label"),
            lambda: _draw_lengths(added),
            data=lambda: Data(lengths(added.picture.rows), added.names, [scene.say("embedding.lengths")]),
            code=lambda: _lengths_code(added),
        )
    return Plot(
        "position-curves",
        (look.stack, look.query, look.dimension),
        scene.say("embedding.curves.label"),
        lambda: _draw_curves(added),
        data=lambda: _curves_data(added),
        code=lambda: _curves_code(added),
    )


def _reach(added: Added) -> int:
    return max(REACH, int(added.rows.positions.max()))


def _draw_curves(added: Added) -> go.Figure:
    scene, rows = added.scene, added.rows
    dims, positions, values = waves(rows, added.look.dimension, _reach(added))
    return figures.position_curves(
        positions,
        values,
        [scene.say("embedding.curves.dimension", dimension=one) for one in dims],
        at=float(rows.positions[added.look.query]),
        dots=(rows.positions, rows.rows.T[list(dims)]),
        title=scene.say("embedding.curves.title"),
        facts=scene.say("embedding.curves.facts"),
        language=scene.language,
    )


def _curves_data(added: Added) -> Data:
    """Of the tokens of the run: the dots."""
    dims, _, _ = waves(added.rows, added.look.dimension, _reach(added))
    corner = f"{added.scene.say('embedding.position')} ↓ · {added.scene.say('figure.signed.dimension')} →"
    return Data(added.rows.rows[:, list(dims)], added.look.tokens, [str(one) for one in dims], corner)


def _curves_code(added: Added) -> str:
    look, scene = added.look, added.scene
    return (
        "from transformer.position_rows import position_rows\n"
        "from transformer.position_picture import waves\n"
        f"found = position_rows(trace, {look.stack!r})\n"
        f"dims, positions, values = waves(found, {look.dimension}, {_reach(added)})\n"
        "figure = figures.position_curves(\n"
        f"    positions, values, [str(one) for one in dims], at={float(added.rows.positions[look.query])},\n"
        f"    dots=(found.positions, found.rows.T[list(dims)]), language={scene.language!r},\n"
        ")"
    )


def _draw_lengths(added: Added) -> go.Figure:
    scene, picture = added.scene, added.picture
    return figures.position_curves(
        picture.positions,
        lengths(picture.rows)[None],
        [scene.say("embedding.lengths")],
        at=float(added.rows.positions[added.look.query]),
        title=scene.say("embedding.lengths.title"),
        language=scene.language,
    )


def _lengths_code(added: Added) -> str:
    at = float(added.rows.positions[added.look.query])
    return (
        f"{added.code}from transformer.position_rows import lengths\n"
        f"figure = figures.position_curves(picture.positions, lengths(picture.rows)[None], ['length'], at={at},"
        f" language={added.scene.language!r})"
    )
