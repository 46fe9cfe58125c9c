"""hf_tokenizer.py: exact bytes and spans from tokenizers of every kind, made here and real ones."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.models.byt5.tokenization_byt5 import ByT5Tokenizer

from transformer.errors import BrokenText, SlowTokenizer, UnknownToken
from transformer.hf_tokenizer import HuggingFaceTokenizer, byte_of_letter

CASES = json.loads((Path(__file__).parent.parent / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] if "text" in case else case["repeat"][0] * case["repeat"][1] for case in CASES]
SENTENCES = ["the cat the cat the mat", "a  b\n\tc 12 2024", "小明考试得了满分，非常开心。", "قالت القطة مرحبا"] * 3
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level(prefix: bool = False, normalizer: object = None, without: str = "") -> PreTrainedTokenizerFast:
    """GPT-2's kind; with `prefix` RoBERTa's, whose offsets leave out spaces; with NFC Qwen's; `without` letters."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    made.decoder = decoders.ByteLevel()
    if normalizer:
        made.normalizer = normalizer
    alphabet, end = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - set(without)), "<|endoftext|>"
    made.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, special_tokens=[end], show_progress=False),
    )
    made.post_processor = processors.ByteLevel(trim_offsets=prefix, add_prefix_space=prefix)
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=end, unk_token=end)


def sentencepiece(metaspace: bool) -> PreTrainedTokenizerFast:
    """Llama's kind: ▁ for a space, one put before the text, bytes for characters that the vocabulary lacks."""
    pieces = ["<unk>", "<s>", "</s>", *BYTES, "▁", *"abcehmt小", "▁t", "he", "▁the", "at", "▁c", "▁cat"]
    merges = [("▁", "t"), ("h", "e"), ("▁t", "he"), ("a", "t"), ("▁", "c"), ("▁c", "at")]
    vocab = {piece: id for id, piece in enumerate(pieces)}
    made = Tokenizer(models.BPE(vocab, merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    if metaspace:
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.add_special_tokens(["<unk>", "<s>", "</s>"])
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def unigram(byte_fallback: bool) -> PreTrainedTokenizerFast:
    """T5's kind: runs of white space become one ▁ and NFKC changes characters; or with bytes and spaces kept."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(piece, -3.0) for piece in ["▁the", "▁cat", "at", *"abcehist", "▁a", "f"]]
    pieces += [(byte, -9.0) for byte in BYTES] if byte_fallback else []
    made = Tokenizer(models.Unigram(pieces, unk_id=2, byte_fallback=byte_fallback))
    if byte_fallback:
        made.pre_tokenizer = pre_tokenizers.Metaspace()
    else:
        made.normalizer = normalizers.NFKC()
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(["<pad>", "</s>", "<unk>"])
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", unk_token="<unk>", pad_token="<pad>", padding_side="left"
    )


def wordpiece() -> PreTrainedTokenizerFast:
    """BERT's kind, saved with a truncation and a padding, as all-MiniLM's file is."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*names, "the", "cat", "un", "##aff", "##able", *"abcex小", "##s", "<", ">", "/", "."]
    made = Tokenizer(models.WordPiece({piece: id for id, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_truncation(7)
    made.enable_padding(length=7)
    roles = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), names, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=made, **roles)


LOSSLESS = {
    "gpt2": byte_level(),
    "roberta": byte_level(prefix=True),
    "llama": sentencepiece(metaspace=False),
    "llama-metaspace": sentencepiece(metaspace=True),
    "unigram-bytes": unigram(byte_fallback=True),
}
LOSSY = {
    "qwen-nfc": byte_level(normalizer=normalizers.NFC()),
    "smollm": byte_level(without="\u0104ò"),  # the letters of the bytes 04 and F2
    "t5": unigram(byte_fallback=False),
    "bert": wordpiece(),
}
OURS = {name: HuggingFaceTokenizer(theirs) for name, theirs in (LOSSLESS | LOSSY).items()}


def check(tokenizer: HuggingFaceTokenizer, text: str, *, lossless: bool) -> None:
    """The laws of an Encoding: one token per id, bytes and gaps spell the text, groups stand in order."""
    made = tokenizer.encode(text)
    assert made.ids == tuple(tokenizer._backend.encode(text).ids)
    assert made.tokens == tuple(map(tokenizer.token, made.ids))
    dropped = {at for gap in made.gaps for at in range(*gap)}
    kept = "".join(sign for at, sign in enumerate(text) if at not in dropped).encode()
    assert b"".join(made.bytes) == bytes(byte for byte in kept if byte not in tokenizer._dropped)
    assert sorted(dropped | {at for span in made.spans if span for at in range(*span)}) == list(range(len(text)))
    assert [last + 1 for _, _, last in made.graphemes[:-1]] == [first for _, first, _ in made.graphemes[1:]]
    assert all(data == b"" for data, span in zip(made.bytes, made.spans, strict=True) if span is None)
    if lossless:
        assert made.gaps == ()
        assert "".join(part for part, _, _ in made.graphemes) == text


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("text", TEXTS, ids=[case["id"] for case in CASES])
def test_every_case_comes_back(name, text):
    check(OURS[name], text, lossless=name in LOSSLESS)


@pytest.mark.parametrize("name", OURS)
@given(st.text(max_size=20) | st.text("ab ▁\n小e\u0301\u200dﬁ👩<>/sİ", max_size=12))
@settings(deadline=None)  # other tests may use the machine
def test_any_text_comes_back(name, text):
    check(OURS[name], text, lossless=name in ("gpt2", "roberta"))


def test_white_space_by_hand():
    made = OURS["gpt2"].encode("a  b\n\tc ")
    assert made.tokens == ("a", "·", "·b", "↵", "→", "c", "·")
    assert made.bytes == (b"a", b" ", b" b", b"\n", b"\t", b"c", b" ")
    assert made.spans == ((0, 1), (1, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 8))
    assert made.words == (0, None, 1, None, None, 2, None)
    trimmed = OURS["roberta"].encode("a  b\n\tc ")
    assert trimmed.tokens == ("·a", "·", "·b", "↵", "→", "c", "·")
    assert (trimmed.bytes, trimmed.spans) == (made.bytes, made.spans)


def test_a_space_that_the_tokenizer_added_stands_for_no_text():
    made = OURS["llama"].encode("the cat\n")
    assert made.tokens == ("<s>", "·the", "·cat", "↵")
    assert made.bytes == (b"", b"the", b" cat", b"\n")
    assert made.spans == (None, (0, 3), (3, 7), (7, 8))
    alone = OURS["llama"].encode("明")
    assert alone.tokens == ("<s>", "·", "⟨E6⟩", "⟨98⟩", "⟨8E⟩")
    assert alone.spans == (None, None, (0, 1), (0, 1), (0, 1))
    assert alone.groups == (0, 1, 2, 2, 2)
    assert alone.special == (True, False, False, False, False)


def test_of_several_spaces_only_the_one_that_was_read_belongs_to_the_token():
    made = OURS["t5"].encode("the  cat\n")
    assert made.bytes == (b"the", b" cat", b"")
    assert made.gaps == ((3, 4), (8, 9))


def test_a_typed_underscore_of_sentencepiece_is_text():
    for name in ("llama", "unigram-bytes"):
        assert b"".join(OURS[name].encode("▁").bytes).decode() == "▁"


def test_the_same_letters_at_another_place_are_not_mistaken():
    without_first = byte_level(normalizer=normalizers.Replace(Regex("^a"), ""))
    made = HuggingFaceTokenizer(without_first).encode("aa")
    assert (made.spans, made.gaps) == (((1, 2),), ((0, 1),))


def test_bytes_of_an_unknown_run_are_told_apart():
    made = OURS["unigram-bytes"].encode("明!")  # the tokenizer gives the whole run "明!" to each byte
    assert made.spans == (None, (0, 1), (0, 1), (0, 1), (1, 2), None)
    assert made.groups == (0, 1, 1, 1, 2, 3)


def test_wordpiece_by_hand():
    made = OURS["bert"].encode("The  Unaffable cats.")
    assert made.tokens == ("[CLS]", "the", "un", "##aff", "##able", "cat", "##s", ".", "[SEP]")
    assert made.bytes == (b"", b"The", b"Un", b"aff", b"able", b"cat", b"s", b".", b"")
    assert made.words == (None, 0, 1, 1, 1, 2, 2, 3, None)
    assert made.gaps == ((3, 5), (14, 15))


def test_what_the_vocabulary_lacks_keeps_its_text():
    made = OURS["bert"].encode("a 🦖 [UNK]")
    assert made.tokens == ("[CLS]", "a", "[UNK]", "[UNK]", "[SEP]")
    assert made.unknown == (False, False, True, False, False)  # the second one was typed
    assert made.special == (True, False, False, True, True)
    assert made.graphemes[2] == ("🦖", 2, 2)


def test_text_that_a_normalizer_changed_keeps_its_own_bytes():
    composed = OURS["qwen-nfc"].encode("e\u0301")  # read as é, in two bytes
    assert composed.tokens == ("⟨C3⟩", "⟨A9⟩")
    assert composed.bytes == ("e\u0301".encode(), b"")
    assert composed.graphemes == (("e\u0301", 0, 1),)
    ligature = OURS["t5"].encode("\ufb01s")  # the ligature is read as f and i
    assert ligature.graphemes == (("", 0, 0), ("\ufb01", 1, 2), ("s", 3, 3), ("", 4, 4))
    assert OURS["bert"].encode("e\u0301x").graphemes[1][0].startswith("e\u0301")


def test_bytes_that_the_vocabulary_lacks_are_a_gap():
    made = OURS["smollm"].encode("a\x04b \U000a57b7]x")  # the offsets after a dropped byte are wrong
    assert made.bytes == (b"a", b"b", b" ", b"\xa5", b"\x9e", b"\xb7", b"]", b"x")
    assert made.spans == ((0, 1), (2, 3), (3, 4), (4, 5), (4, 5), (4, 5), (5, 6), (6, 7))
    assert made.gaps == ((1, 2),)


def test_typed_names_that_became_special_are_marked():
    made = OURS["gpt2"].encode("<s> [CLS]<|endoftext|>")
    assert [token for token, special in zip(made.tokens, made.special, strict=True) if special] == ["<|endoftext|>"]
    assert made.spans[-1] == (9, 22)
    assert made.bytes[-1] == b"<|endoftext|>"
    both = OURS["llama"].encode("<s>a")
    assert both.special[:2] == (True, True)
    assert both.spans[:2] == (None, (0, 3))


def test_the_alphabet_is_the_tokenizers_own():
    assert set(byte_of_letter()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(byte_of_letter().values()) == list(range(256))


def test_a_saved_truncation_or_padding_does_nothing_and_stays():
    theirs = wordpiece()
    assert len(HuggingFaceTokenizer(theirs).encode("a " * 20)) == 22
    assert theirs.backend_tokenizer.truncation["max_length"] == 7


@pytest.mark.parametrize("name", OURS)
def test_five_thousand_words_are_quick(name):
    start = perf_counter()
    made = OURS[name].encode("word " * 5000)
    assert made.graphemes[-1][2] == len(made) - 1
    assert perf_counter() - start < 5


def test_many_threads_share_one_tokenizer():
    texts = [f"the cat {number} 小明" for number in range(64)]
    with ThreadPoolExecutor(8) as pool:
        for made, text in zip(pool.map(OURS["gpt2"].encode, texts), texts, strict=True):
            assert made == OURS["gpt2"].encode(text)


def test_ids_spell_a_text_where_the_vocabulary_tells():
    made = OURS["gpt2"].encode("the cat 明")
    again = OURS["gpt2"].encoding_of_ids(made.ids)
    assert again == made
    assert OURS["llama"].encoding_of_ids(OURS["llama"].encode("the cat 明").ids).text == " the cat 明"
    pieces = OURS["bert"].encoding_of_ids([2, 7, 8, 0], padding=[False, False, False, True])
    assert pieces.tokens == ("[CLS]", "un", "##aff", "[PAD]")
    assert pieces.text is None
    assert pieces.special == (True, False, False, True)


def test_ids_outside_the_vocabulary():
    with pytest.raises(UnknownToken) as caught:
        OURS["bert"].token(999)
    assert caught.value.values == {"token": 999, "last": OURS["bert"].vocab_size - 1}


def test_padding_is_what_the_tokenizer_says():
    assert (OURS["t5"].pad_id, OURS["t5"].padding_side) == (0, "left")
    assert OURS["llama"].pad_id == 2  # none of its own: the end token


def test_half_a_character_is_a_named_error():
    with pytest.raises(BrokenText):
        OURS["gpt2"].encode("\ud83d")


def test_a_tokenizer_without_offsets_is_refused_by_name():
    with pytest.raises(SlowTokenizer) as caught:
        HuggingFaceTokenizer(ByT5Tokenizer())
    assert caught.value.values == {"name": "ByT5Tokenizer"}


@pytest.fixture(scope="module")
def smollm2(smollm2_folder):
    return HuggingFaceTokenizer(AutoTokenizer.from_pretrained(smollm2_folder))


@pytest.fixture(scope="module")
def minilm(minilm_folder):
    return HuggingFaceTokenizer(AutoTokenizer.from_pretrained(minilm_folder))


@pytest.mark.weights
def test_every_case_comes_back_from_smollm2(smollm2):
    for text in TEXTS:
        check(smollm2, text, lossless=True)
    assert smollm2.encode("The capital of France is").tokens == ("The", "·capital", "·of", "·France", "·is")


@pytest.mark.weights
def test_every_case_comes_back_from_minilm(minilm):
    for text in TEXTS:
        check(minilm, text, lossless=False)
    assert len(minilm.encode("word " * 5000)) == 5002
