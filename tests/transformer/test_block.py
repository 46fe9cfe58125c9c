"""Block: the diagram read by hand, parity with torch's layer in both forms, laws."""

import pytest
import torch
from torch import nn

from transformer import masks
from transformer.block import Block
from transformer.positions import Rotary

TORCHS_NAMES = {
    "self_attn.out_proj": "attention.output",
    "linear1": "feedforward.up",
    "linear2": "feedforward.down",
    "norm1": "norm1",
    "norm2": "norm2",
}


def from_torch(layer: nn.TransformerEncoderLayer) -> dict[str, torch.Tensor]:
    """The weights of torch's layer under our names."""
    theirs, ours = layer.state_dict(), {}
    for kind in ("weight", "bias"):
        for name, part in zip(("query", "key", "value"), theirs[f"self_attn.in_proj_{kind}"].chunk(3), strict=True):
            ours[f"attention.{name}.{kind}"] = part
        ours |= {f"{mine}.{kind}": theirs[f"{name}.{kind}"] for name, mine in TORCHS_NAMES.items()}
    return ours


@pytest.fixture
def x():
    return torch.randn(2, 5, 28, generator=torch.Generator().manual_seed(2))


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
    torch_layer = nn.TransformerEncoderLayer(
        28, 7, 31, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
    )
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in torch_layer.named_parameters():
            parameter.normal_(1.0 if "norm" in name and "weight" in name else 0.0, 0.1, generator=generator)
    block = Block(tiny(norm=norm, activation=activation, d_ff=31))
    block.load_state_dict(from_torch(torch_layer))
    forbidden = ~masks.causal(5) if causal else None
    theirs = torch_layer(x, src_mask=forbidden, is_causal=causal)
    torch.testing.assert_close(block(x, causal=causal), theirs, atol=1e-6, rtol=0)


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
