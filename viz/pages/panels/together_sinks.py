"""Keys on which heads rest: found, explained, and taken out of the map on request, with a watermark."""

import numpy as np
import plotly.graph_objects as go

from transformer import replay
from transformer.attention_sinks import LEAST, RestingPlace, resting_places, sinks, without_keys
from transformer.head_maps import HeadSummary
from transformer.head_seals import seal_summary
from transformer.parts import Array
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Switch
from viz.pages.panels.seen import exact_windows
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

WITHOUT = Switch("without-sink")


def blocks(scene: Scene) -> list[Block]:
    """What was found, how much weight each key gets from each head, and the chosen head without its sinks."""
    chosen, long = scene.selection, move.is_long(scene.trace, scene.selection)
    drawn = (scene.site, scene.head, scene.key)
    found: list[Block] = [
        Piece("together-sinks", scene.site, lambda: _found(scene)),
        Plot(
            "together-sink-map",
            drawn,
            scene.say("attention.together.sinks.label"),
            lambda: _draw(scene),
            data=lambda: _data(scene),
            code=lambda: _code(scene),
            seal=lambda: _seal(scene),
        ),
        Piece("together-sink-switch", (scene.site, WITHOUT.of(chosen)), lambda: _switch(scene)),
    ]
    if not WITHOUT.of(chosen) or not _sinks(scene):
        return found
    rescaled = Plot(
        "together-rescaled",
        (*drawn, scene.query, chosen.exact if long else None),
        scene.say("attention.together.rescaled.label"),
        lambda: _draw_rescaled(scene),
        data=lambda: _data_rescaled(scene),
        code=lambda: _code_rescaled(scene),
        seal=lambda: _seal_rescaled(scene),
    )
    return [*found, rescaled]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """A named sink becomes the chosen key; a cell of the map chooses its head and key."""
    if (key := pick.whole("sink")) is not None:
        return move.to_cell(scene.trace, scene.selection, scene.query, key)
    if block != "together-sink-map" or pick.row is None or pick.column is None:
        return None
    to = move.to_head(scene.trace, scene.selection, scene.selection.attention, pick.row)
    return move.to_cell(scene.trace, to, scene.query, (_columns(scene).start or 0) + pick.column)


def watermark(scene: Scene) -> str | None:
    """What must stand across a map of this layer from which its sinks were taken; None where it has no sink."""
    keys = [scene.keys[one.key] for one in _sinks(scene)]
    return scene.say("attention.together.watermark", keys=", ".join(keys)) if keys else None


def rescaled(scene: Scene) -> tuple[Array, Array | None]:
    """The chosen head's (query, key) weights without the layer's sinks, every row rescaled, and `allowed` likewise:
    False where a sink was, and in rows of which nothing is left."""
    keys = tuple(one.key for one in _sinks(scene))
    weights = without_keys(scene.weights, keys)
    allowed = ~np.isnan(weights) if scene.allowed is None else scene.allowed & ~np.isnan(weights)
    allowed[:, list(keys)] = False
    return weights, allowed


# --- what was found --------------------------------------------------------------------------------------------------


def _summary(scene: Scene) -> HeadSummary:
    return scene.engine.heads.summary(scene.trace, scene.site)


def _sinks(scene: Scene) -> tuple[RestingPlace, ...]:
    return sinks(scene.trace, scene.site, _summary(scene))


def _found(scene: Scene) -> str:
    title = scene.say("attention.together.sinks.title", layer=scene.layer_name(scene.site))
    lead = scene.html("attention.together.sinks.lead", least=f"{LEAST:g}")
    if f"{scene.site}.allowed" in scene.trace.lacks:
        return heading(title, lead) + empty(scene.say("attention.together.sinks.unseen"))
    places = resting_places(scene.trace, scene.site, _summary(scene))
    if not places:
        return heading(title, lead) + empty(scene.say("attention.together.sinks.none", least=f"{LEAST:g}"))
    return heading(title, lead) + "".join(f"<p>{_place(scene, one)}</p>" for one in places)


def _place(scene: Scene, one: RestingPlace) -> str:
    """One key with its numbers, and what they mean."""
    button = controls.button(scene.keys[one.key], name="sink", value=str(one.key))
    said = [
        scene.html(
            "attention.together.sinks.weight",
            key=one.key,
            received=f"{one.received:.2f}",
            even=f"{one.even:.2f}",
            heads=one.heads,
            count=scene.how.heads,
            least=f"{LEAST:g}",
        )
    ]
    if one.length is not None and one.usual is not None:
        lengths = {"length": f"{one.length:.2f}", "usual": f"{one.usual:.2f}"}
        said.append(scene.html("attention.together.sinks.values", **lengths))
    kinds = {True: "sink", False: "busy", None: "unknown"}
    said.append(scene.html(f"attention.together.sinks.{kinds[one.short]}"))
    return f"{button} {joined(said)}"


def _switch(scene: Scene) -> str:
    box = controls.switch(WITHOUT.name, scene.say("attention.together.without"))
    if not WITHOUT.of(scene.selection):
        return controls.row(box)
    key = "attention.together.rescaled.lead" if _sinks(scene) else "attention.together.rescaled.none"
    return controls.row(box) + f'<p class="stt-lead">{scene.html(key)}</p>'


# --- who gets how much -----------------------------------------------------------------------------------------------


def _columns(scene: Scene) -> slice:
    """All keys, or the window around the chosen one."""
    long = move.is_long(scene.trace, scene.selection)
    return move.window(scene.key, len(scene.keys)) if long else slice(0, len(scene.keys))


def _names(scene: Scene) -> list[str]:
    return [f"{scene.say('figure.head')} {head}" for head in range(scene.how.heads)]


def _draw(scene: Scene) -> go.Figure:
    columns = _columns(scene)
    return figures.attention_heatmap(
        _summary(scene).received[:, columns],
        _names(scene),
        scene.keys[columns],
        selected=(scene.head, scene.key - columns.start),
        language=scene.language,
    )


def _data(scene: Scene) -> Data:
    columns, found = _columns(scene), _summary(scene)
    corner = f"{scene.say('figure.head')} ↓ · {scene.say('figure.looked_at')} →"
    return Data(found.received[:, columns], _names(scene), scene.keys[columns], corner, more={"even": found.even})


def _code(scene: Scene) -> str:
    columns = _columns(scene)
    cut = f"{columns.start}:{columns.stop}"
    return (
        "from transformer.head_maps import summary\n\n"
        f"received = summary(trace, {scene.site!r}).received[:, {cut}]  # (head, key): mean over queries\n"
        f"figure = figures.attention_heatmap(received, {_names(scene)!r},"
        f" trace.tokens({scene.site!r}, 'key')[{cut}], selected=({scene.head}, {scene.key - columns.start}),"
        f" language={scene.language!r})"
    )


def _seal(scene: Scene) -> str:
    found = seal_summary(scene.trace, scene.site, scene.head, _summary(scene))
    return scene.seal_line("attention.together.sealed.received", found)


# --- the chosen head without its sinks -------------------------------------------------------------------------------


def _draw_rescaled(scene: Scene) -> go.Figure:
    weights, allowed = rescaled(scene)
    rows, columns = exact_windows(scene, scene)
    words = watermark(scene)
    assert words is not None
    figure = figures.attention_heatmap(
        np.nan_to_num(weights),
        scene.queries,
        scene.keys,
        allowed=allowed,
        selected=(scene.query, scene.key),
        rows=rows,
        columns=columns,
        language=scene.language,
    )
    return figures.watermarked(figure, words)


def _data_rescaled(scene: Scene) -> Data:
    weights, allowed = rescaled(scene)
    rows, columns = (part or slice(None) for part in exact_windows(scene, scene))
    known = None if allowed is None else allowed[rows, columns]
    return Data(
        np.nan_to_num(weights)[rows, columns], scene.queries[rows], scene.keys[columns], watermark(scene) or "", known
    )


def _seal_rescaled(scene: Scene) -> str:
    """Of the weights that were rescaled; what the rescaling made of them is no number of the model's."""
    found = replay.seal(scene.trace, scene.site, scene.head)
    return scene.seal_line("attention.together.sealed.rescaled", found, only_sums=scene.how.weights is not None)


def _code_rescaled(scene: Scene) -> str:
    keys, (rows, columns) = tuple(one.key for one in _sinks(scene)), exact_windows(scene, scene)
    known = "~np.isnan(weights)"
    if scene.allowed is not None:
        known = f"trace.allowed({scene.site!r}, {scene.head}) & {known}"
    return (
        "from transformer.attention_sinks import without_keys\n\n"
        f"weights = without_keys(trace.weights({scene.site!r}, {scene.head}), {keys})  # NOT the model's weights\n"
        f"allowed = {known}\n"
        f"allowed[:, {list(keys)}] = False\n"
        f"queries, keys = trace.tokens({scene.site!r}, 'query'), trace.tokens({scene.site!r}, 'key')\n"
        "figure = figures.attention_heatmap(np.nan_to_num(weights), queries, keys, allowed=allowed,"
        f" selected=({scene.query}, {scene.key}), rows={rows}, columns={columns}, language={scene.language!r})\n"
        f"figure = figures.watermarked(figure, {watermark(scene)!r})"
    )
