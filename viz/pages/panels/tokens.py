"""Tokens: the text on all its levels, how the tokenizer came from one to the next, and the words that views may join.

The chosen token names the word whose cutting is shown, so that one selection means the same in every panel.
"""

from collections.abc import Callable
from functools import cached_property
from html import escape

from transformer import replay
from transformer.errors import InputError, ModelError
from transformer.segmentation import words_of_tokens
from transformer.segmentation_steps import Segmentation
from transformer.tokenizer import Encoding
from transformer.words import Words, words_of
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Columns, Piece
from viz.pages.panels.panel import Panel
from viz.pages.panels.tokens_steps import steps_of
from viz.pages.panels.word_view import WORDS, switch
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

CUT = "tokens-cut-"  # of the blocks in which a word can be picked, before the name of their stack
STEPS = "tokens-steps-"


def columns(scene: Scene) -> Columns:
    stacks = [Stack(scene, stack) for stack in scene.trace.encodings]
    if scene.reads_images:
        return ([block for one in stacks for block in one.image()],)
    left: list[Block] = [block for one in stacks for block in one.left()]
    right: list[Block] = [block for one in stacks for block in one.right()]
    return left, [Piece("tokens-switch", None, lambda: heading(scene.say("tokens.words")) + switch(scene)), *right]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """A word of the tokenizer: its first token is chosen."""
    stack = block.removeprefix(CUT).removeprefix(STEPS)
    word = pick.whole("word")
    if stack == block or stack not in scene.trace.encodings or word is None:
        return None
    try:
        owner = Stack(scene, stack).cut()[1]
    except (InputError, ModelError):
        return None
    return move.to_token(scene.trace, scene.selection, stack, owner.index(word)) if word in owner else None


def spoken(scene: Scene) -> str:
    """ "token 3: ·cat, id 2644, bytes 20 63 61 74, word ·cat"."""
    at, token = Stack(scene, scene.stack), scene.query
    told = {"index": token, "token": at.encoding.tokens[token]}
    if scene.reads_images:
        return scene.say("tokens.spoken.patch", **told)
    data = at.encoding.bytes[token].hex(" ").upper() or scene.say("tokens.none")
    word = at.words.names[at.words.of_token[token]]
    return scene.say("tokens.spoken", **told, id=at.encoding.ids[token], bytes=data, word=word)


class Stack:
    """What is shown of one of the run's texts. Nothing is made before it is asked for."""

    def __init__(self, scene: Scene, stack: str) -> None:
        self.scene, self.stack = scene, stack
        self.encoding: Encoding = scene.trace.encodings[stack]
        self.marked = stack if len(scene.trace.encodings) > 1 else None

    @property
    def chosen(self) -> int | None:
        """The token that is looked at, or that looks."""
        trace, site = self.scene.trace, self.scene.site
        if trace.stack_along(site, "query") == self.stack:
            return self.scene.query
        return self.scene.key if trace.stack_along(site, "key") == self.stack else None

    @cached_property
    def words(self) -> Words:
        return words_of(self.encoding)

    def cut(self) -> tuple[Segmentation, tuple[int | None, ...]]:
        """How the text was cut, and the word of each token there. Raises InputError, ModelError: why it is unknown."""
        made = self.scene.engine.segmentation(self.scene.selection.model, self.encoding.text or "")
        return made, words_of_tokens(made, self.encoding)

    # --- blocks ------------------------------------------------------------------------------------------------------

    def image(self) -> list[Block]:
        return [
            self._piece("tokens-title", (), lambda: heading(self.scene.say("tokens.title.image"))),
            self._piece("tokens-levels", (self.chosen,), self._levels),
            self._piece("tokens-how", (), self._how_image),
        ]

    def left(self) -> list[Block]:
        of = (self.chosen,)
        return [
            self._piece("tokens-title", (), self._title),
            self._piece("tokens-levels", of, self._levels),
            self._piece("tokens-how", (), self._how),
            self._piece("tokens-cut", of, self._overview),
            self._piece("tokens-steps", of, self._steps),
        ]

    def right(self) -> list[Block]:
        of = (self.chosen,)
        return [
            self._piece("tokens-words", of, self._joined),
            self._piece("tokens-table", of, self._table),
            self._piece("tokens-csv", (), self._csv),
            self._piece("tokens-seal", (), self._seal),
        ]

    def _piece(self, name: str, of: tuple[object, ...], make: Callable[[], str]) -> Piece:
        return Piece(f"{name}-{self.stack}", of, make)

    def _title(self) -> str:
        scene = self.scene
        return heading(scene.say(f"tokens.title.{self.marked or 'one'}"), scene.html("tokens.levels"))

    def _levels(self) -> str:
        return figures.text_levels(
            self.encoding, self.words, selected=self.chosen, stack=self.marked, language=self.scene.language
        )

    def _how_image(self) -> str:
        count = self.encoding.special.count(False)
        return heading(self.scene.say("tokens.how.patches"), self.scene.html("tokens.how.image", count=count))

    def _how(self) -> str:
        """In a sentence or two how the tokenizer cuts, with the numbers of this text."""
        scene, title = self.scene, self.scene.say("tokens.how")
        if self.encoding.text is None:
            return heading(title) + empty(scene.say("tokens.no_text"))
        try:
            made, owner = self.cut()
        except (InputError, ModelError) as error:
            return heading(title) + empty(error.text(scene.language))
        tokenizer = scene.engine.load(scene.selection.model).tokenizer
        assert tokenizer is not None
        lead = scene.html(f"tokens.how.{made.kind}", vocabulary=f"{tokenizer.vocab_size:,}")
        return heading(title, joined([lead, scene.html("tokens.how.here", **self._counts(owner))]))

    def _counts(self, owner: tuple[int | None, ...]) -> dict[str, str]:
        """The numbers of this text."""
        text = self.encoding.text or ""
        found = {"characters": len(text), "bytes": len(text.encode()), "tokens": len(owner), "added": owner.count(None)}
        return {name: f"{number:,}" for name, number in found.items()}

    def _overview(self) -> str:
        try:
            made, owner = self.cut()
        except (InputError, ModelError):
            return ""  # the sentence above says why
        if made.kind == "Bytes":
            return ""  # its words are the characters, which stand on the levels
        word = None if self.chosen is None else owner[self.chosen]
        return figures.segmentation_overview(made, selected=word, language=self.scene.language)

    def _steps(self) -> str:
        try:
            made, owner = self.cut()
        except (InputError, ModelError):
            return ""
        if not made.words:
            return ""
        word = None if self.chosen is None else owner[self.chosen]
        return steps_of(self.scene, made, word)

    def _joined(self) -> str:
        return self._named() + figures.joined_words(
            self.words,
            self.encoding.tokens,
            selected=self.chosen,
            stack=self.marked,
            language=self.scene.language,
        )

    def _table(self) -> str:
        shown = figures.token_table(
            self.encoding, self.words, selected=self.chosen, stack=self.marked, language=self.scene.language
        )
        return heading(self.scene.say("tokens.table")) + self._named() + shown

    def _named(self) -> str:
        """Which of two texts it is."""
        return f'<p class="stt-lead">{self.scene.html("explore.stack." + self.stack)}</p>' if self.marked else ""

    def _csv(self) -> str:
        text = figures.token_csv(self.encoding, self.words, language=self.scene.language)
        return controls.button(self.scene.say("tokens.csv"), name="copy", value=text, kind="stt-copy")

    def _seal(self) -> str:
        scene, seal = self.scene, replay.seal_tokens(self.scene.trace, self.stack)
        if self.encoding.text is None:
            return empty(scene.say("tokens.no_text"))
        state, sign = ("good", "✓") if seal.holds else ("bad", "✗")
        words = scene.say(f"tokens.seal.{state}", count=f"{seal.compared:,}")
        return f'<p class="stt-seal"><span class="stt-seal-{state}">{sign} {escape(words)}</span></p>'


PANEL = Panel("tokens", columns, pick, spoken, options=(WORDS,), boxes=("tokens",))
