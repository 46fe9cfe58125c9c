"""q ⊙ k: what is drawn is the product of each dimension, beside it the numbers given, and nothing is changed."""

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import query_key_products

N_KEYS, D_HEAD = 5, 7


def given() -> dict:
    rng = np.random.default_rng(N_KEYS)
    q, k = rng.normal(size=D_HEAD), rng.normal(size=(N_KEYS, D_HEAD))
    weights = rng.dirichlet(np.ones(N_KEYS))
    return {
        "q": q,
        "k": k,
        "scores": k @ q / 7,
        "weights": weights,
        "keys": ["the", "·cat", "↵", "the", "<b>"],
    }


def drawn(fig: go.Figure, axis: str | None) -> list[np.ndarray]:
    return [trace.z for trace in fig.data if trace.type == "heatmap" and trace.yaxis == axis and trace.xaxis is None]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_cells_are_products_and_the_two_vectors_stand_above(language: str) -> None:
    row = given()
    before = {name: np.copy(value) for name, value in row.items()}
    fig = query_key_products(**row, selected=(3, 4), language=language)
    np.testing.assert_allclose(drawn(fig, None)[0], row["q"] * row["k"], rtol=1e-6)
    q, k = drawn(fig, "y3")
    np.testing.assert_allclose(q[0], row["q"], rtol=1e-6)
    np.testing.assert_allclose(k[0], row["k"][3], rtol=1e-6)
    shades = next(trace for trace in fig.data if trace.type == "heatmap" and trace.xaxis == "x3")
    np.testing.assert_allclose(shades.z[:, 0], row["weights"], rtol=1e-6)
    assert shades.zmin == 0 and shades.zmax == 1
    assert all(np.array_equal(value, before[name]) for name, value in row.items())
    go.Figure(fig.to_dict())  # checks every property


def test_signed_cells_are_symmetric_about_nothing() -> None:
    fig = query_key_products(**given(), selected=(0, 0))
    for trace in fig.data[:3]:
        assert trace.zmin == -trace.zmax and trace.zmax == pytest.approx(np.abs(trace.z).max())


def test_the_numbers_beside_are_sum_score_and_weight() -> None:
    row = given()
    texts = next(trace for trace in query_key_products(**row).data if trace.type == "scatter" and trace.mode == "text")
    shown = dict(zip(zip(texts.x.tolist(), texts.y.tolist(), strict=True), texts.text, strict=True))
    for key in range(N_KEYS):
        for column, value in enumerate(((row["q"] * row["k"][key]).sum(), row["scores"][key], row["weights"][key])):
            assert float(shown[column, key].replace("−", "-")) == pytest.approx(value, abs=0.006)


def test_forbiddeN_KEYS_have_no_weight_but_a_hatch() -> None:
    allowed = np.array([True, True, False, True, False])
    row = given()
    row["weights"] = np.where(allowed, row["weights"], 0)
    fig = query_key_products(**row, allowed=allowed)
    shades = next(trace for trace in fig.data if trace.type == "heatmap" and trace.xaxis == "x3")
    assert (np.isnan(shades.z[:, 0]) == ~allowed).all()
    texts = next(trace for trace in fig.data if trace.type == "scatter" and trace.mode == "text")
    hidden = [text for text, x, y in zip(texts.text, texts.x, texts.y, strict=True) if x == 2 and not allowed[int(y)]]
    assert hidden == ["", ""]
    hatch = next(trace for trace in fig.data if trace.type == "scatter" and trace.fill == "toself")
    assert np.nanmin(hatch.y) == 1.5 and np.nanmax(hatch.y) == 4.5  # around keys 2 and 4


def test_a_query_that_may_look_at_nothing_has_even_weights() -> None:
    row = given() | {"weights": np.full(N_KEYS, 1 / N_KEYS)}
    fig = query_key_products(**row, allowed=np.zeros(N_KEYS, bool))
    shades = next(trace for trace in fig.data if trace.type == "heatmap" and trace.xaxis == "x3")
    assert np.isfinite(shades.z).all() and not any(trace.type == "scatter" and trace.fill for trace in fig.data)


def test_a_window_keeps_the_positions_of_the_text() -> None:
    row = given()
    fig = query_key_products(**row, selected=(3, 6), rows=slice(2, 5))
    np.testing.assert_allclose(drawn(fig, None)[0], (row["q"] * row["k"])[2:5], rtol=1e-6)
    assert fig.data[0].y0 == 2 and fig.layout.yaxis.tickvals == (2, 3, 4)
    assert list(fig.layout.yaxis.ticktext) == ["↵", "the", "&lt;b&gt;"]
    assert fig.layout.meta["select"]["at"] == [6, 1] and fig.layout.meta["select"]["count"] == [D_HEAD, 3]
    frame = next(shape for shape in fig.layout.shapes if shape.name == "selected")
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (5.5, 6.5, 2.5, 3.5)
    assert "2" in fig.layout.meta["caption"] and "5" in fig.layout.meta["caption"]
    outside = query_key_products(**row, selected=(0, 6), rows=slice(2, 5))
    assert outside.layout.meta["select"]["at"] is None


def test_keys_alone() -> None:
    row = given()
    fig = query_key_products(**row, cells="keys")
    np.testing.assert_allclose(drawn(fig, None)[0], row["k"], rtol=1e-6)
    assert len(drawn(fig, "y3")) == 1  # no key is chosen: only q


def test_what_does_not_fit_is_refused() -> None:
    row = given()
    with pytest.raises(ValueError, match=r"q \(7,\)"):
        query_key_products(**row | {"keys": row["keys"][:4]})
    with pytest.raises(ValueError, match="do not fit"):
        query_key_products(**row | {"weights": row["weights"][:4]})
