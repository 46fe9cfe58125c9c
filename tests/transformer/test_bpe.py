"""bpe.py: Sennrich's example by hand, the same merges and tokens as the `tokenizers` library, true encodings."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from transformer.bpe import BytePairTokenizer, encode_steps, merge_steps, ranks, split_words, train_steps
from transformer.errors import BrokenText, UnknownToken
from transformer.hf_tokenizer import byte_of_letter

CASES = json.loads((Path(__file__).parent.parent / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] if "text" in case else case["repeat"][0] * 30 for case in CASES]
SENTENCES = ["low low low low low lower lower newest newest newest newest newest newest widest widest widest"]
CHINESE = ["我喜欢你 你喜欢我", "我喜欢深度学习", "小明因为考试得了满分，所以非常开心。"]
LETTER_OF = {byte: letter for letter, byte in byte_of_letter().items()}
TOKENIZER = BytePairTokenizer.train([*SENTENCES, *CHINESE, "the cat\nthe cat "], 41)


def spell(letters: str) -> bytes:
    return bytes(byte_of_letter()[letter] for letter in letters)


def theirs(texts: list[str], n_merges: int, least: int) -> tuple[Tokenizer, tuple[tuple[bytes, bytes], ...]]:
    """The library's tokenizer, trained on the same texts, and its merges in bytes."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + n_merges, min_frequency=least, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    merges = json.loads(made.to_str())["model"]["merges"]
    return made, tuple((spell(left), spell(right)) for left, right in merges)


def test_training_by_hand():
    """ "low low lower": l + o and o + w stand there 3 times each; l is the older left token."""
    start, first, second, *_ = train_steps(["low low lower"], 3)
    assert start.pair is None and start.token == b"" and start.merges == ()
    assert [(word.pieces, word.count) for word in start.words] == [
        ((b"l", b"o", b"w"), 1),
        ((b" ", b"l", b"o", b"w"), 1),
        ((b" ", b"l", b"o", b"w", b"e", b"r"), 1),
    ]
    assert (first.pair, first.count, first.token) == ((b"l", b"o"), 3, b"lo")
    assert first.rivals[:3] == (((b"l", b"o"), 3), ((b"o", b"w"), 3), ((b" ", b"l"), 2))
    assert all(count > 0 for step in train_steps(["low low lower"], 9) for _, count in step.rivals)
    assert first.changed == (0, 1, 2) and first.words[1].pieces == (b" ", b"lo", b"w")
    assert second.pair == (b"lo", b"w") and second.merges == ((b"l", b"o"), (b"lo", b"w"))
    assert start.words[0].pieces == (b"l", b"o", b"w"), "a step is what was, not what became of it"


def test_a_pair_seen_once_is_not_merged_unless_asked():
    assert [step.pair for step in train_steps(["ab"], 5)] == [None]
    assert [step.pair for step in train_steps(["ab"], 5, least=1)] == [None, (b"a", b"b")]
    assert len(list(train_steps(SENTENCES, 0))) == 1
    assert next(train_steps([], 3)).words == ()


def test_overlapping_pairs_are_joined_from_the_left():
    *_, last = train_steps(["aaaaa"], 1)
    assert last.words[0].pieces == (b"aa", b"aa", b"a")


@given(st.lists(st.text(alphabet="aab c小明", max_size=30), max_size=6), st.integers(1, 2), st.integers(0, 30))
def test_merges_and_tokens_are_the_librarys(texts, least, n_merges):
    backend, merges = theirs(texts, n_merges, least)
    *_, last = train_steps(texts, len(merges), least=least)
    assert last.merges == merges
    ours = BytePairTokenizer(merges, add_bos=False)
    for text in [*texts, "abcaaab aaaa 小明明小 zz"]:
        pieces = [piece for _, steps in ours.steps(text) for piece in steps[-1].pieces]
        assert pieces == [spell(token) for token in backend.encode(text).tokens]


@pytest.mark.parametrize("text", TEXTS, ids=[case["id"] for case in CASES])
def test_every_case_is_cut_as_the_library_does(text):
    backend, merges = theirs([*SENTENCES, *CHINESE, *TEXTS], 53, 2)
    ours = BytePairTokenizer(merges, add_bos=False)
    assert [list(ours.encode(text).bytes)] == [[spell(token) for token in backend.encode(text).tokens]]
    words = [spell(word).decode() for word, _ in backend.pre_tokenizer.pre_tokenize_str(text)]
    assert split_words(text) == words


def test_encoding_by_hand():
    rank_of = ranks([(b"e", b"s"), (b"es", b"t"), (b"l", b"o"), (b"t", b"e")])
    steps = list(encode_steps("tests", rank_of))
    assert [step.pieces for step in steps] == [
        (b"t", b"e", b"s", b"t", b"s"),
        (b"t", b"es", b"t", b"s"),
        (b"t", b"est", b"s"),
    ]
    assert [(step.pair, step.rank, step.at) for step in steps] == [
        (None, None, None), ((b"e", b"s"), 0, 1), ((b"es", b"t"), 1, 1),
    ]  # fmt: skip
    assert [step.pieces for step in encode_steps(b"", rank_of)] == [()]
    assert list(encode_steps("小", rank_of))[-1].pieces == (b"\xe5", b"\xb0", b"\x8f")


def test_the_leftmost_of_equal_pairs_goes_first_and_the_mark_is_lost():
    *_, last = merge_steps(["a", "##a", "##a"], ranks([("a", "##a"), ("##a", "##a")]), mark=2)
    assert last.pieces == ("aa", "##a")


@given(st.text())
def test_each_step_is_one_piece_shorter_and_spells_the_same(text):
    for word, steps in TOKENIZER.steps(text):
        assert all(b"".join(step.pieces) == word.encode() for step in steps)
        assert [len(step.pieces) for step in steps] == list(range(len(word.encode()), len(steps[-1].pieces) - 1, -1))
        assert all(step.pieces[step.at] == b"".join(step.pair) for step in steps[1:])
        assert all(TOKENIZER.ranks[step.pair] == step.rank for step in steps[1:])


@given(st.text())
def test_encodings_are_true(text):
    made = TOKENIZER.encode(text)
    assert made.ids[0] == TOKENIZER.bos_id and made.special == (True,) + (False,) * (len(made) - 1)
    assert b"".join(made.bytes).decode() == text == TOKENIZER.decode(made.ids) == (made.text or "")
    assert made.gaps == () and made.tokens == tuple(map(TOKENIZER.token, made.ids))
    assert TOKENIZER.encoding_of_ids(made.ids) == made


def test_tokens_are_readable_and_ids_stand_in_order():
    assert TOKENIZER.vocab_size == 3 + 256 + len({left + right for left, right in TOKENIZER.merges})
    assert [TOKENIZER.token(id) for id in (0, 1, 2, 3 + ord("a"), 3 + 0xE5)] == ["<pad>", "<bos>", "<eos>", "a", "⟨E5⟩"]
    made = TOKENIZER.encode("the newest 喜欢")
    assert "newest" in "".join(made.tokens) and "喜欢" in made.tokens
    assert TOKENIZER.decode([3 + 0xE5]) == "\\xe5"
    with pytest.raises(UnknownToken):
        TOKENIZER.token(TOKENIZER.vocab_size)
    with pytest.raises(BrokenText, match="position 2"):
        TOKENIZER.encode("a\ud83d")


def test_two_pairs_that_make_the_same_token_share_its_id():
    made = BytePairTokenizer(((b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"ab", b"c")), add_bos=False)
    assert made.vocab_size == 3 + 256 + 3 and made.encode("abc").ids == (3 + 256 + 2,)
