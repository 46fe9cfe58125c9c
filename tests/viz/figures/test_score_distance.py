"""q·k against distance: solid within the text, dashed beyond, the present one marked."""

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import score_by_distance, theme

FAR = np.arange(-7, 8)
SCORES = np.random.default_rng(1).normal(size=15)


def test_within_the_text_and_beyond() -> None:
    fig = sound(score_by_distance(FAR, SCORES, current=-3, reach=5, names=("$x$", "the")))
    inside, beyond, mark = fig.data
    known = np.abs(FAR) <= 5
    np.testing.assert_array_equal(np.isnan(inside.y), ~known)
    np.testing.assert_array_equal(inside.y[known], SCORES[known].astype(np.float32))
    np.testing.assert_array_equal(np.isnan(beyond.y), np.abs(FAR) < 5)  # it begins where the other ends
    assert (mark.x.tolist(), mark.marker.color) == ([-3], theme.LIGHT["select"])
    assert mark.y[0] == np.float32(SCORES[4]) and (inside.line.dash, beyond.line.dash) == ("solid", "dot")


def test_nothing_is_dashed_where_all_is_known() -> None:
    fig = sound(score_by_distance(FAR[7:], SCORES[7:], current=0, reach=7, language="zh"))
    assert len(fig.data) == 2 and fig.data[1].x.tolist() == [0]


def test_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        score_by_distance(FAR, SCORES[1:], current=0, reach=3)
    with pytest.raises(ValueError, match="do not fit"):
        score_by_distance(FAR, SCORES, current=9, reach=3)
