"""Positions that are added to the vectors, as part of the panel "embedding": their table, and who is like whom."""

from dataclasses import replace

import plotly.graph_objects as go

from transformer.position_rows import PositionRows, wavelength
from transformer.vector_tables import is_learned
from viz import figures
from viz.pages import controls
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels import embedding_like
from viz.pages.panels.embedding_look import TABLE, Added, Look
from viz.pages.pick import Pick
from viz.pages.scene import Scene, heading, joined
from viz.pages.selection import Selection


def blocks(scene: Scene, look: Look, rows: PositionRows) -> tuple[list[Block], list[Block]]:
    """The table, and beside it what it is like."""
    added = Added(scene, look, rows)
    where = (look.stack, look.query, added.asks_for_table)
    at = added.picture.at
    table = Plot(
        "position-table",
        (*where, look.first),
        scene.say("embedding.table.label"),
        lambda: _draw(added),
        data=lambda: _data(added),
        code=lambda: _code(added),
        seal=lambda: _seal(added),
        select=None if at is None else (look.dimension - look.first, at),
    )
    title = Piece("position-title", (look.stack, look.dimension), lambda: _title(added))
    which = [] if added.whole is None else [Piece("position-rows", None, lambda: _rows(scene))]
    return [title, *which, table], embedding_like.blocks(added, where)


def pick(scene: Scene, look: Look, rows: PositionRows, block: str, pick: Pick) -> Selection | None:
    added = Added(scene, look, rows)
    if block != "position-table":
        return embedding_like.pick(added, block, pick)
    if pick.row is None or pick.column is None:
        return None
    token = added.token_at(pick.row)
    moved = scene.selection if token is None else look.to_token(token)
    return replace(moved, options=look.to_dimension(look.first + pick.column).options)


# --- words -----------------------------------------------------------------------------------------------------------


def _kind(added: Added) -> str:
    """ "sinusoidal", "learned", or "fixed": a table that is neither."""
    if added.rows.layout is not None:
        return "sinusoidal"
    return "learned" if is_learned(added.look.model, f"{added.look.stack}.embed.position") else "fixed"


def _title(added: Added) -> str:
    scene, look, kind = added.scene, added.look, _kind(added)
    told = [scene.html(f"embedding.{kind}.lead")]
    if added.rows.layout is not None:
        wave = wavelength(look.dimension, look.width, added.rows.layout)
        told.append(scene.html("embedding.sinusoidal.wave", dimension=look.dimension, wave=figures.number(wave, 1)))
    return heading(scene.say(f"embedding.{kind}.title"), joined(told))


def _rows(scene: Scene) -> str:
    """The rows of the run, or the whole table."""
    words = [(value, scene.say(f"embedding.table.{value}")) for value in TABLE.values]
    return controls.tabs(TABLE.name, scene.say("embedding.table"), words)


def _seal(added: Added) -> str:
    """The formula, the row of the table, or at least the sum that the rows are a part of."""
    scene = added.scene
    if added.rows.seal is not None:
        return scene.seal_line("embedding.seal.formula", added.rows.seal)
    if added.table is not None:
        return scene.seal_line("embedding.seal.table", added.table.seal)
    found = added.look.sum
    return "" if found is None else scene.seal_line("embedding.seal.sum", found.seal)


# --- the table -------------------------------------------------------------------------------------------------------


def _draw(added: Added) -> go.Figure:
    return figures.position_table(
        added.picture.rows,
        added.names,
        selected=added.cell,
        part=added.look.part,
        step=added.picture.step,
        language=added.scene.language,
    )


def _data(added: Added) -> Data:
    dims = range(added.look.width)[added.look.part or slice(None)]
    corner = f"{added.scene.say('embedding.position')} ↓ · {added.scene.say('figure.signed.dimension')} →"
    values = added.picture.rows[:, dims.start : dims.stop]
    return Data(values, added.names, [str(one) for one in dims], corner)


def _code(added: Added) -> str:
    return (
        f"{added.code}figure = figures.position_table(\n"
        f"    picture.rows, names, selected={added.cell}, part={added.look.part}, step=picture.step,"
        f" language={added.scene.language!r},\n)"
    )
