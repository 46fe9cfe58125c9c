"""Cosines as bars and cells."""

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import similarity_bars, token_cosine_map
from viz.figures.axes import escape


@pytest.mark.parametrize("language", ["en", "zh"])
def test_bars_reach_to_their_cosine_and_the_closest_is_dark(hostile: tuple[str, ...], language: str) -> None:
    cosines = np.array([0.25, -0.5, 0.75])
    fig = sound(similarity_bars(cosines, hostile[5:8], language=language))
    (bars,) = fig.data
    assert bars.x.tolist() == cosines.tolist() and list(bars.text) == ["0.250", "−0.500", "0.750"]
    assert bars.marker.color[0] == bars.marker.color[1] != bars.marker.color[2]
    assert [words.text for words in fig.layout.annotations[:3]] == [escape(text) for text in hostile[5:8]]
    assert list(bars.hovertext) == [escape(text) for text in hostile[5:8]]


def test_a_long_text_is_shortened_beside_its_bar_and_whole_in_the_hover() -> None:
    text = "a very long text " * 9
    fig = similarity_bars(np.array([0.5]), [text])
    assert len(fig.layout.annotations[0].text) <= 44 and fig.data[0].hovertext[0] == text


def test_token_cosines_lie_between_minus_one_and_one(hostile: tuple[str, ...]) -> None:
    values = np.linspace(-1, 1, 35).reshape(5, 7)
    fig = sound(token_cosine_map(values, hostile[:5], hostile[5:12], selected=(4, 2)))
    main = fig.data[0]
    np.testing.assert_array_equal(main.z, values.astype(np.float32))
    assert (main.zmin, main.zmax) == (-1, 1) and fig.layout.meta["select"]["at"] == [2, 4]
    assert list(fig.layout.yaxis.ticktext) == [escape(one) for one in hostile[:5]]
    sound(token_cosine_map(np.zeros((40, 40)), ["a"] * 40, ["b"] * 40, language="zh"))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        similarity_bars(np.ones(3), ["a"])
    with pytest.raises(ValueError, match="do not fit"):
        token_cosine_map(np.ones((2, 3)), ["a"], ["b"] * 3)
