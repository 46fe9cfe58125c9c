"""Cosines of positions: every pair, and one patch among all of its image."""

import numpy as np
import pytest

from tests.viz.figures.conftest import HOSTILE
from tests.viz.figures.sound import sound
from viz.figures import position_similarity, similarity_grid


def cosines(count: int) -> np.ndarray:
    rows = np.random.default_rng(count).normal(size=(count, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


@pytest.mark.parametrize("count", [1, 5, 19])
def test_every_pair_stands_in_its_cell(count: int) -> None:
    values = cosines(count)
    fig = sound(position_similarity(values, HOSTILE[:count], selected=(count - 1, 0), step=3))
    np.testing.assert_array_equal(fig.data[0].z, values.astype(np.float32))
    assert (fig.data[0].zmin, fig.data[0].zmax) == (-1, 1)
    assert fig.layout.meta["select"]["at"] == [0, count - 1] and "3" in fig.layout.meta["caption"]
    assert list(fig.layout.xaxis.tickvals) == list(fig.layout.yaxis.tickvals) == list(range(count))


def test_a_vector_of_no_length_stays_empty() -> None:
    values = cosines(3)
    values[1] = values[:, 1] = np.nan
    fig = sound(position_similarity(values, HOSTILE[:3], language="zh"))
    assert np.isnan(fig.data[0].z[1]).all() and fig.data[0].hoverongaps is False


def test_a_patch_among_all_patches() -> None:
    near = np.random.default_rng(2).uniform(-1, 1, (3, 5))
    near[1, 4] = 1
    fig = sound(similarity_grid(near, selected=(1, 4)))
    np.testing.assert_array_equal(fig.data[0].z, near.astype(np.float32))
    assert fig.layout.meta["select"]["at"] == [4, 1] and fig.layout.meta["select"]["count"] == [5, 3]
    texts = [text for trace in fig.data[1:] for row in trace.text for text in row if text]
    assert sorted(texts) == sorted(f"{value:.2f}".replace("-", "−") for value in near.ravel())
    assert list(fig.layout.yaxis.ticktext) == ["1", "2", "3"]
    assert len(sound(similarity_grid(np.ones((7, 7)), selected=(0, 0))).data) == 1  # numbers no longer fit


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        position_similarity(cosines(3), HOSTILE[:2])
    with pytest.raises(ValueError, match="does not lie"):
        similarity_grid(np.ones((3, 5)), selected=(3, 0))
