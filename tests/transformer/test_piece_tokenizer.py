"""piece_tokenizer.py: longest piece first, bytes for the rest, and every text back as it was."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.errors import BrokenText, UnknownToken
from transformer.piece_tokenizer import PieceTokenizer
from transformer.tokenizer import ByteTokenizer

CASES = json.loads((Path(__file__).parent.parent / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] if "text" in case else case["repeat"][0] * case["repeat"][1] for case in CASES]
PIECES = ("The", " cat", " cats", "cat", "学习", "深度学习", ".", " ")
OURS = PieceTokenizer(PIECES)
BARE = PieceTokenizer(PIECES, add_bos=False)


def test_pieces_by_hand():
    made = OURS.encode("The cats. cat")
    assert made.ids == (1, 259, 261, 265, 260)
    assert made.tokens == ("<bos>", "The", "·cats", ".", "·cat")
    assert made.spans == (None, (0, 3), (3, 8), (8, 9), (9, 13))
    assert made.special == (True, False, False, False, False)
    assert made.words == (None, 0, 1, 2, 3)


def test_the_longest_piece_wins_and_bytes_spell_the_rest():
    made = BARE.encode("深度学习小 学习")
    assert made.ids == (264, 3 + 0xE5, 3 + 0xB0, 3 + 0x8F, 266, 263)
    assert made.tokens == ("深度学习", "⟨E5⟩", "⟨B0⟩", "⟨8F⟩", "·", "学习")
    assert made.spans == ((0, 4), (4, 5), (4, 5), (4, 5), (5, 6), (6, 8))
    assert [BARE.is_byte(id) for id in made.ids] == [False, True, True, True, False, False]
    assert not any(map(BARE.is_byte, (0, 1, 2)))


def test_a_longer_piece_that_does_not_fit_gives_way():
    assert [BARE.token(id) for id in BARE.encode("深度 catx").ids[-2:]] == ["·cat", "x"]
    assert all(map(BARE.is_byte, BARE.encode("深度").ids))


def test_the_ends_are_optional():
    both = PieceTokenizer(PIECES, add_eos=True)
    assert both.encode("cat").ids == (both.bos_id, 262, both.eos_id)
    assert both.encode("").ids == (1, 2)
    assert BARE.encode("cat").ids == (262,)
    assert both.decode(both.encode("The cat").ids) == "The cat"


@pytest.mark.parametrize("text", TEXTS, ids=[case["id"] for case in CASES])
def test_every_text_comes_back(text):
    made = OURS.encode(text)
    assert made.text == text and made.gaps == ()
    assert b"".join(made.bytes).decode() == text == OURS.decode(made.ids)


@given(st.text(st.sampled_from(["T", "h", "e", " ", "c", "a", "t", "s", ".", "深", "度", "学", "习", "é"])))
def test_any_text_is_cut_like_the_plain_rule_says(text):
    expected, done = [], 0
    while done < len(text):
        fits = [piece for piece in PIECES if text.startswith(piece, done)]
        longest = max(fits, key=len, default=text[done])
        expected += [longest.encode()] if fits else [bytes([byte]) for byte in longest.encode()]
        done += len(longest)
    assert list(BARE.encode(text).bytes) == expected


def test_specials_and_bytes_are_those_of_the_byte_tokenizer():
    theirs = ByteTokenizer()
    assert [OURS.token(id) for id in range(theirs.vocab_size)] == [theirs.token(id) for id in range(theirs.vocab_size)]
    assert OURS.vocab_size == theirs.vocab_size + len(PIECES)
    assert (OURS.pad_id, OURS.bos_id, OURS.eos_id, OURS.padding_side) == (0, 1, 2, "right")
    assert OURS.encode("xyz").ids == theirs.encode("xyz").ids


def test_given_ids_spell_a_text_where_they_can():
    made = OURS.encoding_of_ids([1, 259, 260, 0, 0], padding=[False, False, False, True, True])
    assert made.text == "The cat" and made.spans[-1] is None and made.padding[-2:] == (True, True)
    broken = OURS.encoding_of_ids([259, 3 + 0xE5])
    assert broken.text is None and broken.spans == (None, None) and broken.tokens == ("The", "⟨E5⟩")
    assert OURS.decode([259, 3 + 0xE5]) == "The\\xe5"


def test_what_it_refuses():
    with pytest.raises(BrokenText):
        OURS.encode("a\ud800")
    for id in (-1, OURS.vocab_size):
        for ask in (OURS.token, OURS.is_byte, lambda id: OURS.decode([id]), lambda id: OURS.encoding_of_ids([id])):
            with pytest.raises(UnknownToken):
                ask(id)
    with pytest.raises(AssertionError):
        PieceTokenizer(("a", "a"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        OURS.add_bos = False


def test_a_list_from_a_file_will_do():
    assert PieceTokenizer(list(PIECES)) == OURS and hash(PieceTokenizer(list(PIECES))) == hash(OURS)
