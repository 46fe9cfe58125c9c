"""A tokenizer with a given vocabulary of pieces: the longest piece that fits, and bytes for what no piece spells."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from transformer.tokenizer import Encoding, SpellsBytes, check_id, utf8

# The first piece comes after the specials and the bytes, which are those of `ByteTokenizer`.
_FIRST = len(SpellsBytes.NAMES) + 256


@dataclass(frozen=True)
class PieceTokenizer(SpellsBytes):
    """Left to right, longest match first (as WordPiece does, Wu et al. 2016); a space belongs to the word after it."""

    pieces: tuple[str, ...]
    add_bos: bool = True
    add_eos: bool = False
    padding_side: str = "right"
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", tuple(self.pieces))
        assert len(set(self.pieces)) == len(self.pieces) and all(self.pieces), "pieces must differ and spell something"

    @cached_property
    def vocab_size(self) -> int:
        return _FIRST + len(self.pieces)

    def encode(self, text: str) -> Encoding:
        utf8(text)  # raises BrokenText
        return self.encoding_of_ids([self.bos_id] * self.add_bos + list(self._cut(text)) + [self.eos_id] * self.add_eos)

    def is_byte(self, id: int) -> bool:
        """Whether the id is one byte that no piece spelled."""
        check_id(id, self.vocab_size)
        return len(self.NAMES) <= id < _FIRST

    def tries(self, text: str) -> Iterator[tuple[int, tuple[str, ...], bool]]:
        """Step by step: where in the text, what was looked up there, longest first, whether the last is a piece."""
        done = 0
        while done < len(text):
            tried: list[str] = []
            for length in self._lengths.get(text[done], ()):
                if done + length <= len(text):
                    tried.append(text[done : done + length])
                    if tried[-1] in self._id_of:
                        break
            found = bool(tried) and tried[-1] in self._id_of
            yield done, tuple(tried), found
            done += len(tried[-1]) if found else 1

    def _cut(self, text: str) -> Iterator[int]:
        for start, tried, found in self.tries(text):
            if found:
                yield self._id_of[tried[-1]]
            else:
                yield from (len(self.NAMES) + byte for byte in text[start].encode("utf-8"))

    def _bytes(self, id: int) -> bytes:
        check_id(id, self.vocab_size)
        if id < len(self.NAMES):
            return b""
        return bytes([id - len(self.NAMES)]) if id < _FIRST else self._data[id - _FIRST]

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {piece: _FIRST + index for index, piece in enumerate(self.pieces)}

    @cached_property
    def _lengths(self) -> dict[str, tuple[int, ...]]:
        """By first character the lengths of its pieces, longest first: what is worth a try."""
        found: dict[str, set[int]] = {}
        for piece in self.pieces:
            found.setdefault(piece[0], set()).add(len(piece))
        return {sign: tuple(sorted(lengths, reverse=True)) for sign, lengths in found.items()}

    @cached_property
    def _data(self) -> tuple[bytes, ...]:
        return tuple(piece.encode("utf-8") for piece in self.pieces)
