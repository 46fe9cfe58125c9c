"""Mean and deviation of every token: a row each, in order, with its own numbers."""

import numpy as np
import pytest

from viz.figures import norm_tokens
from viz.figures.axes import escape


def statistics(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    return rng.normal(size=count), rng.uniform(0.5, 2, count)


def test_a_line_reaches_one_deviation_to_each_side(hostile: tuple[str, ...]) -> None:
    mean, std = statistics(len(hostile))
    kept = mean.copy(), std.copy()
    figure = norm_tokens(mean, std, hostile, selected=5)
    lines, dots = figure.data[:2]
    np.testing.assert_allclose(lines.x[0::3], mean - std, rtol=1e-6)
    np.testing.assert_allclose(lines.x[1::3], mean + std, rtol=1e-6)
    np.testing.assert_allclose(dots.x, mean, rtol=1e-6)
    assert dots.y.tolist() == list(range(len(hostile))) and np.isnan(lines.x[2::3]).all()
    assert list(figure.layout.yaxis.ticktext) == [escape(token) for token in hostile]
    assert figure.layout.yaxis3.ticktext[3] == f"{std[3]:.3g}"
    assert figure.layout.meta["select"]["at"] == [0, 5] and figure.layout.shapes[0].y0 == 4.5
    np.testing.assert_array_equal((mean, std), kept)


def test_without_a_mean_lines_begin_at_zero() -> None:
    _, std = statistics(7)
    figure = norm_tokens(None, std, ["the"] * 7, language="zh")
    np.testing.assert_array_equal(figure.data[0].x[0::3], np.zeros(7))
    np.testing.assert_allclose(figure.data[1].x, std, rtol=1e-6)


def test_a_part_keeps_the_positions_of_the_text() -> None:
    mean, std = statistics(83)
    figure = norm_tokens(mean, std, [f"t{n}" for n in range(83)], selected=60, part=slice(41, 73))
    assert figure.data[1].y.tolist() == list(range(41, 73))
    np.testing.assert_allclose(figure.data[1].x, mean[41:73], rtol=1e-6)
    assert (
        figure.layout.meta["select"] | {"origin": [0, 40.5], "count": [1, 32], "at": [0, 19]}
        == figure.layout.meta["select"]
    )


def test_one_huge_token_runs_out_of_the_picture_and_the_figure_says_so() -> None:
    std = np.array([3000.0, 5, 6, 7, 8])
    figure = norm_tokens(None, std, list("abcde"))
    assert 8 < figure.layout.xaxis.range[1] < 20 and "longer" in figure.layout.meta["caption"]
    assert figure.layout.yaxis3.ticktext[0] == "3000" and figure.data[1].x[0] == 3000
    usual = norm_tokens(None, std[1:], list("bcde"))
    assert "longer" not in usual.layout.meta["caption"] and usual.layout.xaxis.range[1] > 8


def test_shapes_that_do_not_fit_are_refused() -> None:
    mean, std = statistics(5)
    for wrong in ((mean[:4], std), (mean, std[:4])):
        with pytest.raises(ValueError, match="5 tokens"):
            norm_tokens(*wrong, list("abcde"))
