"""Rotary positions, as part of the panel "embedding": how far q and k are turned, and what that does to q·k."""

from functools import cached_property

from transformer.rotary_turns import ScoreByDistance, Turns, has_turns, measure_turns, score_by_distance
from viz import figures
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.embedding_look import Look
from viz.pages.scene import Scene, empty, heading, joined


class Turned:
    """The measured turns of the layer that is shown, made once."""

    def __init__(self, scene: Scene, look: Look) -> None:
        self.scene, self.look = scene, look

    @cached_property
    def turns(self) -> Turns | None:
        return measure_turns(self.look.trace, self.look.site)

    @property
    def found(self) -> Turns:
        assert self.turns is not None
        return self.turns

    @cached_property
    def scores(self) -> ScoreByDistance:
        look = self.look
        return score_by_distance(look.trace, self.found, look.head, look.query, look.key)

    @property
    def names(self) -> tuple[str, str]:
        return self.look.token, self.look.tokens[self.look.key]


def blocks(scene: Scene, look: Look) -> tuple[list[Block], list[Block]]:
    """q·k against distance, and beside it the clocks."""
    turned = Turned(scene, look)
    where = (look.site,)
    title = Piece("rotary-title", where, lambda: _title(turned))
    if not has_turns(look.trace, look.site):  # the weights were changed since, or the stream was not recorded
        return [title], []
    cell = (*where, look.query, look.key)
    score = Plot(
        "rotary-score",
        (*cell, look.head),
        scene.say("embedding.score.label"),
        lambda: figures.score_by_distance(
            turned.scores.distances,
            turned.scores.scores,
            current=turned.scores.current,
            reach=turned.scores.reach,
            names=turned.names,
            language=scene.language,
        ),
        data=lambda: _score_data(turned),
        code=lambda: _score_code(turned),
        seal=lambda: scene.seal_line("embedding.seal.score", turned.scores.seal),
    )
    dials = Plot(
        "rotary-dials",
        cell,
        scene.say("embedding.dials.label"),
        lambda: figures.rotary_dials(
            turned.found.angles[look.query],
            turned.found.angles[look.key],
            turned.found.pairing.pairs,
            turned.found.frequencies,
            names=turned.names,
            language=scene.language,
        ),
        data=lambda: _dials_data(turned),
        code=lambda: _dials_code(turned),
        seal=lambda: scene.seal_line("embedding.seal.turns", turned.found.seal),
    )
    return [title, score], [dials]


def _title(turned: Turned) -> str:
    scene, turns = turned.scene, turned.turns
    title = scene.say("embedding.rotary.title")
    if turns is None:
        return heading(title) + empty(scene.say("embedding.rotary.changed"))
    pairing = turns.pairing
    told = [scene.html("embedding.rotary.lead"), _pairs(turned)]
    told.append(scene.html("embedding.rotary.regular" if turns.regular else "embedding.rotary.irregular"))
    if turns.base is not None:
        told.append(scene.html("embedding.rotary.base", base=f"{float(f'{turns.base:.4g}'):,.0f}", size=pairing.turned))
    if turns.regular and turns.slowest < 1e9:
        told.append(scene.html("embedding.rotary.slowest", wave=f"{float(f'{turns.slowest:.3g}'):,.0f}"))
    return heading(title, joined(told))


def _pairs(turned: Turned) -> str:
    """Which dimensions turn together, and how many stay."""
    scene, turns = turned.scene, turned.found
    d_head, pairing = turns.query.shape[-1], turns.pairing
    first, second = pairing.pairs[0].tolist()
    told = scene.html(
        "embedding.rotary.pairs", count=len(pairing.pairs), first=first, second=second, last=_last(turned), size=d_head
    )
    if pairing.turned == d_head:
        return told
    return joined([told, scene.html("embedding.rotary.part", count=d_head - pairing.turned)])


def _last(turned: Turned) -> str:
    first, second = turned.found.pairing.pairs[-1].tolist()
    return f"{first}, {second}"


def _score_data(turned: Turned) -> Data:
    found = turned.scores
    rows = [str(one) for one in found.distances.tolist()]
    return Data(
        found.scores,
        rows,
        [turned.scene.say("figure.score_distance.unit")],
        turned.scene.say("figure.score_distance.axis"),
    )


def _score_code(turned: Turned) -> str:
    look = turned.look
    return (
        "from transformer.rotary_turns import measure_turns, score_by_distance\n"
        f"turns = measure_turns(trace, {look.site!r})\n"
        f"found = score_by_distance(trace, turns, {look.head}, {look.query}, {look.key})  # head, query, key\n"
        "figure = figures.score_by_distance(\n"
        "    found.distances, found.scores, current=found.current, reach=found.reach,\n"
        f"    names={turned.names!r}, language={turned.scene.language!r},\n"
        ")"
    )


def _dials_data(turned: Turned) -> Data:
    """(pair, 2 angles): the frequencies are in the NPZ."""
    turns, look, scene = turned.found, turned.look, turned.scene
    rows = [f"{first}, {second}" for first, second in turns.pairing.pairs.tolist()]
    columns = [scene.say("embedding.dials.query"), scene.say("embedding.dials.key")]
    values = turns.angles[[look.query, look.key]].T
    return Data(values, rows, columns, scene.say("embedding.dials.corner"), more={"frequency": turns.frequencies})


def _dials_code(turned: Turned) -> str:
    look = turned.look
    return (
        "from transformer.rotary_turns import measure_turns\n"
        f"turns = measure_turns(trace, {look.site!r})\n"
        "figure = figures.rotary_dials(\n"
        f"    turns.angles[{look.query}], turns.angles[{look.key}], turns.pairing.pairs, turns.frequencies,\n"
        f"    names={turned.names!r}, language={turned.scene.language!r},\n"
        ")"
    )
