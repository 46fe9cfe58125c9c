"""Output of a classifier: one answer for the whole input, from the summary vector over logits to probabilities."""

import numpy as np
import plotly.graph_objects as go

from transformer.full_logits import seal_full
from transformer.parts import Array, SummaryPart
from transformer.sampling_stages import exp_total
from viz import figures
from viz.pages import controls
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.output_answer import Answer
from viz.pages.panels.output_sampling import arithmetic
from viz.pages.scene import Scene, empty, heading, joined

SHOWN = 10  # of very many classes


def blocks(answer: Answer) -> tuple[list[Block], list[Block]]:
    scene = answer.scene
    left: list[Block] = [
        Plot(
            "output-classes",
            None,
            scene.say("output.classes"),
            lambda: _draw(answer),
            data=lambda: _data(answer),
            code=lambda: _code(answer),
            seal=None if answer.why else lambda: scene.seal_line("explore.seal.next", seal_full(scene.trace, 0)),
        )
    ]
    if answer.why:
        return [*left, Piece("output-why", None, lambda: empty(str(answer.why)))], []
    left.append(Piece("output-softmax", answer.token, lambda: _softmax(answer)))
    right: list[Block] = [
        Piece("output-summary", None, lambda: _summary(scene)),
        Piece("output-arithmetic", answer.about, lambda: arithmetic(answer)),
    ]
    return left, right


def ids_of(answer: Answer) -> Array:
    """All classes in their own order; of very many, the most probable."""
    assert answer.trace.top is not None
    ids = answer.trace.top.ids[0]
    return np.sort(ids) if answer.vocabulary == len(ids) else ids[:SHOWN]


def _shares(answer: Answer) -> tuple[Array, Array]:
    ids, known = ids_of(answer), answer.trace.probabilities(0)
    place = {one: index for index, one in enumerate(known[0].tolist())}
    return ids, known[1][[place[one] for one in ids.tolist()]]


def _draw(answer: Answer) -> go.Figure:
    ids, shares = _shares(answer)
    return figures.class_probabilities(
        shares, answer.names(ids), n_classes=answer.vocabulary, language=answer.scene.language
    )


def _data(answer: Answer) -> Data:
    ids, shares = _shares(answer)
    return Data(shares, answer.names(ids), [answer.scene.say("output.column.own")], more={"ids": ids})


def _code(answer: Answer) -> str:
    ids, _ = _shares(answer)
    return (
        "ids, shares = trace.probabilities(0)\n"
        f"shown = [ids.tolist().index(one) for one in {ids.tolist()}]\n"
        f"figure = figures.class_probabilities(shares[shown], {answer.names(ids)!r}, n_classes={answer.vocabulary},"
        f" language={answer.scene.language!r})"
    )


def _softmax(answer: Answer) -> str:
    ids, scene = ids_of(answer), answer.scene
    table = figures.class_table(
        answer.logits[ids],
        answer.names(ids),
        ids=ids.tolist(),
        total=exp_total(answer.logits),
        selected=answer.token,
        language=scene.language,
    )
    return heading(scene.say("output.softmax"), scene.html("output.softmax.lead")) + table


def _summary(scene: Scene) -> str:
    """How one vector was made for the whole input."""
    stack = scene.trace.structure.stacks[-1].name
    part = scene.trace.parts.get(f"{stack}.summary")
    title = scene.say("output.summary")
    if not isinstance(part, SummaryPart):
        return heading(title) + empty(scene.reason(f"{stack}.summary"))
    tokens = scene.trace.encodings[stack].tokens
    count = len(tokens) - sum(scene.trace.encodings[stack].padding)
    told = [scene.html(f"output.summary.{part.kind}", token=tokens[0], count=count)]
    if part.pooler is not None:
        told.append(scene.html("output.summary.pooler"))
    told.append(scene.html("output.summary.size", size=scene.trace[f"{stack}.summary.vector"].shape[-1]))
    first = controls.button(scene.say("output.summary.see", token=tokens[0]), name="token", value="0")
    return heading(title, joined(told)) + (first if part.kind == "first" else "")
