"""A typed word: how it begins, with and without a space."""

from pathlib import Path

import pytest

from transformer import load_model
from transformer.errors import BrokenText
from transformer.tokenizer import ByteTokenizer
from transformer.typed import FirstToken, first_tokens


def test_bytes_begin_with_their_first_byte_and_a_bare_space_is_no_beginning() -> None:
    assert first_tokens(ByteTokenizer(), "cat") == (FirstToken("cat", 3 + ord("c"), 3, False),)
    assert first_tokens(ByteTokenizer(), " cat") == (FirstToken(" cat", 3 + ord(" "), 4, False),)
    assert first_tokens(ByteTokenizer(), "") == ()
    with pytest.raises(BrokenText):
        first_tokens(ByteTokenizer(), "\ud800")


def test_a_word_with_a_space_before_it_is_another_token(smollm2_folder: Path) -> None:
    tokenizer = load_model("smollm2").tokenizer
    assert tokenizer is not None
    bare, spaced = first_tokens(tokenizer, "Paris")
    assert (bare.typed, spaced.typed) == ("Paris", " Paris") and bare.id != spaced.id and spaced.count == 1
    assert tokenizer.token(spaced.id) == "·Paris"
    assert len(first_tokens(tokenizer, " Paris")) == 1


def test_specials_that_the_tokenizer_puts_there_are_passed_over(minilm_folder: Path) -> None:
    tokenizer = load_model("minilm").tokenizer
    assert tokenizer is not None
    (one,) = first_tokens(tokenizer, "cats")  # a space changes nothing for BERT
    assert tokenizer.token(one.id) == "cats" and one.count == 1
    (mask,) = first_tokens(tokenizer, "[MASK]")
    assert tokenizer.token(mask.id) == "[MASK]"
    (lost,) = first_tokens(tokenizer, "\ua66e")
    assert lost.unknown
