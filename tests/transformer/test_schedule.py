"""Learning rates by hand, and against the formulas of the papers."""

from dataclasses import replace

import pytest

from transformer.schedule import learning_rate, vaswani_peak
from transformer.settings import Settings

PLAN = Settings(steps=20, batch_size=5, learning_rate=0.8, warmup_steps=4, min_lr_fraction=0.25)


def test_cosine_by_hand():
    rates = [learning_rate(step, PLAN) for step in (1, 2, 4, 12, 20, 23)]
    assert rates == pytest.approx([0.2, 0.4, 0.8, 0.5, 0.2, 0.2])  # halfway down lies between 0.8 and 0.2


def test_constant_stays_after_the_warm_up():
    plan = replace(PLAN, schedule="constant")
    assert [learning_rate(step, plan) for step in (1, 4, 5, 20)] == pytest.approx([0.2, 0.8, 0.8, 0.8])


@pytest.mark.parametrize("step", [1, 7, 11, 13, 400])
def test_inverse_sqrt_is_equation_3_of_vaswani(step):
    d_model, warmup = 28, 11
    peak = vaswani_peak(d_model, warmup)
    plan = replace(PLAN, steps=500, learning_rate=peak, warmup_steps=warmup, schedule="inverse_sqrt")
    assert learning_rate(step, plan) == pytest.approx(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


@pytest.mark.parametrize("schedule", ["cosine", "inverse_sqrt", "constant"])
def test_without_warm_up_the_first_step_is_the_highest(schedule):
    plan = replace(PLAN, schedule=schedule, warmup_steps=0)
    rates = [learning_rate(step, plan) for step in range(1, 21)]
    assert max(rates) == rates[0] <= 0.8
    assert rates == sorted(rates, reverse=True)
