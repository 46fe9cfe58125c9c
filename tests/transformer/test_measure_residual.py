"""Residual on and off: the block by hand, gradients against a pass of one's own, and what is lost without."""

import numpy as np
import pytest
import torch
from torch import nn

from transformer.block import Block
from transformer.config import ModelConfig
from transformer.errors import ShapesDoNotFit
from transformer.measure_residual import BlockWithoutResidual, ResidualSettings, residual_gradients

TINY = ResidualSettings(n_layers=5, d_model=28, n_heads=7, batch=2, length=11)


@pytest.fixture(scope="module")
def found():
    return residual_gradients(TINY, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_block_without_is_its_parts_in_a_row(tiny, scramble, norm):
    block = scramble(BlockWithoutResidual(tiny(norm=norm)))
    x = torch.randn(2, 5, 28, generator=torch.Generator().manual_seed(2))
    parts = (block.norm1, block.attention, block.norm2, block.feedforward)
    order = parts if norm == "pre" else (parts[1], parts[0], parts[3], parts[2])
    assert torch.equal(block(x), nn.Sequential(*order)(x))
    twin = Block(tiny(norm=norm))
    twin.load_state_dict(block.state_dict())
    assert (twin(x) - block(x)).abs().max() > 0.1


def test_shapes_and_what_all_four_share(found):
    assert found.weights.shape == found.query_key.shape == (2, 2, 5)
    assert found.stream.shape == found.difference.shape == (2, 2, 6)
    assert found.norms == ("pre", "post") and found.settings == TINY
    assert len(set(found.difference[..., 0].ravel().tolist())) == 1  # the same input
    np.testing.assert_allclose(found.stream[1, :, -1], 1)  # in the post form the gradient arrives at the stream itself
    assert (found.query_key < found.weights).all() and (found.weights > 0).all()
    assert ((found.difference >= 0) & (found.difference <= 1)).all()


def test_gradients_are_those_of_a_pass_of_ones_own():
    settings = ResidualSettings(n_layers=1, d_model=6, n_heads=3, batch=2, length=5)
    found = residual_gradients(settings, generator=torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(3)
    x, arriving = torch.randn(2, 2, 5, 6, generator=generator, dtype=torch.float64)
    block = Block(ModelConfig(1, 5, 6, 1, 3, norm="post")).double()
    for part in block.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight, generator=generator)
            nn.init.zeros_(part.bias)
    (block(x) * arriving / arriving.norm()).sum().backward()
    squares = {name: parameter.grad.square().sum().item() for name, parameter in block.named_parameters()}
    assert found.weights[1, 0, 0] == pytest.approx(sum(squares.values()) ** 0.5, rel=1e-9)
    looking = squares["attention.query.weight"] + squares["attention.key.weight"]
    assert found.query_key[1, 0, 0] == pytest.approx(looking**0.5, rel=1e-9)


def test_without_residual_the_tokens_become_one_and_attention_learns_nothing(found):
    with_it, without = found.difference[:, 0], found.difference[:, 1]
    assert (with_it[:, -1] > 0.2).all() and (without[:, -1] < 1e-6).all()
    assert (np.diff(without[:, :4]) < 0).all()
    assert (found.query_key[:, 1, -1] < 1e-6 * found.query_key[:, 0, -1]).all()


def test_the_same_generator_gives_the_same(found):
    again = residual_gradients(TINY, generator=torch.Generator().manual_seed(3))
    np.testing.assert_allclose(again.weights, found.weights, rtol=1e-9)
    other = residual_gradients(TINY, generator=torch.Generator().manual_seed(4))
    assert not np.allclose(other.weights, found.weights)


def test_what_cannot_be_measured_is_refused():
    for wrong in ({"batch": 0}, {"length": 1}, {"n_layers": 0}):
        with pytest.raises(ShapesDoNotFit):
            residual_gradients(ResidualSettings(**wrong), generator=torch.Generator())
