"""One door to how any tokenizer cuts a text, step by step: ours here, Hugging Face's in `segmentation_steps.py`."""

from collections.abc import Callable, Iterator

from transformer.bpe import BytePairTokenizer, EncodeStep
from transformer.errors import NoTokenizer
from transformer.hf_tokenizer import HuggingFaceTokenizer
from transformer.kept import Kept
from transformer.piece_tokenizer import PieceTokenizer
from transformer.segmentation_steps import (
    NoSegmentationSteps,
    Segmentation,
    SegmentationDiffers,
    SegmentedWord,
    Segmenter,
)
from transformer.tokenizer import ByteTokenizer, Encoding, Tokenizer, utf8
from transformer.visible import visible, visible_bytes
from transformer.wordpiece import PrefixStep
from transformer.wrapped import LoadedModel

Cutter = Callable[[str], Segmentation]
CUTTERS_KEPT = 8
TEXTS_KEPT = 64


class Segmentations:
    """The texts that were cut lately, and what cuts them; several threads may ask."""

    def __init__(self) -> None:
        self._cutters = Kept[str, Cutter](CUTTERS_KEPT)
        self._made = Kept[tuple[str, str], Segmentation](TEXTS_KEPT)

    def of(self, model: LoadedModel, text: str) -> Segmentation:
        """Raises `NoTokenizer`, and what `cutter_of` and its cutter raise."""
        tokenizer, mark = model.tokenizer, model.fingerprint
        if tokenizer is None:
            raise NoTokenizer(name=model.name)
        cut = self._cutters.get_or_make(mark, lambda: cutter_of(tokenizer))
        return self._made.get_or_make((mark, text), lambda: cut(text))


def cutter_of(tokenizer: Tokenizer) -> Cutter:
    """What cuts a text as this tokenizer does; making it may take a moment, so keep it.

    Ours are of kind "Bytes" (a word is a character, and has no steps), "Pieces" (a word is what was taken at one
    place of the text) or "BPE". Raises `NoSegmentationSteps`; the cutter raises what `Segmenter.segment` raises.
    """
    if isinstance(tokenizer, HuggingFaceTokenizer):
        return Segmenter(tokenizer.backend).segment
    if isinstance(tokenizer, ByteTokenizer):
        return lambda text: _made("Bytes", text, _characters(text))
    if isinstance(tokenizer, PieceTokenizer):
        return lambda text: _made("Pieces", text, _tries(tokenizer, text))
    if isinstance(tokenizer, BytePairTokenizer):
        return lambda text: _made("BPE", text, _merges(tokenizer, text))
    raise NoSegmentationSteps(kind=type(tokenizer).__name__)


def words_of_tokens(made: Segmentation, encoding: Encoding) -> tuple[int | None, ...]:
    """For each token the number of its word in `made`, None for those that the tokenizer put around the text.

    Raises `SegmentationDiffers` where these are not the tokens of that text.
    """
    around = [special and span is None for special, span in zip(encoding.special, encoding.spans, strict=True)]
    if len(around) - sum(around) != len(made.pieces):
        raise SegmentationDiffers(ours=" ".join(map(made.name, made.pieces)), theirs=" ".join(encoding.tokens))
    word = iter(number for number, one in enumerate(made.words) for _ in one.pieces)
    return tuple(None if outside else next(word) for outside in around)


def _made(kind: str, text: str, words: Iterator[SegmentedWord]) -> Segmentation:
    """Our tokenizers change nothing before they cut, and their pieces are named readably."""
    utf8(text)  # raises BrokenText
    return Segmentation(kind, text, (text,), tuple(words), visible)


def _characters(text: str) -> Iterator[SegmentedWord]:
    for place, character in enumerate(text):
        yield SegmentedWord(character, (place, place + 1), (), _names(character.encode("utf-8")))


def _tries(tokenizer: PieceTokenizer, text: str) -> Iterator[SegmentedWord]:
    for start, tried, found in tokenizer.tries(text):
        taken = tried[-1] if found else text[start]
        pieces = (visible(taken),) if found else _names(taken.encode("utf-8"))
        step = PrefixStep(0, tried, found, pieces)
        yield SegmentedWord(taken, (start, start + len(taken)), (step,), pieces)


def _merges(tokenizer: BytePairTokenizer, text: str) -> Iterator[SegmentedWord]:
    done = 0
    for word, steps in tokenizer.steps(text):
        named = tuple(_named(step) for step in steps)
        yield SegmentedWord(word, (done, done + len(word)), named, named[-1].pieces)
        done += len(word)


def _named(step: EncodeStep[bytes]) -> EncodeStep[str]:
    pair = None if step.pair is None else (visible_bytes(step.pair[0]), visible_bytes(step.pair[1]))
    return EncodeStep(tuple(map(visible_bytes, step.pieces)), pair, step.rank, step.at, step.whole)


def _names(data: bytes) -> tuple[str, ...]:
    """The name of each byte: "⟨E5⟩"."""
    return tuple(visible_bytes(bytes([byte])) for byte in data)
