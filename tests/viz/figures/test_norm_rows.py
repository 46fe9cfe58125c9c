"""A vector through a norm, in rows: what is drawn are the vector's own numbers, each row on its own scale."""

import numpy as np
import pytest

from viz.figures import norm_rows, rows_block, rows_of


def vectors(size: int, count: int = 5) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [rng.normal(size=size) * 10.0**power for power in range(count)]


def drawn(figure: object) -> tuple[np.ndarray, np.ndarray]:
    """The values of the cells, and their dimensions."""
    custom = figure.data[0].customdata
    return custom[..., 0], custom[..., 1]


def test_every_row_has_its_own_scale_and_its_exact_numbers() -> None:
    before, normalized, gamma, beta, after = vectors(29)
    figure = norm_rows(before, normalized, after, gamma=gamma, beta=beta, selected=7)
    values, dims = drawn(figure)
    expected = np.stack([before, normalized, gamma, beta, after])
    np.testing.assert_array_equal(values, expected.astype(np.float32))
    np.testing.assert_array_equal(dims, np.tile(np.arange(29), (5, 1)))
    z = figure.data[0].z
    np.testing.assert_allclose(z, expected / np.abs(expected).max(1)[:, None], rtol=1e-6)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1) and z.dtype == np.float32
    ends = [float(text.removeprefix("±").replace("k", "e3")) for text in figure.layout.yaxis2.ticktext]
    np.testing.assert_allclose(ends, np.abs(expected).max(1), rtol=6e-3)
    assert list(figure.layout.yaxis.ticktext) == ["before", "normalised", "γ", "β", "after"]


def test_rows_that_a_norm_has_not_are_not_drawn() -> None:
    before, normalized, gamma, _, after = vectors(13)
    _, names = rows_of(before, normalized, after, gamma=gamma)
    assert names == ("before", "normalized", "gamma", "after")
    figure = norm_rows(before, None, after, language="zh")
    assert figure.data[0].z.shape == (2, 13) and figure.layout.yaxis.ticktext[0] != "before"


def test_a_wide_vector_shows_the_farthest_of_each_block() -> None:
    before, normalized, *_ = vectors(571)
    figure = norm_rows(before, normalized, -before, selected=571 - 1)
    block, (values, dims) = rows_block(571), drawn(figure)
    assert block == 5 and values.shape == (3, 115)
    for cell in range(115):
        part = before[cell * 5 : cell * 5 + 5]
        farthest = int(np.abs(part).argmax())
        assert values[0, cell] == np.float32(part[farthest]) and dims[0, cell] == cell * 5 + farthest
    assert figure.layout.meta["select"]["at"] == [114, 0] and "571" in figure.layout.meta["caption"]


def test_a_part_of_it_is_exact() -> None:
    before, normalized, *_ = vectors(571)
    figure = norm_rows(before, normalized, before, selected=403, part=slice(389, 421))
    values, dims = drawn(figure)
    np.testing.assert_array_equal(values[0], before[389:421].astype(np.float32))
    assert dims[0].tolist() == list(range(389, 421))
    assert figure.layout.meta["select"]["at"] == [14, 0] and figure.layout.meta["select"]["count"] == [32, 1]
    assert figure.layout.shapes[0].x0 == 13.5 and figure.layout.shapes[0].y1 == 2.5
    outside = norm_rows(before, normalized, before, selected=2, part=slice(389, 421))
    assert not outside.layout.shapes and outside.layout.meta["select"]["at"] is None


def test_a_row_of_zeros_and_a_single_dimension_are_drawn() -> None:
    zeros = norm_rows(np.zeros(7), np.zeros(7), np.ones(7))
    assert np.isfinite(zeros.data[0].z).all() and (zeros.data[0].z[0] == 0).all()
    assert norm_rows(np.ones(1), np.ones(1), np.ones(1), selected=0).data[0].z.shape == (3, 1)


def test_vectors_of_unlike_lengths_are_refused_and_inputs_stay() -> None:
    one = np.arange(5.0)
    kept = one.copy()
    norm_rows(one, one, one, gamma=one)
    np.testing.assert_array_equal(one, kept)
    for wrong in ((one, one[:4], one), (np.zeros(0),) * 3, (one[None],) * 3):
        with pytest.raises(ValueError, match="one length"):
            norm_rows(*wrong)
