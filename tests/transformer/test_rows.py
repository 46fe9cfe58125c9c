"""rows.py: texts and ids of any kind become rows of equal length, and rows the inputs of a pass."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.transformer.families import family
from transformer.errors import EmptyText, MissingTarget, NoTokenizer, ShapesDoNotFit, TooManyTokens, UnknownToken
from transformer.rows import encode, forward_inputs, is_batch, source_rows, target_rows
from transformer.runner import run
from transformer.tokenizer import ByteTokenizer


def model(**changes: object) -> SimpleNamespace:
    """What `rows` asks of a model."""
    tokenizer = ByteTokenizer()
    given = {
        "tokenizer": tokenizer, "name": "m", "vocab_size": tokenizer.vocab_size, "max_tokens": 11, "is_causal": True,
        "encoder_decoder": False, "weights_only": False, "image": None, "module": None,
        "accepts": {"input_ids", "attention_mask", "position_ids", "use_cache"},
    }  # fmt: skip
    return SimpleNamespace(**(given | changes))


def rows(given: object = None, mask: object = None, text: object = None, limit: int | None = None, **changes: object):
    return source_rows(model(**changes), text, given, mask, limit)


def test_unequal_rows_are_padded_on_the_side_of_the_tokenizer():
    right = rows([[5, 6, 7], [8]])
    assert [one.ids for one in right] == [(5, 6, 7), (8, 0, 0)]
    assert [one.padding for one in right] == [(False,) * 3, (False, True, True)]
    left = rows([[5, 6, 7], [8]], tokenizer=ByteTokenizer(padding_side="left", pad_id=2))
    assert [one.ids for one in left] == [(5, 6, 7), (2, 2, 8)] and left[1].padding == (True, True, False)


def test_a_given_mask_goes_along_with_the_padding():
    given = rows([[5, 6, 7], [8, 9]], [[1, 1, 0], [0, 1]])
    assert [one.padding for one in given] == [(False, False, True), (True, False, True)]
    (text,) = rows(text="ab", mask=[1, 0, 1])
    assert text.padding == (False, True, False) and text.tokens == ("<bos>", "a", "b")


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor], ids=["list", "tuple", "numpy", "torch"])
def test_ids_of_any_kind_in_one_row_or_several(kind):
    assert [one.ids for one in rows(kind([5, 6, 7]))] == [(5, 6, 7)] and not is_batch(None, kind([5, 6, 7]))
    assert [one.ids for one in rows(kind([[5, 6], [7, 8]]))] == [(5, 6), (7, 8)] and is_batch(None, kind([[5, 6]]))
    assert [one.ids for one in rows([kind([5, 6]), kind([7, 8])])] == [(5, 6), (7, 8)]
    assert all(type(id) is int for one in rows(kind([5, 6, 7])) for id in one.ids)


def test_a_row_of_nothing_but_specials_is_fine_where_ids_are_given():
    """<bos> alone is what a model starts from; only a *text* of nothing but specials is empty."""
    assert rows([1])[0].tokens == ("<bos>",)
    with pytest.raises(EmptyText):
        rows(text="")


@pytest.mark.parametrize("given", [[], [[]], [[5, 6], []], (), np.array([]), torch.tensor([])])
def test_nothing_is_no_row(given):
    for tokenizer in (ByteTokenizer(), None):
        with pytest.raises(EmptyText):
            rows(given, tokenizer=tokenizer)


@pytest.mark.parametrize("mask", [[1], [1, 1, 1, 1], [[1, 1, 1], [1, 1, 1]], [], [[]]])
def test_masks_of_another_shape_are_refused(mask):
    with pytest.raises(ShapesDoNotFit, match="attention_mask"):
        rows([5, 6, 7], mask)


@pytest.mark.parametrize(("wrong", "given"), [(259, [5, 259]), (-1, [-1, 5]), (10**9, [[5], [10**9]])])
def test_an_unknown_id_is_named(wrong, given):
    for tokenizer in (ByteTokenizer(), None):
        with pytest.raises(UnknownToken) as caught:
            rows(given, tokenizer=tokenizer)
        assert caught.value.values == {"token": wrong, "last": 258}


@given(st.integers(12, 40), st.integers(1, 60))
def test_too_many_tokens_are_named_with_both_numbers(count, limit):
    with pytest.raises(TooManyTokens) as caught:
        rows([5] * count, limit=limit)
    assert (caught.value.values["got"], caught.value.values["limit"]) == (count, min(limit, 11))
    assert len(rows([5] * min(limit, 11), limit=limit)[0]) == min(limit, 11)


def test_text_needs_a_tokenizer_and_a_text():
    with pytest.raises(NoTokenizer, match="m"):
        rows(text="a", tokenizer=None)
    for nothing in ("", [], ["a", ""], None):
        with pytest.raises(EmptyText):
            rows(text=nothing)
    assert encode(model(), "ab").ids == (1, 100, 101)


def test_targets_are_for_models_that_write():
    assert target_rows(model(), None, None, None, 1) is None
    with pytest.raises(MissingTarget, match="m"):
        target_rows(model(encoder_decoder=True), None, None, None, 1)
    with pytest.raises(ShapesDoNotFit, match="target"):
        target_rows(model(encoder_decoder=True), None, [[5], [6]], None, 1)
    assert [one.ids for one in target_rows(model(encoder_decoder=True), "a", None, None, 1)] == [(1, 100)]


def test_positions_are_made_from_the_mask():
    """Left padding counts 0 and moves nobody; without padding the model counts by itself."""
    inputs = forward_inputs(model(), rows([[0, 0, 7], [5, 6, 7]], [[0, 0, 1], [1, 1, 1]]), None)
    assert inputs["position_ids"].tolist() == [[0, 0, 0], [0, 1, 2]]
    assert inputs["attention_mask"].tolist() == [[0, 0, 1], [1, 1, 1]] and inputs["use_cache"] is False
    assert "position_ids" not in forward_inputs(model(), rows([5, 6]), None)
    assert "position_ids" not in forward_inputs(model(is_causal=False), rows([0, 6], [0, 1]), None)
    assert "position_ids" not in forward_inputs(model(accepts={"input_ids"}), rows([0, 6], [0, 1]), None)


def test_inputs_of_an_encoder_decoder_and_of_a_family_that_gives_weights_only():
    accepts = {"input_ids", "decoder_input_ids", "decoder_attention_mask"}
    writer = model(encoder_decoder=True, accepts=accepts, is_causal=False)
    targets = target_rows(writer, None, [[5, 6], [7]], None, 2)
    inputs = forward_inputs(writer, source_rows(writer, None, [[5, 6], [7, 8]], None, None), targets)
    assert inputs["decoder_input_ids"].tolist() == [[5, 6], [7, 0]]
    assert inputs["decoder_attention_mask"].tolist() == [[1, 1], [1, 0]] and "attention_mask" not in inputs
    assert forward_inputs(model(weights_only=True), rows([5]), None)["output_attentions"] is True


def test_a_real_model_is_asked_the_same_way():
    found = forward_inputs(family("bloom").model, source_rows(family("bloom").model, None, [5, 6], None, None), None)
    assert found["output_attentions"] is True and "position_ids" not in found


@pytest.mark.parametrize("ids", [[5.7, 6], "55", ["a"], [5, None], [[[5]]], 5, [float("nan")]])
def test_what_is_no_list_of_ids_is_refused_in_words(ids):
    with pytest.raises(ShapesDoNotFit):
        run(family("gpt2").model, ids=ids)


def test_a_mask_of_other_numbers_is_refused_in_words():
    with pytest.raises(ShapesDoNotFit):
        run(family("gpt2").model, ids=[5, 6, 7], attention_mask=[2, 1, -1])
