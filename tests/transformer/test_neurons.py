"""Neurons of feed-forward parts: by hand, and against the modules themselves."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from tests.transformer.families import SOURCES, TARGETS, family
from tests.transformer.tiny_hugging_face import gpt2
from transformer import run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.errors import NoSuchSite, WeightsChanged
from transformer.neurons import Neurons, UnknownNeurons, activation_curve, feed_forwards, sealed
from transformer.parts import ACTIVATIONS, FeedForwardPart, LinearPart
from transformer.trace import Trace

IDS = [5, 7, 9, 7, 3]
PLACE = "decoder.1.ffn"


def by_hand(gate: bool) -> Neurons:
    """Two numbers in, three neurons, ReLU; up (or gate) is x₀, −x₁, x₀ + x₁ + 1."""
    first = LinearPart(np.array([[1, 0], [0, -1], [1, 1]], np.float32), np.array([0, 0, 1], np.float32))
    second = LinearPart(np.array([[2, 0], [0, 2], [1, 0]], np.float32), None)
    down = LinearPart(np.array([[3, 0, 1], [4, 1, 0]], np.float32), None)
    part = FeedForwardPart(second, down, "relu", first) if gate else FeedForwardPart(first, down, "relu")
    x = np.array([[1, 2], [-3, -1]], np.float32)
    return Neurons(None, "here", part, x)  # type: ignore[arg-type]


def test_plain_by_hand() -> None:
    one = by_hand(gate=False)
    assert one.count == 3 and one.value(0) is None
    assert one.pre_activation(0).tolist() == [1, -2, 4] and one.pre_activation(1).tolist() == [-3, 1, -3]
    assert one.hidden(0).tolist() == [1, 0, 4]
    assert one.reach.tolist() == [5, 1, 1]
    assert one.strength(0, "output").tolist() == [5, 0, 4]
    assert one.strongest(0).tolist() == [2, 0, 1] and one.strongest(0, 2, "output").tolist() == [0, 2]
    assert one.over_tokens([2, 0]).tolist() == [[4, 1], [0, 0]]
    assert one.over_tokens([2, 0], "output").tolist() == [[4, 5], [0, 0]]
    assert one.strongest_anywhere(slice(0, 2), 2).tolist() == [2, 0]
    assert one.strongest_anywhere(slice(1, 2), 1).tolist() == [1]
    assert one.strongest_anywhere(slice(0, 2), 1, "output").tolist() == [0]
    assert one.row(2)[0].tolist() == [1, 1] and one.row(2)[1] == 1


def test_gated_by_hand() -> None:
    one = by_hand(gate=True)
    value = one.value(0)
    assert value is not None and value.tolist() == [2, 4, 1]
    assert one.pre_activation(0).tolist() == [1, -2, 4] and one.hidden(0).tolist() == [2, 0, 4]
    assert one.hidden(1).tolist() == [0, -2, 0] and one.strength(1, "output").tolist() == [0, -2, 0]
    assert one.strongest(1, 1).tolist() == [1], "a negative number is strong too"
    assert one.over_tokens([1, 2]).tolist() == [[0, 4], [-2, 0]]
    assert one.row(1) == (pytest.approx([0, -1]), 0) and one.value_row(1) == (pytest.approx([0, 2]), None)


def trace_of(name: str) -> Trace:
    one = family(name)
    found = run(one.model, ids=SOURCES[0], **({"target_ids": TARGETS[0]} if one.seq2seq else {}))
    assert isinstance(found, Trace)
    return found


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bert", "t5", "bart", "bloom", "modernbert"])
def test_one_neuron_and_one_token_say_the_same_in_every_family(name: str) -> None:
    trace = trace_of(name)
    places = [place for site in trace.attention for place in feed_forwards(trace, site.rpartition(".")[0])]
    assert places
    for place in dict.fromkeys(places):
        one = Neurons.of(trace, place)
        hidden = np.stack([one.hidden(position) for position in range(len(one.x))])
        np.testing.assert_allclose(hidden, trace[f"{place}.hidden"], atol=1e-6)
        np.testing.assert_allclose(one.over_tokens([3, 0, 7]), hidden[:, [3, 0, 7]], atol=1e-12)
        value = one.value(1)
        product = one.activated(one.pre_activation(1)) * (1 if value is None else value)
        np.testing.assert_allclose(product, hidden[1], atol=1e-12)
        top = one.strongest(1, 5)
        assert np.abs(hidden[1])[top].tolist() == np.sort(np.abs(hidden[1]))[::-1][:5].tolist()
        assert one.strongest_anywhere(slice(1, 2), 5).tolist() == top.tolist()
        whole = hidden @ one.part.down.weight.astype(np.float64).T
        bias = one.part.down.bias
        np.testing.assert_allclose(whole if bias is None else whole + bias, trace[f"{place}.output"], atol=1e-5)
        assert sealed(trace, place).holds and sealed(trace, place) is sealed(trace, place)


def test_what_enters_the_activation_is_what_torch_gives() -> None:
    """GPT-2 as it is, and our gated part: the module's own forward, heard by a hook."""
    torch.manual_seed(3)
    plain = gpt2().eval()
    sizes = {"vocab_size": 53, "max_positions": 11, "d_model": 28, "n_layers": 3, "n_heads": 7, "d_ff": 31}
    gated = DecoderLM(ModelConfig(**sizes, activation="swiglu"), generator=torch.Generator().manual_seed(2)).eval()
    for module, first, down in (
        (plain, plain.transformer.h[1].mlp.c_fc, plain.transformer.h[1].mlp.c_proj),
        (gated, gated.blocks[1].feedforward.gate, gated.blocks[1].feedforward.down),
    ):
        heard: dict[str, torch.Tensor] = {}
        hooks = [
            first.register_forward_hook(lambda _m, _i, out, heard=heard: heard.update(pre=out)),
            down.register_forward_hook(lambda _m, inputs, _o, heard=heard: heard.update(hidden=inputs[0])),
        ]
        with torch.no_grad():
            module(torch.tensor([IDS]))
        for hook in hooks:
            hook.remove()
        one = Neurons.of(run(wrap(module), ids=IDS), PLACE)  # type: ignore[arg-type]
        for position in range(len(IDS)):
            np.testing.assert_allclose(one.pre_activation(position), heard["pre"][0, position], atol=1e-5)
            np.testing.assert_allclose(one.hidden(position), heard["hidden"][0, position], atol=1e-5)


def test_experts_are_unknown_and_a_wrong_place_is_named() -> None:
    trace = trace_of("mixtral")
    assert feed_forwards(trace, "decoder.1") == (PLACE,)
    with pytest.raises(UnknownNeurons, match=r"decoder\.1\.ffn"):
        Neurons.of(trace, PLACE)
    known = trace_of("gpt2")
    with pytest.raises(NoSuchSite):
        Neurons.of(known, "decoder.9.ffn")
    with pytest.raises(UnknownNeurons):
        Neurons.of(known, "decoder.1.norm1")
    assert feed_forwards(known, "decoder.9") == ()
    with pytest.raises(UnknownNeurons):
        Neurons.of(run(family("gpt2").model, ids=IDS, record={"logits"}), PLACE)  # type: ignore[arg-type]


def test_changed_weights_are_told() -> None:
    torch.manual_seed(3)
    module: nn.Module = gpt2().eval()
    trace = run(wrap(module), ids=IDS)
    assert isinstance(trace, Trace)
    Neurons.of(trace, PLACE)
    with torch.no_grad():
        next(module.parameters()).mul_(2)
    with pytest.raises(WeightsChanged):
        Neurons.of(trace, PLACE)
    assert replace(trace, weights_changed=lambda: False).parts


def test_the_curve_of_an_activation_bends_at_zero() -> None:
    x, y = activation_curve("relu", -2, 3, 6)
    assert x.tolist() == [-2, -1, 0, 1, 2, 3] and y.tolist() == [0, 0, 0, 1, 2, 3]
    x, y = activation_curve("relu", -1, 1.5, 3)
    assert x.tolist() == [-1, 0, 0.25, 1.5]
    x, _ = activation_curve("gelu", 1, 1)
    assert x.tolist() == [1]
    for name, formula in ACTIVATIONS.items():
        x, y = activation_curve(name, -1.5, 0.7)
        assert np.array_equal(y, formula(x)) and (np.diff(x) > 0).all()
