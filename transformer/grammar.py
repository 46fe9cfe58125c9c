"""The grammar of one language, and of pairs of sentences that translate each other: frames and patterns by kind."""

import random
from itertools import accumulate
from typing import Any
from unicodedata import category

from transformer.sentence_frames import Draft, Frame
from transformer.sentence_patterns import brackets, repeated
from transformer.word_tables import WordTables

Tokens = set[tuple[str, bool]]  # a token without spaces, and whether it can be the first of a sentence


class Grammar:
    """The sentences of one language as drafts, by kind."""

    def __init__(self, content: dict[str, Any]) -> None:
        tables = WordTables(content["tables"])
        self._frames = {kind: [Frame(text, tables) for text in texts] for kind, texts in content["frames"].items()}
        self._signs = [(pair[0], pair[-1]) for pair in content["brackets"]]
        self._repeated, self._nouns = tables["repeated"], tables["noun"]
        self._adjectives, self._end = tables["color"], content["end"]
        self._named = _named(content, tables) | {sign: "bracket" for pair in self._signs for sign in pair}

    def draft(self, kind: str, random: random.Random) -> Draft:
        """A sentence of this kind."""
        if kind == "bracket":
            return brackets(self._signs, self._nouns, self._adjectives, self._end, random)
        if kind == "repeat":
            return repeated(self._repeated, self._end, random)
        frames = self._frames[kind]
        frame = frames[int(random.random() * len(frames))]
        return frame.draft(frame.choose(random), random)

    def tokens(self) -> Tokens:
        """Every token of the language."""
        found = {token for frames in self._frames.values() for frame in frames for token in frame.tokens()}
        found |= {(sign, True) for pair in self._signs for sign in pair} | {(self._end, False)}
        words = (*self._repeated, *self._nouns, *self._adjectives)
        return found | {(entry["word"].tokens[0], True) for entry in words}

    def classes(self) -> dict[str, str]:
        """The class of every token."""
        return _complete(self._named, self.tokens())


class PairGrammar:
    """Pairs of drafts, English and Chinese, that share their words."""

    def __init__(self, content: dict[str, Any]) -> None:
        tables = WordTables(content["tables"])
        self._pairs = [(Frame(en, tables, "en"), Frame(zh, tables, "zh")) for _, en, zh in content["frames"]]
        self._weights = list(accumulate(weight for weight, _, _ in content["frames"]))
        self._named = _named(content, tables)

    def draft(self, random: random.Random) -> tuple[Draft, Draft]:
        """An English sentence and its translation."""
        (pair,) = random.choices(self._pairs, cum_weights=self._weights)
        chosen = pair[0].choose(random)
        return pair[0].draft(chosen, random), pair[1].draft(chosen, random)

    def tokens(self, language: str) -> Tokens:
        """Every token of one side."""
        side = ("en", "zh").index(language)
        return {token for pair in self._pairs for token in pair[side].tokens()}

    def classes(self) -> dict[str, str]:
        """The class of every token of both sides."""
        return _complete(self._named, self.tokens("en") | self.tokens("zh"))


def _named(content: dict[str, Any], tables: WordTables) -> dict[str, str]:
    """The classes that the file gives: to single words, and to the words of a table."""
    return tables.word_class | {word: name for name, words in content["words"].items() for word in words}


def _complete(named: dict[str, str], tokens: Tokens) -> dict[str, str]:
    """Every token with its class; "The" has that of "the", and what nobody named holds sentences together."""
    plain = {token: "punctuation" if category(token[0]) == "Po" else "function" for token, _ in tokens}
    return {token: named.get(token) or named.get(token.lower(), name) for token, name in plain.items()}
