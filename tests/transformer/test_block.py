"""Block: the diagram read by hand, parity with torch's layer in both forms, laws."""

import pytest
import torch
from torch import nn

from tests.transformer.torch_layers import from_torch, random_layer
from transformer import masks
from transformer.block import Block, CrossBlock
from transformer.positions import Rotary

REAL = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
MEMORY_REAL = torch.tensor([[1, 1, 1], [0, 1, 1]])


@pytest.fixture
def x():
    return torch.randn(2, 5, 28, generator=torch.Generator().manual_seed(2))


@pytest.fixture
def memory():
    return torch.randn(2, 3, 28, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_forward_is_the_diagram(tiny, scramble, x, norm):
    block = scramble(Block(tiny(norm=norm)))
    attention, feedforward, norm1, norm2 = block.attention, block.feedforward, block.norm1, block.norm2
    if norm == "pre":
        by_hand = x + attention(norm1(x))
        by_hand = by_hand + feedforward(norm2(by_hand))
    else:
        by_hand = norm1(x + attention(x))
        by_hand = norm2(by_hand + feedforward(by_hand))
    assert torch.equal(block(x), by_hand)


def test_pre_norm_adds_to_x_and_not_to_the_normalized_x(tiny, x):
    """The two mistakes of the tutorials: with both parts silent a block must hand on exactly what came in."""
    block = Block(tiny())
    for silent in (block.attention.output, block.feedforward.down):
        nn.init.zeros_(silent.weight)
        nn.init.zeros_(silent.bias)
    assert torch.equal(block(x), x)
    with torch.no_grad():
        block.attention.output.bias.fill_(100.0)  # the second sum starts from the first one, not from x
    torch.testing.assert_close(block(x), x + 100, atol=1e-4, rtol=0)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_block_is_torchs_encoder_layer(tiny, x, norm, activation, causal):
    torch_layer = random_layer(
        nn.TransformerEncoderLayer(
            28, 7, 31, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
        )
    )
    block = Block(tiny(norm=norm, activation=activation, d_ff=31))
    block.load_state_dict(from_torch(torch_layer))
    forbidden = ~masks.causal(5) if causal else None
    theirs = torch_layer(x, src_mask=forbidden, is_causal=causal)
    torch.testing.assert_close(block(x, causal=causal), theirs, atol=1e-6, rtol=0)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_block_is_torchs_encoder_layer_with_padding_too(tiny, x, norm, activation):
    torch_layer = random_layer(
        nn.TransformerEncoderLayer(
            28, 7, 31, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
        )
    )
    torch_layer, x = torch_layer.double(), x.double()  # so that nothing but the formula can differ
    block = Block(tiny(norm=norm, activation=activation, d_ff=31)).double()
    block.load_state_dict(from_torch(torch_layer))
    theirs = torch_layer(x, src_key_padding_mask=REAL == 0)
    torch.testing.assert_close(block(x, masks.padding(REAL)), theirs, atol=1e-12, rtol=0)
    both = masks.combined(masks.causal(5), masks.padding(REAL))
    theirs = torch_layer(x, src_mask=~masks.causal(5), src_key_padding_mask=REAL == 0)
    torch.testing.assert_close(block(x, both), theirs, atol=1e-12, rtol=0)


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cross_block_is_torchs_decoder_layer(tiny, x, memory, norm, activation, padded):
    torch_layer = random_layer(
        nn.TransformerDecoderLayer(
            28, 7, 31, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
        )
    )
    torch_layer, x, memory = torch_layer.double(), x.double(), memory.double()
    block = CrossBlock(tiny(norm=norm, activation=activation, d_ff=31)).double()
    block.load_state_dict(from_torch(torch_layer))
    forbidden = {"tgt_key_padding_mask": REAL == 0, "memory_key_padding_mask": MEMORY_REAL == 0} if padded else {}
    theirs = torch_layer(x, memory, tgt_mask=~masks.causal(5), **forbidden)
    allowed = masks.combined(masks.causal(5), masks.padding(REAL)) if padded else masks.causal(5)
    seen = masks.padding(MEMORY_REAL) if padded else None
    torch.testing.assert_close(block(x, allowed, memory=memory, memory_allowed=seen), theirs, atol=1e-12, rtol=0)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cross_block_is_its_three_lines(tiny, scramble, x, memory, norm):
    block = scramble(CrossBlock(tiny(norm=norm)))
    attention, cross, feedforward = block.attention, block.cross, block.feedforward
    norm1, norm2, norm3 = block.norm1, block.norm2, block.norm3
    if norm == "pre":
        by_hand = x + attention(norm1(x), causal=True)
        by_hand = by_hand + cross(norm2(by_hand), context=memory)
        by_hand = by_hand + feedforward(norm3(by_hand))
    else:
        by_hand = norm1(x + attention(x, causal=True))
        by_hand = norm2(by_hand + cross(by_hand, context=memory))
        by_hand = norm3(by_hand + feedforward(by_hand))
    assert torch.equal(block(x, memory=memory, causal=True), by_hand)


def test_causal_by_flag_is_causal_by_mask(tiny, scramble, x):
    block = scramble(Block(tiny()))
    torch.testing.assert_close(block(x, causal=True), block(x, masks.causal(5)), atol=1e-5, rtol=0)
    assert (block(x, causal=True) - block(x))[:, :-1].abs().max() > 0.1


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_positions_or_mask_the_order_of_tokens_means_nothing(tiny, scramble, x, norm):
    block = scramble(Block(tiny(norm=norm)))
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(block(x[:, order]), block(x)[:, order], atol=2e-5, rtol=0)
    rotary = Rotary(4)(torch.arange(5)[None])
    assert (block(x[:, order], rotary=rotary) - block(x, rotary=rotary)[:, order]).abs().max() > 0.01


def test_grouped_heads_and_a_free_head_size_fit(tiny, x):
    block = Block(tiny(n_kv_heads=1, d_head=6, norm_kind="rmsnorm", activation="swiglu", attention_bias=False))
    assert tuple(block.attention.key.weight.shape) == (6, 28)
    assert tuple(block.attention.output.weight.shape) == (28, 42)
    assert block(x, causal=True).shape == (2, 5, 28)


def test_dropout_takes_from_what_a_part_adds_and_sleeps_outside_training(tiny, x):
    block = Block(tiny(dropout=0.5))
    for part, adds in ((block.attention.output, 1.0), (block.feedforward.down, 0.0)):
        nn.init.zeros_(part.weight)
        nn.init.constant_(part.bias, adds)
    added = (block.train()(x) - x).round(decimals=4)
    assert set(added.unique().tolist()) == {0.0, 2.0}  # dropped, or doubled so that the mean stays
    torch.testing.assert_close(block.eval()(x), x + 1)
