"""vector_tables.py: the rows that vectors of a run were looked up in."""

import math

import numpy as np
import pytest
import torch

from tests.transformer.families import TARGETS, family, scramble
from transformer import run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.vector_tables import is_learned, table_of
from transformer.vision import VisionTransformer

IDS = [5, 7, 9, 7, 3]


def ours(**changes: object) -> DecoderLM:
    sizes = {"vocab_size": 53, "max_positions": 11, "d_model": 28, "n_layers": 2, "n_heads": 7, "positions": "learned"}
    return scramble(DecoderLM(ModelConfig(**(sizes | changes))))


@pytest.mark.parametrize(
    ("name", "first"), [("gpt2", 0), ("bert", 0), ("roberta", 2), ("bart", 2), ("opt", 2), ("distilbert", 0)]
)
def test_rows_of_positions_and_of_tokens(name: str, first: int) -> None:
    one = family(name)
    trace = run(one.model, ids=IDS, **({"target_ids": TARGETS[0]} if one.seq2seq else {}))
    stack = next(iter(trace.encodings))
    found, tokens = (table_of(one.model, trace, f"{stack}.embed.{kind}") for kind in ("position", "token"))
    assert found.taken.tolist() == [first + place for place in range(5)] and found.factor == 1 and found.learned
    assert tokens.taken.tolist() == IDS and tokens.seal.holds and found.seal.difference == 0
    np.testing.assert_array_equal(found.rows[found.taken], trace[f"{stack}.embed.position"])


def test_a_table_is_a_view_and_its_factor_is_found() -> None:
    model = wrap(ours(scale_embeddings=True))
    trace = run(model, ids=IDS)
    table = table_of(model, trace, "decoder.embed.token")
    assert table.factor == pytest.approx(math.sqrt(28)) and table.seal.holds
    assert np.shares_memory(table.rows, model.module.embedding.tokens.weight.detach().numpy())
    np.testing.assert_allclose(table.factor * table.rows[7], trace["decoder.embed.token"][1], rtol=1e-6)


def test_what_is_fixed_is_not_called_learned() -> None:
    fixed, learned = wrap(ours(positions="sinusoidal")), wrap(ours())
    assert table_of(fixed, run(fixed, ids=IDS), "decoder.embed.position") is None  # a buffer, and a formula
    assert not is_learned(fixed, "decoder.embed.position") and is_learned(learned, "decoder.embed.position")
    marian = family("marian").model
    assert not table_of(marian, run(marian, ids=IDS, target_ids=IDS), "encoder.embed.position").learned


def test_weights_that_were_changed_since_are_not_shown() -> None:
    model = wrap(ours())
    trace = run(model, ids=IDS)
    with torch.no_grad():
        model.module.embedding.positions.weight += 1
    assert table_of(model, trace, "decoder.embed.position") is None


def test_segments_and_padding() -> None:
    model = family("bert").model
    trace = run(model, ids=[*IDS, 0, 0], attention_mask=[1] * 5 + [0] * 2)
    table = table_of(model, trace, "encoder.embed.segment")
    assert table.taken.tolist() == [0] * 7 and table.rows.shape == (2, 28)
    assert table_of(model, trace, "encoder.embed.position").taken.tolist() == list(range(7))


def test_patches_come_from_no_table() -> None:
    config = ModelConfig(vocab_size=1, max_positions=5, d_model=28, n_layers=2, n_heads=7, positions="learned")
    model = wrap(scramble(VisionTransformer(config, image_size=4)))
    trace = run(model, image=np.random.default_rng(0).random((1, 4, 4), dtype=np.float32))
    assert table_of(model, trace, "encoder.embed.token") is None
    assert table_of(model, trace, "encoder.embed.position").taken.tolist() == list(range(5))
