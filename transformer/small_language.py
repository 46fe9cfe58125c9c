"""A small language of our own, English and Chinese: sentences that know their own relations, to train and test on.

Every sentence comes with links (this pronoun means that cat) and slots (here only one word can follow the text on the
left). Its words and frames stand in `assets/language/`. All spans are those of whole tokens, so an English word takes
the space before it along: in "The cat" the cat is (3, 7), and a slot's wrong words have that space too.

A causal model must know a word one token before it: what looks along a link is the token before its query. Pronouns
alone look themselves, for what follows one ("it barked") depends on whom it means.
"""

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from transformer.grammar import Grammar, PairGrammar, Tokens
from transformer.sentence_frames import Draft
from transformer.tokenizer import Span
from transformer.word_tables import read_words

LANGUAGES = ("en", "zh")
KINDS = ("agreement", "give", "cause", "bracket", "like", "repeat", "pronoun", "plain")
_CLOSE = (".", ",", "?")  # what English writes without a space before it
_BARE = 0.15  # how many pairs go without their last sign, as many people type


@dataclass(frozen=True)
class Link:
    """One token of a text (query) that belongs to an earlier one (key)."""

    kind: str
    query: Span
    key: Span


@dataclass(frozen=True)
class Slot:
    """A token that follows from the text on its left alone, and what a careless reader could put there instead."""

    kind: str
    at: Span
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a short story of several, with its relations."""

    text: str
    language: str  # "en" or "zh"
    kind: str  # one of KINDS, or "story"
    links: tuple[Link, ...]
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Pair:
    """An English sentence and its Chinese translation; `alignment` holds the spans of words that mean the same."""

    english: str
    chinese: str
    alignment: tuple[tuple[Span, Span], ...]


def is_held_out(text: str) -> bool:
    """One sentence in ten is kept from training, by its own letters (CRC-32)."""
    return zlib.crc32(text.encode("utf-8")) % 10 == 0


class SmallLanguage:
    """`SmallLanguage.load()` makes sentences, stories and pairs; the same `random` makes the same ones."""

    KINDS = KINDS

    def __init__(self, grammars: dict[str, Grammar], pairs: PairGrammar) -> None:
        self._grammars, self._pairs = grammars, pairs
        self._classes = pairs.classes()
        for grammar in grammars.values():
            self._classes |= grammar.classes()

    @classmethod
    def load(cls) -> "SmallLanguage":
        """The one language, read once."""
        return _load()

    def sentence(
        self, random: random.Random, kind: str | None = None, language: str | None = None, held_out: bool = False
    ) -> Sentence:
        """A sentence of this kind and language, or of any; from training's nine tenths or from the tenth held out."""
        while True:
            speaks, about = language or random.choice(LANGUAGES), kind or random.choice(KINDS)
            draft = self._grammars[speaks].draft(about, random)
            text, spans = joined(draft.tokens, speaks)
            if is_held_out(text) == held_out:
                return _sentence(draft, text, spans, speaks, about)

    def story(
        self,
        random: random.Random,
        held_out: bool = False,
        language: str | None = None,
        longest: int = 4,
        kinds: Sequence[str] = (),
    ) -> Sentence:
        """One to `longest` sentences of one language, one after the other; of `kinds`, which may name one several times
        to have more of it."""
        speaks = language or random.choice(LANGUAGES)
        count = random.randint(1, longest)
        chosen = [random.choice(kinds) if kinds else None for _ in range(count)]
        parts = [self.sentence(random, kind, speaks, held_out) for kind in chosen]
        return told(parts) if count > 1 else parts[0]

    def pair(self, random: random.Random, held_out: bool = False) -> Pair:
        """A sentence in both languages, held out by its English text, which alone decides the Chinese one."""
        while True:
            source, target = self._pairs.draft(random)
            english, spans = joined(source.tokens, "en")
            chinese, places = joined(target.tokens, "zh")
            if english[-1] in _CLOSE and random.random() < _BARE and is_held_out(english) == held_out:
                english, chinese = english[:-1], chinese[:-1]
            if is_held_out(english) == held_out:
                return Pair(english, chinese, _alignment(source, spans, target, places))

    def pieces(self) -> tuple[str, ...]:
        """Every token that a sentence, a story or a pair can hold, in a fixed order: the vocabulary."""
        found = set[str]()
        for language in LANGUAGES:
            found |= _spelled(self._grammars[language].tokens() | self._pairs.tokens(language), language)
        return tuple(sorted(found))

    def word_class(self, piece: str) -> str | None:
        """One of "name", "animal", "thing", "place", "verb", "adjective", "pronoun", "bracket", "punctuation",
        "function"; None for a piece that is not of this language."""
        return self._classes.get(piece.removeprefix(" "))


@cache
def _load() -> SmallLanguage:
    grammars = {language: Grammar(read_words(language)) for language in LANGUAGES}
    return SmallLanguage(grammars, PairGrammar(read_words("pairs")))


def joined(tokens: Sequence[str], language: str) -> tuple[str, list[Span]]:
    """The text of these tokens and the span of each: English with a space before every word, Chinese with none."""
    parts = [token if not place else _inside(token, language) for place, token in enumerate(tokens)]
    ends = list(accumulate(map(len, parts)))
    return "".join(parts), list(zip([0, *ends], ends, strict=False))


def told(parts: Sequence[Sentence]) -> Sentence:
    """Sentences of one language as one text; the first token of a later one takes the space between them along."""
    language = parts[0].language
    text, links, slots = "", list[Link](), list[Slot]()
    for part in parts:
        gap = " " if text and language == "en" else ""
        start = len(text) + len(gap)

        def moved(span: Span, start: int = start, gap: int = len(gap)) -> Span:
            return (start + span[0] - (gap if span[0] == 0 else 0), start + span[1])

        links += [Link(link.kind, moved(link.query), moved(link.key)) for link in part.links]
        slots += [Slot(slot.kind, moved(slot.at), slot.wrong) for slot in part.slots]
        text += gap + part.text
    return Sentence(text, language, "story", tuple(links), tuple(slots))


def _inside(token: str, language: str) -> str:
    """A token as it stands behind another one."""
    return f" {token}" if language == "en" and token not in _CLOSE else token


def _sentence(draft: Draft, text: str, spans: Sequence[Span], language: str, kind: str) -> Sentence:
    links = tuple(Link(kind, spans[query], spans[key]) for query, key in draft.links)
    slots = tuple(Slot(kind, spans[at], tuple(_inside(word, language) for word in wrong)) for at, wrong in draft.slots)
    return Sentence(text, language, kind, links, slots)


def _alignment(
    source: Draft, spans: Sequence[Span], target: Draft, places: Sequence[Span]
) -> tuple[tuple[Span, Span], ...]:
    """The first mention in English with the first in Chinese, the second with the second, in English order."""
    found = []
    for name, mentions in source.mentions.items():
        found += [(spans[a], places[b]) for a, b in zip(mentions, target.mentions.get(name, ()), strict=False)]
    return tuple(sorted(found))


def _spelled(tokens: Tokens, language: str) -> set[str]:
    """Tokens as pieces: an English word with its space, and without for those that can be first."""
    return {_inside(token, language) for token, _ in tokens} | {token for token, first in tokens if first}
