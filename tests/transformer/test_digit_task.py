"""Pictures of digits: which are held out, and what varying them may change."""

from random import Random

import pytest
import torch

from transformer import digit_task
from transformer.digit_task import Digits, NoDigits, digits
from transformer.messages import message


def test_every_picture_is_trained_on_or_held_out():
    trained, held_out = (digits(held_out) for held_out in (False, True))
    assert (len(trained[1]), len(held_out[1])) == (1450, 347)
    for pictures, labels in (trained, held_out):
        assert pictures.shape[1:] == (1, 8, 8) and pictures.min() == 0 and pictures.max() == 1
        assert labels.unique().tolist() == list(range(10))
    assert all(message("card.data.digit_vit", language).count("1450") == 1 for language in ("en", "zh"))


def test_the_examination_shows_every_held_out_picture_once_and_as_it_is():
    pictures, labels = digits(True)
    batch = Digits().batch(Random(3), 10_000, held_out=True)
    assert torch.equal(batch.labels.bincount(), labels.bincount())
    few = Digits().batch(Random(3), 7, held_out=True).inputs["pixel_values"]
    assert all(any(torch.equal(one, known) for known in pictures) for one in few)


def test_training_pictures_are_varied_and_stay_pictures():
    batch = Digits().batch(Random(3), 40)
    pixels = batch.inputs["pixel_values"]
    assert pixels.shape == (40, 1, 8, 8) and pixels.min() >= 0 and pixels.max() <= 1
    assert not any(torch.equal(one, known) for one in pixels[:5] for known in digits(False)[0])


def test_nothing_to_vary_varies_nothing():
    still = Digits(shift=0.0, turn=0.0, stretch=0.0, dim=0.0, noise=0.0)
    pictures = digits(False)[0][:7]
    torch.testing.assert_close(still.varied(pictures, torch.Generator().manual_seed(1)), pictures, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("part", "size", "most"), [("shift", 1.0, 1.01), ("turn", 12.0, 0.9), ("stretch", 0.12, 1.2)])
def test_a_pixel_moves_no_further_than_it_is_told(part, size, most):
    still = {"shift": 0.0, "turn": 0.0, "stretch": 0.0, "dim": 0.0, "noise": 0.0}
    dot = torch.zeros(97, 1, 8, 8)
    dot[:, :, 2, 5] = 1.0
    moved = Digits(**still | {part: size}).varied(dot, torch.Generator().manual_seed(1))
    rows, columns = torch.arange(8.0)[:, None], torch.arange(8.0)
    weight = moved.sum((1, 2, 3))
    at = ((moved[:, 0] * rows).sum((1, 2)) / weight, (moved[:, 0] * columns).sum((1, 2)) / weight)
    furthest = max(float((at[0] - 2).abs().max()), float((at[1] - 5).abs().max()))
    assert 0.1 < furthest < most


def test_without_scikit_learn_the_error_says_what_to_do(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(digit_task, "import_module", missing)
    digit_task.digits.cache_clear()
    with pytest.raises(NoDigits, match="requirements-dev"):
        Digits().batch(Random(3), 5)
