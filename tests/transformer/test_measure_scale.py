"""The scale: variances near what theory says, softmax's entropy and gradient by hand and against autograd."""

import numpy as np
import pytest
import torch
from torch.autograd.functional import jacobian

from transformer.errors import ShapesDoNotFit
from transformer.measure_scale import entropy, jacobian_norm, score_variance, softmax, softmax_saturation


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def test_variance_is_d_k_and_with_the_scale_one():
    found = score_variance((2, 7, 53), samples=5000, generator=generator())
    # A product of two normal entries has excess kurtosis 6, a sum of d_k of them 6 / d_k: the variance's own spread.
    spread = np.sqrt((2 + 6 / found.d_k) / found.samples)
    assert (np.abs(found.plain / found.d_k - 1) < 5 * spread).all()
    np.testing.assert_allclose(found.scaled, found.plain / found.d_k, rtol=1e-12)


def test_the_same_generator_gives_the_same():
    one, other = (score_variance((5,), 11, generator=generator()) for _ in range(2))
    assert one.plain == other.plain
    one, other = (softmax_saturation((5,), 7, 11, generator=generator()) for _ in range(2))
    assert one.entropy == other.entropy


def test_even_and_certain_weights_by_hand():
    even, certain = np.full(7, 1 / 7), np.eye(7)[3]
    assert entropy(even) == pytest.approx(np.log(7)) and entropy(certain) == 0
    # diag(1/n) − 1/n² has n entries of (n − 1)/n² and n(n − 1) of −1/n²: the norm is √(n − 1)/n.
    assert jacobian_norm(even) == pytest.approx(np.sqrt(6) / 7) and jacobian_norm(certain) == 0
    assert softmax(np.array([0.0, np.log(3)])).tolist() == pytest.approx([0.25, 0.75])
    assert softmax(np.array([1000.0, 0.0])).tolist() == [1, 0]


def test_the_gradient_is_that_of_autograd():
    scores = 3 * torch.randn(5, 7, generator=generator(), dtype=torch.float64)
    for row in scores:
        theirs = jacobian(lambda x: torch.softmax(x, -1), row)
        weights = softmax(row.numpy())
        np.testing.assert_allclose(np.diag(weights) - np.outer(weights, weights), theirs.numpy(), atol=1e-12)
        assert jacobian_norm(weights) == pytest.approx(theirs.norm().item(), abs=1e-12)


def test_large_scores_leave_one_weight_and_no_gradient():
    found = softmax_saturation((0.01, 1, 100, 1e6), n_keys=11, samples=211, generator=generator())
    assert (np.diff(found.entropy) < 0).all() and (np.diff(found.largest) > 0).all()
    assert found.entropy[0] == pytest.approx(np.log(11), abs=0.01) and found.entropy[-1] < 0.02
    assert found.jacobian[0] == pytest.approx(np.sqrt(10) / 11, rel=0.05) and found.jacobian[-1] < 0.02
    assert found.largest[-1] > 0.98 and (found.n_keys, found.samples) == (11, 211)


def test_scores_are_stretched_to_the_variance():
    found = softmax_saturation((9,), n_keys=7, samples=11, generator=generator())
    scores = torch.randn(11, 7, generator=generator()).double().numpy()
    assert found.largest[0] == pytest.approx(softmax(3 * scores).max(-1).mean())


def test_what_cannot_be_measured_is_refused():
    for wrong in ({"d_k": (0,)}, {"d_k": ()}, {"samples": 1}):
        with pytest.raises(ShapesDoNotFit):
            score_variance(**wrong, generator=generator())
    for wrong in ({"variances": (0,)}, {"variances": ()}, {"n_keys": 1}, {"samples": 0}):
        with pytest.raises(ShapesDoNotFit):
            softmax_saturation(**wrong, generator=generator())
