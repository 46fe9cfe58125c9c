"""The models of Hugging Face's `tokenizers`, read from a tokenizer's JSON: each cuts a word and tells its steps."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from transformer.bpe import EncodeStep, merge_steps, ranks
from transformer.hf_tokenizer import byte_of_letter
from transformer.unigram import LatticeStep, best_cut, lattice_steps
from transformer.visible import visible, visible_bytes
from transformer.wordpiece import PrefixStep, wordpiece_steps

Step = EncodeStep[str] | PrefixStep | LatticeStep

_SPACE = "▁"  # U+2581, SentencePiece's sign for a space (Kudo & Richardson 2018)
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")  # SentencePiece's name for one byte


@dataclass(frozen=True)
class Cut:
    """One word in pieces, named as the tokenizer names them, and the steps that led to them."""

    steps: tuple[Step, ...]
    pieces: tuple[str, ...]
    dropped: tuple[str, ...] = ()  # characters that the vocabulary lacks and that byte-pair encoding leaves out


class PieceModel(Protocol):
    """What cuts the words of a tokenizer."""

    def cut(self, word: str) -> Cut: ...


class WordPieceModel:
    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = spec

    def cut(self, word: str) -> Cut:
        spec = self._spec
        unknown, mark, longest = spec["unk_token"], spec["continuing_subword_prefix"], spec["max_input_chars_per_word"]
        steps = tuple(wordpiece_steps(word, spec["vocab"], unknown=unknown, mark=mark, longest=longest))
        return Cut(steps, steps[-1].pieces)


class UnigramModel:
    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._log_probabilities = dict(spec["vocab"])
        self._bytes = spec.get("byte_fallback", False)

    def cut(self, word: str) -> Cut:
        steps = tuple(lattice_steps(word, self._log_probabilities))
        pieces: list[str] = []
        lost = ""
        for edge in (*best_cut(steps), None):
            if edge and edge.unknown:
                lost += edge.piece  # neighbours that are unknown become one token
                continue
            pieces += self._unknown(lost)
            lost = ""
            pieces += [edge.piece] if edge else []
        return Cut(steps, tuple(pieces))

    def _unknown(self, text: str) -> list[str]:
        names = _byte_names(text)
        if self._bytes and all(name in self._log_probabilities for name in names):
            return names
        return [text] if text else []


class BpeModel:
    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._vocabulary, self._spec = spec["vocab"], spec
        pairs = (pair.split(" ") if isinstance(pair, str) else pair for pair in spec["merges"])
        self._ranks = ranks((left, right) for left, right in pairs)
        self._mark, self._end = spec.get("continuing_subword_prefix") or "", spec.get("end_of_word_suffix") or ""

    def cut(self, word: str) -> Cut:
        if self._spec.get("ignore_merges") and word in self._vocabulary:
            return Cut((EncodeStep((word,), whole=True),), (word,))
        smallest, dropped = self._smallest(word)
        steps = tuple(merge_steps(smallest, self._ranks, len(self._mark)))
        return Cut(steps, steps[-1].pieces, tuple(dropped))

    def _smallest(self, word: str) -> tuple[list[str], list[str]]:
        """The pieces to begin with, one per character, and the characters for which there is none."""
        pieces: list[str] = []
        dropped: list[str] = []
        unknown: Any = self._spec.get("unk_token")
        lost_before = False
        for place, character in enumerate(word):
            name = (self._mark if place else "") + character + (self._end if place == len(word) - 1 else "")
            found = [name] if name in self._vocabulary else self._as_bytes(name)
            pieces += found
            if not found and unknown is None:
                dropped.append(character)
            elif not (found or (lost_before and self._spec.get("fuse_unk"))):
                pieces += [unknown]
            lost_before = not found
        return pieces, dropped

    def _as_bytes(self, name: str) -> list[str]:
        names = _byte_names(name)
        return names if self._spec.get("byte_fallback") and all(one in self._vocabulary for one in names) else []


PIECE_MODELS: Mapping[str, Callable[[Mapping[str, Any]], PieceModel]] = {
    "BPE": BpeModel,
    "WordPiece": WordPieceModel,
    "Unigram": UnigramModel,
}


def _byte_names(text: str) -> list[str]:
    return [f"<0x{byte:02X}>" for byte in text.encode("utf-8")]


def naming(spec: Mapping[str, Any]) -> Callable[[str], str]:
    """How the pieces of a tokenizer (`spec`, its JSON) are shown: "·cat" for Ġcat and ▁cat, "⟨E5⟩" for <0xE5>."""
    shape = json.dumps([spec["normalizer"], spec["pre_tokenizer"], spec["decoder"]], ensure_ascii=False)
    end = spec["model"].get("end_of_word_suffix") or "\n"
    byte_level, spaced, table = '"ByteLevel"' in shape, _SPACE in shape, byte_of_letter()

    def name(piece: str) -> str:
        if byte_level and not piece.endswith(end) and all(letter in table for letter in piece):
            return visible_bytes(bytes(table[letter] for letter in piece))
        if spaced:
            byte = _BYTE.fullmatch(piece)
            return visible_bytes(bytes.fromhex(byte[1])) if byte else visible(piece.replace(_SPACE, " "))
        return visible(piece)

    return name
