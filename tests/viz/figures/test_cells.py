"""Shaded cells: which ink writes where, and where the rectangle stands."""

import numpy as np
import pytest

from viz.figures import theme
from viz.figures.axes import escape
from viz.figures.cells import COSINES, SHARES, cell_layout, cells, row_height, signed


def test_each_text_is_written_once_in_the_ink_that_is_legible_there() -> None:
    values = np.array([[0.1, 0.7, 0.95], [np.nan, 0.3, 1.0]])
    texts = np.array([["a", "b", "c"], ["d", "e", "f"]], dtype=object)
    main, *written = cells(values, SHARES, "%{z}", texts=texts)
    np.testing.assert_array_equal(main["z"], values.astype(np.float32))
    assert (main["zmin"], main["zmax"], main["colorscale"]) == (0, 1, theme.WEIGHTS)
    inks = [ink for _, (ink, _) in theme.CELL_INKS]
    found = {one["textfont"]["color"]: "".join(map("".join, one["text"])).replace(" ", "") for one in written}
    assert found == {inks[0]: "ae", inks[1]: "b", inks[2]: "cf"}  # nothing stands where there is no number


def test_signed_numbers_have_white_in_the_middle_and_ink_by_their_size() -> None:
    values = np.array([[-4.0, 0.5, np.nan]])
    scale = signed(values)
    assert (scale.low, scale.high) == (-4, 4) and scale.colours == theme.SIGNED and COSINES.colours == theme.SIGNED
    _, *written = cells(values, scale, "", texts=np.array([["x", "y", "z"]], dtype=object))
    assert [one["text"][0][:2] for one in written] == [[" ", "y"], ["x", ""]]
    assert signed(np.array([[np.nan]])).high == 1


def test_without_texts_there_is_one_clear_trace_for_the_labels() -> None:
    main, labels = cells(np.ones((2, 3)), SHARES, "")
    assert (labels["xaxis"], labels["yaxis"]) == ("x2", "y2") and "hovertext" not in main


def test_the_rectangle_and_what_the_arrows_walk(hostile: tuple[str, ...]) -> None:
    layout = cell_layout(hostile[:5], hostile[:7], titles=("down", "across"), selected=(3, 6), caption="a\nb")
    assert layout["meta"]["select"] == {
        "origin": [-0.5, -0.5], "pitch": [1, 1], "size": [1, 1], "count": [7, 5], "at": [6, 3],
    }  # fmt: skip
    shape = layout["shapes"][0]
    assert (shape["x0"], shape["x1"], shape["y0"], shape["y1"]) == (5.5, 6.5, 2.5, 3.5)
    assert layout["yaxis"]["ticktext"] == [escape(name) for name in hostile[:5]]
    assert layout["annotations"][0]["text"] == "down<br>a<br>b" and layout["xaxis2"]["title"]["text"] == "across"
    assert not cell_layout("ab", "cd", titles=("", ""))["shapes"]


@pytest.mark.parametrize(("count", "height"), [(2, 40), (16, 40), (32, 20), (100, 14)])
def test_rows_are_as_high_as_all_of_them_allow(count: int, height: float) -> None:
    assert row_height(count) == height
