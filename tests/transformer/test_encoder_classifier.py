"""EncoderClassifier: the classifier of the second source document by its numbers, and the laws of a summary."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer.config import ModelConfig
from transformer.encoder_classifier import EncoderClassifier
from transformer.errors import ShapesDoNotFit
from transformer.parameter_counts import parameter_counts

IDS = torch.tensor([[5, 41, 5, 0, 52], [7, 7, 19, 3, 11]])
S2 = ModelConfig(
    vocab_size=1000, max_positions=64, d_model=128, n_layers=2, n_heads=4, d_ff=512, norm="post", activation="relu",
    dropout=0.1,
)  # fmt: skip


def test_the_classifier_of_the_tutorial_gives_two_logits_for_each_of_four_texts():
    model = EncoderClassifier(S2)
    ids = torch.randint(0, 1000, (4, 32), generator=torch.Generator().manual_seed(1))
    logits = model(ids).logits
    assert logits.shape == (4, 2)
    loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1, 1, 0]))
    assert 0.5 < loss.item() < 0.9  # ln 2 = 0.693 for who knows nothing
    loss.backward()
    assert all(one.grad is not None for one in model.parameters())


def test_its_parameters_by_hand():
    """The tutorial's own has 256 more: a last norm, though its last block ends with one already."""
    attention, feedforward = 4 * (128 * 128 + 128), 128 * 512 + 512 + 512 * 128 + 128
    counts = {name: count for name, count in parameter_counts(EncoderClassifier(S2)).items() if count}
    assert counts == {
        "embedding": 128_000, "attention": 2 * attention, "feedforward": 2 * feedforward, "norm": 4 * 256, "head": 258,
    }  # fmt: skip
    assert sum(counts.values()) == 524_802


@pytest.mark.parametrize("pooler", [False, True], ids=["plain", "pooler"])
@pytest.mark.parametrize("summary", ["first", "mean"])
@settings(max_examples=10)
@given(right=st.integers(0, 5), pad_id=st.integers(0, 52))
def test_padding_changes_no_class(tiny, scramble, summary, pooler, right, pad_id):
    model = scramble(EncoderClassifier(tiny(), 3, summary=summary, pooler=pooler))
    padded = nn.functional.pad(IDS, (0, right), value=pad_id)
    mask = nn.functional.pad(torch.ones_like(IDS), (0, right))
    with torch.no_grad():
        torch.testing.assert_close(model(padded, mask).logits, model(IDS).logits, atol=1e-5, rtol=0)


@torch.no_grad()
def test_padding_on_the_left_changes_no_mean_and_is_refused_where_position_0_speaks_for_all(tiny, scramble):
    padded = nn.functional.pad(IDS, (2, 0))
    mask = nn.functional.pad(torch.ones_like(IDS), (2, 0))
    mean, first = (scramble(EncoderClassifier(tiny(), 3, summary=kind)) for kind in ("mean", "first"))
    torch.testing.assert_close(mean(padded, mask).logits, mean(IDS).logits, atol=1e-5, rtol=0)
    with pytest.raises(ShapesDoNotFit):
        first(padded, mask)


@torch.no_grad()
def test_a_text_gets_the_same_logits_in_any_batch(tiny, scramble):
    """The mistake of real projects: padding that is not masked changes what a sentence is taken for."""
    model = scramble(EncoderClassifier(tiny(), summary="mean"))
    alone = model(IDS[:1, :3]).logits
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    torch.testing.assert_close(model(IDS, mask).logits[:1], alone, atol=1e-5, rtol=0)
    assert (model(IDS).logits[:1] - alone).abs().max() > 1e-3


@pytest.mark.parametrize(("summary", "pooled"), [("first", False), ("mean", False), ("first", True), ("mean", True)])
@torch.no_grad()
def test_head_of_summary_of_encoder(tiny, scramble, summary, pooled):
    model = scramble(EncoderClassifier(tiny(), 3, summary=summary, pooler=pooled))
    hidden = model.encoder(IDS).last_hidden_state
    vector = hidden[:, 0] if summary == "first" else hidden.mean(1)
    vector = torch.tanh(model.summary.pooler(vector)) if pooled else vector
    torch.testing.assert_close(model(IDS).logits, model.head(vector), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [({"summary": "last"}, "summary"), ({"n_classes": 0}, "n_classes"), ({"n_classes": -3}, "n_classes")],
)
def test_what_does_not_fit_is_refused(tiny, arguments, what):
    with pytest.raises(ShapesDoNotFit) as caught:
        EncoderClassifier(tiny(), **arguments)
    assert caught.value.values["what"] == what
