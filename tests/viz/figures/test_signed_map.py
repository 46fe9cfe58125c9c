"""What maps of signed numbers share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.figures.signed_map import block_of, cells, column_grid, end_of, farthest


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 99))
def test_the_farthest_of_each_block_keeps_its_sign(count: int, block: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(3, count))
    found = farthest(values, block)
    assert found.shape == (3, -(-count // block))
    for cell in range(found.shape[1]):
        part = values[:, cell * block : (cell + 1) * block]
        np.testing.assert_array_equal(np.abs(found[:, cell]), np.abs(part).max(1))
        assert all(found[row, cell] in part[row] for row in range(3))


def test_ends_and_blocks() -> None:
    assert end_of(np.array([np.nan, -3, 2])) == 3 and end_of(np.zeros(2)) == end_of(np.array([np.nan])) == 1
    assert [block_of(count) for count in (1, 128, 129, 576)] == [1, 1, 2, 5]


def test_cells_are_symmetric_about_zero() -> None:
    drawn = cells(np.array([[1.0, -2]]), 2)
    assert (drawn["zmin"], drawn["zmax"]) == (-2, 2) and drawn["z"].dtype == np.float32
    assert drawn["colorscale"][5][0] == 0.5  # the pale middle lies at 0


@pytest.mark.parametrize(("selected", "at"), [(None, None), (7, [1, 0]), (10, [2, 0]), (11, None), (3, None)])
def test_a_column_holds_its_dimensions(selected: int | None, at: list[int] | None) -> None:
    shapes, select = column_grid(range(4, 11), 3, 5, selected)
    assert select["at"] == at and select["count"] == [3, 1] and len(shapes) == (at is not None)
    assert select["origin"] == [3.5, -0.5] and select["pitch"] == [3, 5]
