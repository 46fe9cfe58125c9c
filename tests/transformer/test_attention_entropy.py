"""attention_entropy.py: by hand, against the recorded weights, and that its price makes heads decide."""

from math import log
from random import Random

import numpy as np
import pytest
import torch
from torch import nn

from transformer import run, wrap
from transformer.attention import attend
from transformer.attention_entropy import EntropyEar
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.encoder_decoder import EncoderDecoder
from transformer.listening import current_listener, listening
from transformer.sequence_tasks import Copy
from transformer.settings import Settings
from transformer.training import train

IDS = [5, 41, 5, 0, 52]


def test_by_hand() -> None:
    """Equal scores: the first of three queries sees one key (entropy 0), the last three (log 3)."""
    query, value, ear = torch.zeros(1, 2, 3, 5), torch.randn(1, 2, 3, 5), EntropyEar()
    with listening(ear):
        attend(query, query, value, causal=True, listener_module=nn.Identity())
    assert ear.mean().item() == pytest.approx((0 + log(2) + log(3)) / 3, abs=1e-6)
    assert EntropyEar().mean() == 0


@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 1}, {"positions": "alibi"}, {"window": 2}])
def test_it_is_the_entropy_of_the_recorded_weights(tiny, scramble, changes) -> None:
    model = scramble(DecoderLM(tiny(**changes)))
    ear = EntropyEar()
    with listening(ear, gradients=True):
        model(torch.tensor([IDS]))
    trace = run(wrap(model), ids=IDS)
    weights = np.stack([trace[f"{site}.weights"] for site in trace.attention_sites()]).astype(np.float64)
    expected = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean()
    assert ear.mean().item() == pytest.approx(expected, abs=1e-5)


def test_gradients_flow_only_where_they_are_asked_for(tiny) -> None:
    model = DecoderLM(tiny())
    for gradients in (True, False):
        ear = EntropyEar()
        with listening(ear, gradients=gradients):
            model(torch.tensor([IDS]))
        assert ear.mean().requires_grad is gradients
    assert current_listener() is None


def test_a_price_makes_attention_more_decided() -> None:
    found = []
    for price in (0.0, 3.0):
        config = ModelConfig(300, 24, d_model=28, n_layers=1, n_heads=7)
        model = EncoderDecoder(config, generator=torch.Generator().manual_seed(3))
        settings = Settings(steps=60, batch_size=8, learning_rate=3e-3, attention_entropy=price)
        list(train(model, Copy(longest=7), settings, random=Random(2)))
        ear = EntropyEar()
        with listening(ear):
            model(**Copy(longest=7).batch(Random(5), 8, held_out=True).inputs)
        found.append(ear.mean().item())
    assert found[1] < found[0] - 0.1
