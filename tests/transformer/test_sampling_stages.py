"""The stages of a choice, by hand and by their sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.sampling import Dials, softmax
from transformer.sampling_stages import COLUMNS, exp_total, stages

LOGITS = np.log([0.125, 0.5, 0.25, 0.0625, 0.0625]) + 3


def test_by_hand() -> None:
    found = stages(LOGITS, Dials(temperature=0.5, top_k=3, top_p=0.9), shown=2, also=3)
    assert found.ids.tolist() == [1, 2, 3] and found.ranks.tolist() == [0, 1, 3]
    columns = dict(zip(COLUMNS, found.table.T, strict=True))
    np.testing.assert_allclose(columns["logit"], LOGITS[[1, 2, 3]])
    np.testing.assert_allclose(columns["scaled"], 2 * LOGITS[[1, 2, 3]])
    np.testing.assert_allclose(columns["top_k"], [*(2 * LOGITS[[1, 2]]), -np.inf])
    np.testing.assert_allclose(columns["so_far"], [64 / 84, 80 / 84, np.nan])
    np.testing.assert_allclose(columns["top_p"], [*(2 * LOGITS[[1, 2]]), -np.inf])
    np.testing.assert_allclose(columns["probability"], [0.8, 0.2, 0])
    assert (found.n_after_top_k, found.n_kept, found.vocabulary) == (3, 2, 5)
    np.testing.assert_allclose(found.masses, [80 / 86, 4 / 86, 2 / 86])
    np.testing.assert_allclose(found.own, [0.5, 0.25, 0.125, 0.0625, 0.0625])


def test_the_sum_of_a_softmax() -> None:
    assert exp_total(LOGITS) == pytest.approx(2)


def test_a_token_that_is_shown_anyway_is_not_shown_twice() -> None:
    assert stages(LOGITS, Dials(), shown=2, also=2).ids.tolist() == [1, 2]


@given(
    st.lists(st.floats(-9, 9, width=32), min_size=1, max_size=29).map(np.array),
    st.builds(Dials, st.floats(0.1, 5), st.none() | st.integers(1, 31), st.none() | st.floats(0.05, 1)),
)
def test_laws(logits: np.ndarray, dials: Dials) -> None:
    found = stages(logits, dials, shown=len(logits))
    before = logits.copy()
    assert found.table.shape == (len(logits), len(COLUMNS)) and (logits == before).all()
    probability = found.table[:, -1]
    assert probability.sum() == pytest.approx(1) and (probability > 0).sum() <= found.n_kept <= found.n_after_top_k
    assert sum(found.masses) == pytest.approx(1) and (np.diff(found.own) <= 1e-15).all()
    np.testing.assert_allclose(found.own, softmax(logits)[found.ids])
    np.testing.assert_allclose(probability[: found.n_kept], found.scaled[: found.n_kept] / found.masses[0], rtol=1e-9)
