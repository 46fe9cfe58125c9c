"""The residual stream of a run, as part of the panel "norm": all layers, what each added, and which are alike."""

from functools import cached_property
from html import escape

import plotly.graph_objects as go

from transformer.residual_stream import ResidualStream
from transformer.some_rows import seal_sum
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Columns, Data, Piece, Plot
from viz.pages.panels.norm_vector import block_name
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading
from viz.pages.selection import Selection


class Stream:
    """The stream of the chosen token's stack; what several figures need is made once."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        count = len(scene.queries)
        self.part = move.window(scene.query, count) if move.is_long(scene.trace, scene.selection) else slice(0, count)

        # All heads' contexts are computed again for it: of many tokens, those around the chosen one.
        self.sealed = move.window(scene.query, count) if count > move.WINDOW else slice(0, count)

    @cached_property
    def of(self) -> ResidualStream:
        return ResidualStream(self.scene.trace, self.scene.stack, self.part)

    @property
    def position(self) -> int:
        """The chosen token within the window."""
        return self.scene.query - self.part.start

    @property
    def token(self) -> str:
        return self.scene.queries[self.scene.query]

    @property
    def words(self) -> dict[str, str]:
        return {"token": self.token, "language": self.scene.language}

    @property
    def note(self) -> str:
        """What must be said with these numbers, for this model."""
        return self.scene.say("residual.normalised") if self.of.is_normalised else ""

    @property
    def unread(self) -> str:
        layers = ", ".join(map(str, self.of.unread))
        return self.scene.say("residual.unread", layers=layers) if layers else ""

    @property
    def code(self) -> str:
        """Lines that make this stream."""
        return (
            "from transformer.residual_stream import ResidualStream\n"
            f"stream, at = ResidualStream(trace, {self.scene.stack!r}, {self.part}), {self.position}\n"
        )


def blocks(scene: Scene) -> Columns:
    """Left: what the chosen layer added; middle: all layers; right: pairs of layers."""
    stream = Stream(scene)
    if not stream.of.layers:
        reason = empty(scene.reason(f"{scene.stack}.resid", "stream"))
        return [], [Piece("stream-none", scene.stack, lambda: reason)], []
    steps = Piece("stream-steps", (scene.site, scene.query), lambda: _steps(stream))
    seals = Piece("stream-seal", (scene.place, stream.sealed.start), lambda: _seals(stream))
    return [steps, seals], _layers(stream), [_pairs(stream), *_direction_blocks(stream)]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """A click on a layer chooses it."""
    if pick.column is None:
        return None
    layer = pick.column - 1 if block in ("stream-norms", "stream-similarity") else pick.column
    if block == "stream-similarity" and pick.row is not None and pick.column == scene.layer + 1:
        layer = pick.row  # moved up or down
    return move.to_layer(scene.trace, scene.selection, scene.stack, max(layer, 0))


# --- one layer -------------------------------------------------------------------------------------------------------


def _steps(stream: Stream) -> str:
    scene = stream.scene
    steps = stream.of.steps(scene.layer, stream.position)
    title = heading(
        scene.say("norm.steps.title", block=block_name(scene)), scene.html("norm.steps.lead", token=stream.token)
    )
    if not steps:
        return title + empty(scene.reason(f"{scene.place}.resid.after.sum"))
    return title + figures.stream_steps(steps, language=scene.language)


def _seals(stream: Stream) -> str:
    """The sums of this layer, their terms computed from the parts' own formulas."""
    scene, lines = stream.scene, []
    ends = {"first": stream.sealed.start, "last": stream.sealed.stop - 1}
    for total in dict.fromkeys(one.total for one in stream.of.of_layer(scene.layer)):
        if all(term in scene.trace.sites for term in scene.trace.sums[total]):
            words = scene.say("norm.seal.sum", site=total, **ends)
            lines.append(figures.seal_line(words, seal_sum(scene.trace, total, stream.sealed), language=scene.language))
    return "".join(lines) or f'<p class="stt-note">{escape(scene.say("residual.seal.none"))}</p>'


# --- all layers ------------------------------------------------------------------------------------------------------


def _layers(stream: Stream) -> list[Block]:
    scene, of = stream.scene, (stream.scene.stack, stream.scene.query, stream.part.start)
    lead = Piece("stream-title", of, lambda: _lead(stream))
    norms = Plot(
        "stream-norms", of, scene.say("residual.norms"), lambda: _norms(stream),
        data=lambda: _norms_data(stream), code=lambda: _norms_code(stream), select=(scene.layer + 1, 0),
    )  # fmt: skip
    if not stream.of.additions:
        return [lead, norms]
    added = Plot(
        "stream-added", of, scene.say("residual.added"), lambda: _added(stream),
        data=lambda: _parts_data(stream, "added"), code=lambda: _added_code(stream), select=(scene.layer, 0),
    )  # fmt: skip
    return [lead, norms, added]


def _direction_blocks(stream: Stream) -> list[Block]:
    scene, of = stream.scene, (stream.scene.stack, stream.scene.query, stream.part.start)
    if not stream.of.additions:
        return []
    directions = Plot(
        "stream-directions", of, scene.say("residual.directions"), lambda: _directions(stream),
        data=lambda: _parts_data(stream, "directions"), code=lambda: _directions_code(stream), select=(scene.layer, 0),
    )  # fmt: skip
    return [directions]


def _lead(stream: Stream) -> str:
    scene = stream.scene
    said = [scene.html("residual.lead", token=stream.token)]
    if len(scene.queries) > stream.part.stop - stream.part.start:
        ends = {"first": stream.part.start, "last": stream.part.stop - 1, "count": len(scene.queries)}
        said.append(escape(scene.say("residual.window", **ends)))
    notes = "".join(f'<p class="stt-note">{escape(one)}</p>' for one in (stream.note, stream.unread) if one)
    return heading(scene.say("residual.title"), " ".join(said)) + notes


def _norms(stream: Stream) -> go.Figure:
    of, at = stream.of, stream.position
    return figures.stream_norms(
        of.lengths[:, at], of.others(at), of.first(at), selected=stream.scene.layer, **stream.words
    )


def _norms_code(stream: Stream) -> str:
    return (
        f"{stream.code}figure = figures.stream_norms(stream.lengths[:, at], stream.others(at), stream.first(at),"
        f" token={stream.token!r}, selected={stream.scene.layer}, language={stream.scene.language!r})"
    )


def _norms_data(stream: Stream) -> Data:
    scene = stream.scene
    rows = [scene.say("figure.stream.enters"), *map(str, range(stream.of.layers))]
    return Data(stream.of.lengths, rows, scene.queries[stream.part], corner=scene.say("figure.stream.layer"))


def _added(stream: Stream) -> go.Figure:
    values = stream.of.of_token(stream.of.added, stream.position)
    return figures.stream_added(values, selected=stream.scene.layer, **stream.words)


def _added_code(stream: Stream) -> str:
    return (
        f"{stream.code}figure = figures.stream_added(stream.of_token(stream.added, at),"
        f" token={stream.token!r}, selected={stream.scene.layer}, language={stream.scene.language!r})"
    )


def _directions(stream: Stream) -> go.Figure:
    values = stream.of.of_token(stream.of.directions, stream.position)
    between = stream.of.between[:, stream.position]
    return figures.stream_directions(values, between, selected=stream.scene.layer, **stream.words)


def _directions_code(stream: Stream) -> str:
    return (
        f"{stream.code}figure = figures.stream_directions(stream.of_token(stream.directions, at),"
        f" stream.between[:, at], token={stream.token!r}, selected={stream.scene.layer},"
        f" language={stream.scene.language!r})"
    )


def _parts_data(stream: Stream, which: str) -> Data:
    """Layers by parts, of the chosen token; NPZ holds all tokens."""
    scene, of = stream.scene, stream.of
    all_tokens = of.added if which == "added" else of.directions
    names = [figures.part_name(part, scene.language) for part in all_tokens]
    values = of.table(which, stream.position)
    if which == "directions":
        names.append(scene.say("figure.stream.between"))
    rows = [str(layer) for layer in range(of.layers)]
    return Data(values, rows, names, corner=scene.say("figure.stream.layer"), more=dict(all_tokens))


# --- pairs -----------------------------------------------------------------------------------------------------------


def _pairs(stream: Stream) -> Plot:
    scene = stream.scene
    return Plot(
        "stream-similarity", (scene.stack, scene.query), scene.say("residual.similarity"), lambda: _similarity(stream),
        data=lambda: _similarity_data(stream), code=lambda: _similarity_code(stream),
        select=(scene.layer + 1, scene.layer),
    )  # fmt: skip


def _similarity(stream: Stream) -> go.Figure:
    return figures.layer_similarity(stream.of.similarity(stream.position), selected=stream.scene.layer, **stream.words)


def _similarity_data(stream: Stream) -> Data:
    names = [stream.scene.say("figure.stream.enters"), *map(str, range(stream.of.layers))]
    return Data(
        stream.of.similarity(stream.position), names, names, corner=stream.scene.say("figure.layer_similarity.layer")
    )


def _similarity_code(stream: Stream) -> str:
    return (
        f"{stream.code}figure = figures.layer_similarity(stream.similarity(at), token={stream.token!r},"
        f" selected={stream.scene.layer}, language={stream.scene.language!r})"
    )
