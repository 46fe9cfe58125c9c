"""What a tokenizer made of a text, true to its bytes: `Encoding`. What each tokenizer can do; our `ByteTokenizer`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby
from typing import Protocol

import regex

from transformer.errors import BrokenText, UnknownToken
from transformer.visible import visible_bytes

# A word: letters, marks and digits in one run (inner apostrophes, joiners and decimal points too), one Han or Hiragana
# character, or one other grapheme that is no white space. A run of a script without spaces (Thai) counts as one word.
_LETTERS = r"[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}]]"
_WORD = regex.compile(
    rf"{_LETTERS}(?:{_LETTERS}|['\u2019\u200c\u200d]+(?=\p{{L}})|(?<=\p{{N}})[.,](?=\p{{N}}))*|(?!\s)\X", regex.VERSION1
)

Span = tuple[int, int]  # [start, end) characters of a text
Piece = tuple[Span | None, bytes]  # what one token takes from the text; None: nothing


@dataclass(frozen=True)
class Encoding:
    """Token by token: ids, readable names, and which part of the text each one stands for.

    `bytes` in order spell the text, except `gaps`: what the tokenizer dropped. Tokens that share one grapheme (a
    Chinese character cut into bytes, a family emoji) share a `groups` number. Tokens of one word share a `words`
    number, and words that one token covers count as one; None for white space, specials and padding.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]  # readable, see visible.py
    spans: tuple[Span | None, ...]  # None: stands for no text
    bytes: tuple[bytes, ...]  # exact bytes each token stands for; b"" for specials that the tokenizer added
    special: tuple[bool, ...]
    words: tuple[int | None, ...]
    groups: tuple[int, ...]
    text: str | None = None  # None when ids were given that spell no text
    padding: tuple[bool, ...] = ()  # True: padding; not given: no padding
    unknown: tuple[bool, ...] = ()  # True: the vocabulary has no token for this text, its meaning is lost

    def __post_init__(self) -> None:
        for name in ("padding", "unknown"):
            object.__setattr__(self, name, getattr(self, name) or (False,) * len(self.ids))
        for name in ("tokens", "spans", "bytes", "special", "words", "groups", "padding", "unknown"):
            got = len(getattr(self, name))
            assert got == len(self.ids), f"{got} {name} do not fit {len(self.ids)} ids"

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def graphemes(self) -> tuple[tuple[str, int, int], ...]:
        """(text, first token, last token) of each group, last included; the text is "" for tokens without text."""
        found = []
        for _, members in groupby(range(len(self)), key=self.groups.__getitem__):
            tokens = list(members)
            spans = [span for token in tokens if (span := self.spans[token])]
            text = (self.text or "")[min(s for s, _ in spans) : max(e for _, e in spans)] if spans else ""
            found.append((text, tokens[0], tokens[-1]))
        return tuple(found)

    @cached_property
    def gaps(self) -> tuple[Span, ...]:
        """[start, end) of the text that no token stands for, such as BERT's spaces; shown, or text would be missing."""
        found, done = [], 0
        for start, end in [*filter(None, self.spans), (len(self.text or ""),) * 2]:
            if start > done:
                found.append((done, start))
            done = max(done, end)
        return tuple(found)

    @classmethod
    def from_ids(
        cls, ids: Sequence[int], token_of: Callable[[int], str] | None = None, padding: Sequence[bool] | None = None
    ) -> "Encoding":
        """Ids without a text: each is named by `token_of`, or by its number, and stands for no text."""
        ids = tuple(int(id) for id in ids)
        nothing = (None,) * len(ids)
        return cls(
            ids=ids,
            tokens=tuple(map(token_of or str, ids)),
            spans=nothing,
            bytes=(b"",) * len(ids),
            special=(False,) * len(ids),
            words=nothing,
            groups=tuple(range(len(ids))),
            padding=() if padding is None else tuple(map(bool, padding)),
        )

    @classmethod
    def from_spans(
        cls,
        ids: Sequence[int],
        tokens: Sequence[str],
        text: str,
        pieces: Sequence[Piece],
        special: Sequence[bool],
        *,
        padding: Sequence[bool] | None = None,
        unknown: Sequence[bool] = (),
    ) -> "Encoding":
        """Tokens with the (span, bytes) each takes from `text`; groups and words are found here."""
        spans = tuple(span for span, _ in pieces)
        return cls(
            ids=tuple(ids),
            tokens=tuple(tokens),
            spans=spans,
            bytes=tuple(data for _, data in pieces),
            special=tuple(special),
            words=_words(text, [None if skip else span for span, skip in zip(spans, special, strict=True)]),
            groups=_groups(text, spans),
            text=text,
            padding=() if padding is None else tuple(map(bool, padding)),
            unknown=tuple(unknown),
        )


class Tokenizer(Protocol):
    """What the rest of the house asks of any tokenizer."""

    @property
    def vocab_size(self) -> int: ...
    @property
    def pad_id(self) -> int: ...
    @property
    def padding_side(self) -> str:
        """ "left" or "right"."""

    def encode(self, text: str) -> Encoding:
        """The tokens of a text, with the specials that the model expects; `BrokenText` for a lone surrogate."""

    def token(self, id: int) -> str:
        """The readable name of one id; `UnknownToken` outside the vocabulary."""

    def encoding_of_ids(self, ids: Sequence[int], padding: Sequence[bool] | None = None) -> Encoding:
        """Ids that were given or generated; with text and spans where their bytes spell one."""


class SpellsBytes:
    """What our tokenizers share: three specials first, and behind them ids of which each spells exact bytes."""

    NAMES = ("<pad>", "<bos>", "<eos>")

    @property
    def vocab_size(self) -> int:
        raise NotImplementedError

    def _bytes(self, id: int) -> bytes:
        """What an id spells, nothing for a special; `UnknownToken` outside the vocabulary."""
        raise NotImplementedError

    def decode(self, ids: Sequence[int]) -> str:
        """The text that ids spell, without specials; bytes that are no UTF-8 become "\\xe5"."""
        return b"".join(map(self._bytes, ids)).decode("utf-8", "backslashreplace")

    def token(self, id: int) -> str:
        check_id(id, self.vocab_size)
        return self.NAMES[id] if id < len(self.NAMES) else visible_bytes(self._bytes(id))

    def encoding_of_ids(self, ids: Sequence[int], padding: Sequence[bool] | None = None) -> Encoding:
        ids = [int(id) for id in ids]
        special = [id < len(self.NAMES) for id in ids]
        return spelled(ids, list(map(self.token, ids)), list(map(self._bytes, ids)), special, padding)


@dataclass(frozen=True)
class ByteTokenizer(SpellsBytes):
    """256 bytes and three specials, for our own models: no file, no unknown token (ids as in ByT5, Xue et al. 2022)."""

    add_bos: bool = True
    padding_side: str = "right"
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    vocab_size = len(SpellsBytes.NAMES) + 256

    def encode(self, text: str) -> Encoding:
        data = utf8(text)
        return self.encoding_of_ids([self.bos_id] * self.add_bos + [len(self.NAMES) + byte for byte in data])

    def _bytes(self, id: int) -> bytes:
        check_id(id, self.vocab_size)
        return b"" if id < len(self.NAMES) else bytes([id - len(self.NAMES)])


def spelled(
    ids: Sequence[int],
    tokens: Sequence[str],
    data: Sequence[bytes],
    special: Sequence[bool],
    padding: Sequence[bool] | None = None,
) -> Encoding:
    """Tokens whose bytes, without padding, are the text; without a text and spans where they are no UTF-8."""
    if padding is not None:
        data = [b"" if skip else piece for piece, skip in zip(data, padding, strict=True)]
    try:
        text = b"".join(data).decode("utf-8")
    except UnicodeDecodeError:
        bare = Encoding.from_ids(ids, padding=padding)
        return replace(bare, tokens=tuple(tokens), bytes=tuple(data), special=tuple(special))
    owner = character_of_byte(text)
    pieces, done = [], 0
    for piece in data:
        span = (owner[done], owner[done + len(piece) - 1] + 1) if piece else None
        pieces.append((span, piece))
        done += len(piece)
    return Encoding.from_spans(ids, tokens, text, pieces, special, padding=padding)


def utf8(text: str) -> bytes:
    """The bytes of a text; half of a surrogate pair has none and raises `BrokenText`."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BrokenText(position=error.start + 1, character=f"\\u{ord(text[error.start]):04x}") from None


def check_id(id: int, vocab_size: int) -> None:
    """Raise `UnknownToken` for an id that the vocabulary does not have."""
    if not 0 <= id < vocab_size:
        raise UnknownToken(token=id, last=vocab_size - 1)


def character_of_byte(text: str) -> list[int]:
    """For each byte of the text the index of the character it belongs to."""
    return [index for index, character in enumerate(text) for _ in character.encode("utf-8")]


def grapheme_of_character(text: str) -> list[int]:
    """For each character the number of its grapheme: what a reader sees as one sign (Unicode UAX 29)."""
    return [number for number, sign in enumerate(regex.findall(r"\X", text)) for _ in sign]


def _groups(text: str, spans: Sequence[Span | None]) -> tuple[int, ...]:
    sign = grapheme_of_character(text)
    keys = list(_chained((sign[span[0]], sign[span[1] - 1]) if span else None for span in spans))
    alone = (key is None or key != before for key, before in zip(keys, [None, *keys], strict=False))
    return tuple(count - 1 for count in accumulate(map(int, alone)))


def _words(text: str, spans: Sequence[Span | None]) -> tuple[int | None, ...]:
    word: list[int | None] = [None] * len(text)
    for count, found in enumerate(_WORD.finditer(text)):
        word[found.start() : found.end()] = [count] * (found.end() - found.start())
    touched = ([number for at in range(*span) if (number := word[at]) is not None] if span else [] for span in spans)
    return tuple(_chained((numbers[0], numbers[-1]) if numbers else None for numbers in touched))


def _chained(ranges: Iterable[Span | None]) -> Iterator[int | None]:
    """One number per range [first, last], shared with the ranges before that it overlaps; None stays None."""
    number = reached = -1
    for span in ranges:
        if span is None:
            yield None
            continue
        number += span[0] > reached
        reached = max(reached, span[1])
        yield number
