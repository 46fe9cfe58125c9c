"""One head: as a map, stage by stage from scores to weights, and as lines between two columns of tokens."""

from math import floor

import plotly.graph_objects as go

from transformer import replay
from transformer.parts import Array
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Choice
from viz.pages.panels.head_title import head_title
from viz.pages.panels.seen import Seen, code, exact_windows, seen, windows
from viz.pages.panels.word_view import WORDS, switch
from viz.pages.pick import Pick
from viz.pages.scene import WHOLE_UP_TO, Scene, note
from viz.pages.selection import Selection

STAGE = Choice("stage", ("weights", "scores", "scaled", "masked"))


def blocks(scene: Scene) -> list[Block]:
    chosen = scene.selection
    where = (scene.site, scene.head)
    drawn = (*where, chosen.query, WORDS.of(chosen), _start(scene))
    pooled = _pooled(scene)
    cell = (*where, WORDS.of(chosen), _stage(scene), chosen.exact, *(() if pooled else (chosen.query, chosen.key)))
    cell = (*cell, _start(scene))
    found: list[Block] = [
        Piece("head-title", (*where, chosen.query), lambda: head_title(scene), live=True),
        Piece(
            "stage-steps", (_has_steps(scene), move.is_long(scene.trace, chosen), chosen.exact), lambda: _steps(scene)
        ),
    ]
    found.append(
        Plot(
            "head-map",
            cell,
            scene.say("explore.head.map"),
            lambda: _draw_map(scene),
            data=lambda: _data(scene),
            code=lambda: _map_code(scene),
            select=_block_of_cell(scene) if pooled else None,
        )
    )
    found.append(
        Plot(
            "head-lines",
            drawn,
            scene.say("explore.head.lines"),
            lambda: _draw_lines(seen(scene), scene.language),
            data=lambda: _weights_data(scene),
            code=lambda: _lines_code(scene),
        )
    )
    return [
        *found,
        Piece("seal", (where, _start(scene)), lambda: _seal(scene)),
        Piece("seal-all", None, lambda: _seal_offer(scene)),
    ]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    if pick.x is None or pick.y is None:
        return None
    drawn = seen(scene)
    if block == "head-map" and scene.is_vast:
        return move.to_cell(scene.trace, scene.selection, floor(pick.y + 0.5), floor(pick.x + 0.5))
    if block == "head-map":
        cell = drawn.tokens(floor(pick.y + 0.5), floor(pick.x + 0.5))
        return move.to_cell(scene.trace, scene.selection, *cell)
    axis, index = figures.line_token(pick.x, pick.y, len(drawn.queries), len(drawn.keys))
    query, key = drawn.tokens(index, index)
    if axis == "query":
        return move.to_query(scene.trace, scene.selection, query)
    return move.to_cell(scene.trace, scene.selection, scene.query, key)


# --- what can be set -------------------------------------------------------------------------------------------------


def _steps(scene: Scene) -> str:
    """The stages that one can step through, and for a long text the exact window."""
    parts = []
    if _has_steps(scene):
        stages = [(name, scene.say(f"attention.stage.{name}")) for name in ("scores", "scaled", "masked", "weights")]
        parts.append(controls.tabs(STAGE.name, scene.say("attention.stage"), stages))
    if move.is_long(scene.trace, scene.selection):
        key = "explore.whole" if scene.selection.exact else "explore.exact"
        parts.append(controls.button(scene.say(key), name="exact", value="turn"))
    words = note(scene.say("attention.vast", count=WHOLE_UP_TO)) if scene.is_vast else switch(scene)
    return controls.row(*parts) + words


def _has_steps(scene: Scene) -> bool:
    """Scores there are between tokens, of a model that hands out its queries and keys; of a vast text in its window."""
    whole = scene.is_vast and not scene.selection.exact
    return scene.how.weights is None and not whole and (scene.is_vast or not WORDS.of(scene.selection))


def _start(scene: Scene) -> tuple[int, int] | None:
    """Where the window of a vast text begins, in which its lines, its numbers and its seal lie."""
    return (windows(scene)[0].start, windows(scene)[1].start) if scene.is_vast else None


def _stage(scene: Scene) -> str:
    return STAGE.of(scene.selection) if _has_steps(scene) else "weights"


# --- the map ---------------------------------------------------------------------------------------------------------


def _values(scene: Scene) -> Array:
    """(query, key) of the stage that is looked at."""
    stage, trace = _stage(scene), scene.trace
    if stage == "weights":
        return seen(scene).weights
    made = {"masked": trace.masked, "scaled": trace.scores, "scores": trace.raw_scores}[stage]
    rows, columns = windows(scene) if scene.is_vast else (slice(None), slice(None))
    return made(scene.site, scene.head, rows)[:, columns]


def _pooled(scene: Scene) -> bool:
    """Whether the map shows blocks of tokens; then a cell moves the frame, and nothing is drawn anew."""
    if scene.is_vast:
        return not scene.selection.exact
    drawn = seen(scene)
    return not scene.selection.exact and max(len(drawn.queries), len(drawn.keys)) > figures.EXACT_UP_TO


def _block_of_cell(scene: Scene) -> tuple[int, int]:
    drawn = seen(scene)
    names = (scene.queries, scene.keys) if scene.is_vast else (drawn.queries, drawn.keys)
    block = figures.attention_blocks(max(map(len, names)))
    return (drawn.key + drawn.start[1]) // block, (drawn.query + drawn.start[0]) // block


def _draw_map(scene: Scene) -> go.Figure:
    if scene.is_vast and not scene.selection.exact:
        return _draw_blocks(scene)
    drawn, stage = seen(scene), _stage(scene)
    rows, columns = windows(scene) if scene.is_vast else exact_windows(scene, drawn)
    kind = figures.attention_heatmap if stage == "weights" else figures.score_heatmap
    return kind(
        drawn.weights if stage == "weights" else _values(scene),
        scene.queries if scene.is_vast else drawn.queries,
        scene.keys if scene.is_vast else drawn.keys,
        allowed=drawn.allowed if stage in ("weights", "masked") else None,
        selected=(drawn.query + drawn.start[0], drawn.key + drawn.start[1]),
        rows=rows,
        columns=columns,
        language=scene.language,
    )


def _draw_blocks(scene: Scene) -> go.Figure:
    """A vast text as a whole: blocks of tokens, each with its largest weight."""
    block = _block(scene)
    return figures.pooled_attention(
        scene.engine.long_map(scene.trace, scene.site, scene.head, block),
        scene.queries,
        scene.keys,
        block=block,
        selected=(scene.query, scene.key),
        language=scene.language,
    )


def _block(scene: Scene) -> int:
    return figures.attention_blocks(max(len(scene.queries), len(scene.keys)))


def _draw_lines(drawn: Seen, language: str) -> go.Figure:
    return figures.attention_lines(
        drawn.weights, drawn.queries, drawn.keys, selected_query=drawn.query, language=language
    )


def _data(scene: Scene) -> Data:
    drawn = seen(scene)
    if scene.is_vast:  # the window around the cell, also while the whole is looked at
        allowed = drawn.allowed if _stage(scene) in ("weights", "masked") else None
        return Data(_values(scene), drawn.queries, drawn.keys, scene.corner, allowed)
    rows, columns = (part or slice(None) for part in exact_windows(scene, drawn))
    hides = drawn.allowed is not None and _stage(scene) in ("weights", "masked")
    allowed = drawn.allowed[rows, columns] if hides and drawn.allowed is not None else None
    return Data(_values(scene)[rows, columns], drawn.queries[rows], drawn.keys[columns], scene.corner, allowed)


def _weights_data(scene: Scene) -> Data:
    drawn = seen(scene)
    return Data(drawn.weights, drawn.queries, drawn.keys, scene.corner, drawn.allowed)


def _map_code(scene: Scene) -> str:
    if scene.is_vast:
        return _vast_code(scene)
    stage, drawn = _stage(scene), seen(scene)
    part = {"weights": "weights", "masked": "masked", "scaled": "scores", "scores": "raw_scores"}[stage]
    values = "weights" if stage == "weights" else f"trace.{part}({scene.site!r}, {scene.head})"
    kind = "attention_heatmap" if stage == "weights" else "score_heatmap"
    allowed = "allowed" if stage in ("weights", "masked") else "None"
    rows, columns = exact_windows(scene, drawn)
    return (
        f"{code(scene)}figure = figures.{kind}({values}, queries, keys, allowed={allowed},"
        f" selected=({drawn.query}, {drawn.key}), rows={rows}, columns={columns}, language={scene.language!r})"
    )


def _vast_code(scene: Scene) -> str:
    site, head, stage = scene.site, scene.head, _stage(scene)
    if not scene.selection.exact:
        return (
            "from transformer.long_map import long_map\n\n"
            f"pooled = long_map(trace, {site!r}, {head}, {_block(scene)})\n"
            f"figure = figures.pooled_attention(pooled, trace.tokens({site!r}, 'query'), trace.tokens({site!r}, 'key'),"
            f" block={_block(scene)}, selected=({scene.query}, {scene.key}), language={scene.language!r})"
        )
    part = {"masked": "masked", "scaled": "scores", "scores": "raw_scores"}.get(stage)
    values = "weights" if part is None else f"trace.{part}({site!r}, {head}, rows)[:, columns]"
    kind, allowed = ("attention" if part is None else "score"), "allowed" if stage in ("weights", "masked") else "None"
    return (
        f"{code(scene)}figure = figures.{kind}_heatmap({values}, trace.tokens({site!r}, 'query'),"
        f" trace.tokens({site!r}, 'key'), allowed={allowed}, selected=({scene.query}, {scene.key}), rows=rows,"
        f" columns=columns, language={scene.language!r})"
    )


def _lines_code(scene: Scene) -> str:
    return (
        f"{code(scene)}figure = figures.attention_lines(weights, queries, keys, selected_query={seen(scene).query},"
        f" language={scene.language!r})"
    )


# --- the seal --------------------------------------------------------------------------------------------------------


def _seal(scene: Scene) -> str:
    only_sums = scene.how.weights is not None
    if not scene.is_vast or only_sums:
        return scene.seal_line(
            "explore.seal.head", replay.seal(scene.trace, scene.site, scene.head), only_sums=only_sums
        )
    rows = windows(scene)[0]  # of a vast text the rows around the cell; all of them take a second
    found = replay.seal_attention(scene.trace, scene.site, scene.head, rows)
    words = scene.say("attention.seal.rows", first=rows.start, last=rows.stop - 1)
    return figures.seal_line(words, found, language=scene.language)


def _seal_offer(scene: Scene) -> str:
    seal = controls.button(scene.say("explore.seal.all"), name="ask", value="seal", kind="stt-copy")
    whole = controls.button(scene.say("take.run"), name="ask", value="run", kind="stt-copy")
    return controls.row(seal, whole)
