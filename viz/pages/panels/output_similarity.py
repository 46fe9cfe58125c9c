"""Output of a model that gives vectors and no logits: how close this text is to two others."""

from functools import cached_property
from html import escape

import numpy as np
import plotly.graph_objects as go

from transformer import replay
from transformer.errors import SeeThroughError
from transformer.parts import Array
from transformer.rows import encode
from transformer.sentence_similarity import sentence_vector, similarity, token_cosines, token_pair
from transformer.trace import Trace
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Choice, Line
from viz.pages.panels.output_answer import cell_of
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

LONGEST = 300  # characters
OTHER, THIRD = Line("other-text", LONGEST), Line("third-text", LONGEST)
PAIR = Choice("pair", ("other", "third"))
OPTIONS = (OTHER, THIRD, PAIR)
MOST = 40  # tokens per side of the map


class Texts:
    """This run's text and two others, which are run when they are first looked at."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.trace = scene, scene.trace

    @property
    def others(self) -> tuple[str, str]:
        """What was typed; until then, the same example in other words and a text about something else."""
        typed = OTHER.of(self.scene.selection), THIRD.of(self.scene.selection)
        return typed[0].strip() or self.scene.say("output.texts.reworded"), typed[1].strip() or self.scene.say(
            "output.texts.elsewhere"
        )

    def why(self) -> str | None:
        """Why a text cannot be run; only its tokens are asked for."""
        model = self.scene.engine.load(self.scene.selection.model)
        try:
            for text in self.others:
                encode(model, text, self.scene.engine.max_tokens)
        except SeeThroughError as problem:
            return problem.text(self.scene.language)
        return None

    def run(self, number: int) -> Trace:
        return self.scene.engine.trace(self.scene.selection.model, self.others[number])

    @cached_property
    def cosines(self) -> Array:
        return np.array([similarity(self.trace, self.run(number)) for number in (0, 1)])

    @property
    def pair(self) -> int:
        """Which of the two is laid beside this text."""
        return PAIR.values.index(PAIR.of(self.scene.selection))

    @property
    def rows(self) -> slice:
        """The tokens of this text that are shown: all, or some around the chosen one."""
        count = len(self.scene.queries)
        first = max(0, min(self.scene.query - MOST // 2, count - MOST))
        return slice(first, min(first + MOST, count))

    @cached_property
    def token_map(self) -> Array:
        """(token of this text, token of the other one)"""
        found: Array = token_cosines(self.trace, self.run(self.pair))[self.rows, :MOST]
        return found

    @property
    def columns(self) -> list[str]:
        return list(next(iter(self.run(self.pair).encodings.values())).tokens[:MOST])

    @property
    def chosen(self) -> tuple[int, int]:
        """The chosen token, and the one of the other text that is closest to it."""
        row = self.scene.query - self.rows.start
        return row, int(self.token_map[row].argmax())


def blocks(scene: Scene) -> tuple[list[Block], list[Block]]:
    texts = Texts(scene)
    left: list[Block] = [
        Piece("texts-title", None, lambda: _title(scene)),
        Piece("texts-typed", None, lambda: _controls(scene)),
    ]
    if (why := texts.why()) is not None:
        return [*left, Piece("texts-why", texts.others, lambda: empty(why))], []
    left += [
        Plot(
            "texts-bars",
            texts.others,
            scene.say("output.texts.bars"),
            lambda: figures.similarity_bars(texts.cosines, texts.others, language=scene.language),
            data=lambda: Data(texts.cosines, texts.others, [scene.say("output.texts.cosine")]),
            code=lambda: _code(texts),
            seal=lambda: _seal(scene),
        ),
        Piece("texts-closer", texts.others, lambda: _closer(texts), live=True),
    ]
    about = (texts.others, texts.pair, scene.query)
    right: list[Block] = [
        Piece("texts-pair", (texts.pair, texts.others, scene.query), lambda: _pair(texts)),
        Plot(
            "texts-map",
            about,
            scene.say("output.texts.map"),
            lambda: _draw_map(texts),
            data=lambda: Data(texts.token_map, scene.queries[texts.rows], texts.columns),
            code=lambda: _map_code(texts),
        ),
    ]
    return left, right


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """A cell chooses this text's token."""
    row, _ = cell_of(pick)
    if block != "texts-map" or row is None:
        return None
    return move.to_query(scene.trace, scene.selection, row + Texts(scene).rows.start)


def spoken(scene: Scene) -> str:
    texts = Texts(scene)
    if texts.why() is not None:
        return ""
    return scene.say("output.texts.spoken", **_both(texts))


def _both(texts: Texts) -> dict[str, str]:
    return {name: _signed(value) for name, value in zip(("first", "second"), texts.cosines.tolist(), strict=True)}


def _signed(cosine: float) -> str:
    return f"{cosine:.3f}".replace("-", "−")


def _title(scene: Scene) -> str:
    told = [scene.html("lack.no_head"), scene.html("output.texts.lead")]
    return heading(scene.say("output.texts"), joined(told))


def _controls(scene: Scene) -> str:
    return controls.row(
        controls.line(OTHER.name, scene.say("output.texts.other"), LONGEST, scene.say("output.texts.reworded")),
        controls.line(THIRD.name, scene.say("output.texts.third"), LONGEST, scene.say("output.texts.elsewhere")),
    )


def _closer(texts: Texts) -> str:
    scene, (first, second) = texts.scene, texts.cosines.tolist()
    key = "output.texts.same" if first == second else "output.texts.closer"
    closer = texts.others[0] if first >= second else texts.others[1]
    rule = scene.html("output.texts.rule", count=len(scene.trace.encodings[scene.stack]))
    code = figures.dot_as_numpy(sentence_vector(scene.trace), sentence_vector(texts.run(0)), ("u", "v"))
    copy = controls.copied(scene.say("output.texts.copy"), code)
    told = scene.html(key, text=closer, **_both(texts))
    return f'<p class="stt-lead">{told}</p><p class="stt-hint">{rule}</p>{copy}'


def _pair(texts: Texts) -> str:
    scene, other = texts.scene, texts.others[texts.pair]
    choices = [(value, scene.say(f"output.texts.pair.{value}")) for value in PAIR.values]
    row, column = texts.chosen
    closest = scene.html(
        "output.texts.closest",
        token=scene.queries[scene.query],
        other=texts.columns[column],
        cosine=_signed(texts.token_map[row, column]),
    )
    title = heading(scene.say("output.texts.map"), closest)
    tabs = controls.tabs(PAIR.name, scene.say("output.texts.pair"), choices)
    pair = token_pair(texts.trace, texts.run(texts.pair), scene.query, column)
    copy = controls.copied(scene.say("output.texts.copy"), figures.dot_as_numpy(*pair, ("u", "v")))
    return f'{title}{tabs}<p class="stt-hint"><bdi>{escape(other)}</bdi></p>{copy}'


def _draw_map(texts: Texts) -> go.Figure:
    return figures.token_cosine_map(
        texts.token_map,
        texts.scene.queries[texts.rows],
        texts.columns,
        selected=texts.chosen,
        language=texts.scene.language,
    )


def _code(texts: Texts) -> str:
    return (
        "from transformer import run\n"
        "from transformer.sentence_similarity import similarity\n"
        f"others = {texts.others!r}\n"
        "cosines = np.array([similarity(trace, run(model, text)) for text in others])\n"
        f"figure = figures.similarity_bars(cosines, others, language={texts.scene.language!r})"
    )


def _map_code(texts: Texts) -> str:
    rows, scene = texts.rows, texts.scene
    return (
        "from transformer import run\n"
        "from transformer.sentence_similarity import token_cosines\n"
        f"other = run(model, {texts.others[texts.pair]!r})\n"
        f"rows, columns = slice({rows.start}, {rows.stop}), slice(0, {MOST})\n"
        "cosines = token_cosines(trace, other)[rows, columns]  # (token of this text, token of the other one)\n"
        f"tokens = trace.tokens({scene.site!r}, 'query')[rows], other.tokens({scene.site!r}, 'query')[columns]\n"
        f"figure = figures.token_cosine_map(cosines, *tokens, selected={texts.chosen}, language={scene.language!r})"
    )


def _seal(scene: Scene) -> str:
    """The last hidden states, from which the vectors are made."""
    last = scene.trace.resolve(f"{scene.stack}.output").rpartition(".")[0]
    if last in scene.trace.sums or last in scene.trace.parts:
        return scene.seal_line("output.texts.sealed", replay.seal(scene.trace, last))
    return ""
