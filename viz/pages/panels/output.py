"""Output: from the last vectors to an answer. Three views of a model that has one (all tokens at the dials, the logit
lens, one logit part by part), classes for a classifier, and for a model without a head the likeness of texts."""

from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Columns, Data, Piece, Plot
from viz.pages.options import Choice
from viz.pages.panels import output_classes, output_lens, output_parts, output_sampling, output_similarity
from viz.pages.panels.output_answer import WORD, Answer, stepped
from viz.pages.panels.output_layers import MORE
from viz.pages.panels.output_sum import AGAINST
from viz.pages.panels.panel import Panel
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading
from viz.pages.selection import Selection

VIEW = Choice("output", ("words", "lens", "parts"))
MASKS = ("[MASK]", "<mask>")  # how a token is named that asks for a word at its place


def columns(scene: Scene) -> Columns:
    answer = Answer(scene)
    if scene.trace.top is None:
        return _without_head(scene)
    view = VIEW.of(scene.selection)
    tabs = Piece("output-tabs", scene.trace.is_classified, lambda: _tabs(scene))
    title = Piece("output-title", answer.position, lambda: _title(answer), live=True)
    left, right = _blocks(answer, view)
    return [[tabs, title, *left], right] if right else [[tabs, title, *left]]


def _blocks(answer: Answer, view: str) -> tuple[list[Block], list[Block]]:
    if view == "lens":
        return output_lens.blocks(answer)
    if view == "parts":
        return output_parts.blocks(answer)
    if answer.trace.is_classified:
        return output_classes.blocks(answer)
    if answer.why is not None:
        return _recorded(answer), []
    return output_sampling.blocks(answer)


def _without_head(scene: Scene) -> Columns:
    """A reader of text that gives vectors only is asked how close texts are; any other says why it has no answer."""
    if is_sentence_encoder(scene):
        left, right = output_similarity.blocks(scene)
        return [left, right] if right else [left]
    title = scene.say("panel.output")
    return [[Piece("output-why", None, lambda: heading(title) + empty(scene.reason("logits")))]]


def is_sentence_encoder(scene: Scene) -> bool:
    """One encoder that reads text and has no head."""
    stacks = list(scene.trace.encodings)
    no_head = scene.trace.lacks.get("logits") == "lack.no_head"
    tokenizer = scene.engine.load(scene.selection.model).tokenizer
    known = f"{stacks[0]}.output" in scene.trace.sites
    return stacks == ["encoder"] and no_head and not scene.reads_images and tokenizer is not None and known


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    answer = Answer(scene)
    if "word" in pick.data:
        return _to_word(answer, pick.whole("word") if pick.data["word"] != "best" else None)
    if scene.trace.top is None:
        return output_similarity.pick(scene, block, pick) if is_sentence_encoder(scene) else None
    if block.startswith("lens-"):
        return output_lens.pick(answer, block, pick)
    if block.startswith("parts-"):
        return output_parts.pick(answer, block, pick)
    if block == "output-bars" and answer.why is None:
        token = stepped(output_sampling.ids_of(answer), answer.token, pick)
    elif block == "output-classes":
        token = stepped(output_classes.ids_of(answer).tolist(), answer.token, pick)
    else:
        return None
    return None if token is None else _to_word(answer, token)


def _to_word(answer: Answer, token: int | None) -> Selection | None:
    """Another token to explain; None: the most probable one again."""
    if token is not None and not 0 <= token < answer.vocabulary:
        return None
    return move.with_option(answer.scene.selection, WORD, token)


def spoken(scene: Scene) -> str:
    """ "After is: most probable Paris, 36.0 %"."""
    if scene.trace.top is None:
        return output_similarity.spoken(scene) if is_sentence_encoder(scene) else scene.reason("logits")
    answer = Answer(scene)
    shares = scene.trace.probabilities(answer.position)[1]
    told = {"answer": answer.name(answer.best), "share": figures.percent(float(shares[0]))}
    if scene.trace.is_classified:
        return scene.say("output.spoken.class", **told)
    return scene.say("output.spoken", token=answer.before, **told)


def _tabs(scene: Scene) -> str:
    first = "classes" if scene.trace.is_classified else "words"
    words = [(value, scene.say(f"output.view.{first if value == 'words' else value}")) for value in VIEW.values]
    return controls.tabs(VIEW.name, scene.say("output.view"), words)


def _title(answer: Answer) -> str:
    """What is answered here, and for a model that fills gaps where they are."""
    scene = answer.scene
    if scene.trace.is_classified:
        lead = scene.html("explore.class.lead", count=answer.vocabulary)
        return heading(scene.say("explore.class.title"), lead)
    kind = "next" if answer.stack == "decoder" else "here"
    told = scene.html(f"output.title.{kind}", token=answer.before)
    return heading(scene.say(f"explore.{kind}.title"), told) + (_gaps(answer) if kind == "here" else "")


def _gaps(answer: Answer) -> str:
    """The places that ask for a word, each a button; without any, how to make one."""
    scene, tokens = answer.scene, answer.trace.encodings[answer.stack].tokens
    places = [place for place, token in enumerate(tokens) if token in MASKS]
    if not places:
        return f'<p class="stt-hint">{scene.html("output.gap.none")}</p>'
    if answer.position in places:
        return f'<p class="stt-hint">{scene.html("output.gap.here")}</p>'
    buttons = [
        controls.button(scene.say("output.gap.to", place=place), name="token", value=str(place)) for place in places[:8]
    ]
    return f'<p class="stt-hint">{scene.html("output.gap.elsewhere")}</p>' + controls.row(*buttons)


def _recorded(answer: Answer) -> list[Block]:
    """The head is not known: what the run itself recorded, and why there is no more."""
    scene = answer.scene
    plot = Plot(
        "output-recorded",
        answer.position,
        scene.say("output.bars"),
        lambda: figures.next_tokens(*_recorded_shares(answer), n_vocabulary=answer.vocabulary, language=scene.language),
        data=lambda: Data(_recorded_shares(answer)[0], _recorded_shares(answer)[1], [scene.say("output.column.own")]),
        code=lambda: _recorded_code(answer),
    )
    return [plot, Piece("output-why", None, lambda: empty(str(answer.why)))]


def _recorded_shares(answer: Answer) -> tuple:
    ids, shares = answer.trace.probabilities(answer.position)
    shown = output_sampling.SHOWN
    return shares[:shown], answer.names(ids[:shown])


def _recorded_code(answer: Answer) -> str:
    shown = output_sampling.SHOWN
    return (
        f"ids, shares = trace.probabilities({answer.position})\n"
        f"figure = figures.next_tokens(shares[:{shown}], {_recorded_shares(answer)[1]!r},"
        f" n_vocabulary={answer.vocabulary}, language={answer.scene.language!r})"
    )


PANEL = Panel(
    "output",
    columns,
    pick,
    spoken,
    options=(
        VIEW,
        WORD,
        *output_sampling.OPTIONS,
        MORE,
        AGAINST,
        *output_similarity.OPTIONS,
    ),
    boxes=("head", "transform", "summary"),
)
