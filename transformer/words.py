"""Tokens joined to words, and attention from word to word: Σ over the keys of a word, mean over its queries.

So a row still says how one look is shared out: what goes to the pieces of a word adds up, and who looks with three
pieces looks with their mean (Clark et al. 2019, section 4.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from transformer.parts import Array
from transformer.tokenizer import Encoding
from transformer.visible import visible


@dataclass(frozen=True)
class Words:
    """The words of a text, in the order of their first tokens; a token that is part of no word is one by itself."""

    names: tuple[str, ...]  # readable; of a single token the token's own name
    of_token: tuple[int, ...]  # the word of every token

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def tokens(self) -> tuple[tuple[int, ...], ...]:
        """The tokens of every word; rarely not neighbours, where a token that stands for no text came between."""
        found: list[list[int]] = [[] for _ in self.names]
        for token, word in enumerate(self.of_token):
            found[word].append(token)
        return tuple(map(tuple, found))


def words_of(encoding: Encoding) -> Words:
    """Words as `Encoding.words` has them, and never less than a whole grapheme.

    Specials, padding, white space alone, ids without a text and patches of an image are words by themselves.
    """
    number: dict[int, int] = {}
    of_token = tuple(number.setdefault(root, len(number)) for root in _roots(encoding))
    words = Words(("",) * len(number), of_token)
    return Words(tuple(_name(encoding, tokens) for tokens in words.tokens), of_token)


def by_words(weights: Array, queries: Words, keys: Words) -> Array:
    """(…, query, key) to (…, query word, key word): the sum over a word's keys, the mean over its queries.

    Whole numbers (pixels of a picture) come back as float32.
    """
    kind = weights.dtype if weights.dtype.kind == "f" else np.dtype(np.float32)
    sums = _joined(np.add, _joined(np.add, weights, keys, -1, kind), queries, -2, kind)
    return sums / np.bincount(queries.of_token, minlength=len(queries)).astype(kind)[:, None]


def allowed_by_words(allowed: Array, queries: Words, keys: Words) -> Array:
    """(…, query, key) bool to (…, query word, key word): allowed where any token may look at any."""
    kind = np.dtype(bool)
    return _joined(np.logical_or, _joined(np.logical_or, allowed, keys, -1, kind), queries, -2, kind)


def _joined(join: np.ufunc, values: Array, words: Words, axis: int, kind: np.dtype) -> Array:
    """One entry per word along `axis`."""
    assert values.shape[axis] == len(words.of_token), f"{values.shape} does not fit {len(words.of_token)} tokens"
    if len(words) == len(words.of_token):  # every token is a word, and they are numbered in their order
        return values.astype(kind, copy=False)
    of_token = np.array(words.of_token)
    if (np.diff(of_token) < 0).any():
        order = np.argsort(of_token, kind="stable")
        of_token, values = of_token[order], values.take(order, axis)
    starts = np.searchsorted(of_token, np.arange(len(words)))
    return join.reduceat(values, starts, axis=axis, dtype=kind)


def _roots(encoding: Encoding) -> Iterator[int]:
    """For each token the first token that stands for it: equal for tokens of one word or of one grapheme."""
    parent = list(range(len(encoding)))

    def root(token: int) -> int:
        while parent[token] != token:
            token = parent[token]
        return token

    first: dict[tuple[str, int], int] = {}
    for token, (word, group) in enumerate(zip(encoding.words, encoding.groups, strict=True)):
        for key in [("group", group)] if word is None else [("group", group), ("word", word)]:
            here, before = root(token), root(first.setdefault(key, token))
            parent[max(here, before)] = min(here, before)
    return map(root, range(len(encoding)))


def _name(encoding: Encoding, tokens: tuple[int, ...]) -> str:
    """The text that the tokens stand for, as it was typed."""
    if len(tokens) == 1:
        return encoding.tokens[tokens[0]]
    spans = [span for token in tokens if (span := encoding.spans[token]) is not None]
    if encoding.text is None or not spans:
        return "".join(encoding.tokens[token] for token in tokens)
    return visible(encoding.text[min(start for start, _ in spans) : max(end for _, end in spans)])
