"""Bars of the next token: probabilities as given, the largest on top, and what the others share."""

import numpy as np
import pytest

from viz.figures import class_probabilities, next_tokens
from viz.figures.axes import escape
from viz.figures.predictions import percent


def test_largest_on_top(hostile: tuple[str, ...]) -> None:
    probabilities = np.array([0.1, 0.5, 0.2, 0.0001])
    before = probabilities.copy()
    fig = next_tokens(probabilities, hostile[:4], n_vocabulary=49152)
    assert np.allclose(fig.data[0].x, [0.5, 0.2, 0.1, 0.0001]) and np.array_equal(probabilities, before)
    assert list(fig.data[0].y) == [0, 1, 2, 3] and fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1]
    assert list(fig.layout.yaxis.ticktext) == [escape(hostile[index]) for index in (1, 2, 0, 3)]
    assert list(fig.data[0].text) == ["50.0 %", "20.0 %", "10.0 %", "<0.1 %"]
    assert "49,148" in fig.layout.annotations[0].text and "20.0 %" in fig.layout.annotations[0].text


def test_same_token_twice_keeps_two_bars() -> None:
    fig = next_tokens(np.array([0.5, 0.4]), ["1", "1"], n_vocabulary=2, rest=0.1)
    assert list(fig.data[0].y) == [0, 1] and list(fig.layout.yaxis.ticktext) == ["1", "1"]


def test_percent_by_hand() -> None:
    assert [percent(p) for p in (0, 0.0001, 0.0116, 0.7713, 0.99999, 1)] == [
        "0.0 %", "<0.1 %", "1.2 %", "77.1 %", ">99.9 %", "100.0 %",
    ]  # fmt: skip


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        next_tokens(np.ones(3), ["a"], n_vocabulary=3)


def test_classes_stand_in_their_own_order(hostile: tuple[str, ...]) -> None:
    shares = np.array([0.1, 0.7, 0.2])
    fig = class_probabilities(shares, hostile[:3])
    assert fig.data[0].x.tolist() == pytest.approx(shares.tolist()) and list(fig.data[0].y) == [0, 1, 2]
    assert list(fig.layout.yaxis.ticktext) == [escape(one) for one in hostile[:3]]
    assert len(set(fig.data[0].marker.color)) == 2, "the most probable class is marked"
    assert "3" in fig.layout.annotations[0].text


def test_some_of_many_classes_say_what_the_others_share() -> None:
    fig = class_probabilities(np.array([0.5, 0.2]), ["a", "b"], n_classes=1000)
    assert "998" in fig.layout.annotations[0].text and "30.0 %" in fig.layout.annotations[0].text
    with pytest.raises(ValueError, match="do not fit"):
        class_probabilities(np.ones(3), ["a"])
