"""Dimensions of positions as curves: lines of the formula, dots of the run."""

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import position_curves

X = np.arange(0, 29) / 4
WAVES = np.stack([np.sin(X), np.cos(X), np.sin(X / 7), np.cos(X / 7)])
NAMES = ("dimension 0", "1", "<b>2</b>", "3")


def test_lines_and_dots_are_the_given_numbers() -> None:
    recorded = np.arange(5), WAVES[:, :17:4]
    fig = sound(position_curves(X, WAVES, NAMES, at=3, dots=recorded, title="<i>", facts="how", language="zh"))
    at, *others = fig.data
    assert at.x.tolist() == [3, 3] and at.showlegend is False
    for place in range(4):
        np.testing.assert_array_equal(others[place].y, WAVES[place].astype(np.float32))
        np.testing.assert_array_equal(others[4 + place].y, WAVES[place, :17:4].astype(np.float32))
        assert others[4 + place].x.tolist() == [0, 1, 2, 3, 4] and others[4 + place].mode == "markers"
        assert others[place].line.color == others[4 + place].marker.color == others[place - place % 2].line.color
    assert others[0].line.dash != others[1].line.dash and "&lt;b&gt;" in others[2].name


def test_a_single_curve() -> None:
    fig = sound(position_curves(np.arange(3), np.array([[1.0, 2, 3]]), ["length"], title="t"))
    assert len(fig.data) == 1 and fig.data[0].mode == "lines+markers"


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        position_curves(X, WAVES[:, 1:], NAMES)
    with pytest.raises(ValueError, match="do not fit"):
        position_curves(X, WAVES, NAMES[:3])
