"""Bias by distance: lines, a map and slopes hold the given numbers, and each mark tells its head."""

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import bias_lines, bias_map, slope_bars, theme

FAR = np.arange(-4, 7)
BIAS = np.random.default_rng(3).normal(size=(5, 11))


def test_the_chosen_head_is_strong_and_all_others_are_there() -> None:
    fig = sound(bias_lines(FAR, BIAS, selected=2, current=3))
    others, mine, mark = fig.data
    np.testing.assert_array_equal(mine.y, BIAS[2].astype(np.float32))
    assert mine.line.width > others.line.width and mine.customdata.tolist() == [2] * 11
    values, heads = others.y.reshape(4, 12), others.customdata.reshape(4, 12)
    np.testing.assert_array_equal(values[:, :11], np.delete(BIAS, 2, axis=0).astype(np.float32))
    assert np.isnan(values[:, 11]).all() and heads[:, 0].tolist() == [0, 1, 3, 4]
    assert (mark.x.tolist(), mark.y[0], mark.marker.color) == ([3], np.float32(BIAS[2, 7]), theme.LIGHT["select"])


def test_one_head_and_a_distance_that_is_not_there() -> None:
    fig = sound(bias_lines(FAR, BIAS[:1], selected=0, current=99, language="zh"))
    assert len(fig.data) == 1


def test_the_map_holds_every_head() -> None:
    fig = sound(bias_map(FAR, BIAS, selected=4))
    np.testing.assert_array_equal(fig.data[0].z, BIAS.astype(np.float32))
    assert fig.data[0].customdata[3].tolist() == FAR.tolist()
    select = fig.layout.meta["select"]
    assert select["at"] == [0, 4] and select["count"] == [1, 5] and select["pitch"] == [11, 1]
    assert fig.layout.xaxis.ticktext[0] == "−4"


def test_slopes_are_bars_in_the_order_of_the_heads() -> None:
    slopes = np.array([0.25, 0.0625, 0.5])
    fig = sound(slope_bars(slopes, selected=1, language="zh"))
    assert fig.data[0].x.tolist() == slopes.tolist() and fig.data[0].customdata.tolist() == [0, 1, 2]
    colours = list(fig.data[0].marker.color)
    assert colours[1] != colours[0] == colours[2] and list(fig.data[0].text) == ["0.25", "0.0625", "0.5"]


def test_shapes_that_do_not_fit() -> None:
    for draw in (bias_lines, bias_map):
        with pytest.raises(ValueError, match="does not fit"):
            draw(FAR[1:], BIAS, selected=0)
        with pytest.raises(ValueError, match="does not fit"):
            draw(FAR, BIAS, selected=5)
    with pytest.raises(ValueError, match="is none of"):
        slope_bars(np.ones(3), selected=3)
