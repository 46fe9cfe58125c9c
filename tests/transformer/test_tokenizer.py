"""tokenizer.py: what an Encoding promises, by hand and for any text; our own byte tokenizer."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.errors import BrokenText, UnknownToken
from transformer.tokenizer import ByteTokenizer, Encoding, spelled

CASES = json.loads((Path(__file__).parent.parent / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] if "text" in case else case["repeat"][0] * case["repeat"][1] for case in CASES]
BARE = ByteTokenizer(add_bos=False)


def by_pieces(*pieces: str | bytes) -> Encoding:
    """An encoding whose tokens spell `pieces` one after the other."""
    data = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    return spelled(range(len(data)), [repr(piece) for piece in data], data, [False] * len(data))


def test_bytes_by_hand():
    made = BARE.encode("a  b\n\tc ")
    assert made.ids == (100, 35, 35, 101, 13, 12, 102, 35)
    assert made.tokens == ("a", "·", "·", "b", "↵", "→", "c", "·")
    assert made.spans == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8))
    assert made.words == (0, None, None, 1, None, None, 2, None)
    assert made.groups == tuple(range(8))


def test_a_character_in_three_bytes_is_one_group():
    made = ByteTokenizer().encode("a小")
    assert made.tokens == ("<bos>", "a", "⟨E5⟩", "⟨B0⟩", "⟨8F⟩")
    assert made.spans == (None, (0, 1), (1, 2), (1, 2), (1, 2))
    assert made.bytes == (b"", b"a", b"\xe5", b"\xb0", b"\x8f")
    assert made.special == (True, False, False, False, False)
    assert made.groups == (0, 1, 2, 2, 2)
    assert made.words == (None, 0, 1, 1, 1)
    assert made.graphemes == (("", 0, 0), ("a", 1, 1), ("小", 2, 4))


@pytest.mark.parametrize("sign", ["👩‍👩‍👧", "🏳️‍🌈", "e\u0301", "한", "1️⃣"])
def test_one_grapheme_is_shown_once(sign):
    made = BARE.encode(f"x{sign}y")
    assert [text for text, _, _ in made.graphemes] == ["x", sign, "y"]


def test_tokens_that_cut_two_characters_join_both():
    made = by_pieces(b"\xe5\xb0", b"\x8f\xe6", b"\x98\x8e", "!")  # 小明!
    assert made.spans == ((0, 1), (0, 2), (1, 2), (2, 3))
    assert made.graphemes == (("小明", 0, 2), ("!", 3, 3))
    assert made.words == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (("the", " cat", " sat", "."), (0, 1, 2, 3)),
        (("un", "believ", "able", " it", "'", "s"), (0, 0, 0, 1, 1, 1)),
        (("3", ".", "14", ",", " 2", "5", "."), (0, 0, 0, 1, 2, 2, 3)),
        (("小明", "因为", "了"), (0, 1, 2)),  # words that one token covers count as one
        (("a b", " c"), (0, 1)),
        (("  ", "\n", "x"), (None, None, 0)),
        (("می", "\u200c", "خواهم"), (0, 0, 0)),
    ],
)
def test_words(pieces, words):
    assert by_pieces(*pieces).words == words


@pytest.mark.parametrize("text", TEXTS, ids=[case["id"] for case in CASES])
def test_every_case_comes_back(text):
    made = BARE.encode(text)
    assert b"".join(made.bytes).decode() == text
    assert "".join(part for part, _, _ in made.graphemes) == text
    assert BARE.decode(made.ids) == text
    assert len(made.tokens) == len(made.ids)
    assert made.gaps == ()


@given(st.text())
@settings(deadline=None)  # other tests may use the machine
def test_any_text_comes_back(text):
    made = BARE.encode(text)
    assert b"".join(made.bytes).decode() == "".join(part for part, _, _ in made.graphemes) == text
    assert made.tokens == tuple(map(BARE.token, made.ids))
    assert [last + 1 for _, _, last in made.graphemes[:-1]] == [first for _, first, _ in made.graphemes[1:]]


def test_half_a_character_is_a_named_error():
    with pytest.raises(BrokenText) as caught:
        BARE.encode("ab\ud83d")
    assert caught.value.values == {"position": 3, "character": r"\ud83d"}


def test_ids_outside_the_vocabulary():
    assert BARE.token(258) == "⟨FF⟩"
    for id in (-1, 259):
        with pytest.raises(UnknownToken):
            BARE.token(id)
        with pytest.raises(UnknownToken):
            BARE.encoding_of_ids([5, id])


def test_ids_spell_a_text_unless_they_are_padding():
    made = BARE.encoding_of_ids(np.array([0, 0, 100, 101, 2]), padding=np.array([True, True, False, False, False]))
    assert made.text == "ab"
    assert made.tokens == ("<pad>", "<pad>", "a", "b", "<eos>")
    assert made.spans == (None, None, (0, 1), (1, 2), None)
    assert made.padding == (True, True, False, False, False)
    assert BARE.encoding_of_ids([100, 100], padding=[True, False]).text == "a"


def test_ids_that_break_off_inside_a_character_spell_no_text():
    made = BARE.encoding_of_ids([100, 3 + 0xE5])
    assert (made.text, made.spans, made.bytes) == (None, (None, None), (b"a", b"\xe5"))
    assert made.graphemes == (("", 0, 0), ("", 1, 1))
    assert BARE.decode(made.ids) == r"a\xe5"


def test_ids_without_a_tokenizer_are_named_by_their_number():
    made = Encoding.from_ids([5, 7, 5], padding=[True, False, False])
    assert made.tokens == ("5", "7", "5")
    assert made.text is None
    assert made.groups == (0, 1, 2)
    assert made.unknown == (False,) * 3
    assert made.gaps == ()
    assert Encoding.from_ids([5], lambda id: f"t{id}").tokens == ("t5",)
    assert len(Encoding.from_ids([])) == 0


def test_lengths_must_fit():
    with pytest.raises(AssertionError, match="1 padding do not fit 2 ids"):
        Encoding.from_ids([5, 7], padding=[True])


def test_gaps_are_the_text_that_no_token_holds():
    pieces = [(None, b""), ((1, 4), b"the"), ((6, 9), b"cat"), (None, b"")]
    special = [True, False, False, True]
    made = Encoding.from_spans([2, 5, 7, 3], ["[", "the", "cat", "]"], " the  cat\n", pieces, special)
    assert made.gaps == ((0, 1), (4, 6), (9, 10))
    assert made.words == (None, 0, 1, None)


def test_a_token_inside_another_one_belongs_to_its_group():
    pieces = [((0, 3), b"abc"), ((1, 2), b""), ((2, 3), b""), ((3, 4), b"d")]
    made = Encoding.from_spans([5, 7, 7, 5], ["abc", "b", "c", "d"], "abcd", pieces, [False] * 4)
    assert made.groups == (0, 0, 0, 1)
    assert made.graphemes == (("abc", 0, 2), ("d", 3, 3))
