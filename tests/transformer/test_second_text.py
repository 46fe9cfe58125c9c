"""The second text: one start token before it, nothing that closes it, the same pass as in generation."""

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from tests.transformer.families import build
from transformer.encoder_decoder import EncoderDecoder
from transformer.errors import EmptyText, TooManyTokens
from transformer.generate import GenerationSettings, generate
from transformer.prompt import prompt_of
from transformer.rows import encode_target, target_rows
from transformer.runner import run
from transformer.second_text import begun
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import LoadedModel, wrap

NAMES = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{number}" for number in range(4, 53))]  # id 7 is "w7"
SOURCE, TARGET = "w4 w6 w8 w6", "w7 w9 w7"


def words(template: str) -> PreTrainedTokenizerFast:
    """A tokenizer of words whose closing is that of T5 ("$A </s>") or BART ("<s> $A </s>")."""
    backend = Backend(WordLevel({name: id for id, name in enumerate(NAMES)}, unk_token="<unk>"))
    backend.pre_tokenizer = Whitespace()
    backend.post_processor = TemplateProcessing(single=template, special_tokens=[("<s>", 1), ("</s>", 2)])
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


@pytest.fixture(scope="module")
def t5() -> LoadedModel:
    return wrap(build("t5", decoder_start_token_id=0, pad_token_id=0, eos_token_id=2), words("$A </s>"))


@pytest.fixture(scope="module")
def bart() -> LoadedModel:
    special = {"decoder_start_token_id": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return wrap(build("bart", **special), words("<s> $A </s>"))


def test_t5_begins_with_its_padding_token_and_bart_with_its_end_token(t5, bart) -> None:
    """As in their training: the labels, shifted by one; `<s>` is a token that BART writes itself."""
    found = encode_target(t5, TARGET)
    assert found.ids == (0, 7, 9, 7) and found.tokens == ("<pad>", "w7", "w9", "w7") and found.text == TARGET
    assert found.special == (True, False, False, False) and found.spans[0] is None and found.padding == (False,) * 4
    assert found.graphemes[0] == ("", 0, 0) and len(set(found.groups)) == 4
    assert encode_target(bart, TARGET).ids == (2, 1, 7, 9, 7)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_a_recorded_text_is_the_pass_of_generation(name, request) -> None:
    model = request.getfixturevalue(name)
    trace = run(model, SOURCE, TARGET)
    settings = GenerationSettings(max_new_tokens=1, stop_ids=())
    (step,) = generate(model, TARGET, source=SOURCE, settings=settings)
    assert trace.encodings["decoder"].ids == step.ids[:-1]
    ids, shares = trace.probabilities(-1)
    assert ids[0] == step.token
    np.testing.assert_allclose(shares[:10], step.distribution.p[:10], atol=1e-6)
    first = run(model, SOURCE, target_ids=[step.ids[0]])
    (nothing,) = generate(model, source=SOURCE, settings=settings)
    assert nothing.ids[0] == step.ids[0] and first.probabilities(0)[0][0] == nothing.token


def test_ids_stay_as_they_are_given(t5) -> None:
    assert run(t5, SOURCE, target_ids=[7, 9, 2]).encodings["decoder"].ids == (7, 9, 2)


def test_rows_of_unequal_length_begin_alike(t5) -> None:
    rows = target_rows(t5, ["w7", TARGET], None, None, 2)
    assert [one.ids for one in rows] == [(0, 7, 0, 0), (0, 7, 9, 7)]
    assert [one.padding for one in rows] == [(False, False, True, True), (False,) * 4]


def test_our_own_start_token_is_not_doubled_and_gives_way_to_the_models(tiny) -> None:
    ours = wrap(EncoderDecoder(tiny(vocab_size=ByteTokenizer.vocab_size)), ByteTokenizer())
    assert encode_target(ours, "ab").ids == (1, 100, 101) == prompt_of(ours, "ab", None, "x", None).ids
    theirs = wrap(build("t5", vocab_size=259, decoder_start_token_id=0), ByteTokenizer())
    found = encode_target(theirs, "a b\na")
    assert found.ids == (0, 100, 35, 101, 13, 100) and found.tokens[0] == "<pad>" and found.text == "a b\na"


def test_where_nobody_names_a_start_token_nothing_is_put_before(tiny) -> None:
    model = wrap(EncoderDecoder(tiny(vocab_size=259)), ByteTokenizer(add_bos=False, bos_id=None))
    assert encode_target(model, "ab").ids == (100, 101)


def test_its_length_and_emptiness_are_checked_with_the_start_token(t5) -> None:
    assert len(encode_target(t5, TARGET, 4)) == 4, "the end token that is left out takes no room"
    with pytest.raises(TooManyTokens) as caught:
        encode_target(t5, TARGET, 3)
    assert (caught.value.values["got"], caught.value.values["limit"]) == (4, 3)
    with pytest.raises(EmptyText):
        encode_target(t5, " ")


def test_specials_inside_a_text_stay(t5) -> None:
    encoding = t5.tokenizer.encode("w7 </s> w9")
    assert begun(t5, encoding).ids == (0, 7, 2, 9)
