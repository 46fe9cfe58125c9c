"""wordpiece.py: BERT's example by hand, every prefix that is tried, words that are lost; parity with the library."""

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from transformer.wordpiece import wordpiece_steps

PIECES = ("[UNK]", "un", "##aff", "##able", "##a", "a", "b", "##b", "ab", "小", "##ab")
VOCABULARY = {piece: id for id, piece in enumerate(PIECES)}


def test_unaffable_by_hand():
    first, second, third = wordpiece_steps("unaffable", VOCABULARY)
    assert first.tried == ("unaffable", "unaffabl", "unaffab", "unaffa", "unaff", "unaf", "una", "un")
    assert (second.start, second.tried[0], second.tried[-1]) == (2, "##affable", "##aff")
    assert third.tried == ("##able",) and third.pieces == ("un", "##aff", "##able")
    assert all(step.found for step in (first, second, third))


def test_one_character_without_a_piece_loses_the_whole_word():
    *_, last = wordpiece_steps("unx", VOCABULARY)
    assert last == type(last)(2, ("##x",), False, ("[UNK]",))


def test_a_long_word_is_not_tried():
    (only,) = wordpiece_steps("a" * 8, VOCABULARY, longest=7, unknown="?")
    assert only.tried == () and not only.found and only.pieces == ("?",)
    assert len(list(wordpiece_steps("a" * 7, VOCABULARY, longest=7))) == 7


@given(st.text(alphabet="abun小x", min_size=1, max_size=12))
def test_pieces_are_the_librarys(word):
    *_, last = wordpiece_steps(word, VOCABULARY, longest=11)
    backend = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]", max_input_chars_per_word=11))
    assert list(last.pieces) == backend.encode(word).tokens
    assert not last.found or "".join(piece.removeprefix("##") for piece in last.pieces) == word
