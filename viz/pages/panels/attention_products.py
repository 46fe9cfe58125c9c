"""Where a weight comes from: q times k in each dimension, and the row step by step from scores to weights."""

import plotly.graph_objects as go

from transformer.head_contributions import seal_context
from transformer.parts import Array
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Choice, Option
from viz.pages.panels.attention_row import DIMENSION, Row
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

CELLS = Choice("products", ("products", "keys"))  # what the cells hold: q · k, or the k vectors themselves
STEP = Choice("row-stage", ("weights", "dot", "scaled", "capped", "biased", "masked"))
OPTIONS: tuple[Option, ...] = (CELLS, STEP, DIMENSION)


def blocks(scene: Scene) -> list[Block]:
    """The products, the arithmetic of one, the steps to the weights, and those of one key."""
    if not Row(scene).is_known:
        reason = scene.reason(f"{scene.site}.q")
        return [Piece("products-title", scene.site, lambda: heading(_say(scene, "title")) + empty(reason))]
    row = Row(scene)
    return [*_products(scene, row), *_stages(scene, row)]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """A cell of the products: its key and dimension; a cell of the steps: its key and step."""
    row = Row(scene)
    key = row.key_at(pick.row)
    if key is None or pick.column is None:
        return None
    moved = move.to_cell(scene.trace, scene.selection, scene.query, key)
    if block == "products-map":
        return move.with_option(moved, DIMENSION, pick.column)
    names = [stage.name for stage in row.scores.stages]
    if block != "row-stages" or not 0 <= pick.column < len(names):
        return None
    return move.with_option(moved, STEP, names[pick.column])


def _say(scene: Scene, key: str, **values: object) -> str:
    return scene.say(f"attention.products.{key}", **values)


# --- the products ----------------------------------------------------------------------------------------------------


def _products(scene: Scene, row: Row) -> list[Block]:
    cell = (*row.place, scene.key, CELLS.of(scene.selection))
    return [
        Piece("products-title", row.place, lambda: _products_title(scene)),
        Plot(
            "products-map",
            cell,
            _say(scene, "label"),
            lambda: _draw_products(row),
            data=lambda: _products_data(row),
            code=lambda: _products_code(row),
            seal=lambda: scene.seal_line("attention.products.sealed", seal_context(scene.trace, *row.place)),
            select=(row.product_dimension, scene.key - row.shown.start),
        ),
        Piece("products-cell", (*row.place, scene.key, row.product_dimension), lambda: _cell(row)),
    ]


def _products_title(scene: Scene) -> str:
    said = [scene.html("attention.products.lead", query=scene.queries[scene.query])]
    if _turns(scene):
        said.append(scene.html("attention.products.rotary"))
    choices = [(name, _say(scene, f"cells.{name}")) for name in CELLS.values]
    tabs = controls.tabs(CELLS.name, _say(scene, "cells"), choices)
    return heading(_say(scene, "title"), joined(said)) + controls.row(tabs)


def _turns(scene: Scene) -> bool:
    """Whether positions are turned into q and k, as the diagram's box of this attention says."""
    blocks = scene.trace.structure.stack(scene.stack).blocks
    boxes = blocks[scene.layer] if scene.layer < len(blocks) else ()
    return any(box.name == scene.site and box.label_values.get("rotary") for box in boxes)


def _draw_products(row: Row) -> go.Figure:
    scene, scores = row.scene, row.scores
    return figures.query_key_products(
        scores.q,
        scores.k,
        scores.stage("scaled"),
        scores.weights,
        scene.keys,
        allowed=scores.allowed,
        selected=(scene.key, row.product_dimension),
        cells=CELLS.of(scene.selection),
        rows=row.window,
        language=scene.language,
    )


def _products_data(row: Row) -> Data:
    """Of each key shown: the products (or k), their sum, the scaled score and the weight."""
    scene, scores = row.scene, row.scores
    cells = scores.products if CELLS.of(scene.selection) == "products" else scores.k
    columns = [f"d{dimension}" for dimension in range(len(scores.q))]
    columns += [scene.say(f"figure.products.{name}") for name in ("sum", "score", "weight")]
    values = scores.beside(cells)[row.shown]
    corner = _say(scene, "corner")
    return Data(values, scene.keys[row.shown], columns, corner, more={"q": scores.q, "k": scores.k})


def _products_code(row: Row) -> str:
    scene, (site, head, query) = row.scene, row.place
    return (
        "from transformer.query_scores import query_scores\n\n"
        f"row = query_scores(trace, {site!r}, {head}, {query})\n"
        f"figure = figures.query_key_products(row.q, row.k, row.stage('scaled'), row.weights,"
        f" trace.tokens({site!r}, 'key'), allowed=row.allowed, selected=({scene.key}, {row.product_dimension}),"
        f" cells={CELLS.of(scene.selection)!r}, rows={row.window}, language={scene.language!r})"
    )


def _cell(row: Row) -> str:
    scene, scores, at = row.scene, row.scores, row.product_dimension
    q, k = scores.q, scores.k[scene.key]
    formula = (
        f'<span class="stt-q">q<sub>{at}</sub></span> · <span class="stt-k">k<sub>{at}</sub></span> = '
        f"{figures.number(float(q[at]))} × {figures.number(float(k[at]))} = "
        f"<b>{figures.number(float(scores.products[scene.key, at]))}</b>"
    )
    panel = figures.sum_arithmetic(
        scores.products[scene.key],
        names=[f"d{dimension}" for dimension in range(len(q))],
        total=float(_raw(scene)[scene.key]),
        formula_html=formula,
        chosen=at,
        code=figures.dot_as_numpy(q, k, ("q", "k"), at=at),
        language=scene.language,
    )
    words = {"query": scene.queries[scene.query], "key": scene.keys[scene.key], "dimension": at}
    return heading(_say(scene, "cell_title"), scene.html("attention.products.cell_lead", **words)) + panel


def _raw(scene: Scene) -> Array:
    """(key,): q · k by the trace's own road, a matrix product."""
    return scene.trace.raw_scores(scene.site, scene.head, slice(scene.query, scene.query + 1))[0]


# --- the steps -------------------------------------------------------------------------------------------------------


def _stages(scene: Scene, row: Row) -> list[Block]:
    step = STEP.of(scene.selection)
    return [
        Piece("row-stages-title", row.place, lambda: _stages_title(row)),
        Plot(
            "row-stages",
            (*row.place, scene.key),  # its name stands out
            _say(scene, "stages_label"),
            lambda: _draw_stages(row),
            data=lambda: _stages_data(row),
            code=lambda: _stages_code(row),
            seal=lambda: scene.seal_line("attention.products.sealed", seal_context(scene.trace, *row.place)),
            select=(_column(row), scene.key - row.shown.start),
        ),
        Piece("row-stages-cell", (*row.place, scene.key, step), lambda: _steps(row)),
    ]


def _column(row: Row) -> int:
    """The chosen step; a step that this model does not take leaves the last one, the weights."""
    names = [stage.name for stage in row.scores.stages]
    chosen = STEP.of(row.scene.selection)
    return names.index(chosen) if chosen in names else len(names) - 1


def _stages_title(row: Row) -> str:
    scene = row.scene
    lead = scene.html("attention.products.stages_lead", query=scene.queries[scene.query])
    choices = [(stage.name, scene.say(f"figure.score_row.{stage.name}")) for stage in row.scores.stages]
    tabs = controls.tabs(STEP.name, _say(scene, "stages_title"), choices)
    return heading(_say(scene, "stages_title"), lead) + controls.row(tabs)


def _draw_stages(row: Row) -> go.Figure:
    scene, scores = row.scene, row.scores
    return figures.score_table(
        [stage.values for stage in scores.stages],
        [stage.name for stage in scores.stages],
        scene.keys,
        selected=(scene.key, _column(row)),
        rows=row.window,
        sink=None if scores.sink is None else scores.sunk,
        language=scene.language,
    )


def _stages_data(row: Row) -> Data:
    scene, scores = row.scene, row.scores
    columns = [scene.say(f"figure.score_row.{stage.name}") for stage in scores.stages]
    return Data(scores.table[row.shown], scene.keys[row.shown], columns, _say(scene, "stages_corner"))


def _stages_code(row: Row) -> str:
    scene, (site, head, query) = row.scene, row.place
    sink = "None" if row.scores.sink is None else "row.sunk"
    return (
        "from transformer.query_scores import query_scores\n\n"
        f"row = query_scores(trace, {site!r}, {head}, {query})\n"
        "stages, names = [stage.values for stage in row.stages], [stage.name for stage in row.stages]\n"
        f"figure = figures.score_table(stages, names, trace.tokens({site!r}, 'key'),"
        f" selected=({scene.key}, {_column(row)}), rows={row.window}, sink={sink}, language={scene.language!r})"
    )


def _steps(row: Row) -> str:
    scene, scores = row.scene, row.scores
    names = [stage.name for stage in scores.stages]
    title = scene.html("attention.products.steps_lead", query=scene.queries[scene.query], key=scene.keys[scene.key])
    steps = figures.score_steps(
        [stage.values for stage in scores.stages],
        names,
        scene.key,
        scale=scores.scale,
        d_head=len(scores.q),
        softcap=scores.softcap,
        bias=0.0 if scores.bias is None else float(scores.bias[scene.key]),
        sink=scores.sink,
        chosen=names[_column(row)],
        language=scene.language,
    )
    return f'<p class="stt-lead">{title}</p>{steps}'
