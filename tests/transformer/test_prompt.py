"""Where a generation begins and ends: given ids, start and end tokens, and what is refused by name."""

import pytest

from tests.transformer.families import build, family
from transformer.decoder_lm import DecoderLM
from transformer.encoder_decoder import EncoderDecoder
from transformer.errors import EmptyText, NoTokenizer, ShapesDoNotFit, UnknownToken
from transformer.next_pass import NotAGenerator
from transformer.prompt import MissingSource, NoRoomToWrite, Prompt, end_ids, prompt_of
from transformer.second_text import NoStartToken, start_id
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import wrap

BYTES = {"vocab_size": ByteTokenizer.vocab_size, "max_positions": 23}


@pytest.fixture(scope="module")
def decoder(tiny):
    return wrap(DecoderLM(tiny(**BYTES)), ByteTokenizer(), "decoder")


@pytest.fixture(scope="module")
def translator(tiny):
    return wrap(EncoderDecoder(tiny(**BYTES)), ByteTokenizer(), "translator")


def test_a_text_is_continued_as_its_tokenizer_reads_it(decoder) -> None:
    assert prompt_of(decoder, "Hi", None, None, None) == Prompt((1, 75, 108), None, 23)
    assert prompt_of(decoder, None, [5, 7, 5], None, None, max_tokens=11) == Prompt((5, 7, 5), None, 11)


def test_specials_that_would_close_a_text_are_left_out(tiny) -> None:
    """BERT's tokenizer puts [CLS] before a text and [SEP] behind it, T5's an end token behind it."""

    class Closing(ByteTokenizer):
        def encode(self, text):
            return self.encoding_of_ids([*ByteTokenizer.encode(self, text).ids, self.eos_id])

    model = wrap(DecoderLM(tiny(**BYTES)), Closing())
    assert prompt_of(model, "Hi", None, None, None).ids == (1, 75, 108)


def test_an_encoder_decoder_reads_the_source_and_begins_with_its_start_token(translator) -> None:
    assert prompt_of(translator, None, None, "Hi", None) == Prompt((1,), (1, 75, 108), 23)
    assert prompt_of(translator, "a", None, "Hi", None).ids == (1, 100), "a text comes behind the start token, once"
    assert prompt_of(translator, None, [2, 9], None, [5, 7]) == Prompt((2, 9), (5, 7), 23)


def test_the_same_ids_on_both_sides_need_no_source(translator) -> None:
    assert prompt_of(translator, "Hi", None, None, None, same_ids=True) == Prompt((1, 75, 108), None, 23)


def test_start_and_end_tokens_of_ours_and_of_transformers(decoder, tiny) -> None:
    assert (start_id(decoder), end_ids(decoder)) == (1, (2,))
    assert end_ids(wrap(DecoderLM(tiny()))) == ()
    assert end_ids(wrap(build("glm"))) == (7, 50), "GLM ends a text with any of several tokens"
    assert end_ids(family("gpt2").model) == (), "50256 lies beyond a vocabulary of 53"
    assert start_id(family("marian").model) == 0 and start_id(family("bart").model) == 2


def test_a_start_token_that_nobody_names(tiny) -> None:
    with pytest.raises(NoStartToken, match="ids="):
        prompt_of(wrap(EncoderDecoder(tiny())), None, None, None, [5, 7])


@pytest.mark.parametrize(
    ("error", "given"),
    [
        (EmptyText, {"text": ""}),
        (EmptyText, {}),
        (EmptyText, {"ids": []}),
        (UnknownToken, {"ids": [5, 259]}),
        (NoRoomToWrite, {"ids": [5] * 23}),
        (NoRoomToWrite, {"text": "Hello", "max_tokens": 6}),
        (ShapesDoNotFit, {"ids": [[5, 7], [9, 3]]}),
        (ShapesDoNotFit, {"text": "Hi", "source": "Hi"}),
        (ShapesDoNotFit, {"text": "Hi", "same_ids": True}),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_by_name(decoder, error, given) -> None:
    inputs = {"text": None, "ids": None, "source": None, "source_ids": None} | given
    with pytest.raises(error):
        prompt_of(decoder, **inputs)


def test_other_refusals(translator, tiny) -> None:
    with pytest.raises(MissingSource, match="source="):
        prompt_of(translator, "Hi", None, None, None)
    with pytest.raises(NotAGenerator):
        prompt_of(family("bert").model, None, [5, 7], None, None)
    with pytest.raises(NoTokenizer):
        prompt_of(wrap(DecoderLM(tiny())), "Hi", None, None, None)
    with pytest.raises(ShapesDoNotFit, match="load_model"):
        prompt_of(DecoderLM(tiny()), "Hi", None, None, None)
