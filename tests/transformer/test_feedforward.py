"""FeedForward: by hand, parity, and what a recorder finds in it."""

import math

import pytest
import torch
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaMLP

from transformer.feedforward import FeedForward

ONE_NUMBER = {"d_model": 1, "n_heads": 1, "d_ff": 2, "positions": "none"}
SIGMOID_2 = 1 / (1 + math.exp(-2))


def with_weights(config, **weights) -> FeedForward:
    module = FeedForward(config)
    module.load_state_dict({name.replace("_", "."): torch.tensor(value) for name, value in weights.items()})
    return module


def test_relu_by_hand(tiny):
    """x = 2: up gives (2·1 + 1, 2·−3 + 0) = (3, −6), ReLU (3, 0), down 3·5 + 0·7 + 4 = 19."""
    module = with_weights(
        tiny(activation="relu", **ONE_NUMBER),
        up_weight=[[1.0], [-3.0]],
        up_bias=[1.0, 0.0],
        down_weight=[[5.0, 7.0]],
        down_bias=[4.0],
    )
    assert module(torch.tensor([[[2.0]]])).item() == 19.0


@pytest.mark.parametrize(
    ("activation", "of_two"),
    [
        ("relu", 2.0),
        ("gelu", 2 * 0.5 * (1 + math.erf(2 / math.sqrt(2)))),
        ("gelu_tanh", 0.5 * 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (2 + 0.044715 * 8)))),
    ],
)
def test_activations_by_hand(tiny, activation, of_two):
    module = FeedForward(tiny(activation=activation))
    assert module.activation(torch.tensor(2.0)).item() == pytest.approx(of_two, abs=1e-6)
    assert module.gate is None


def test_swiglu_by_hand(tiny):
    """x = 2: gate (2, 0) through SiLU is (2σ(2), 0), times up (6, 8), down with (1, 1): 12σ(2)."""
    module = with_weights(
        tiny(activation="swiglu", ffn_bias=False, **ONE_NUMBER),
        up_weight=[[3.0], [4.0]],
        gate_weight=[[1.0], [0.0]],
        down_weight=[[1.0, 1.0]],
    )
    assert module(torch.tensor([[[2.0]]])).item() == pytest.approx(12 * SIGMOID_2, abs=1e-5)


def test_swiglu_is_llamas(tiny, scramble):
    llama = LlamaConfig(hidden_size=28, intermediate_size=31, num_attention_heads=7, mlp_bias=True)
    theirs = scramble(LlamaMLP(llama))
    ours = FeedForward(tiny(activation="swiglu", d_ff=31))
    ours.load_state_dict({name.replace("_proj", ""): value for name, value in theirs.state_dict().items()})
    x = torch.randn(2, 5, 28, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-6, rtol=0)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "swiglu"])
def test_hidden_layer_and_activation_can_be_seen(tiny, scramble, activation):
    module = scramble(FeedForward(tiny(activation=activation, d_ff=31)))
    seen = {}
    module.activation.register_forward_hook(lambda _module, _args, out: seen.update(activated=out))
    module.down.register_forward_pre_hook(lambda _module, args: seen.update(hidden=args[0]))
    out = module(torch.randn(2, 5, 28, generator=torch.Generator().manual_seed(2)))
    assert out.shape == (2, 5, 28)
    assert seen["hidden"].shape == seen["activated"].shape == (2, 5, 31)
    assert torch.equal(seen["hidden"], seen["activated"]) == (activation != "swiglu")


def test_without_biases_there_are_none(tiny):
    module = FeedForward(tiny(activation="swiglu", ffn_bias=False))
    assert [name for name, _ in module.named_parameters()] == ["up.weight", "gate.weight", "down.weight"]
    assert isinstance(module.activation, nn.SiLU)


def test_every_token_goes_through_alone(tiny, scramble):
    module = scramble(FeedForward(tiny()))
    x = torch.randn(2, 5, 28, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(module(x)[:, 3:4], module(x[:, 3:4]), atol=1e-5, rtol=0)
