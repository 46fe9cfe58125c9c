"""Byte-pair encoding, merge after merge: Sennrich et al. 2016, algorithm 1, on bytes as in GPT-2 (Radford et al. 2019).

    train    of all neighbours in all words, join the most frequent pair into a new token; again
    encode   of all neighbours in this word, join the pair that training found first; again

Each algorithm stands here once and yields its steps; the result is the last step.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from itertools import pairwise
from typing import AnyStr, Generic

import regex

from transformer.hf_tokenizer import byte_of_letter
from transformer.tokenizer import Encoding, SpellsBytes, check_id, utf8

Pair = tuple[bytes, bytes]

# GPT-2's words: a space belongs to the word behind it; letters, digits and signs never share a word, so that no token
# ever reaches over a space. A run of Chinese characters is one word.
_WORD = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")

# Where two pairs are equally frequent, the one with the older tokens wins: first the left one, then the right one.
# The single bytes are the oldest, in the order of GPT-2's alphabet, as the `tokenizers` library has it.
_AGE_OF_BYTE = {bytes([byte]): age for age, byte in enumerate(byte_of_letter().values())}
SHOWN_RIVALS = 5


@dataclass(frozen=True)
class CountedWord:
    """One of the different words of the training texts."""

    pieces: tuple[bytes, ...]  # as it is cut now
    count: int  # how often the texts have it


@dataclass(frozen=True)
class MergeStep:
    """One turn of the training loop; the first step is the words before anything was merged."""

    words: tuple[CountedWord, ...]  # in the order in which the texts bring them
    merges: tuple[Pair, ...] = ()  # all that were found so far, this step's last
    count: int = 0  # how often this step's pair stood in the texts
    rivals: tuple[tuple[Pair, int], ...] = ()  # the most frequent pairs of this turn; the first of them was merged
    changed: tuple[int, ...] = ()  # which words it changed

    @property
    def pair(self) -> Pair | None:
        """What this step merged, None before the first merge."""
        return self.merges[-1] if self.merges else None

    @property
    def token(self) -> bytes:
        """The new token."""
        return b"".join(self.pair or ())


@dataclass(frozen=True)
class EncodeStep(Generic[AnyStr]):
    """One merge in one word; the first step is the word in its smallest pieces."""

    pieces: tuple[AnyStr, ...]
    pair: tuple[AnyStr, AnyStr] | None = None  # what was joined, None before the first merge
    rank: int | None = None  # the number of its merge in the list, 0 was found first
    at: int | None = None  # where the joined piece stands in `pieces`
    whole: bool = False  # some tokenizers first look whether the whole word is a token, and then merge nothing


def split_words(text: str) -> list[str]:
    """The words within which pairs are merged: " the", " cat", "'s", "!"; joined they are the text."""
    return _WORD.findall(text)


def train_steps(texts: Iterable[str], n_merges: int, *, least: int = 2) -> Iterator[MergeStep]:
    """The words in bytes, then one step per merge, at most `n_merges`.

    It ends sooner where no pair stands in the texts `least` times: a pair seen once teaches nothing. Raises
    `BrokenText` for half of a surrogate pair.
    """
    words = Counter(utf8(word) for text in texts for word in split_words(text))
    table = _PairTable([CountedWord(tuple(map(_byte, word)), count) for word, count in words.items()])
    age = dict(_AGE_OF_BYTE)
    merges: list[Pair] = []
    yield MergeStep(tuple(table.words))
    while len(merges) < n_merges and (rivals := table.most_frequent(age)) and rivals[0][1] >= least:
        pair, count = rivals[0]
        merges.append(pair)
        age.setdefault(pair[0] + pair[1], len(age))
        changed = table.merge(pair)
        yield MergeStep(tuple(table.words), tuple(merges), count, tuple(rivals), changed)


class _PairTable:
    """Words, and how often each pair of neighbours stands in them; kept up word by word, not counted anew."""

    def __init__(self, words: list[CountedWord]) -> None:
        self.words = words
        self._count: Counter[Pair] = Counter()
        self._where: dict[Pair, set[int]] = defaultdict(set)  # words that have, or once had, the pair
        for index in range(len(words)):
            self._add(index, 1)

    def _add(self, index: int, sign: int) -> None:
        word = self.words[index]
        for pair in pairwise(word.pieces):
            self._count[pair] += sign * word.count
            self._where[pair].add(index)

    def most_frequent(self, age: Mapping[bytes, int]) -> list[tuple[Pair, int]]:
        """The pair to merge, and the next ones; of equally frequent pairs the one with the older tokens."""
        return nsmallest(
            SHOWN_RIVALS, self._count.items(), key=lambda item: (-item[1], age[item[0][0]], age[item[0][1]])
        )

    def merge(self, pair: Pair) -> tuple[int, ...]:
        """Join the pair wherever it stands, from left to right; which words it changed."""
        changed = tuple(index for index in sorted(self._where[pair]) if pair in pairwise(self.words[index].pieces))
        for index in changed:
            self._add(index, -1)
            self.words[index] = CountedWord(_joined(self.words[index].pieces, pair), self.words[index].count)
            self._add(index, 1)
        self._count = +self._count  # pairs that are gone
        return changed


def _byte(value: int) -> bytes:
    return bytes([value])


def _joined(pieces: Sequence[bytes], pair: Pair) -> tuple[bytes, ...]:
    new: list[bytes] = []
    at = 0
    while at < len(pieces):
        both = tuple(pieces[at : at + 2]) == pair
        new.append(pair[0] + pair[1] if both else pieces[at])
        at += 1 + both
    return tuple(new)


def ranks(merges: Iterable[tuple[AnyStr, AnyStr]]) -> dict[tuple[AnyStr, AnyStr], int]:
    """Each pair's place in the list of merges."""
    return {pair: rank for rank, pair in enumerate(merges)}


def encode_steps(word: str | bytes, rank_of: Mapping[Pair, int]) -> Iterator[EncodeStep[bytes]]:
    """One word, from its bytes to its tokens; `rank_of` comes from `ranks(merges)`."""
    return merge_steps([_byte(value) for value in (utf8(word) if isinstance(word, str) else word)], rank_of)


def merge_steps(
    pieces: Sequence[AnyStr], rank_of: Mapping[tuple[AnyStr, AnyStr], int], mark: int = 0
) -> Iterator[EncodeStep[AnyStr]]:
    """From the smallest pieces on: the pair of lowest rank is joined, of several such pairs the leftmost.

    `mark` is the length of a sign that the right piece of a pair bears and that the joined piece does not ("##").
    """
    now = list(pieces)
    yield EncodeStep(tuple(now))
    while True:
        found = [(rank_of[pair], at) for at, pair in enumerate(pairwise(now)) if pair in rank_of]
        if not found:
            return
        rank, at = min(found)
        left, right = now[at : at + 2]
        now[at : at + 2] = [left + right[mark:]]
        yield EncodeStep(tuple(now), (left, right), rank, at)


@dataclass(frozen=True)
class BytePairTokenizer(SpellsBytes):
    """Our own byte-pair tokenizer: three specials, 256 bytes, one token per merge; no unknown token."""

    merges: tuple[Pair, ...]
    add_bos: bool = True
    padding_side: str = "right"
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    @classmethod
    def train(cls, texts: Iterable[str], n_merges: int, *, least: int = 2, add_bos: bool = True) -> "BytePairTokenizer":
        """The tokenizer of the last of `train_steps`."""
        *_, last = train_steps(texts, n_merges, least=least)
        return cls(last.merges, add_bos)

    @cached_property
    def pieces(self) -> tuple[bytes, ...]:
        """What each id behind the specials spells: ids 3 … 258 the bytes, then the merged tokens."""
        merged = dict.fromkeys(left + right for left, right in self.merges)  # two pairs may make the same token
        return (*map(_byte, range(256)), *merged)

    @cached_property
    def ranks(self) -> Mapping[Pair, int]:
        return ranks(self.merges)

    @cached_property
    def _id_of(self) -> Mapping[bytes, int]:
        return {piece: len(self.NAMES) + index for index, piece in enumerate(self.pieces)}

    @property
    def vocab_size(self) -> int:
        return len(self.NAMES) + len(self.pieces)

    def steps(self, text: str) -> Iterator[tuple[str, tuple[EncodeStep[bytes], ...]]]:
        """Word by word: the word, and how it became tokens."""
        for word in split_words(text):
            yield word, tuple(encode_steps(word, self.ranks))

    def encode(self, text: str) -> Encoding:
        utf8(text)  # half of a surrogate pair is answered with its place in the whole text
        pieces = (piece for _, steps in self.steps(text) for piece in steps[-1].pieces)
        return self.encoding_of_ids([self.bos_id] * self.add_bos + [self._id_of[piece] for piece in pieces])

    def _bytes(self, id: int) -> bytes:
        check_id(id, self.vocab_size)
        return b"" if id < len(self.NAMES) else self.pieces[id - len(self.NAMES)]
