"""How a fast tokenizer of Hugging Face cuts a text, step by step: normalise, split, then cut each word by its model.

The library tells neither its normalised text nor its words. So a probe is asked: the same tokenizer, but with a model
that spells every byte. What it says is cut here by the model's own algorithm, and the pieces are compared with the
tokenizer's tokens: steps that do not lead to them are never shown.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tokenizers import Tokenizer

from transformer.errors import InputError, ModelError
from transformer.segmentation_models import PIECE_MODELS, Cut, Step, naming
from transformer.tokenizer import Span, utf8

LONGEST_WORD = 400  # characters: the steps of a longer one fill screens, and their number grows with its square

_SPELLER = {
    "type": "BPE",
    "vocab": {f"<0x{byte:02X}>": byte for byte in range(256)},
    "merges": [],
    "byte_fallback": True,
}


class NoSegmentationSteps(ModelError):
    """Its model (`kind`) is none that we can follow, or a part of it is written in Python ("custom")."""


class SegmentationDiffers(ModelError):
    """Our steps do not lead to the tokenizer's own tokens (`ours`, `theirs`), so they are not shown."""


class WordTooLong(InputError):
    """A word of `got` characters; steps are shown for words of up to `limit`."""


@dataclass(frozen=True)
class SegmentedWord:
    """What the tokenizer cuts on its own, and how it does so."""

    text: str  # as its model gets it: normalised; in byte-level tokenizers one letter for each byte
    span: Span  # characters of the typed text
    steps: tuple[Step, ...]  # () for an added token
    pieces: tuple[str, ...]
    added: bool = False  # an added token ("[CLS]" typed as text), taken whole before anything else happens
    dropped: tuple[str, ...] = ()  # characters that no token stands for


@dataclass(frozen=True)
class Segmentation:
    """A text from what was typed to the tokenizer's own tokens, without those that it puts around a text."""

    kind: str  # "BPE", "WordPiece" or "Unigram"
    text: str
    normalized: tuple[str, ...]  # parts between added tokens
    words: tuple[SegmentedWord, ...]
    name: Callable[[str], str]  # the readable form of a piece or a word

    @property
    def pieces(self) -> tuple[str, ...]:
        """The tokens."""
        return tuple(piece for word in self.words for piece in word.pieces)


class Segmenter:
    """`segment` for one tokenizer; reading its vocabulary takes a moment, so keep the object."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Raise `NoSegmentationSteps` where its model is none that we can follow."""
        spec = _spec_of(tokenizer)
        self.kind: str = spec["model"]["type"]
        if self.kind not in PIECE_MODELS:
            raise NoSegmentationSteps(kind=self.kind)
        self.name = naming(spec)
        self._model = PIECE_MODELS[self.kind](spec["model"])
        bare = spec | {"post_processor": None, "truncation": None, "padding": None}
        changed = tokenizer.truncation is not None or tokenizer.padding is not None
        self._theirs = _read(bare, tokenizer) if changed else tokenizer  # reading a large vocabulary again takes long
        self._words = _read(bare | {"model": _SPELLER}, tokenizer)
        self._normalizer = _read(bare | {"model": _SPELLER, "pre_tokenizer": None}, tokenizer)

    def segment(self, text: str) -> Segmentation:
        """Raise `BrokenText`, `WordTooLong`, or `SegmentationDiffers` where the steps would show something false."""
        utf8(text)
        normalized = tuple(part for part, _, added in _parts(self._normalizer, text) if not added)
        words = tuple(self._word(*part) for part in _parts(self._words, text))
        made = Segmentation(self.kind, text, normalized, words, self.name)
        theirs = tuple(self._theirs.encode(text, add_special_tokens=False).tokens)
        if made.pieces != theirs:
            ours, said = (" ".join(map(self.name, pieces)) for pieces in (made.pieces, theirs))
            raise SegmentationDiffers(ours=ours, theirs=said)
        return made

    def _word(self, text: str, span: Span, added: bool) -> SegmentedWord:
        if len(text) > LONGEST_WORD:
            raise WordTooLong(limit=LONGEST_WORD, got=len(text))
        cut = Cut((), (text,)) if added else self._model.cut(text)
        return SegmentedWord(text, span, cut.steps, cut.pieces, added, cut.dropped)


def _spec_of(tokenizer: Tokenizer) -> dict[str, Any]:
    try:
        return json.loads(tokenizer.to_str())
    except Exception:  # of the library, without a class of its own: a part written in Python cannot be written down
        raise NoSegmentationSteps(kind="custom") from None


def _read(spec: Mapping[str, Any], like: Tokenizer) -> Tokenizer:
    made = Tokenizer.from_str(json.dumps(spec))
    made.encode_special_tokens = like.encode_special_tokens
    return made


def _parts(probe: Tokenizer, text: str) -> Iterator[tuple[str, Span, bool]]:
    """(text, span of the typed text, whether it is an added token) of all that the probe cuts apart."""
    made = probe.encode(text)
    told = zip(made.word_ids, made.ids, made.offsets, made.tokens, strict=True)
    for _, tokens in groupby(told, key=lambda one: one[0]):
        _, ids, offsets, names = zip(*tokens, strict=True)
        added = ids[0] not in range(256)
        word = names[0] if added else bytes(ids).decode("utf-8")
        yield word, (min(start for start, _ in offsets), max(end for _, end in offsets)), added
