"""Pairs of layers: the drawn square is the one that was given, and its frame stands where the chosen layer is."""

import numpy as np
import pytest

from viz.figures import layer_similarity


def square(count: int) -> np.ndarray:
    vectors = np.random.default_rng(count).normal(size=(count, 11))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


@pytest.mark.parametrize("count", [3, 31, 49])
def test_the_square_is_drawn_with_fixed_ends(count: int) -> None:
    cosines = square(count)
    kept = cosines.copy()
    figure = layer_similarity(cosines, token="<b>", selected=1, language="zh" if count == 31 else "en")
    main = figure.data[0]
    np.testing.assert_array_equal(main.z, cosines.astype(np.float32))
    assert (main.zmin, main.zmax, main.x0, main.y0) == (-1, 1, -1, -1)
    np.testing.assert_array_equal(cosines, kept)
    assert figure.layout.meta["select"]["count"] == [count, count] and figure.layout.meta["select"]["at"] == [2, 1]
    assert len(figure.to_json()) < 30_000 and figure.layout.height < 560


def test_the_frame_is_the_step_from_what_enters_a_layer_to_what_leaves_it() -> None:
    figure = layer_similarity(square(5), selected=2)
    shape, select = figure.layout.shapes[0], figure.layout.meta["select"]
    middle = (shape.x0 + shape.x1) / 2, (shape.y0 + shape.y1) / 2
    assert middle == (2, 1)  # behind layer 2, behind layer 1
    assert middle == tuple(origin + at + 0.5 for origin, at in zip(select["origin"], select["at"], strict=True))
    assert not layer_similarity(square(5)).layout.shapes


def test_few_points_have_their_numbers_and_their_names() -> None:
    cosines = square(4)
    figure = layer_similarity(cosines)
    written = np.full((4, 4), "", object)
    for trace in figure.data[1:]:
        texts = np.array(trace.text)
        written[texts != ""] = texts[texts != ""]
    assert written.tolist() == [[f"{value:.2f}".replace("-", "−") for value in row] for row in cosines]
    assert figure.layout.xaxis.ticktext == ("in", "0", "1", "2") and len(layer_similarity(square(11)).data) == 1


def test_what_is_no_square_is_refused() -> None:
    for wrong in (np.zeros((3, 4)), np.zeros(3), np.zeros((0, 0))):
        with pytest.raises(ValueError, match="square"):
            layer_similarity(wrong)
