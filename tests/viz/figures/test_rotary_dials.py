"""Clocks of a rotation: each hand points where its angle says."""

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import rotary_dials, theme

PAIRS = np.stack([np.arange(11), np.arange(11) + 11], axis=1)
FAST = 10_000.0 ** (-np.arange(11) / 11)
QUERY, KEY = (5 * FAST) % 6.2832, (2 * FAST) % 6.2832


def hands(trace) -> tuple[np.ndarray, np.ndarray]:
    """Middle and tip of every hand."""
    points = np.stack([trace.x, trace.y], axis=1).reshape(-1, 3, 2)
    assert np.isnan(points[:, 2]).all()
    return points[:, 0], points[:, 1]


def test_hands_point_up_at_rest_and_turn_as_a_clocks_do() -> None:
    quarter = np.array([0, np.pi / 2, np.pi, 3 * np.pi / 2])
    fig = sound(rotary_dials(quarter, np.zeros(4), PAIRS[:4], FAST[:4]))
    middle, tip = hands(fig.data[2])
    way = (tip - middle) / np.linalg.norm(tip - middle, axis=1, keepdims=True)
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1], "rows are counted downwards"
    np.testing.assert_allclose(way, [[0, -1], [1, 0], [0, 1], [-1, 0]], atol=1e-6)
    assert middle[:, 0].tolist() == [0, 1, 2, 3]


def test_query_and_key_have_a_hand_each() -> None:
    fig = sound(rotary_dials(QUERY, KEY, PAIRS, FAST, names=("the", "<b>"), language="zh"))
    for trace, angles, tone in ((fig.data[1], KEY, "k"), (fig.data[2], QUERY, "q")):
        middle, tip = hands(trace)
        found = np.arctan2(tip[:, 0] - middle[:, 0], middle[:, 1] - tip[:, 1]) % (2 * np.pi)
        np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * angles), atol=1e-5)
        assert trace.line.color == theme.LIGHT[tone]
    words = fig.data[3].hovertext
    assert len(words) == 11 and "3" in words[3] and "14" in words[3] and f"{QUERY[3]:.4f}" in words[3]
    assert fig.data[3].x.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2] and len(set(fig.data[3].y.tolist())) == 2
    assert "&lt;b&gt;" in fig.layout.annotations[0].text


def test_a_pair_that_does_not_turn_has_no_wave() -> None:
    fig = sound(rotary_dials(np.zeros(1), np.zeros(1), PAIRS[:1], np.zeros(1)))
    assert "∞" in fig.data[3].hovertext[0]


def test_shapes_that_do_not_fit() -> None:
    for bad in ((QUERY, KEY[:3], PAIRS, FAST), (QUERY, KEY, PAIRS.T, FAST), (QUERY, KEY, PAIRS, FAST[:2])):
        with pytest.raises(ValueError, match="do not fit"):
            rotary_dials(*bad)
