"""The map: points where they are, a colour and a sign for each class, names that do not cover each other."""

import numpy as np
import pytest

from viz.figures import theme, token_map
from viz.figures.axes import escape
from viz.figures.embedding_map import SIGNS


@pytest.fixture
def points() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(19, 2)) * [3, 1]


def clouds(fig: object) -> list:
    return [trace for trace in fig.data if trace.name]


def test_every_token_is_a_point_of_its_class(points, hostile):
    classes = [("noun", "verb", "<b>")[row % 3] for row in range(19)]
    before = points.copy()
    fig = token_map(points, hostile, classes, explained=(0.5, 0.25))
    assert [trace.name for trace in clouds(fig)] == ["noun", "verb", "&lt;b&gt;"]
    for number, trace in enumerate(clouds(fig)):
        rows = trace.customdata
        assert [row % 3 for row in rows] == [number] * len(rows)
        assert np.allclose(np.stack([trace.x, trace.y], 1), points[rows])
        assert list(trace.hovertext) == [escape(hostile[row]) for row in rows]
    assert [len({trace.marker[how] for trace in clouds(fig)}) for how in ("color", "symbol")] == [3, 3]
    assert np.array_equal(points, before) and fig.layout.showlegend
    assert fig.layout.yaxis.scaleanchor == "x" and fig.layout.yaxis.scaleratio == 1


def test_the_caption_says_how_much_is_left_out(points):
    fig = token_map(points, ["w"] * 19, ["c"] * 19, explained=(0.181, 0.131))
    assert "31.2 %" in fig.layout.meta["caption"] and "68.8 %" in fig.layout.meta["caption"]
    assert "18.1 %" in fig.layout.xaxis.title.text and "13.1 %" in fig.layout.yaxis.title.text
    everything = token_map(points, ["w"] * 19, ["c"] * 19, explained=(0.75, 0.25)).layout.meta["caption"]
    assert "all of the variance" in everything
    chinese = token_map(points, ["w"] * 19, ["c"] * 19, explained=(0.2, 0.112), language="zh")
    assert "31.2 %" in chinese.layout.meta["caption"]


def test_the_chosen_token_is_tied_to_its_neighbours(points):
    fig = token_map(points, ["w"] * 19, ["c"] * 19, explained=(0.5, 0.2), selected=7, near=(3, 11))
    ties, ring = fig.data[0], fig.data[-1]
    assert np.allclose(ties.x[[0, 1, 3, 4]], points[[7, 3, 7, 11], 0]) and np.isnan(ties.y[[2, 5]]).all()
    assert ties.line.color == ring.marker.line.color == theme.LIGHT["select"]
    assert np.allclose([ring.x[0], ring.y[0]], points[7])
    assert clouds(fig)[0].text[7] == "w", "the chosen token always bears its name"
    alone = token_map(points, ["w"] * 19, ["c"] * 19, explained=(0.5, 0.2), selected=7)
    assert len(alone.data[0].x) == 0


def test_names_that_would_cover_each_other_are_left_to_the_hover():
    near = token_map(np.array([[0, 0], [0.01, 0], [5, 5], [9, 0]]), list("abcd"), ["k"] * 4, explained=(1, 0))
    assert list(near.data[0].text) == ["a", "", "c", "d"]
    crowd = np.random.default_rng(1).normal(size=(997, 2))
    many = token_map(crowd, ["w"] * 997, ["k"] * 997, explained=(0.5, 0.5))
    assert sum(map(bool, many.data[0].text)) <= 60
    assert token_map(np.zeros((1, 2)), ["a"], ["k"], explained=(0, 0)).data[0].text == ("a",)


def test_many_classes_stay_apart():
    count = 41
    fig = token_map(np.zeros((count, 2)), ["w"] * count, [str(row) for row in range(count)], explained=(1, 0))
    assert len({(trace.marker.color, trace.marker.symbol) for trace in fig.data}) == count
    assert np.gcd(len(theme.CLASSES), len(SIGNS)) == 1, "or colour and sign would come again together too soon"


def test_what_does_not_fit_is_refused(points):
    for wrong in (points[:3], points.T):
        with pytest.raises(ValueError, match="do not fit 19 tokens"):
            token_map(wrong, ["w"] * 19, ["c"] * 19, explained=(1, 0))
    with pytest.raises(ValueError, match="18 classes"):
        token_map(points, ["w"] * 19, ["c"] * 18, explained=(1, 0))
