"""The lens: probabilities in the cells, answers as words, whole in the hover."""

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import class_lens_map, lens_curve, lens_map
from viz.figures.axes import escape
from viz.figures.logit_lens import probability_axis

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_cells_hold_the_probabilities_and_the_answers(hostile: tuple[str, ...], language: str) -> None:
    shares = RNG.random((3, 7))
    before = shares.copy()
    answers = [list(hostile[row : row + 7]) for row in range(3)]
    fig = sound(lens_map(shares, answers, ["0", "1", "2 = model"], hostile[:7], selected=(2, 4), language=language))
    main = fig.data[0]
    np.testing.assert_array_equal(main.z, shares.astype(np.float32))
    assert [list(row) for row in main.hovertext] == [[escape(word) for word in row] for row in answers]
    assert (main.zmin, main.zmax) == (0, 1) and (shares == before).all()
    assert list(fig.layout.yaxis.ticktext) == ["0", "1", "2 = model"] and fig.layout.meta["select"]["at"] == [4, 2]
    assert list(fig.layout.xaxis.ticktext) == [escape(word) for word in hostile[:7]]


def test_a_wide_cell_says_its_probability_and_a_narrow_one_a_shorter_word() -> None:
    wide = lens_map(np.array([[0.25]]), [["unbelievable"]], ["0"], ["x"])
    assert wide.data[1].text[0][0] == "unbelievable  25.0 %"
    narrow = lens_map(np.full((1, 12), 0.25), [["unbelievable"] * 12], ["0"], ["x"] * 12)
    assert len(narrow.data[1].text[0][0]) <= 5 and narrow.data[0].hovertext[0][0] == "unbelievable"


def test_thirty_layers_and_twelve_tokens_stay_small_and_have_room() -> None:
    answers = [["word"] * 12 for _ in range(30)]
    fig = sound(lens_map(RNG.random((30, 12)), answers, list(map(str, range(30))), ["token"] * 12, selected=(29, 11)))
    assert len(fig.to_json()) < 30_000 and fig.layout.height > 30 * 18


def test_classes_side_by_side() -> None:
    shares = RNG.dirichlet(np.ones(5), 3)
    fig = sound(class_lens_map(shares, ["0", "1", "2"], list("abcde"), selected=(1, 3)))
    np.testing.assert_array_equal(fig.data[0].z, shares.astype(np.float32))
    written = {text for trace in fig.data[1:] for row in trace.text for text in row if text.strip()}
    assert written == {f"{share:.2f}" for share in shares.ravel()}


def test_the_curve_of_one_token_is_exact_however_small() -> None:
    shares = np.array([1e-40, 3e-9, 0.5])
    fig = sound(lens_curve(shares, "<b>$x$</b>", selected=1))
    np.testing.assert_array_equal(fig.data[0].y, shares)
    assert fig.layout.yaxis.type == "log" and fig.layout.yaxis.range[0] < -40
    assert len(set(fig.data[0].marker.color)) == 2 and fig.data[0].marker.color[0] == fig.data[0].marker.color[2]
    assert max(fig.layout.yaxis.tickvals) <= 1 and max(probability_axis(0.5, 1.0)["tickvals"]) <= 1
    sound(lens_curve(np.array([0.0, 1.0]), "x", language="zh"))


def test_what_does_not_fit_is_refused() -> None:
    for make in (
        lambda: lens_map(np.ones((2, 3)), [["a"] * 3] * 2, ["0"], ["x"] * 3),
        lambda: lens_map(np.ones((2, 3)), [["a"] * 2] * 2, ["0", "1"], ["x"] * 3),
        lambda: class_lens_map(np.ones((2, 3)), ["0", "1"], ["x"]),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            make()
