"""What the model answers: the next token over the whole vocabulary, or a class for the whole input."""

from weakref import WeakKeyDictionary

import numpy as np
import plotly.graph_objects as go

from transformer import replay
from transformer.parts import Array
from transformer.trace import Trace
from viz import figures
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.scene import Scene, empty, heading, joined

SHOWN = 10  # tokens
_SEALS: WeakKeyDictionary[Trace, dict[int, replay.Seal]] = WeakKeyDictionary()  # by position


def blocks(scene: Scene) -> list[Block]:
    title = Piece("next-title", scene.position, lambda: _title(scene))
    if scene.trace.top is None:
        return [title]
    return [
        title,
        Plot(
            "next-tokens",
            scene.position,
            scene.say("explore.next.title"),
            lambda: _draw(scene),
            data=lambda: _data(scene),
            code=lambda: _code(scene),
            seal=(lambda: _seal(scene)) if knows_head(scene.trace) else None,
        ),
    ]


def knows_head(trace: Trace) -> bool:
    """Whether the way from the last hidden state to the logits is known."""
    return trace.top is not None and any(leaves == "logits" for _, leaves in trace.part_inputs.values())


def names(scene: Scene, ids: Array) -> list[str]:
    """Tokens or classes by their numbers."""
    chosen = scene.selection
    if scene.trace.is_classified:
        return [scene.engine.class_name(chosen.model, int(one), scene.language) for one in ids]
    return [scene.engine.token(chosen.model, int(one)) for one in ids]


def _title(scene: Scene) -> str:
    trace = scene.trace
    if trace.top is None:
        return heading(scene.say("explore.next.title")) + empty(scene.reason("logits"))
    if trace.is_classified:
        return heading(scene.say("explore.class.title"), scene.html("explore.class.lead", count=trace.top.vocabulary))
    stack = list(trace.encodings)[-1]
    token = trace.encodings[stack].tokens[scene.position]
    kind = "next" if stack == "decoder" else "here"
    lead = scene.html("explore.next.lead", count=f"{trace.top.vocabulary:,}")
    return heading(scene.say(f"explore.{kind}.title"), joined([scene.html(f"explore.{kind}.after", token=token), lead]))


def _shown(scene: Scene) -> tuple[Array, Array]:
    """(ids, probabilities) that are drawn: of few classes all, in their own order."""
    assert scene.trace.top is not None
    ids, shares = scene.trace.probabilities(scene.position)
    if scene.trace.is_classified and scene.trace.top.vocabulary == len(ids):
        order = np.argsort(ids)
        return ids[order], shares[order]
    return ids[:SHOWN], shares[:SHOWN]


def _draw(scene: Scene) -> go.Figure:
    assert scene.trace.top is not None
    (ids, shares), count, language = _shown(scene), scene.trace.top.vocabulary, scene.language
    if scene.trace.is_classified:
        return figures.class_probabilities(shares, names(scene, ids), n_classes=count, language=language)
    return figures.next_tokens(shares, names(scene, ids), n_vocabulary=count, language=language)


def _data(scene: Scene) -> Data:
    ids, shares = _shown(scene)
    column = scene.say("explore.next.probability")
    return Data(shares, names(scene, ids), [column], more={"ids": ids})


def _code(scene: Scene) -> str:
    assert scene.trace.top is not None
    (ids, _), count = _shown(scene), scene.trace.top.vocabulary
    kind, sizes = ("class_probabilities", "n_classes") if scene.trace.is_classified else ("next_tokens", "n_vocabulary")
    return (
        f"ids, shares = trace.probabilities({scene.position})  # over all {count:,}, the most probable first\n"
        f"shown = [ids.tolist().index(one) for one in {ids.tolist()}]\n"
        f"figure = figures.{kind}(shares[shown], {names(scene, ids)!r}, {sizes}={count}, language={scene.language!r})"
    )


def _seal(scene: Scene) -> str:
    return scene.seal_line("explore.seal.next", probabilities_seal(scene.trace, scene.position))


def probabilities_seal(trace: Trace, position: int) -> replay.Seal:
    """The logits of the whole vocabulary again: once per position, not with every head that is looked at."""
    known = _SEALS.setdefault(trace, {})
    if position not in known:
        known[position] = replay.seal_probabilities(trace, position)
    return known[position]
