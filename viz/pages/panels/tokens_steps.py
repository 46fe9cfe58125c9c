"""How one word of the text became tokens: the picture that fits the tokenizer's kind, and the way to its neighbours."""

from transformer.segmentation_steps import Segmentation, SegmentedWord
from transformer.unigram import best_cut
from viz import figures
from viz.figures.axes import shorten
from viz.pages import controls
from viz.pages.scene import Scene, empty, heading


def steps_of(scene: Scene, made: Segmentation, word: int | None) -> str:
    """HTML of the steps of word number `word`; None where the chosen token stands for no text, then of the first."""
    number = 0 if word is None else word
    one = made.words[number]
    lead = scene.html("tokens.steps.none") if word is None else ""
    title = scene.say("tokens.steps", word=made.name(one.text))
    return (
        heading(title, lead)
        + _neighbours(scene, made, number)
        + _dropped(scene, made, one)
        + _picture(scene, made, one)
    )


def _neighbours(scene: Scene, made: Segmentation, number: int) -> str:
    """Buttons to the word before and behind."""
    near = [("before", number - 1), ("next", number + 1)]
    return controls.row(*(_to(scene, made, way, at) for way, at in near if 0 <= at < len(made.words)))


def _to(scene: Scene, made: Segmentation, way: str, number: int) -> str:
    word = made.name(made.words[number].text)
    said = scene.say(f"tokens.steps.{way}.said", word=word)
    return controls.button(
        scene.say(f"tokens.steps.{way}", word=shorten(word)), name="word", value=str(number), said=said
    )


def _dropped(scene: Scene, made: Segmentation, word: SegmentedWord) -> str:
    if not word.dropped:
        return ""
    characters = " ".join(map(made.name, word.dropped))
    return f'<p class="stt-hint">{scene.html("tokens.steps.dropped", characters=characters)}</p>'


def _picture(scene: Scene, made: Segmentation, word: SegmentedWord) -> str:
    language, name = scene.language, made.name
    if word.added:
        return empty(scene.say("tokens.steps.added"))
    if made.kind == "Bytes":
        data = word.text.encode("utf-8").hex(" ").upper()
        return f'<p class="stt-lead">{scene.html("tokens.steps.spelled", bytes=data)}</p>'
    steps: list = list(word.steps)
    if made.kind == "BPE":
        return figures.merge_stack(steps, name=name, language=language)
    if made.kind == "WordPiece":
        return figures.prefix_tries(steps, word.text, name=name, language=language)
    if made.kind == "Pieces":
        tried = steps[-1].tried[0] if steps[-1].tried else word.text
        notice = scene.say(f"tokens.steps.{'found' if steps[-1].found else 'missing'}")
        return figures.prefix_tries(steps, tried, name=name, notice=notice, language=language)
    return figures.piece_lattice(steps, best_cut(steps), name=name, language=language)
