"""Output, first view: from the logits of one position over temperature, top-k and top-p to probabilities, for every
token of the vocabulary; any word that is typed; and one token's numbers."""

from dataclasses import replace
from functools import cached_property
from html import escape

import numpy as np
import plotly.graph_objects as go

from transformer.distribution import Distribution, choose
from transformer.errors import SeeThroughError
from transformer.full_logits import logit_parts, probability_of, rank_of, seal_full
from transformer.sampling import Dials
from transformer.sampling_stages import Stages, stages
from transformer.typed import first_tokens
from transformer.visible import visible
from viz import figures
from viz.figures.rank_curve import drawn_ranks
from viz.pages import controls
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Line, Real, Whole
from viz.pages.panels.output_answer import Answer, logit_panel
from viz.pages.scene import Scene, empty, heading

TEMPERATURE = Real("temperature", 0.1, 2.0, 1.0)
TOP_K = Whole("top-k", 0, 200, 0)
TOP_P = Real("top-p", 0.05, 1.0, 1.0)
TYPED = Line("word", 60)
OPTIONS = (TEMPERATURE, TOP_K, TOP_P, TYPED)
SHOWN = 10  # tokens


class Sampled:
    """One position's distribution at the dials; made once for all blocks."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.chosen = answer, answer.scene.selection

    @property
    def dials(self) -> Dials:
        share = TOP_P.of(self.chosen)
        return Dials(TEMPERATURE.of(self.chosen), TOP_K.of(self.chosen) or None, share if share < 1 else None)

    @property
    def about(self) -> tuple[object, ...]:
        return *self.answer.about, self.dials

    @cached_property
    def stages(self) -> Stages:
        return stages(self.answer.logits, self.dials, SHOWN, self.answer.token)

    @cached_property
    def distribution(self) -> Distribution:
        """The darker bar is the token that is looked at, where it is among those shown."""
        found = choose(self.answer.logits, self.dials, shown=SHOWN)
        places = [place for place, one in enumerate(found.ids.tolist()) if one == self.answer.token]
        return replace(found, place=places[0]) if places else found

    @property
    def bar_names(self) -> list[str]:
        return self.answer.names(self.distribution.ids)


def blocks(answer: Answer) -> tuple[list[Block], list[Block]]:
    """The left and the right column."""
    scene, sampled = answer.scene, Sampled(answer)
    left: list[Block] = [
        Piece("output-dials", None, lambda: _dials(scene)),
        Plot(
            "output-bars",
            sampled.about,
            scene.say("output.bars"),
            lambda: _draw_bars(sampled),
            data=lambda: _bars_data(sampled),
            code=lambda: _bars_code(sampled),
            seal=lambda: scene.seal_line("output.sealed", seal_full(scene.trace, answer.position)),
        ),
        Piece("output-stages", sampled.about, lambda: _table(sampled)),
    ]
    right: list[Block] = [
        Plot(
            "output-ranks",
            sampled.about,
            scene.say("output.ranks"),
            lambda: _draw_ranks(sampled),
            data=lambda: _ranks_data(sampled),
            code=lambda: _ranks_code(sampled),
        ),
        Piece("output-word", None, lambda: _typed_box(scene)),
        Piece("output-word-found", (answer.position, TYPED.of(scene.selection)), lambda: _typed(answer), live=True),
        Piece("output-arithmetic", answer.about, lambda: arithmetic(answer)),
    ]
    return left, right


def ids_of(answer: Answer) -> list[int]:
    """The tokens of the bars from top to bottom, without the bar of all others."""
    found: list[int] = Sampled(answer).distribution.ids.tolist()
    return found


def _dials(scene: Scene) -> str:
    return controls.row(
        controls.slider(TEMPERATURE, scene.say("output.temperature"), step=0.05),
        controls.slider(TOP_K, scene.say("output.top_k")),
        controls.slider(TOP_P, scene.say("output.top_p"), step=0.05),
    )


# --- bars and table --------------------------------------------------------------------------------------------------


def _draw_bars(sampled: Sampled) -> go.Figure:
    return figures.sampling_bars(sampled.distribution, sampled.bar_names, language=sampled.answer.scene.language)


def _bars_data(sampled: Sampled) -> Data:
    found, say = sampled.distribution, sampled.answer.scene.say
    columns = [say(f"output.column.{name}") for name in ("own", "scaled", "final")]
    values, rows = np.stack([found.p, found.scaled, found.final], axis=1), sampled.bar_names
    if found.vocabulary > len(rows):  # the last bar is that of all others together
        others = say("figure.sampling.others", count=f"{found.vocabulary - len(rows):,}")
        values, rows = np.vstack([values, np.maximum(0.0, 1 - values.sum(0))]), [*rows, others]
    return Data(values, rows, columns, more={"ids": found.ids, "ranks": found.ranks})


def _dials_code(sampled: Sampled) -> str:
    dials = sampled.dials
    given = f"Dials({dials.temperature!r}, {dials.top_k!r}, {dials.top_p!r})"
    return f"logits = full_logits(trace, {sampled.answer.position})  # over the whole vocabulary\ndials = {given}\n"


def _bars_code(sampled: Sampled) -> str:
    return (
        "from dataclasses import replace\n"
        "from transformer.distribution import choose\n"
        "from transformer.full_logits import full_logits\n"
        "from transformer.sampling import Dials\n"
        + _dials_code(sampled)
        + f"found = replace(choose(logits, dials, shown={SHOWN}), place={sampled.distribution.place})\n"
        f"figure = figures.sampling_bars(found, {sampled.bar_names!r}, language={sampled.answer.scene.language!r})"
    )


def _table(sampled: Sampled) -> str:
    found, answer = sampled.stages, sampled.answer
    say = answer.scene.say
    table = figures.sampling_table(
        found.table,
        found.ids,
        answer.names(found.ids),
        found.ranks,
        temperature=sampled.dials.temperature,
        selected=answer.token,
        language=answer.scene.language,
    )
    return f'<h3 class="stt-title">{escape(say("output.stages"))}</h3>{table}'


# --- the whole vocabulary --------------------------------------------------------------------------------------------


def _chosen(sampled: Sampled) -> tuple[int, str]:
    found, answer = sampled.stages, sampled.answer
    place = found.ids.tolist().index(answer.token)
    return int(found.ranks[place]), answer.name(answer.token)


def _draw_ranks(sampled: Sampled) -> go.Figure:
    found = sampled.stages
    return figures.rank_curve(
        found.scaled,
        found.own,
        n_kept=found.n_kept,
        n_after_top_k=found.n_after_top_k,
        chosen=_chosen(sampled),
        language=sampled.answer.scene.language,
    )


def _ranks_data(sampled: Sampled) -> Data:
    """The ranks that are drawn; the file of arrays holds all of them."""
    found, say = sampled.stages, sampled.answer.scene.say
    ranks = drawn_ranks(found.vocabulary, found.n_kept)
    columns = [say("output.column.own"), say("output.column.scaled")]
    values = np.stack([found.own[ranks], found.scaled[ranks]], axis=1)
    more = {"own": found.own, "scaled": found.scaled}
    return Data(values, [str(rank + 1) for rank in ranks.tolist()], columns, say("figure.rank.rank"), more=more)


def _ranks_code(sampled: Sampled) -> str:
    return (
        "from transformer.full_logits import full_logits\n"
        "from transformer.sampling import Dials\n"
        "from transformer.sampling_stages import stages\n"
        + _dials_code(sampled)
        + f"found = stages(logits, dials, {SHOWN}, {sampled.answer.token})\n"
        "figure = figures.rank_curve(found.scaled, found.own, n_kept=found.n_kept, n_after_top_k=found.n_after_top_k,"
        f" chosen={_chosen(sampled)!r}, language={sampled.answer.scene.language!r})"
    )


# --- any word --------------------------------------------------------------------------------------------------------


def _typed_box(scene: Scene) -> str:
    title = heading(scene.say("output.word"), scene.html("output.word.lead"))
    return title + controls.row(controls.line(TYPED.name, scene.say("output.word.label"), TYPED.longest))


def _typed(answer: Answer) -> str:
    """Each way in which the typed text can begin, with the exact probability of its first token."""
    scene, text = answer.scene, TYPED.of(answer.scene.selection)
    tokenizer = scene.engine.load(scene.selection.model).tokenizer
    if not text:
        return ""
    if tokenizer is None:
        return empty(scene.say("output.word.no_tokenizer"))
    try:
        found = [one for one in first_tokens(tokenizer, text) if one.id < answer.vocabulary]
    except SeeThroughError as problem:
        return empty(problem.text(scene.language))
    if not found:
        return empty(scene.say("output.word.nothing"))
    logits = answer.logits
    shares = [probability_of(answer.trace, answer.position, one.id) for one in found]
    ranks = [f"{rank_of(logits, one.id) + 1:,}" for one in found]
    return figures.token_list(
        [one.id for one in found],
        answer.names(np.array([one.id for one in found])),
        [f"{share:.4g}" for share in shares],
        places=[scene.say("output.rank", rank=rank, count=f"{answer.vocabulary:,}") for rank in ranks],
        notes=[_read(scene, visible(one.typed), one.count, one.unknown) for one in found],
        selected=answer.token,
    )


def _read(scene: Scene, typed: str, count: int, unknown: bool) -> str:
    if unknown:
        return scene.html("output.word.unknown", typed=typed)
    return scene.html("output.word.whole" if count == 1 else "output.word.first", typed=typed, count=count)


# --- one token -------------------------------------------------------------------------------------------------------


def arithmetic(answer: Answer) -> str:
    """How the probability of the chosen token came about; for a class the same."""
    scene, found = answer.scene, logit_parts(answer.trace, answer.position, answer.token)
    name = answer.name(answer.token)
    title = heading(
        scene.say("output.made"), scene.html("output.made.lead", token=name, count=f"{answer.vocabulary:,}")
    )
    panel = logit_panel(answer, found, answer.logsumexp)
    back = ""
    if answer.token != answer.best:
        back = controls.button(scene.say("output.best", token=answer.name(answer.best)), name="word", value="best")
    return f"{title}{panel}{back}"
