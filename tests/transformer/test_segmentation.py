"""segmentation.py: our own tokenizers step by step, one door to all, and which word each token is of."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from transformer.bpe import BytePairTokenizer
from transformer.errors import BrokenText, NoTokenizer
from transformer.hf_tokenizer import HuggingFaceTokenizer
from transformer.piece_tokenizer import PieceTokenizer
from transformer.segmentation import Segmentations, cutter_of, words_of_tokens
from transformer.segmentation_steps import NoSegmentationSteps, SegmentationDiffers, WordTooLong
from transformer.tokenizer import ByteTokenizer
from transformer.visible import visible
from transformer.wordpiece import PrefixStep

CASES = json.loads((Path(__file__).parent.parent / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] for case in CASES if "text" in case]
PIECES = PieceTokenizer(("the", " cat", " cats", "cat", "小明", " "))
PAIRS = BytePairTokenizer.train(["the cat the cats the hat"] * 3, 9)


def hugging_face() -> HuggingFaceTokenizer:
    """[CLS] the cat ##s [SEP], as BERT does it."""
    names = ["[UNK]", "[CLS]", "[SEP]", "the", "cat", "##s"]
    backend = Tokenizer(models.WordPiece({name: id for id, name in enumerate(names)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    special = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return HuggingFaceTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, **special))


def test_pieces_by_hand():
    made = cutter_of(PIECES)("the cats小")
    assert made.kind == "Pieces" and made.normalized == ("the cats小",)
    assert [word.text for word in made.words] == ["the", " cats", "小"]
    assert [word.span for word in made.words] == [(0, 3), (3, 8), (8, 9)]
    assert made.pieces == ("the", "·cats", "⟨E5⟩", "⟨B0⟩", "⟨8F⟩")
    assert made.words[1].steps == (PrefixStep(0, (" cats",), True, ("·cats",)),)
    assert made.words[2].steps == (PrefixStep(0, (), False, ("⟨E5⟩", "⟨B0⟩", "⟨8F⟩")),), "too short for its only piece"


def test_tries_go_from_the_longest_to_the_shortest():
    assert list(PIECES.tries(" cat the")) == [
        (0, (" cat ", " cat"), True),
        (4, (" the", " "), True),  # " the…" is too short for the five letters of " cats"
        (5, ("the",), True),
    ]
    assert list(PIECES.tries("小x")) == [(0, ("小x",), False), (1, (), False)]


def test_bytes_by_hand():
    made = cutter_of(ByteTokenizer())("a小")
    assert made.kind == "Bytes" and [word.pieces for word in made.words] == [("a",), ("⟨E5⟩", "⟨B0⟩", "⟨8F⟩")]
    assert [word.span for word in made.words] == [(0, 1), (1, 2)] and not any(word.steps for word in made.words)


def test_our_byte_pairs_tell_their_merges():
    made = cutter_of(PAIRS)("the cats")
    assert made.kind == "BPE" and [word.text for word in made.words] == ["the", " cats"]
    for word in made.words:
        assert word.steps[0].pair is None and word.steps[-1].pieces == word.pieces
        assert all(step.pair is not None and "".join(step.pair) == step.pieces[step.at] for step in word.steps[1:])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tokenizer", [ByteTokenizer(), PIECES, PAIRS], ids=["bytes", "pieces", "pairs"])
def test_the_steps_lead_to_the_tokens(tokenizer, text):
    made, encoding = cutter_of(tokenizer)(text), tokenizer.encode(text)
    assert made.pieces == encoding.tokens[1:]
    assert "".join(word.text for word in made.words) == text
    assert all(text[slice(*word.span)] == word.text for word in made.words)
    owner = words_of_tokens(made, encoding)
    assert owner[0] is None and None not in owner[1:] and list(owner[1:]) == sorted(owner[1:])
    for number, word in enumerate(made.words):
        covered = b"".join(encoding.bytes[token] for token, one in enumerate(owner) if one == number)
        assert covered == word.text.encode()


def test_what_the_tokenizer_puts_around_a_text_is_of_no_word():
    tokenizer = hugging_face()
    made = cutter_of(tokenizer)("cats dog the")
    assert words_of_tokens(made, tokenizer.encode("cats dog the")) == (None, 0, 0, 1, 2, None)
    with pytest.raises(SegmentationDiffers):
        words_of_tokens(made, tokenizer.encode("cats"))


def test_what_cannot_be_followed_says_so():
    class Strange(ByteTokenizer.__mro__[1]):  # our specials, but none of our tokenizers
        pass

    with pytest.raises(NoSegmentationSteps, match="Strange"):
        cutter_of(Strange())
    with pytest.raises(BrokenText):
        cutter_of(PIECES)("a\ud800")
    with pytest.raises(WordTooLong):
        cutter_of(hugging_face())("x" * 401)


class Model:
    """What is asked of a `LoadedModel`."""

    def __init__(self, tokenizer, name="model"):
        self.tokenizer = tokenizer
        self.name = self.fingerprint = name


def test_what_was_cut_is_kept():
    kept, model = Segmentations(), Model(PIECES)
    first = kept.of(model, "the cat")
    assert kept.of(model, "the cat") is first and kept.of(model, "the") is not first
    assert kept.of(Model(ByteTokenizer(), "other"), "the cat").kind == "Bytes"
    with pytest.raises(NoTokenizer):
        kept.of(Model(None), "the cat")


@given(st.text())
def test_a_readable_name_is_readable_already(text):
    assert visible(visible(text)) == visible(text)
