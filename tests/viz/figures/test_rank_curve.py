"""All tokens by rank: exact points, the cut between the last kept and the first lost, the masses in words."""

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import rank_curve
from viz.figures.rank_curve import SMALLEST, drawn_ranks

LARGE = 1 / np.arange(1, 49_153) ** 1.3
LARGE /= LARGE.sum()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_point_is_a_real_rank_and_its_real_probability(language: str) -> None:
    sharp = LARGE**2 / (LARGE**2).sum()
    fig = sound(rank_curve(sharp, LARGE, n_kept=37, n_after_top_k=50, chosen=(499, "<s>"), language=language))
    kept, cut, own, point = fig.data
    for trace, values in ((kept, sharp), (cut, sharp), (own, LARGE)):
        ranks = trace.x.astype(int) - 1
        np.testing.assert_array_equal(trace.y, values[ranks])
    assert kept.x.max() == 37 and cut.x.min() == 37 and own.x.max() == 49_152
    assert fig.layout.shapes[0].x0 == 37.5 and (point.x[0], point.y[0]) == (500, sharp[499])
    for mass in (sharp[:37].sum(), sharp[37:50].sum()):
        assert f"{mass * 100:.1f} %" in fig.layout.meta["caption"]
    assert len(fig.to_json()) < 25_000


def test_nothing_is_cut_and_the_temperature_is_one() -> None:
    values = np.array([0.5, 0.25, 0.125, 0.125])
    fig = sound(rank_curve(values, values, n_kept=4))
    assert len(fig.data) == 1 and not fig.layout.shapes and fig.data[0].y.tolist() == values.tolist()


def test_one_token_is_kept() -> None:
    values = np.array([0.5, 0.25, 0.125, 0.125])
    kept, cut = sound(rank_curve(values, values, n_kept=1)).data
    assert kept.x.tolist() == [1] and "markers" in kept.mode and cut.x.tolist() == [1, 2, 3, 4]


def test_what_is_too_small_for_the_axis_is_said_and_not_drawn_there() -> None:
    values = np.array([1 - 1e-20, 1e-20, 1e-30])
    fig = sound(rank_curve(values, values, n_kept=3, chosen=(2, "rare")))
    line, point = fig.data
    assert line.y.min() >= SMALLEST and point.marker.symbol == "triangle-down" and "1e-30" in fig.layout.meta["caption"]


def test_ranks_are_few_and_hold_both_sides_of_the_cut() -> None:
    ranks = drawn_ranks(49_152, 1234)
    assert {0, 1233, 1234, 49_151} <= set(ranks.tolist()) and len(ranks) < 330 and (np.diff(ranks) > 0).all()
    assert drawn_ranks(5, 5).tolist() == [0, 1, 2, 3, 4]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        rank_curve(np.ones(3) / 3, np.ones(4) / 4, n_kept=1)
