"""Settings: every number outside its range is refused by name."""

import pytest

from transformer.errors import ShapesDoNotFit
from transformer.settings import Settings

GOOD = {"steps": 7, "batch_size": 5, "learning_rate": 0.01}


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"steps": True},
        {"batch_size": 2.5},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"warmup_steps": -1},
        {"schedule": "linear"},
        {"min_lr_fraction": 1.0},
        {"weight_decay": -0.1},
        {"betas": (0.9, 1.0)},
        {"betas": (0.9,)},
        {"clip": 0.0},
        {"label_smoothing": 1.0},
        {"accumulate": 0},
        {"snapshot_every": 0},
        {"evaluate_every": -3},
        {"patience": 3},  # of what, when nobody looks?
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(wrong):
    with pytest.raises(ShapesDoNotFit) as caught:
        Settings(**GOOD | wrong)
    name = "evaluate_every" if "patience" in wrong else next(iter(wrong))
    assert str(caught.value).startswith(f"{name}: expected")


def test_what_fits_is_taken():
    settings = Settings(**GOOD, patience=3, evaluate_every=2, clip=None, schedule="inverse_sqrt")
    assert settings.patience == 3 and settings.clip is None
