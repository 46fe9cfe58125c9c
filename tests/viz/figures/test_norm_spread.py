"""The numbers of a vector as dots: all of them, at their own place."""

import numpy as np
import pytest

from viz.figures import norm_spread


def test_a_dot_stands_where_its_number_is() -> None:
    before = np.random.default_rng(3).normal(3, 7, 29)
    normalized = (before - before.mean()) / before.std()
    figure = norm_spread(before, normalized, normalized * 2 + 1, selected=11)
    dots = figure.data[::2]
    for trace, expected in zip(dots, (before, normalized, normalized * 2 + 1), strict=True):
        np.testing.assert_array_equal(trace.x, expected.astype(np.float32))
        assert trace.customdata.tolist() == list(range(29))
    np.testing.assert_array_equal(dots[0].y, dots[2].y)
    assert [trace.x[0] for trace in figure.data[1::2]] == [
        np.float32(row[11]) for row in (before, normalized, normalized * 2 + 1)
    ]
    assert len({trace.yaxis for trace in dots}) == 3


def test_the_band_is_the_mean_and_one_deviation() -> None:
    before = np.array([0.0, 2.0, 4.0, 10.0])
    figure = norm_spread(before, before / 2, before)
    bands = [shape for shape in figure.layout.shapes if shape.name == "spread"]
    assert (bands[0].x0 + bands[0].x1) / 2 == pytest.approx(4) and bands[0].x1 - 4 == pytest.approx(before.std())
    said = [note.text for note in figure.layout.annotations if "mean" in note.text]
    assert f"mean 4, std {before.std():.4g}" in said[1] and len(said) >= 3


def test_rounding_around_zero_is_told_as_zero() -> None:
    row = np.array([-1.0, 1.0 + 1e-9])
    assert "mean 0," in norm_spread(row, row, row).layout.annotations[1].text


def test_a_very_wide_vector_is_thinned_says_so_and_keeps_the_chosen_one() -> None:
    before = np.arange(4099.0)
    figure = norm_spread(before, before, before, selected=4098)
    shown = figure.data[0].customdata
    assert len(shown) <= 1025 and 4098 in shown and (np.diff(shown[:-1]) == 5).all()
    assert "4099" in figure.layout.meta["caption"] and "5" in figure.layout.meta["caption"]
    assert "4099" not in norm_spread(before[:99], before[:99], before[:99]).layout.meta["caption"]
