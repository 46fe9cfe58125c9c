"""A token's vectors in rows: what is drawn are its own numbers, on one scale as far as they are added up."""

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import embedding_rows


def vectors(size: int, count: int = 3) -> tuple[np.ndarray, np.ndarray]:
    terms = np.random.default_rng(size).normal(size=(count, size))
    return terms, terms.sum(0)


def test_rows_are_the_terms_their_sum_and_what_a_norm_makes_of_it() -> None:
    terms, total = vectors(29)
    before = terms.copy(), total.copy()
    fig = sound(embedding_rows(terms, total, ("token", "position", "segment"), normed=7 * total, selected=11))
    np.testing.assert_array_equal(fig.data[0].z, np.vstack([terms, total]).astype(np.float32))
    np.testing.assert_array_equal(fig.data[1].z, (7 * total)[None].astype(np.float32))
    assert fig.data[1].y0 == 4 and fig.data[1].zmax == pytest.approx(7 * np.abs(total).max())
    top = np.abs(np.vstack([terms, total])).max()
    assert (fig.data[0].zmin, fig.data[0].zmax) == (-top, top)
    rows = ["token", "+ position", "+ segment", "= sum", "after the norm"]
    assert list(fig.layout.yaxis.ticktext) == rows
    assert fig.layout.meta["select"] == {
        "origin": [-0.5, -0.5], "pitch": [1, 5], "size": [1, 5], "count": [29, 1], "at": [11, 0],
    }  # fmt: skip
    assert (fig.layout.shapes[0].x0, fig.layout.shapes[0].x1, fig.layout.shapes[0].y1) == (10.5, 11.5, 4.5)
    np.testing.assert_array_equal(before[0], terms)
    np.testing.assert_array_equal(before[1], total)


def test_the_ends_of_the_scales_are_seen() -> None:
    """Plotly hides an axis that no trace is bound to."""
    terms, total = vectors(7, 1)
    fig = embedding_rows(terms, total, ("token",), normed=3 * total)
    assert any(trace.yaxis == "y2" for trace in fig.data)
    ends = [float(text.removeprefix("±")) for text in fig.layout.yaxis2.ticktext]
    np.testing.assert_allclose(ends, np.array([1, 1, 3]) * np.abs(total).max(), rtol=6e-3)


def test_a_factor_is_told() -> None:
    terms, total = vectors(7, 2)
    fig = embedding_rows(terms, total, ("token", "position"), factors=(11.3137, 1), language="zh")
    assert fig.layout.yaxis.ticktext[0].startswith("11.31 · ") and fig.layout.yaxis.ticktext[1].startswith("+ ")


def test_a_wide_vector_shows_the_farthest_of_each_block() -> None:
    terms, total = vectors(571)
    fig = sound(embedding_rows(terms, total, ("token", "position", "segment"), selected=570))
    shown = fig.data[0].z
    assert shown.shape == (4, 115) and fig.data[0].dx == 5 and fig.data[0].x0 == 2
    for cell in range(115):
        part = terms[1, cell * 5 : cell * 5 + 5]
        assert shown[1, cell] == np.float32(part[np.abs(part).argmax()])
    assert fig.layout.meta["select"]["at"] == [114, 0] and fig.layout.meta["select"]["pitch"] == [5, 4]
    assert "571" in fig.layout.meta["caption"] and "5" in fig.layout.meta["caption"]


def test_a_part_of_it_is_exact() -> None:
    terms, total = vectors(571)
    fig = embedding_rows(terms, total, ("token", "position", "segment"), selected=403, part=slice(389, 421))
    np.testing.assert_array_equal(fig.data[0].z[:3], terms[:, 389:421].astype(np.float32))
    assert fig.data[0].x0 == 389 and fig.layout.meta["select"]["at"] == [14, 0]
    assert embedding_rows(terms, total, ("token",) * 3, selected=3, part=slice(389, 421)).layout.shapes == ()


def test_shapes_that_do_not_fit() -> None:
    terms, total = vectors(7)
    for bad in ((terms, total, ("token",)), (terms[0], total, ("token",)), (terms, total[:3], ("token",) * 3)):
        with pytest.raises(ValueError, match="do not fit"):
            embedding_rows(*bad)
    with pytest.raises(ValueError, match="does not fit"):
        embedding_rows(terms, total, ("token",) * 3, normed=total[:3])
