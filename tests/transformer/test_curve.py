"""A thinned curve by hand."""

from transformer.curve import POINTS, Curve
from transformer.judging import Judged


def test_a_point_is_the_mean_of_its_stretch():
    curve = Curve.of(3 * POINTS)
    assert curve.stride == 3
    for step in range(1, 8):
        curve.add(step, float(step), step / 8, 0.5, Judged(6.0, 1, 4, 1, 1) if step == 5 else None)
    assert curve.points == [[3, 2.0, 0.25, 0.5], [6, 5.0, 0.625, 0.5]]
    assert curve.waiting == [[7.0, 0.875]]
    assert curve.held_out == [[5, 1.5, 0.25]]


def test_a_short_training_is_kept_whole():
    assert Curve.of(1).stride == Curve.of(POINTS).stride == 1 and Curve.of(POINTS + 1).stride == 2
