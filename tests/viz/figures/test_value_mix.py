"""weight · v: rows add up to the context below them, whatever window of them is shown."""

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import weighted_values

KEYS = ["the", "·cat", "↵", "the", "<b>"]
RNG = np.random.default_rng(11)
WEIGHTS, VALUES = RNG.dirichlet(np.ones(5)), RNG.normal(size=(5, 7))


def maps(fig: go.Figure) -> dict[str, list[np.ndarray]]:
    found: dict[str, list[np.ndarray]] = {}
    for trace in fig.data:
        if trace.type == "heatmap" and trace.xaxis is None:
            found.setdefault(trace.yaxis or "y", []).append(trace.z)
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_rows_add_up_to_the_context(language: str) -> None:
    before = WEIGHTS.copy(), VALUES.copy()
    fig = weighted_values(WEIGHTS, VALUES, KEYS, selected=(2, 5), language=language)
    found = maps(fig)
    np.testing.assert_allclose(found["y"][0], WEIGHTS[:, None] * VALUES, rtol=1e-6)
    np.testing.assert_allclose(found["y"][0].sum(0), found["y4"][0][0], rtol=1e-5)
    np.testing.assert_allclose(found["y3"][0][0], VALUES[2], rtol=1e-6)
    assert np.array_equal(WEIGHTS, before[0]) and np.array_equal(VALUES, before[1])
    rows, context = (
        trace for trace in fig.data if trace.type == "heatmap" and trace.yaxis in (None, "y4") and not trace.xaxis
    )
    assert rows.zmax == context.zmax == -rows.zmin  # one scale, or the sum could not be seen in the rows
    go.Figure(fig.to_dict())


def test_the_sum_is_over_all_keys_also_those_outside_the_window() -> None:
    found = maps(weighted_values(WEIGHTS, VALUES, KEYS, rows=slice(3, 5)))
    assert found["y"][0].shape == (2, 7)
    np.testing.assert_allclose(found["y4"][0][0], WEIGHTS @ VALUES, rtol=1e-6)


def test_values_alone() -> None:
    found = maps(weighted_values(WEIGHTS, VALUES, KEYS, selected=(2, 5), cells="values"))
    np.testing.assert_allclose(found["y"][0], VALUES, rtol=1e-6)
    assert "y3" not in found  # the chosen v is one of the rows


def test_forbidden_keys_are_hatched() -> None:
    allowed = np.array([True, True, True, False, False])
    weights = np.where(allowed, WEIGHTS, 0)
    fig = weighted_values(weights, VALUES, KEYS, allowed=allowed)
    hatch = next(trace for trace in fig.data if trace.type == "scatter" and trace.fill == "toself")
    assert np.nanmin(hatch.y) == 2.5 and np.nanmax(hatch.y) == 4.5
    even = weighted_values(np.full(5, 0.2), VALUES, KEYS, allowed=np.zeros(5, bool))
    assert not any(trace.type == "scatter" and trace.fill for trace in even.data)  # it may look at nothing


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit 4 keys"):
        weighted_values(WEIGHTS, VALUES, KEYS[:4])
