"""familiar.py: what training never showed is told, and only of models whose training we know."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from transformer import wrap
from transformer.decoder_lm import DecoderLM
from transformer.familiar import Unfamiliar, unfamiliar
from transformer.piece_tokenizer import PieceTokenizer

TOKENIZER = PieceTokenizer(("the", " cat", " the"))


@pytest.fixture
def model(tiny):
    made = wrap(DecoderLM(tiny(vocab_size=TOKENIZER.vocab_size)), TOKENIZER, "small")
    return replace(made, card=SimpleNamespace(longest=5))


def test_known_words_are_familiar(model) -> None:
    assert unfamiliar(model, {"decoder": TOKENIZER.encode("the cat the cat")}) is None


def test_bytes_and_length_are_not(model) -> None:
    strange = unfamiliar(model, {"decoder": TOKENIZER.encode("the xx")})
    assert strange == Unfamiliar(tokens=("·", "x"), count=3, longest=0)
    assert unfamiliar(model, {"decoder": TOKENIZER.encode("the cat the cat the")}) == Unfamiliar((), 0, 5)
    assert unfamiliar(model, {"encoder": TOKENIZER.encode("the"), "decoder": TOKENIZER.encode("x")}).count == 1


def test_of_models_that_others_trained_nothing_is_claimed(model) -> None:
    assert unfamiliar(replace(model, card=None), {"decoder": TOKENIZER.encode("qqq")}) is None
