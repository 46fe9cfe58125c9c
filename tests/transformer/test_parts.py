"""parts.py: the formulas in NumPy, by hand and against torch."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer.parts import ACTIVATIONS, FeedForwardPart, HeadPart, LinearPart, NormPart

IN_TORCH = {
    "relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x), "relu_squared": lambda x: F.relu(x).square(),
    "tanh": torch.tanh, "identity": lambda x: x,
}  # fmt: skip
X = np.random.default_rng(3).normal(size=(5, 28)).astype(np.float32)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_activations_equal_torch(name):
    x = np.array([-1000.0, -20, -1.5, -0.0, 0, 1e-8, 0.7, 3, 1000])
    wanted = IN_TORCH[name](torch.tensor(x)).numpy()
    np.testing.assert_allclose(ACTIVATIONS[name](x), wanted, atol=1e-12, rtol=1e-12)
    assert ACTIVATIONS[name](np.empty((0, 3))).shape == (0, 3)


def test_norms_by_hand():
    """(1, 3): mean 2, standard deviation 1; root mean square √5."""
    x = np.array([[1.0, 3.0]], dtype=np.float32)
    layer, rms = NormPart("layernorm", None, None, 0.0), NormPart("rmsnorm", None, None, 0.0)
    assert layer(x).tolist() == [[-1, 1]] and (layer.mean(x), layer.std(x)) == (2, 1)
    np.testing.assert_allclose(rms(x), x / math.sqrt(5))
    assert rms.mean(x) == 0 and rms.std(x) == pytest.approx(math.sqrt(5))
    assert NormPart("layernorm", np.float32([2, 2]), np.float32([1, 0]), 0.0)(x).tolist() == [[-1, 2]]


def test_norms_equal_torch():
    gamma, beta = random(28, seed=1), random(28, seed=2)
    theirs = F.layer_norm(torch.tensor(X), (28,), torch.tensor(gamma), torch.tensor(beta), 1e-5)
    np.testing.assert_allclose(NormPart("layernorm", gamma, beta, 1e-5)(X), theirs, atol=1e-6)
    theirs = F.rms_norm(torch.tensor(X), (28,), torch.tensor(gamma), 1e-6)
    np.testing.assert_allclose(NormPart("rmsnorm", gamma, None, 1e-6)(X), theirs, atol=1e-6)


def test_eps_stands_inside_the_root():
    zeros = np.zeros((1, 4), dtype=np.float32)
    assert NormPart("layernorm", None, None, 0.25).std(zeros) == [0.5]
    assert (NormPart("rmsnorm", None, None, 0.25)(zeros) == 0).all()


def test_linear_equals_torch_and_large_matrices_are_not_copied_to_float64():
    layer = nn.Linear(28, 31)
    part = LinearPart(layer.weight.detach().numpy(), layer.bias.detach().numpy())
    np.testing.assert_allclose(part(X), layer(torch.tensor(X)).detach(), atol=1e-6)
    assert part(X).dtype == np.float64
    wide = LinearPart(np.ones((400_001, 10), np.float32), None)
    assert wide(np.ones((1, 10), np.float32)).dtype == np.float32


def test_feed_forward_by_hand():
    """up doubles, ReLU cuts, down adds up; the gate multiplies."""
    up = LinearPart(np.float32([[2, 0], [0, 2]]), None)
    down = LinearPart(np.float32([[1, 1]]), np.float32([10]))
    x = np.float32([[3, -4]])
    assert FeedForwardPart(up, down, "relu").hidden(x).tolist() == [[6, 0]]
    assert FeedForwardPart(up, down, "relu")(x).tolist() == [[16]]
    gate = LinearPart(np.float32([[1, 0], [0, -1]]), None)
    assert FeedForwardPart(up, down, "relu", gate).hidden(x).tolist() == [[3 * 6, 4 * -8]]


@pytest.mark.parametrize("softcap", [None, 2.0])
def test_a_head_gives_the_same_columns_alone(softcap):
    head = HeadPart(LinearPart(random(53, 28, seed=4), random(53, seed=5)), 0.5, softcap)
    tokens = np.array([[3, 52, 3], [0, 1, 2], [9, 9, 9], [7, 8, 1], [50, 49, 0]])
    whole = head(X)
    assert whole.shape == (5, 53)
    np.testing.assert_allclose(head(X, tokens), np.take_along_axis(whole, tokens, 1), atol=1e-6)
    plain = (X.astype(np.float64) @ head.linear.weight.T + head.linear.bias) * 0.5
    np.testing.assert_allclose(whole, plain if softcap is None else 2 * np.tanh(plain / 2), atol=1e-6)
