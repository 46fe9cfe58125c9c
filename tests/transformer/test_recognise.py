"""recognise.py: formulas are told from numbers; a class name proves nothing."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN
from transformers.pytorch_utils import Conv1D

from transformer.parts import ACTIVATIONS
from transformer.probe import Heard
from transformer.recognise import (
    feed_forward_part,
    head_part,
    is_linear,
    linear_part,
    looks_like_norm,
    norm_part,
    same,
    to_numpy,
)


def said(module: nn.Module, x: Tensor, output: Tensor | None = None) -> Heard:
    """One call of a module."""
    with torch.no_grad():
        return Heard("", module, 0, 0, 1, x, module(x) if output is None else output)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def filled(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(random(*parameter.shape, seed=parameter.numel()))
    return module


class OnePlusNorm(nn.Module):
    """Gemma's: x / rms · (1 + w)."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.zeros(28)), 1e-3

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * (1 + self.weight)


class LayerNormByName(nn.Module):
    """T5's way of naming: called LayerNorm, is a root-mean-square norm."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.variance_epsilon = nn.Parameter(torch.zeros(28)), 1e-3

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.variance_epsilon) * self.weight


X = random(1, 5, 28) * 0.1  # small, so that eps counts


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        (nn.LayerNorm(28, eps=1e-3), "layernorm"), (nn.LayerNorm(28, bias=False), "layernorm"),
        (nn.LayerNorm(28, elementwise_affine=False), "layernorm"), (nn.RMSNorm(28, eps=1e-3), "rmsnorm"),
        (OnePlusNorm(), "rmsnorm"), (LayerNormByName(), "rmsnorm"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)  # fmt: skip
def test_norms_are_told_by_what_they_gave(module, kind):
    one = said(filled(module), X)
    part = norm_part(one)
    assert part.kind == kind
    np.testing.assert_allclose(part(to_numpy(one.input)), to_numpy(one.output), atol=1e-5)


def test_a_norm_that_does_something_else_is_not_recognised():
    norm = filled(nn.LayerNorm(28))
    with torch.no_grad():
        assert norm_part(said(norm, X, norm(X).tanh())) is None
        assert norm_part(said(norm, X, norm(X) * 1.001)) is None
    assert looks_like_norm(said(norm, X)) and not looks_like_norm(said(nn.Identity(), X))


def test_linear_layers_of_both_orders():
    for layer in (nn.Linear(28, 31), nn.Linear(28, 31, bias=False), Conv1D(31, 28)):
        one = said(filled(layer), X)
        assert is_linear(one)
        np.testing.assert_allclose(linear_part(layer)(to_numpy(X)), to_numpy(one.output), atol=1e-5)
    assert linear_part(nn.Embedding(53, 28)) is None and linear_part(nn.LayerNorm(28)) is None


class OwnLinear(nn.Linear):
    """A class that is not torch's own is asked for its numbers."""


def test_a_matrix_of_an_unknown_class_is_believed_only_if_it_gives_its_numbers():
    square = filled(OwnLinear(28, 28))
    assert is_linear(said(square, X)) and not is_linear(said(square, X, X @ square.weight + square.bias))


NAMES = {"relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "silu": "silu", "quick_gelu": "quick_gelu",
         "relu2": "relu_squared", "tanh": "tanh", "linear": "identity"}  # fmt: skip


@pytest.mark.parametrize("theirs", list(NAMES))
@pytest.mark.parametrize("shape", ["plain", "gated", "gated in one matrix"])
def test_activations_and_gates_are_told_from_numbers(theirs, shape):
    act, x = ACT2FN[theirs], random(1, 5, 28, seed=3)
    up, gate, both, down = (filled(nn.Linear(*size)) for size in ((28, 31), (28, 31), (28, 62), (31, 28)))
    with torch.no_grad():
        if shape == "plain":
            ups, hidden = [up], act(up(x))
        elif shape == "gated":
            ups, hidden = [up, gate], act(gate(x)) * up(x)
        else:
            ups, (first, second) = [both], both(x).chunk(2, -1)
            hidden = act(first) * second
    part = feed_forward_part([said(one, x) for one in ups], said(down, hidden))
    assert part is not None and (part.gate is None) == (shape == "plain")
    assert part.activation == NAMES[theirs] or (shape != "plain" and theirs == "linear")
    np.testing.assert_allclose(part(to_numpy(x)), to_numpy(said(down, hidden).output), atol=1e-3, rtol=1e-5)
    assert set(NAMES.values()) == set(ACTIVATIONS)


def test_an_unknown_activation_has_no_formula():
    x, up, down = random(1, 5, 28, seed=3), filled(nn.Linear(28, 31)), filled(nn.Linear(31, 28))
    with torch.no_grad():
        assert feed_forward_part([said(up, x)], said(down, torch.sin(up(x)))) is None
        assert feed_forward_part([], said(down, up(x))) is None


@pytest.mark.parametrize(("scale", "softcap"), [(1.0, None), (0.25, None), (1.0, 3.0)])
def test_what_stands_between_the_last_matrix_and_the_logits(scale, softcap):
    head, x = filled(nn.Linear(28, 53, bias=False)), random(1, 5, 28)
    with torch.no_grad():
        logits = head(x) * scale if softcap is None else softcap * torch.tanh(head(x) / softcap)
    part = head_part(said(head, x), logits, softcap)
    assert part.scale == pytest.approx(scale) and part.softcap == softcap
    np.testing.assert_allclose(part(to_numpy(x)), to_numpy(logits), atol=1e-4)
    with torch.no_grad():
        assert head_part(said(head, x), logits + 0.1, softcap) is None
        assert head_part(said(head, x), logits.square(), softcap) is None


def test_same_is_strict_about_shapes_and_numbers_that_are_none():
    ones = np.ones((2, 3))
    assert same(ones, ones) and not same(ones, ones[:1]) and not same(ones, ones * np.nan)
    assert not same(ones, ones + 1e-3) and same(ones * 1e6, ones * 1e6 + 1)
    with np.errstate(invalid="ignore"):
        assert not same(ones * np.nan, ones)


def test_to_numpy_is_a_view_that_nobody_writes_to():
    layer = nn.Linear(3, 2)
    view = to_numpy(layer.weight)
    assert np.shares_memory(view, layer.weight.detach().numpy())
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 0
    assert to_numpy(layer.weight.half()).dtype == np.float32
