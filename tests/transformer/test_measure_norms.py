"""Statistics of both norms: equal to torch's, by hand, and moved by padding in the one and not in the other."""

import numpy as np
import pytest
import torch
from torch import nn

from transformer.errors import ShapesDoNotFit
from transformer.measure_norms import norm_statistics, padded_batch


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return padded_batch((11, 5, 2), 7, generator=torch.Generator().manual_seed(3))


def test_the_batch_is_padded_on_the_right(batch):
    x, mask = batch
    assert x.shape == (3, 11, 7) and mask.sum(1).tolist() == [11, 5, 2] and mask[:, 0].all()
    assert not x[mask == 0].any() and (x[mask == 1] != 0).all()
    pad = torch.arange(7.0)
    filled, _ = padded_batch((11, 5, 2), 7, generator=torch.Generator().manual_seed(3), pad=pad)
    assert (filled[mask == 0] == pad).all() and torch.equal(filled[mask == 1], x[mask == 1])


def test_equal_to_torchs_norms(batch):
    x, mask = batch
    found = norm_statistics(x, mask)
    theirs = nn.BatchNorm1d(7).train()(x.transpose(1, 2)).transpose(1, 2)
    np.testing.assert_allclose(found.batch_normalized, theirs.detach().numpy(), atol=1e-6, rtol=0)
    theirs = nn.LayerNorm(7)(x)
    np.testing.assert_allclose(found.layer_normalized, theirs.detach().numpy(), atol=1e-6, rtol=0)


def test_running_statistics_of_torch_are_those_with_padding(batch):
    x, mask = batch
    norm = nn.BatchNorm1d(7, momentum=None).train()
    norm(x.transpose(1, 2))
    found = norm_statistics(x, mask)
    np.testing.assert_allclose(found.batch_padded.mean, norm.running_mean.numpy(), atol=1e-6, rtol=0)
    unbiased = found.batch_padded.std**2 * 33 / 32
    np.testing.assert_allclose(unbiased, norm.running_var.numpy(), atol=1e-6, rtol=1e-6)


def test_by_hand():
    x = torch.tensor([[[1.0, 4.0], [3.0, 0.0]], [[5.0, 2.0], [0.0, 0.0]]])  # the last token is padding
    found = norm_statistics(x, torch.tensor([[1, 1], [1, 0]]))
    assert found.batch_real.mean.tolist() == [3, 2] and found.batch_padded.mean.tolist() == [9 / 4, 6 / 4]
    np.testing.assert_allclose(found.batch_real.std**2, [8 / 3, 8 / 3])
    np.testing.assert_allclose(found.batch_padded.std**2, [35 / 4 - 81 / 16, 5 - 9 / 4])
    assert found.layer_real.mean.tolist() == [2.5, 1.5, 3.5] and found.layer_real.std.tolist() == [1.5, 1.5, 1.5]
    assert found.texts.tolist() == [0, 0, 1] and found.padding == 0.25


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_moves_batchnorm_alone(batch, side):
    x, mask = batch if side == "right" else tuple(one.flip(1) for one in batch)
    found = norm_statistics(x, mask)
    assert found.layer_moved == 0 and found.batch_moved > 0.1
    assert np.array_equal(found.layer_padded.std, found.layer_real.std)
    lengths = [(found.texts == text).sum() for text in range(3)]
    assert lengths == [11, 5, 2] and len(found.layer_real.mean) == 18


def test_without_padding_nothing_moves(batch):
    x, _ = batch
    found = norm_statistics(x, torch.ones(3, 11))
    assert found.batch_moved == pytest.approx(0, abs=1e-12) and found.padding == 0


def test_what_does_not_fit_is_refused(batch):
    x, mask = batch
    for wrong in (mask[:, :-1], torch.zeros(3, 11)):
        with pytest.raises(ShapesDoNotFit):
            norm_statistics(x, wrong)
    with pytest.raises(ShapesDoNotFit):
        norm_statistics(x[0], mask[0])
