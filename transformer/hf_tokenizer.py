"""Any fast tokenizer of Hugging Face as one of ours: exact bytes and spans for every token it makes.

Fast tokenizers tell offsets, but trim spaces from them, give each byte of a character the whole character (or the
whole unknown run), and count spaces that they added themselves. So the bytes of the vocabulary are laid along the bytes
of the text; where the two disagree, because a normalizer changed the text or a token is special or unknown, the offsets
decide.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import compress
from typing import Any

from tokenizers import Tokenizer as Backend

from transformer.errors import SlowTokenizer
from transformer.tokenizer import (
    Encoding,
    Piece,
    Span,
    character_of_byte,
    check_id,
    grapheme_of_character,
    spelled,
    utf8,
)
from transformer.visible import visible, visible_bytes

_SPACE = "▁"  # U+2581, SentencePiece's sign for a space (Kudo & Richardson 2018)
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")  # SentencePiece's name for one byte


class HuggingFaceTokenizer:
    """`encode`, `token`, `encoding_of_ids` over a fast tokenizer of `transformers` 5; many threads may share it."""

    def __init__(self, tokenizer: Any) -> None:
        """Raise `SlowTokenizer` for one written in Python: it cannot say which text a token stands for."""
        if not getattr(tokenizer, "is_fast", False) or not hasattr(tokenizer, "backend_tokenizer"):
            raise SlowTokenizer(name=type(tokenizer).__name__)
        self.padding_side: str = tokenizer.padding_side
        # Padding is masked, so any id may fill it where the tokenizer names none.
        self.pad_id: int = next(id for id in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if id is not None)
        self._backend = _own_copy(tokenizer.backend_tokenizer)
        self.vocab_size: int = max(self._backend.get_vocab().values()) + 1
        self._unknown = tokenizer.unk_token_id
        added = tokenizer.added_tokens_decoder
        self._special = {id for id, token in added.items() if token.special} | set(tokenizer.all_special_ids)
        self._added = {id: token.content for id, token in added.items()}
        shape = f"{self._backend.pre_tokenizer!r} {self._backend.decoder!r}"
        self._byte_level = "ByteLevel(" in shape
        self._space = _SPACE in shape
        self._suffix = getattr(self._backend.model, "end_of_word_suffix", None) or ""
        self._dropped = _dropped_bytes(self._backend) if self._byte_level else frozenset()

    @property
    def backend(self) -> Backend:
        """The library's own tokenizer, for those who read its vocabulary; nobody changes it."""
        return self._backend

    def encode(self, text: str) -> Encoding:
        """All tokens of the text, never cut and never padded, with the specials that the tokenizer adds."""
        data, made = utf8(text), self._backend.encode(text)
        added = [bool(mask) for mask in made.special_tokens_mask]
        spelling = [None if id in self._special else self._spelling(id) for id in made.ids]
        offsets = [None if add else offset for add, offset in zip(added, made.offsets, strict=True)]
        pieces = list(_lay_along(_Ruler(text, data, self._dropped), offsets, spelling))
        unknown = [
            id == self._unknown and not add and text[slice(*span or (0, 0))].strip() != self._name(id)
            for id, add, (span, _) in zip(made.ids, added, pieces, strict=True)
        ]
        special = [id in self._special and not lost for id, lost in zip(made.ids, unknown, strict=True)]
        return Encoding.from_spans(made.ids, list(map(self.token, made.ids)), text, pieces, special, unknown=unknown)

    def token(self, id: int) -> str:
        """Readable: "·cat" for Ġcat and ▁cat, "##s" and "[CLS]" as they are, "⟨E5 B0⟩" for a part of a character."""
        name, spelling = self._name(id), self._spelling(id)
        if id in self._special or spelling is None or (self._suffix and name.endswith(self._suffix)):
            return visible(name)
        return visible_bytes(spelling)

    def encoding_of_ids(self, ids: Sequence[int], padding: Sequence[bool] | None = None) -> Encoding:
        """With text and spans where the vocabulary spells bytes: byte-level, SentencePiece (with its added space)."""
        ids = [int(id) for id in ids]
        special = [id in self._special for id in ids]
        spelling = [b"" if skip else self._spelling(id) for id, skip in zip(ids, special, strict=True)]
        data = [] if self._suffix else [known for known in spelling if known is not None]
        if len(data) < len(ids):
            return replace(Encoding.from_ids(ids, self.token, padding), special=tuple(special))
        return spelled(ids, list(map(self.token, ids)), data, special, padding)

    def _name(self, id: int) -> str:
        check_id(id, self.vocab_size)
        name = self._backend.id_to_token(id)
        return f"<{id}>" if name is None else name  # a hole in the vocabulary

    def _spelling(self, id: int) -> bytes | None:
        """The bytes that a vocabulary entry stands for, or None where its name does not tell (WordPiece)."""
        name = self._name(id)
        if id in self._added:
            return self._added[id].encode("utf-8")
        if self._byte_level:
            table, letters = byte_of_letter(), name.removesuffix(self._suffix)
            known = all(letter in table for letter in letters)
            return bytes(table[letter] for letter in letters) if known else name.encode("utf-8")
        if self._space:
            byte = _BYTE.fullmatch(name)
            return bytes.fromhex(byte[1]) if byte else name.replace(_SPACE, " ").encode("utf-8")
        return None


@cache
def byte_of_letter() -> dict[str, int]:
    """Byte-level BPE's alphabet (Radford et al. 2019): printable bytes are themselves, the others U+0100 and up."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


def _dropped_bytes(backend: Backend) -> frozenset[int]:
    """Bytes that the vocabulary lacks (SmolLM2: 21 of them) and that byte-pair encoding then drops without a word."""
    if getattr(backend.model, "unk_token", None):
        return frozenset()
    return frozenset(byte for letter, byte in byte_of_letter().items() if backend.token_to_id(letter) is None)


def _own_copy(backend: Backend) -> Backend:
    """A copy that nobody changes: `transformers` sets truncation and padding on the shared one at each call, which cuts
    texts in silence and fails with "Already borrowed" when two threads meet."""
    try:
        copy = Backend.from_str(backend.to_str())
    except Exception:  # a pre-tokenizer written in Python cannot be written down: then the shared one has to do
        copy = backend
    copy.encode_special_tokens = backend.encode_special_tokens
    copy.no_truncation()
    copy.no_padding()
    return copy


class _Ruler:
    """A text measured three ways at once: characters, bytes (that the vocabulary has), graphemes."""

    def __init__(self, text: str, data: bytes, dropped: frozenset[int]) -> None:
        kept = [byte not in dropped for byte in data]
        self.data = bytes(compress(data, kept))
        self.character = [*compress(character_of_byte(text), kept), len(text)]
        self.byte = [bisect_left(self.character, index) for index in range(len(text) + 1)]
        self.lag = len(data) - len(self.data)  # offsets lag by the bytes that were dropped before them in the same word
        self.grapheme = grapheme_of_character(text)

    def find(self, spelling: bytes, done: int, offset: Span) -> Span | None:
        """The bytes [start, end) from `done` on that spell a token whose characters are near `offset`."""
        first, last = self.byte[offset[0]], self.byte[offset[1]]
        spaced = spelling.startswith(b" ")
        for start in (done, first - spaced, first):
            end = start + len(spelling)
            near = (
                (start < last + self.lag and first < end) or start <= first == last <= end or (spaced and end == first)
            )
            if start >= done and near and self.data.startswith(spelling, start):
                return start, end
        if not spaced:
            return None
        # A space that the tokenizer put before a word stands for no text, unless "▁" itself was typed.
        if spelling == b" ":
            return None if self.data.startswith(_SPACE.encode("utf-8"), first) else (done, done)
        return self.find(spelling[1:], done, offset)

    def whole(self, offset: Span, following: int) -> Span:
        """The offset with the marks that a normalizer took away: "e" read from "e" + U+0301 stands for both."""
        start, end = offset
        while start < end < following and self.grapheme[end] == self.grapheme[end - 1]:
            end += 1
        return start, end


def _lay_along(ruler: _Ruler, offsets: Sequence[Span | None], spelling: Sequence[bytes | None]) -> Iterator[Piece]:
    """The (span, bytes) of each token: its spelling where the text has it at this place, else the text of its offset.

    Tokens that share changed text ("f" and "i", read from a ligature) share its span; the first holds all its bytes.
    """
    starts = sorted([offset[0] for offset in offsets if offset] + [len(ruler.grapheme)])
    done = 0
    for offset, spelled_as in zip(offsets, spelling, strict=True):
        if offset is None:
            yield None, b""
            continue
        place = None if spelled_as is None else ruler.find(spelled_as, done, offset)
        if place is None:
            span = ruler.whole(offset, starts[bisect_left(starts, offset[1])])
            start, end = max(done, ruler.byte[span[0]]), max(done, ruler.byte[span[1]])
        else:
            start, end = place
            span = (ruler.character[start], ruler.character[end - 1] + 1) if start < end else (0, 0)
        yield span if span[0] < span[1] else None, ruler.data[start:end]
        done = end
