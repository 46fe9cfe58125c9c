"""A classifier's run: one answer for the whole text, from a summary that is recorded and sealed."""

import dataclasses

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
)

from transformer import run, wrap
from transformer.encoder_classifier import EncoderClassifier
from transformer.errors import BadTrace
from transformer.replay import replay, seal

IDS = [5, 41, 5, 0, 52]
OURS = [
    {"summary": "first"},
    {"summary": "mean"},
    {"summary": "first", "pooler": True},
    {"summary": "mean", "pooler": True},
]


@pytest.fixture(scope="module", params=OURS, ids=str)
def ours(request, tiny, scramble):
    return wrap(scramble(EncoderClassifier(tiny(norm="post"), 3, **request.param)), name="classifier")


def logits_of(model, ids: list[int]) -> np.ndarray:
    with torch.inference_mode():
        return model.module(input_ids=torch.tensor([ids])).logits[0].numpy()


def test_probabilities_are_the_models(ours) -> None:
    trace = run(ours, ids=IDS)
    ids, shares = trace.probabilities(-1)
    expected = np.exp(logits_of(ours, IDS)) / np.exp(logits_of(ours, IDS)).sum()
    assert trace.is_classified and trace.top.ids.shape == (1, 3)
    np.testing.assert_allclose(shares, expected[ids], atol=1e-6)


def test_summary_and_head_are_recomputed(ours) -> None:
    trace = run(ours, ids=IDS)
    assert all(one.holds for one in replay(trace))
    assert seal(trace, "encoder.summary").holds and seal(trace, "logits").holds


def test_padding_leaves_the_answer_alone(ours) -> None:
    alone = run(ours, ids=IDS)
    padded = run(ours, ids=[IDS, [7, 7, 19, 3, 11, 2, 9]])[0]
    np.testing.assert_allclose(padded.top.values, alone.top.values, atol=1e-5)
    assert all(one.holds for one in replay(padded) if one.site in ("encoder.summary.vector", "logits"))


def test_a_changed_summary_is_noticed(ours) -> None:
    trace = run(ours, ids=IDS)
    changed = {**trace.arrays, "encoder.summary.vector": trace["encoder.summary.vector"] + 0.01}
    spoilt = dataclasses.replace(trace, arrays=changed)
    assert not seal(spoilt, "encoder.summary").holds
    with pytest.raises(BadTrace):
        dataclasses.replace(trace, arrays={**trace.arrays, "encoder.summary.vector": np.zeros(28, np.float32)})


def test_berts_pooler_is_recognised(scramble) -> None:
    config = BertConfig(
        vocab_size=53, hidden_size=28, num_hidden_layers=3, num_attention_heads=7, intermediate_size=31,
        max_position_embeddings=11, num_labels=3,
    )  # fmt: skip
    trace = run(wrap(scramble(BertForSequenceClassification(config))), ids=IDS)
    assert trace.parts["encoder.summary"].kind == "first" and trace.parts["encoder.summary"].pooler is not None
    assert all(one.holds for one in replay(trace))


def test_what_is_not_recognised_is_said(scramble) -> None:
    config = DistilBertConfig(
        vocab_size=53, max_position_embeddings=11, dim=28, n_layers=3, n_heads=7, hidden_dim=31, num_labels=3
    )
    trace = run(wrap(scramble(DistilBertForSequenceClassification(config))), ids=IDS)  # a ReLU stands before its head
    assert trace.lacks["encoder.summary"] == "lack.formula_unknown"
    assert seal(trace, "logits").holds
