"""Embeddings: the sum by hand, the scale, segments, the norm and where dropout stands."""

import pytest
import torch

from transformer.config import ModelConfig
from transformer.embedding import TextEmbedding, TokenEmbedding
from transformer.positions import sinusoidal_table

IDS = torch.tensor([[5, 41, 5, 0, 52], [7, 7, 19, 3, 11]])
HERE = torch.arange(5)[None]


def test_four_texts_of_ten_ids_become_vectors_of_128():
    """As the second source document prints it: (4, 10) to (4, 10, 128)."""
    config = ModelConfig(vocab_size=1000, max_positions=64, d_model=128, n_layers=2, n_heads=4)
    ids = torch.randint(0, 1000, (4, 10), generator=torch.Generator().manual_seed(1))
    assert TokenEmbedding(config)(ids).shape == TextEmbedding(config)(ids, torch.arange(10)[None]).shape == (4, 10, 128)


@pytest.mark.parametrize(("scaled", "factor"), [(False, 1.0), (True, 28**0.5)])
def test_tokens_are_rows_of_the_table_times_the_scale(tiny, scaled, factor):
    embedding = TokenEmbedding(tiny(scale_embeddings=scaled))
    torch.testing.assert_close(embedding(IDS)[1, 2], embedding.weight[19] * factor)
    assert torch.equal(embedding(IDS)[0, 0], embedding(IDS)[0, 2])


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "none"])
def test_what_enters_the_first_block_is_the_sum(tiny, scramble, positions):
    embedding = scramble(TextEmbedding(tiny(positions=positions, n_segments=2)))
    segments = torch.tensor([[0, 0, 1, 1, 1], [1, 0, 0, 0, 0]])
    by_hand = embedding.tokens.weight[IDS] + embedding.segments.weight[segments]
    if positions == "sinusoidal":
        by_hand = by_hand + sinusoidal_table(11, 28)[:5]
    elif positions == "learned":
        by_hand = by_hand + embedding.positions.weight[:5]
    else:
        assert embedding.positions is None
    torch.testing.assert_close(embedding(IDS, HERE, segments), by_hand, atol=1e-6, rtol=0)


def test_without_segments_given_all_is_the_first_text(tiny, scramble):
    embedding = scramble(TextEmbedding(tiny(n_segments=2)))
    assert torch.equal(embedding(IDS, HERE), embedding(IDS, HERE, torch.zeros_like(IDS)))
    assert (embedding(IDS, HERE) - embedding(IDS, HERE, torch.ones_like(IDS))).abs().min() > 0
    assert TextEmbedding(tiny()).segments is None


@pytest.mark.parametrize("kind", ["layernorm", "rmsnorm"])
def test_a_norm_right_after_the_sum_where_the_config_has_one(tiny, scramble, kind):
    with_norm = scramble(TextEmbedding(tiny(embedding_norm=True, norm_kind=kind)))
    without = scramble(TextEmbedding(tiny()))
    without.tokens.load_state_dict(with_norm.tokens.state_dict())
    assert without.norm is None
    assert torch.equal(with_norm(IDS, HERE), with_norm.norm(without(IDS, HERE)))


def test_dropout_is_the_last_thing(tiny):
    embedding = TextEmbedding(tiny(dropout=0.5, embedding_norm=True)).train()
    dropped = embedding(IDS, HERE)
    assert 0.3 < (dropped == 0).float().mean() < 0.7
    whole = embedding.eval()(IDS, HERE)
    torch.testing.assert_close(dropped[dropped != 0], 2 * whole[dropped != 0])
