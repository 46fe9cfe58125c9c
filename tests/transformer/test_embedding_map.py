"""embedding_map.py: a line by hand, parity with the eigenvalues of the covariance, laws of the map, neighbours."""

import numpy as np
import pytest

from transformer.embedding_map import NothingVaries, flat_map, neighbours
from transformer.errors import ShapesDoNotFit


@pytest.fixture
def table() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=(53, 28)) * np.linspace(3, 0.1, 28)  # (vector, d_model)


def test_a_line_by_hand():
    """Three points along (3, 4), 5 apart: one direction (0.6, 0.8) holds everything."""
    made = flat_map(np.array([[1.0, 1.0], [4.0, 5.0], [7.0, 9.0]]))
    np.testing.assert_allclose(made.directions[0], [0.6, 0.8])
    np.testing.assert_allclose(made.points, [[-5, 0], [0, 0], [5, 0]], atol=1e-12)
    np.testing.assert_allclose(made.explained, [1, 0], atol=1e-12)


def test_parity_with_the_covariance(table):
    made = flat_map(table)
    values, vectors = np.linalg.eigh(np.cov(table.T))
    np.testing.assert_allclose(made.explained, values[::-1][:2] / values.sum(), atol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(made.directions * vectors.T[::-1][:2], axis=1)), 1, atol=1e-9)
    np.testing.assert_allclose(made.points.var(axis=0, ddof=1), values[::-1][:2])


def test_laws_of_the_map(table):
    made = flat_map(table)
    assert made.points.shape == (53, 2) and 0 < made.explained[1] < made.explained[0] and made.explained.sum() < 1
    np.testing.assert_allclose(made.points.mean(axis=0), 0, atol=1e-12)
    largest = np.abs(made.directions).argmax(axis=1)
    assert (made.directions[[0, 1], largest] > 0).all()
    np.testing.assert_allclose(flat_map(table + 7).points, made.points, atol=1e-9)
    np.testing.assert_allclose(flat_map(-table).points, -made.points, atol=1e-9)  # the same directions
    np.testing.assert_allclose(flat_map(table[::-1]).points[::-1], made.points, atol=1e-9)
    np.testing.assert_allclose(flat_map(table.astype(np.float32)).points, made.points, atol=1e-4)


def test_neighbours_by_hand():
    matrix = np.array([[2.0, 0.0], [0.0, 0.0], [3.0, 3.0], [-1.0, 0.0], [5.0, 0.0], [0.0, 1.0]])
    found = neighbours(matrix, 0, 9)
    assert [one.index for one in found] == [4, 2, 5, 3], "length does not count, and the zero vector has no direction"
    np.testing.assert_allclose([one.cosine for one in found], [1, 0.5**0.5, 0, -1])
    assert [one.index for one in neighbours(matrix, 0, 2)] == [4, 2]
    assert neighbours(matrix, 1, 3) == ()


def test_neighbours_do_not_depend_on_the_map(table):
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosine = unit @ unit[11]
    cosine[11] = -2
    assert [one.index for one in neighbours(table, 11, 5)] == np.argsort(-cosine)[:5].tolist()


def test_what_does_not_fit_is_refused(table):
    for wrong in (table[0], table[:1], table[:, :1]):
        with pytest.raises(ShapesDoNotFit):
            flat_map(wrong)
    for constant in (np.zeros((5, 3)), np.full((5, 3), 0.1)):
        with pytest.raises(NothingVaries, match="5"):
            flat_map(constant)
    for index in (-1, 53):
        with pytest.raises(ShapesDoNotFit, match="0 … 52"):
            neighbours(table, index, 3)
