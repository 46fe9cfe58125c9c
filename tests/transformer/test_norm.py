"""Norms: by hand, parity with torch.nn, laws."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from transformer.norm import LayerNorm, RMSNorm, make_norm


def test_layer_norm_by_hand():
    """Mean 3, biased variance 4: (1, 1, 5, 5) is (−1, −1, 1, 1)."""
    out = LayerNorm(4, eps=1e-12)(torch.tensor([1.0, 1.0, 5.0, 5.0]))
    torch.testing.assert_close(out, torch.tensor([-1.0, -1.0, 1.0, 1.0]), atol=1e-6, rtol=0)


def test_eps_stands_inside_the_root():
    """Variance 4, eps 5: divided by √9 = 3, and not by 2 + 5."""
    out = LayerNorm(4, eps=5.0)(torch.tensor([1.0, 1.0, 5.0, 5.0]))
    torch.testing.assert_close(out, torch.tensor([-2.0, -2.0, 2.0, 2.0]) / 3, atol=1e-6, rtol=0)


def test_rms_norm_by_hand():
    """Mean square (1 + 1 + 49 + 49) / 4 = 25."""
    out = RMSNorm(4, eps=1e-12)(torch.tensor([1.0, 1.0, 7.0, 7.0]))
    torch.testing.assert_close(out, torch.tensor([0.2, 0.2, 1.4, 1.4]), atol=1e-6, rtol=0)


def test_scale_and_shift_come_after_normalizing():
    norm = LayerNorm(2, eps=1e-12)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([3.0, 5.0]))
        norm.bias.copy_(torch.tensor([0.5, 0.25]))
    torch.testing.assert_close(norm(torch.tensor([2.0, 4.0])), torch.tensor([-2.5, 5.25]), atol=1e-6, rtol=0)


def test_the_unbiased_std_of_some_tutorials_is_three_percent_off():
    x = torch.randn(5, 16, generator=torch.Generator().manual_seed(1))
    tutorial = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)
    ratio = LayerNorm(16, 1e-6)(x) / tutorial
    torch.testing.assert_close(ratio, torch.full((5, 16), math.sqrt(16 / 15)), atol=1e-4, rtol=0)


@pytest.mark.parametrize("eps", [1e-5, 1e-2])
@pytest.mark.parametrize(("ours", "theirs"), [(LayerNorm, nn.LayerNorm), (RMSNorm, nn.RMSNorm)])
def test_norms_are_torchs(ours, theirs, eps, scramble):
    x = torch.randn(2, 5, 28, generator=torch.Generator().manual_seed(2)) + 0.7
    mine, reference = ours(28, eps), scramble(theirs(28, eps=eps))
    mine.load_state_dict(reference.state_dict())
    torch.testing.assert_close(mine(x), reference(x), atol=1e-6, rtol=0)


def test_gradients_are_torchs_too():
    x = torch.randn(5, 28, generator=torch.Generator().manual_seed(4))
    mine, reference = x.clone().requires_grad_(), x.clone().requires_grad_()
    LayerNorm(28)(mine).pow(3).sum().backward()
    nn.LayerNorm(28)(reference).pow(3).sum().backward()
    torch.testing.assert_close(mine.grad, reference.grad, atol=1e-5, rtol=0)


@given(scale=st.floats(0.1, 50), shift=st.floats(-20, 20), seed=st.integers(0, 99))
def test_layer_norm_sees_neither_scale_nor_shift_and_rms_norm_no_scale(scale, shift, seed):
    x = torch.randn(3, 28, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    layer, rms = LayerNorm(28, 1e-12).double(), RMSNorm(28, 1e-12).double()
    torch.testing.assert_close(layer(x * scale + shift), layer(x), atol=1e-6, rtol=0)
    torch.testing.assert_close(rms(x * scale), rms(x), atol=1e-6, rtol=0)
    assert layer(x).mean(-1).abs().max() < 1e-9
    torch.testing.assert_close(rms(x).square().mean(-1), torch.ones(3, dtype=torch.float64), atol=1e-9, rtol=0)


def test_a_token_whose_numbers_are_all_equal_gives_the_shift_and_no_nan():
    assert torch.equal(LayerNorm(28)(torch.full((28,), 3.0)), torch.zeros(28))
    assert torch.equal(RMSNorm(28)(torch.zeros(28)), torch.zeros(28))


def test_config_chooses_the_norm_and_its_eps(tiny):
    layer, rms = make_norm(tiny()), make_norm(tiny(norm_kind="rmsnorm", norm_eps=0.01))
    assert isinstance(layer, LayerNorm)
    assert layer.eps == 1e-5
    assert isinstance(rms, RMSNorm)
    assert rms.eps == 0.01
    assert repr(rms) == "RMSNorm(28, eps=0.01)"
