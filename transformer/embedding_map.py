"""A table of vectors as a flat map: the two directions in which they differ most (PCA; Pearson 1901), and neighbours.

X − mean = U S Vᵀ        point = (X − mean) · V[:, :2] = U[:, :2] · S[:2]        explained = S[:2]² / Σ S²
"""

from dataclasses import dataclass

import numpy as np

from transformer.errors import InputError, ShapesDoNotFit


class NothingVaries(InputError):
    """All `count` vectors are the same: no direction can tell them apart."""


@dataclass(frozen=True, eq=False)
class FlatMap:
    """Each vector as a point, and how much of the truth the map keeps."""

    points: np.ndarray  # (vector, 2) float64, in the units of the vectors
    explained: np.ndarray  # (2,) float64, the shares of the whole variance along both axes; rarely near 1 together
    directions: np.ndarray  # (2, d_model) float64, of length 1: where the axes of the map point


@dataclass(frozen=True)
class Neighbour:
    index: int  # row of the table
    cosine: float  # −1 … 1, of the angle between both vectors


def flat_map(matrix: np.ndarray) -> FlatMap:
    """The map of `matrix` (vector, d_model): centred, then its first two principal components.

    A direction and its opposite are equally good; the one is taken whose largest entry is positive. Raises
    `ShapesDoNotFit` for fewer than two vectors or dimensions, `NothingVaries` where all vectors are equal.
    """
    x = np.asarray(matrix, np.float64)
    if x.ndim != 2 or min(x.shape) < 2:
        raise ShapesDoNotFit(what="matrix", expected="(≥ 2, ≥ 2)", got=x.shape)
    centred = x - x.mean(axis=0)
    if np.abs(centred).max() <= 1e-12 * np.abs(x).max():  # what rounding leaves of the mean
        raise NothingVaries(count=len(x))
    _, size, directions = np.linalg.svd(centred, full_matrices=False)
    directions = directions[:2]
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[[0, 1], largest])[:, None]  # (2, d_model)
    return FlatMap(centred @ directions.T, size[:2] ** 2 / (size**2).sum(), directions)


def neighbours(matrix: np.ndarray, index: int, k: int) -> tuple[Neighbour, ...]:
    """The `k` rows of `matrix` (vector, d_model) whose direction is nearest to that of row `index`, nearest first.

    Without the row itself, and without vectors of length 0, which have no direction. In all dimensions: what lies
    together on the flat map need not be near, and the other way round.
    """
    x = np.asarray(matrix, np.float64)
    if x.ndim != 2 or not 0 <= index < len(x):
        raise ShapesDoNotFit(what="index", expected=f"0 … {len(x) - 1}", got=index)
    length = np.linalg.norm(x, axis=1)  # (vector,)
    there = length > 0
    if not there[index]:
        return ()
    cosine = x @ x[index] / np.where(there, length, 1) / length[index]  # (vector,)
    order = [other for other in np.argsort(-cosine, kind="stable").tolist() if other != index and there[other]]
    return tuple(Neighbour(other, float(np.clip(cosine[other], -1, 1))) for other in order[:k])
