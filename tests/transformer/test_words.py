"""words.py: which tokens make a word, and attention from word to word by hand and by its laws."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from transformer.image import ImageEncoding, ImageShape
from transformer.piece_tokenizer import PieceTokenizer
from transformer.tokenizer import ByteTokenizer, Encoding
from transformer.visible import visible
from transformer.words import Words, allowed_by_words, by_words, words_of

CASES = json.loads((Path(__file__).parent.parent / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] for case in CASES if case.get("text")]
BYTES, PIECES = ByteTokenizer(), PieceTokenizer((" un", "believ", "able", "!", " ", "\n"))


def test_words_by_hand():
    made = words_of(PIECES.encode(" unbelievable!\n un"))
    assert made.names == ("<bos>", "·unbelievable", "!", "↵", "·un")
    assert made.of_token == (0, 1, 1, 1, 2, 3, 4)
    assert made.tokens == ((0,), (1, 2, 3), (4,), (5,), (6,))


def test_a_sign_is_never_cut():
    made = words_of(BYTES.encode("小\r\n👩‍👧"))
    assert made.names == ("<bos>", "小", "\\u000d↵", "👩‍👧")
    assert made.of_token == (0, *[1] * 3, *[2] * 2, *[3] * 11)


def test_ids_padding_and_patches_are_words_by_themselves():
    padded = BYTES.encoding_of_ids([1, 100, 101, 0, 0], [False, False, False, True, True])
    assert words_of(padded).names == ("<bos>", "ab", "<pad>", "<pad>")
    assert words_of(Encoding.from_ids([5, 7, 5])).names == ("5", "7", "5")
    image = ImageEncoding.of(np.zeros((1, 4, 4)), ImageShape(1, 4, 4, 2))
    assert words_of(image).names == ("[CLS]", "1,1", "1,2", "2,1", "2,2")


def test_a_token_without_text_may_stand_inside_a_word():
    """As SentencePiece's own space does in some normalised texts."""
    made = Encoding.from_spans(
        [3, 4, 5], ["a", "▁", "b"], "ab", [((0, 1), b"a"), (None, b""), ((1, 2), b"b")], [False] * 3
    )
    words = words_of(made)
    assert words.of_token == (0, 1, 0) and words.names == ("ab", "▁")
    weights = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]], np.float32)
    assert by_words(weights, words, words).tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_sum_over_keys_and_mean_over_queries_by_hand():
    queries, keys = Words(("ab", "c"), (0, 0, 1)), Words(("x", "yz"), (0, 1, 1))
    weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.0, 0.5, 0.5]], np.float32)
    made = by_words(weights, queries, keys)
    assert made.dtype == np.float32 and made.tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert by_words(np.stack([weights, 2 * weights]), queries, keys)[1].tolist() == [[1.5, 0.5], [0.0, 2.0]]
    pixels = by_words(np.full((3, 3), 200, np.uint8), queries, keys)
    assert pixels.dtype == np.float32 and pixels.tolist() == [[200, 400], [200, 400]], "no overflow"
    allowed = np.array([[True, False, False], [False, False, False], [False, False, True]])
    assert allowed_by_words(allowed, queries, keys).tolist() == [[True, False], [False, True]]


def grouping(count: int) -> st.SearchStrategy[Words]:
    """Words over `count` tokens in the order of their first tokens, not always neighbours."""

    def numbered(labels: list[int]) -> Words:
        number: dict[int, int] = {}
        of_token = tuple(number.setdefault(label, len(number)) for label in labels)
        return Words(tuple(map(str, number.values())), of_token)

    return st.lists(st.integers(0, 4), min_size=count, max_size=count).map(numbered)


@given(arrays.arrays(np.float32, (3, 5, 7), elements=st.floats(0.0078125, 1, width=32)), grouping(5), grouping(7))
def test_rows_keep_their_sum_and_single_tokens_their_place(weights, queries, keys):
    weights /= weights.sum(-1, keepdims=True)
    before = weights.copy()
    made = by_words(weights, queries, keys)
    assert made.shape == (3, len(queries), len(keys)) and made.dtype == np.float32
    np.testing.assert_allclose(made.sum(-1), 1, atol=1e-5)
    expected = np.zeros_like(made, dtype=np.float64)
    for query, q in enumerate(queries.of_token):
        for key, k in enumerate(keys.of_token):
            expected[:, q, k] += weights[:, query, key] / len(queries.tokens[q])
    np.testing.assert_allclose(made, expected, atol=1e-6)
    alone = Words(tuple("abcde"), tuple(range(5))), Words(tuple("abcdefg"), tuple(range(7)))
    assert np.array_equal(by_words(weights, *alone), weights) and np.array_equal(weights, before)


@given(arrays.arrays(bool, (5, 7)), grouping(5), grouping(7))
def test_a_word_may_look_where_one_of_its_tokens_may(allowed, queries, keys):
    made = allowed_by_words(allowed, queries, keys)
    for q, rows in enumerate(queries.tokens):
        for k, columns in enumerate(keys.tokens):
            assert made[q, k] == allowed[np.ix_(rows, columns)].any()


def test_no_text_is_no_word():
    empty = Words((), ())
    assert by_words(np.zeros((2, 0, 0), np.float32), empty, empty).shape == (2, 0, 0)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tokenizer", [BYTES, PIECES], ids=["bytes", "pieces"])
def test_the_words_of_every_text_spell_it(tokenizer, text):
    encoding = tokenizer.encode(text)
    words = words_of(encoding)
    assert len(words.of_token) == len(encoding) and sorted(set(words.of_token)) == list(range(len(words)))
    for parts, name in zip(words.tokens, words.names, strict=True):
        covered = b"".join(encoding.bytes[part] for part in parts).decode()
        assert name == (visible(covered) if covered else encoding.tokens[parts[0]])
