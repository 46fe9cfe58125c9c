"""Axes and numbers of measurements by hand."""

import numpy as np
import pytest

from viz.figures.curves import at, band, curve, linear, logarithmic, percents, short_number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (512, "512"), (0.25, "0.25"), (9416, "9416"), (10_000, "10k"), (1_052_672, "1.05M"),
        (500_000, "500k"), (2e9, "2G"), (1e-6, "10⁻⁶"), (3e-16, "3·10⁻¹⁶"), (0.001, "0.001"), (-2.5, "−2.5"),
        (1e12, "10¹²"), (1_000_000, "1M"),
    ],
)  # fmt: skip
def test_short_numbers(value: float, text: str) -> None:
    assert short_number(value) == text


def test_ticks_stand_at_the_measured_values_and_apart() -> None:
    axis = at(np.array([1, 2, 4, 8]), log=True)
    assert axis["tickvals"] == [1, 2, 4, 8] and axis["ticktext"] == ["1", "2", "4", "8"]
    low, high = axis["range"]
    assert low < 0 and high > np.log10(8)
    assert at(np.array([1, 4, 16, 64, 256, 300]), log=True)["tickvals"] == [1, 4, 16, 64, 256]
    assert len(at(np.arange(53))["tickvals"]) <= 8
    assert at(np.array([5.0]))["range"] == [4.5, 5.5]


@pytest.mark.parametrize(("low", "high"), [(2, 3), (17, 513), (1e-16, 1), (0.3, 0.30001), (5, 5)])
def test_a_logarithmic_axis_shows_all_and_has_ticks_within(low: float, high: float) -> None:
    axis = logarithmic(low, high)
    first, last = axis["range"]
    assert first < np.log10(low) and last > np.log10(high)
    inside = [tick for tick in axis["tickvals"] if first <= np.log10(tick) <= last]
    assert len(inside) >= 1 or high / low < 2
    assert len(axis["tickvals"]) == len(axis["ticktext"]) and len(inside) <= 12


def test_linear_axes_leave_an_edge() -> None:
    assert linear(0, 10)["range"] == [-0.5, 10.5] and linear(3, 3)["range"] == [2.5, 3.5]
    assert percents()["ticktext"] == ["0%", "25%", "50%", "75%", "100%"]


def test_a_band_runs_along_the_highest_and_back_along_the_lowest() -> None:
    runs = np.array([[1.0, 5.0, 2.0], [3.0, 4.0, 7.0]])
    (trace,) = band(np.array([0, 1, 2]), runs, 0, panel=1)
    assert trace["x"].tolist() == [0, 1, 2, 2, 1, 0] and trace["y"].tolist() == [3, 5, 7, 2, 4, 1]
    assert trace["yaxis"] == "y2" and band(np.arange(3), runs[:1], 0) == []


def test_a_curve_is_in_the_legend_once() -> None:
    x = np.arange(3)
    upper, lower = (curve(x, x, "<b>", 2, panel=panel) for panel in (0, 1))
    assert upper["showlegend"] and not lower["showlegend"]
    assert upper["name"] == "&lt;b&gt;" and upper["xaxis"] == "x" and lower["xaxis"] == "x2"
