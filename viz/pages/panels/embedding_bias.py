"""Positions that are added to the scores, as part of the panel "embedding": ALiBi's lines and slopes, T5's steps."""

from functools import cached_property

from transformer.parts import Array
from transformer.position_bias import BiasByDistance, bias_by_distance
from viz import figures
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.embedding_look import Look
from viz.pages.pick import Pick
from viz.pages.scene import Scene, heading, joined
from viz.pages.selection import Selection

FAR = 128  # distances that are drawn: beyond, T5's bias does not change, and ALiBi's is the same line


class Biased:
    """The bias of the layer that is shown, made once."""

    def __init__(self, scene: Scene, look: Look) -> None:
        self.scene, self.look = scene, look

    @cached_property
    def whole(self) -> BiasByDistance:
        found = bias_by_distance(self.look.trace, self.look.site)
        assert found is not None, "the kind was told from it"
        return found

    @cached_property
    def shown(self) -> BiasByDistance:
        return self.whole.within(FAR)

    @property
    def distance(self) -> int:
        """How far the chosen key stands before the chosen query."""
        return self.look.query - self.look.key


def blocks(scene: Scene, look: Look) -> tuple[list[Block], list[Block]]:
    """Bias against distance, and beside it the slopes, or all heads as a map."""
    biased = Biased(scene, look)
    where = (look.site, look.head)
    lines = Plot(
        "bias-lines",
        (*where, biased.distance),
        scene.say("embedding.bias.label"),
        lambda: figures.bias_lines(
            biased.shown.distances,
            biased.shown.bias,
            selected=look.head,
            current=biased.distance,
            language=scene.language,
        ),
        data=lambda: _data(biased),
        code=lambda: _code(biased, "bias_lines", f", current={biased.distance}"),
        seal=lambda: scene.seal_line(f"embedding.seal.{biased.whole.kind}", biased.whole.seal),
    )
    title = Piece("bias-title", (look.site,), lambda: _title(biased))
    beside = _slopes(biased, where) if "alibi" in look.kinds.names else _map(biased, where)
    return [title, lines], [beside]


def pick(look: Look, block: str, pick: Pick) -> Selection | None:
    """The head that was clicked."""
    head = pick.row if block == "bias-map" else None if pick.custom is None else round(pick.custom)
    return None if head is None or not 0 <= head < look.how.heads else look.to_head(head)


def _title(biased: Biased) -> str:
    scene, kind = biased.scene, biased.whole.kind
    told = [scene.html(f"embedding.{kind}.lead")]
    if len(biased.shown.distances) < len(biased.whole.distances):
        told.append(scene.html("embedding.bias.within", far=FAR))
    return heading(scene.say(f"embedding.{kind}.title"), joined(told))


def _slopes(biased: Biased, where: tuple[object, ...]) -> Plot:
    scene, look = biased.scene, biased.look
    return Plot(
        "bias-slopes",
        where,
        scene.say("embedding.slopes.label"),
        lambda: figures.slope_bars(_slopes_of(biased), selected=look.head, language=scene.language),
        data=lambda: Data(_slopes_of(biased), _heads(biased), [scene.say("embedding.slopes")]),
        code=lambda: (
            "from transformer.position_bias import bias_by_distance\n"
            f"found = bias_by_distance(trace, {look.site!r})\n"
            f"figure = figures.slope_bars(found.slopes, selected={look.head}, language={scene.language!r})"
        ),
    )


def _slopes_of(biased: Biased) -> Array:
    assert biased.whole.slopes is not None
    return biased.whole.slopes


def _map(biased: Biased, where: tuple[object, ...]) -> Plot:
    scene, look = biased.scene, biased.look
    return Plot(
        "bias-map",
        where,
        scene.say("embedding.bias.map.label"),
        lambda: figures.bias_map(
            biased.shown.distances, biased.shown.bias, selected=look.head, language=scene.language
        ),
        data=lambda: _data(biased),
        code=lambda: _code(biased, "bias_map", ""),
        select=(0, look.head),
    )


def _heads(biased: Biased) -> list[str]:
    return [biased.scene.say("figure.bias.head", head=head) for head in range(biased.look.how.heads)]


def _data(biased: Biased) -> Data:
    """(head, distance)."""
    found = biased.shown
    corner = f"{biased.scene.say('explore.head')} ↓ · {biased.scene.say('figure.score_distance.axis')} →"
    return Data(found.bias, _heads(biased), [str(one) for one in found.distances.tolist()], corner)


def _code(biased: Biased, figure: str, more: str) -> str:
    look = biased.look
    return (
        "from transformer.position_bias import bias_by_distance\n"
        f"found = bias_by_distance(trace, {look.site!r}).within({FAR})\n"
        f"figure = figures.{figure}(found.distances, found.bias, selected={look.head}{more},"
        f" language={biased.scene.language!r})"
    )
