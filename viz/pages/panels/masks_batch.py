"""Two texts in one padded batch: both masks, and whether padding changed a number of a real token."""

from transformer.errors import SeeThroughError
from transformer.padded_batch import moved_by_padding, shorter_text
from transformer.trace import Trace
from viz.figures.axes import shorten
from viz.pages import selection as move
from viz.pages.blocks import Block, Columns, Piece
from viz.pages.examples import examples_for
from viz.pages.options import Line, Whole
from viz.pages.panels.masks_map import Shown, cell_block, map_blocks, sentences
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

BATCH = Line("batch", 300)  # the second text
ROW, QUERY, KEY = Whole("batch-row", 0, 1), Whole("batch-query"), Whole("batch-key")  # the chosen cell
LONGEST_SHOWN = 80  # character widths of a text above its map
MAPS = ("mask-first", "mask-second")


def batch_columns(scene: Scene, first: list[Block]) -> Columns:
    """Both rows side by side below the blocks of `first`; the pass of the batch is made here, once, and kept."""
    try:
        rows, reason = _rows(scene), _reason(scene)
    except SeeThroughError as error:  # a text that this model cannot read
        rows, reason = [], error.text(scene.language)
    if rows and any(one.hidden for one in rows):
        rows, reason = [], scene.reason(f"{scene.site}.allowed")
    if not rows:
        return [*first, Piece("mask-refused", reason, lambda: empty(reason), live=True)], []
    left, right = ([_title(one), *map_blocks(one, name)] for one, name in zip(rows, MAPS, strict=True))
    moved = Piece("mask-moved", tuple(one.trace.key for one in rows), lambda: _moved(scene, rows), live=True)
    return [*first, *left], [*right, moved, cell_block(rows[_chosen_row(scene, rows)])]


def second_text(scene: Scene) -> str:
    """What was typed, else the first half of the text, else an example."""
    given = BATCH.of(scene.selection)
    return given or shorter_text(scene.selection.text) or examples_for(scene.selection.model)[0].text


def choose(selection: Selection, block: str, query: int, key: int) -> Selection | None:
    """The clicked cell of one of both maps."""
    if block not in MAPS or min(query, key) < 0:
        return None
    for option, value in ((ROW, MAPS.index(block)), (QUERY, query), (KEY, key)):
        selection = move.with_option(selection, option, value)
    return selection


def _reason(scene: Scene) -> str:
    return scene.say("masks.batch.images" if scene.reads_images else "masks.batch.none")


def _rows(scene: Scene) -> list[Shown]:
    """Both rows of the batch; none where the model reads two texts, or images."""
    if len(scene.trace.encodings) > 1 or scene.reads_images:
        return []
    texts = scene.selection.text, second_text(scene)
    batch = scene.engine.batch(scene.selection.model, texts)
    return [Shown(scene, trace, _cell(scene, trace, row), texts, row) for row, trace in enumerate(batch)]


def _cell(scene: Scene, trace: Trace, row: int) -> tuple[int, int]:
    """The cell that was chosen in a row; at first the last real token, and the padding where there is some."""
    padding = trace.encoding(scene.site, "key").padding
    query, key = QUERY.of(scene.selection), KEY.of(scene.selection)
    if ROW.of(scene.selection) == row and query is not None and key is not None:
        return min(query, len(padding) - 1), min(key, len(padding) - 1)
    real = [place for place, is_padding in enumerate(padding) if not is_padding]
    return real[-1], padding.index(True) if True in padding else real[0]


def _chosen_row(scene: Scene, rows: list[Shown]) -> int:
    """The row whose cell is explained: the one that was clicked, at first the padded one."""
    asked = ROW.of(scene.selection)
    return next((row for row, one in enumerate(rows) if one.is_padded), 0) if asked is None else asked


def _title(shown: Shown) -> Piece:
    scene, text = shown.scene, shown.texts[shown.row]

    def made() -> str:
        named = scene.html("masks.batch.row_text", text=shorten(text, LONGEST_SHOWN))
        return heading(scene.say("masks.batch.row", number=shown.row + 1), joined([named, *sentences(shown)]))

    return Piece(f"mask-row-{shown.row}", (text, *shown.of[:3]), made)


def _moved(scene: Scene, rows: list[Shown]) -> str:
    """Whether padding changed a number of a real token: measured, for both texts."""
    if not any(one.is_padded for one in rows):
        return f'<p class="stt-lead">{scene.html("masks.batch.equal")}</p>'
    try:
        alone = [scene.engine.trace(scene.selection.model, text) for text in rows[0].texts]
        found = [moved_by_padding(one, row.trace) for one, row in zip(alone, rows, strict=True)]
    except SeeThroughError as error:
        return empty(error.text(scene.language))
    worst = max(found, key=lambda one: (not one.holds, one.difference))
    values = {
        "count": f"{sum(one.compared for one in found):,}",
        "difference": f"{worst.difference:.1e}" if worst.difference else "0",
    }
    words = f"masks.batch.{'same' if worst.holds else 'moved'}"
    return f'<p class="stt-lead">{scene.html(words, what=worst.site, **values)}</p>'
