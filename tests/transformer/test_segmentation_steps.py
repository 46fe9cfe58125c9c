"""segmentation_steps.py: steps lead to the tokenizer's own tokens, for every kind of tokenizer, or nothing is shown."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import PreTokenizedString, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from transformer.bpe import EncodeStep
from transformer.errors import BrokenText
from transformer.hf_tokenizer import HuggingFaceTokenizer
from transformer.segmentation_steps import NoSegmentationSteps, SegmentationDiffers, Segmenter, WordTooLong
from transformer.unigram import LatticeStep, best_cut
from transformer.wordpiece import PrefixStep

CASES = json.loads((Path(__file__).parent.parent / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] if "text" in case else case["repeat"][0] * 30 for case in CASES]
SENTENCES = ["the cat the cat the mat", "unbelievable believable", "a  b\n\tc 12 2024", "小明考试得了满分，非常开心。"]
SENTENCES *= 5
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
QUIET = {"show_progress": False, "special_tokens": ["<unk>"]}


def byte_level(**options: object) -> Tokenizer:
    """GPT-2's kind."""
    made = Tokenizer(models.BPE(**options))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        SENTENCES, trainers.BpeTrainer(vocab_size=320, initial_alphabet=alphabet, show_progress=False)
    )
    made.add_special_tokens(["<|endoftext|>"])
    return made


def with_signs(**options: object) -> Tokenizer:
    """Old kinds of byte-pair encoding: "##" before a piece inside a word, or "</w>" behind the last one."""
    made = Tokenizer(models.BPE(unk_token="<unk>", **options))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=90, **QUIET, **options))
    return made


def sentencepiece(byte_fallback: bool = True, fuse: bool = True) -> Tokenizer:
    """Llama's kind: the whole text is one word, ▁ for a space, bytes for what the vocabulary lacks."""
    pieces = ["<unk>", *(BYTES if byte_fallback else []), "▁", *"abcehmt小", "▁t", "he", "▁the", "at", "▁c", "▁cat"]
    merges = [("▁", "t"), ("h", "e"), ("▁t", "he"), ("a", "t"), ("▁", "c"), ("▁c", "at")]
    vocab = {piece: id for id, piece in enumerate(pieces)}
    made = Tokenizer(models.BPE(vocab, merges, byte_fallback=byte_fallback, unk_token="<unk>", fuse_unk=fuse))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.add_special_tokens(["<unk>"])
    return made


def unigram(byte_fallback: bool = False) -> Tokenizer:
    """T5's kind."""
    made = Tokenizer(models.Unigram())
    made.normalizer, made.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    made.train_from_iterator(SENTENCES, trainers.UnigramTrainer(vocab_size=60, unk_token="<unk>", **QUIET))
    if byte_fallback:
        spec = json.loads(made.to_str())
        spec["model"] |= {"byte_fallback": True, "vocab": spec["model"]["vocab"] + [[byte, -9.0] for byte in BYTES]}
        made = Tokenizer.from_str(json.dumps(spec))
    return made


def wordpiece() -> Tokenizer:
    """BERT's kind, with a truncation and a padding that must not be heard, and words added later."""
    made = Tokenizer(models.WordPiece(unk_token="<unk>", max_input_chars_per_word=53))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=71, **QUIET))
    made.add_special_tokens(["[CLS]", "[SEP]"])
    made.add_tokens(["onerror", "is a"])
    made.enable_truncation(3)
    made.enable_padding(length=7)
    return made


KINDS = {
    "byte-level": byte_level(),
    "byte-level-whole": byte_level(ignore_merges=True),
    "prefixed": with_signs(continuing_subword_prefix="##"),
    "suffixed": with_signs(end_of_word_suffix="</w>"),
    "sentencepiece": sentencepiece(),
    "sentencepiece-unknown": sentencepiece(byte_fallback=False),
    "sentencepiece-unknown-apart": sentencepiece(byte_fallback=False, fuse=False),
    "unigram": unigram(),
    "unigram-bytes": unigram(byte_fallback=True),
    "wordpiece": wordpiece(),
}
SEGMENTERS = {name: Segmenter(tokenizer) for name, tokenizer in KINDS.items()}


def check(name: str, text: str) -> None:
    made = SEGMENTERS[name].segment(text)
    whole = Tokenizer.from_str(KINDS[name].to_str())
    whole.no_truncation()
    whole.no_padding()
    assert list(made.pieces) == whole.encode(text, add_special_tokens=False).tokens
    assert made.text == text and all(0 <= start <= end <= len(text) for start, end in (w.span for w in made.words))
    for word in made.words:
        assert (word.steps == ()) == word.added
        if word.steps and isinstance(word.steps[-1], EncodeStep | PrefixStep):
            assert word.steps[-1].pieces == word.pieces


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("text", TEXTS, ids=[case["id"] for case in CASES])
def test_every_case_in_every_kind(name, text):
    check(name, text)


@pytest.mark.parametrize("name", KINDS)
@given(text=st.text(st.sampled_from(sorted({*"".join(SENTENCES), *"Ωé☃\u200d", "ﬁ", "İ"})), max_size=40))
@settings(max_examples=25)
def test_any_text_in_every_kind(name, text):
    check(name, text)


def test_wordpiece_says_all_stages():
    made = SEGMENTERS["wordpiece"].segment("The CAT [SEP] Ωx onerror")
    assert made.kind == "WordPiece"
    assert [(word.text, word.span, word.added) for word in made.words] == [
        ("the", (0, 3), False),
        ("cat", (4, 7), False),
        ("[SEP]", (8, 13), True),
        ("ωx", (14, 16), False),
        ("onerror", (17, 24), True),
    ]
    assert [part.strip() for part in made.normalized] == ["the cat", "ωx"], "added tokens are taken out before"
    assert made.words[0].steps[-1].pieces == ("the",)
    lost = made.words[3].steps[-1]
    assert not lost.found and lost.pieces == ("<unk>",)


def test_unigram_hands_out_its_lattice():
    (word,) = SEGMENTERS["unigram"].segment("believable").words
    assert word.text == "▁believable" and all(isinstance(step, LatticeStep) for step in word.steps)
    assert tuple(edge.piece for edge in best_cut(word.steps)) == word.pieces
    (strange,) = SEGMENTERS["unigram"].segment("ΩΩ").words
    assert strange.pieces == ("▁", "ΩΩ"), "neighbours that are unknown are one token"


def test_a_word_that_is_a_token_needs_no_merge():
    made = SEGMENTERS["byte-level-whole"].segment("the cat")
    assert [word.steps[0].whole and len(word.steps) == 1 for word in made.words] == [True, True]
    assert not any(step.whole for word in SEGMENTERS["byte-level"].segment("the cat").words for step in word.steps)


def test_characters_that_no_token_stands_for_are_named():
    made = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    (word,) = Segmenter(made).segment("axb").words
    assert word.pieces == ("ab",) and word.dropped == ("x",)


@pytest.mark.parametrize("name", ["byte-level", "sentencepiece", "unigram", "wordpiece", "suffixed"])
def test_names_are_those_of_the_token_strip(name):
    strip = HuggingFaceTokenizer(PreTrainedTokenizerFast(tokenizer_object=KINDS[name], unk_token="<unk>"))
    for piece, id in KINDS[name].get_vocab().items():
        if not piece.startswith(("<unk>", "<|", "[")):
            assert SEGMENTERS[name].name(piece) == strip.token(id)


def test_steps_that_lead_elsewhere_are_not_shown():
    forgetful = byte_level(dropout=1.0)  # it leaves out every merge, by chance, and ours knows no chance
    assert Segmenter(forgetful).segment("x").pieces == ("x",)
    with pytest.raises(SegmentationDiffers) as error:
        Segmenter(forgetful).segment("the")
    assert error.value.values == {"ours": "the", "theirs": "t h e"}


def test_what_cannot_be_followed_is_refused_by_name():
    with pytest.raises(NoSegmentationSteps, match="WordLevel"):
        Segmenter(Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>")))

    class Halves:
        def pre_tokenize(self, text: PreTokenizedString) -> None:
            text.split(lambda _, part: [part])

    custom = byte_level()
    custom.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Halves())
    with pytest.raises(NoSegmentationSteps, match="custom"):
        Segmenter(custom)


def test_what_cannot_be_read_or_shown_is_refused_by_name():
    with pytest.raises(WordTooLong, match="401"):
        SEGMENTERS["byte-level"].segment("a" * 401)
    with pytest.raises(BrokenText):
        SEGMENTERS["byte-level"].segment("a\ud83d")
    assert SEGMENTERS["byte-level"].segment("").words == ()
