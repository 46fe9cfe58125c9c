"""Summary: the first position or the mean over real ones, by hand, and what is refused."""

import pytest
import torch
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertPooler

from transformer.errors import ShapesDoNotFit
from transformer.summary import Summary

X = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [11.0, 12.0]]])
REAL = torch.tensor([[1, 1, 0]])


def test_first_and_mean_by_hand():
    assert Summary(2, "first")(X).tolist() == [[1.0, 2.0]]
    assert Summary(2, "mean")(X).tolist() == [[5.0, 6.0]]
    assert Summary(2, "first")(X, REAL).tolist() == [[1.0, 2.0]]
    assert Summary(2, "mean")(X, REAL).tolist() == [[2.0, 3.0]]
    assert Summary(2, "mean")(X, REAL.flip(1)).tolist() == [[7.0, 8.0]]


def test_a_summary_of_padding_alone_is_zero_and_not_nan():
    assert Summary(2, "mean")(X, torch.zeros(1, 3)).tolist() == [[0.0, 0.0]]


def test_the_first_position_must_be_a_token():
    with pytest.raises(ShapesDoNotFit) as caught:
        Summary(2, "first")(X, REAL.flip(1))
    assert caught.value.values == {"what": "attention_mask[:, 0]", "expected": 1, "got": 0}


def test_the_pooler_is_berts(scramble):
    theirs = scramble(BertPooler(BertConfig(hidden_size=28, num_attention_heads=7)))
    ours = Summary(28, "first", pooler=True)
    ours.pooler.load_state_dict(theirs.dense.state_dict())
    x = torch.randn(2, 5, 28, generator=torch.Generator().manual_seed(2))
    assert torch.equal(ours(x), theirs(x))
    assert Summary(28).pooler is None
