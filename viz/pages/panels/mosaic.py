"""All heads of all layers in one picture."""

import plotly.graph_objects as go

from transformer.overview import shown_weights, stacked
from transformer.parts import Array
from transformer.words import words_of
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.word_view import WORDS
from viz.pages.pick import Pick
from viz.pages.scene import Scene, heading
from viz.pages.selection import Selection


def blocks(scene: Scene) -> list[Block]:
    count = sum(how.heads for how in scene.trace.attention.values())
    title = scene.say("explore.mosaic.title", count=count)
    return [
        Piece("mosaic-title", None, lambda: heading(title, scene.html("explore.mosaic.lead"))),
        Plot(
            "mosaic",
            WORDS.of(scene.selection),
            scene.say("explore.mosaic.label"),
            lambda: _draw(scene),
            data=lambda: _data(scene),
            code=lambda: _code(scene),
            select=(scene.head, scene.selection.attention),
        ),
    ]


def pick(scene: Scene, pick: Pick) -> Selection | None:
    sites = scene.trace.attention_sites()
    if pick.column is None or pick.row is None or not 0 <= pick.row < len(sites):
        return None
    if not 0 <= pick.column < scene.trace.attention[sites[pick.row]].heads:
        return None
    return move.to_head(scene.trace, scene.selection, pick.row, pick.column)


def _code(scene: Scene) -> str:
    block = _block(scene)
    words = WORDS.of(scene.selection)
    return (
        "from transformer.overview import shrunken_maps\n\n"
        f"maps = shrunken_maps(trace, {block}, words={words})  # 255 · √weight; {block} tokens per side share a cell\n"
        f"figure = figures.attention_mosaic(maps, selected=({scene.selection.attention}, {scene.head}),"
        f" layers={_names(scene)!r}, block={block}, language={scene.language!r})"
    )


def _names(scene: Scene) -> list[str] | None:
    """The layers' names where numbers are not enough."""
    sites = scene.trace.attention_sites()
    return [scene.layer_name(site) for site in sites] if len(scene.trace.encodings) > 1 else None


def _block(scene: Scene) -> int:
    sites, trace = scene.trace.attention_sites(), scene.trace
    n_heads = sum(how.heads for how in trace.attention.values())
    longest = [max(_length(scene, site, axis) for site in sites) for axis in ("query", "key")]
    return figures.mosaic_block(n_heads, *longest)


def _length(scene: Scene, site: str, axis: str) -> int:
    """How many tokens, or words, lie along an axis."""
    encoding = scene.trace.encoding(site, axis)
    return len(words_of(encoding)) if WORDS.of(scene.selection) else len(encoding)


def _draw(scene: Scene) -> go.Figure:
    block = _block(scene)
    maps = scene.engine.small_maps(scene.trace, block, words=WORDS.of(scene.selection))
    selected = (scene.selection.attention, scene.head)
    return figures.attention_mosaic(maps, selected=selected, layers=_names(scene), block=block, language=scene.language)


def _data(scene: Scene) -> Data:
    """As drawn: a row per head and query (of a long text: per block of queries), a column per key."""
    sites, block = scene.trace.attention_sites(), _block(scene)
    maps = shown_weights(scene.engine.small_maps(scene.trace, block, words=WORDS.of(scene.selection)))
    names = [
        f"{scene.layer_name(site)}.{head}"
        for site, heads in zip(sites, maps, strict=True)
        for head in range(len(heads))
    ]
    widest = max(one.shape[-1] for one in maps)
    rows = [
        f"{name} · {row * block}" for name, heads in zip(names, _heads(maps), strict=True) for row in range(len(heads))
    ]
    columns = [str(column * block) for column in range(widest)]
    corner = scene.say("explore.mosaic.corner")
    return Data(stacked(maps, widest), rows, columns, corner, more=dict(zip(sites, maps, strict=True)))


def _heads(maps: list[Array]) -> list[Array]:
    return [head for heads in maps for head in heads]
