"""Position vectors as a map: the numbers themselves, tokens as labels only."""

import numpy as np
import pytest

from tests.viz.figures.conftest import HOSTILE
from tests.viz.figures.sound import sound
from viz.figures import position_table
from viz.figures.axes import escape, shorten


def rows(count: int, size: int) -> np.ndarray:
    return np.random.default_rng(count * size).normal(size=(count, size))


def test_a_row_is_a_position_even_where_tokens_repeat() -> None:
    values = rows(19, 29)
    before = values.copy()
    fig = sound(position_table(values, HOSTILE, selected=(4, 28)))
    np.testing.assert_array_equal(fig.data[0].z, values.astype(np.float32))
    assert fig.data[0].zmax == -fig.data[0].zmin == np.abs(values).max()
    assert list(fig.layout.yaxis.ticktext) == [escape(one) for one in HOSTILE]
    assert list(fig.layout.yaxis.tickvals) == list(range(19))
    assert shorten("<b>bold</b>") and "<b>bold" not in "".join(fig.layout.yaxis2.ticktext)
    select = fig.layout.meta["select"]
    assert (select["at"], select["count"], select["pitch"]) == ([28, 4], [29, 19], [1, 1])
    np.testing.assert_array_equal(values, before)


def test_many_dimensions_share_cells_or_are_cut() -> None:
    values = rows(7, 300)
    pooled = sound(position_table(values, HOSTILE[:7], selected=(2, 299), step=4, language="zh"))
    assert pooled.data[0].z.shape == (7, 100) and pooled.layout.meta["select"]["at"] == [99, 2]
    part = values[3, 150:153]
    assert pooled.data[0].z[3, 50] == np.float32(part[np.abs(part).argmax()])
    assert "4" in pooled.layout.meta["caption"]
    exact = position_table(values, HOSTILE[:7], selected=(2, 250), part=slice(240, 300))
    np.testing.assert_array_equal(exact.data[0].z, values[:, 240:].astype(np.float32))
    assert exact.layout.meta["select"]["at"] == [10, 2] and exact.data[0].x0 == 240
    assert exact.layout.shapes[0].x0 == 249.5
    hidden = position_table(values, HOSTILE[:7], selected=(2, 3), part=slice(240, 300))
    assert hidden.layout.shapes == () and hidden.layout.meta["select"]["at"] is None


def test_the_largest_picture_is_light() -> None:
    assert sound(position_table(rows(128, 128), ["w"] * 128)).data[0].z.shape == (128, 128)


def test_shapes_that_do_not_fit() -> None:
    for values, names in ((rows(3, 5), HOSTILE[:2]), (rows(3, 5)[0], HOSTILE[:3]), (rows(129, 2), ["w"] * 129)):
        with pytest.raises(ValueError, match="do not fit"):
            position_table(values, names)
