"""Distribution: what is kept of a whole vocabulary's scores, by hand and by its sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.distribution import Distribution, choose
from transformer.sampling import GREEDY, Dials, softmax

LOGITS = np.log([0.125, 0.5, 0.25, 0.0625, 0.0625]) + 3


def test_the_three_probabilities_by_hand() -> None:
    found = choose(LOGITS, Dials(temperature=0.5, top_k=3, top_p=0.9), point=0.85, shown=4)
    assert found.ids.tolist() == [1, 2, 0, 3] and found.ranks.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(found.p, [0.5, 0.25, 0.125, 0.0625], atol=1e-12)
    squares = np.array([64, 16, 4, 1, 1]) / 86
    np.testing.assert_allclose(found.scaled, squares[:4], atol=1e-12)
    np.testing.assert_allclose(found.final, [0.8, 0.2, 0, 0], atol=1e-12)
    assert (found.token, found.place, found.n_after_top_k, found.n_kept, found.vocabulary) == (2, 1, 3, 2, 5)
    assert found.cut_by == ("", "", "top_p", "top_k") and found.kept_ids.tolist() == [1, 2]
    masses = found.mass_kept, found.mass_cut_by_top_p, found.mass_cut_by_top_k
    np.testing.assert_allclose(masses, [80 / 86, 4 / 86, 2 / 86], atol=1e-12)
    assert found.logsumexp == pytest.approx(3) and found.entropy == pytest.approx(1.875 * np.log(2))


def test_greedy_keeps_one_token_and_leaves_the_temperature_alone() -> None:
    found = choose(LOGITS, GREEDY)
    assert found.token == 1 and found.n_kept == 1 and found.final.tolist() == [1, 0, 0, 0, 0]
    np.testing.assert_allclose(found.scaled, found.p, atol=0)
    assert (found.mass_kept, found.mass_cut_by_top_p) == (pytest.approx(0.5), 0)


def test_a_rare_token_that_was_drawn_is_listed_last() -> None:
    found = choose(LOGITS, Dials(), point=0.999, shown=2)
    assert found.ids.tolist() == [1, 2, 4] and found.ranks.tolist() == [0, 1, 4] and found.place == 2


@given(
    st.lists(st.floats(-9, 9, width=32), min_size=1, max_size=29).map(np.array),
    st.builds(Dials, st.floats(0.1, 5), st.none() | st.integers(1, 31), st.none() | st.floats(0.05, 1)),
    st.floats(0, 1, exclude_max=True),
    st.integers(1, 7),
)
def test_sums_of_every_choice(logits: np.ndarray, dials: Dials, point: float, shown: int) -> None:
    found = choose(logits, dials, point, shown)
    assert found.mass_kept + found.mass_cut_by_top_k + found.mass_cut_by_top_p == pytest.approx(1)
    assert found.token in found.kept_ids and len(found.kept_ids) == found.n_kept <= found.n_after_top_k
    scaled = softmax(logits / dials.temperature)
    assert scaled[found.kept_ids].sum() == pytest.approx(found.mass_kept)
    kept = [cut == "" for cut in found.cut_by]
    np.testing.assert_allclose(found.final[kept], found.scaled[kept] / found.mass_kept, rtol=1e-9)
    assert not found.final[np.logical_not(kept)].any() and found.final[found.place] > 0
    np.testing.assert_allclose(found.p, np.exp(logits[found.ids] - found.logsumexp), rtol=1e-9)


def test_nobody_may_write_to_it() -> None:
    found: Distribution = choose(LOGITS, GREEDY)
    with pytest.raises(ValueError, match="read-only"):
        found.p[0] = 1


def test_a_forced_token_that_was_cut_by_hand() -> None:
    found = choose(LOGITS, Dials(temperature=0.5, top_k=3, top_p=0.9), point=0.1, shown=2, forced=4)
    assert found.ids.tolist() == [1, 2, 4] and (found.token, found.place) == (4, 2)
    np.testing.assert_allclose(found.p, [0.5, 0.25, 0.0625], atol=1e-12)
    assert found.final[2] == 0 and found.cut_by == ("", "", "top_k") and found.kept_ids.tolist() == [1, 2]


@pytest.mark.parametrize(("point", "token", "before"), [(0.0, 1, 0.0), (0.79, 1, 0.0), (0.81, 2, 0.8)])
def test_a_draw_falls_into_the_stretch_of_its_token(point: float, token: int, before: float) -> None:
    found = choose(LOGITS, Dials(temperature=0.5, top_k=3, top_p=0.9), point=point)
    assert found.token == token and found.before == pytest.approx(before, abs=1e-12)
    assert found.before <= point < found.before + found.final[found.place]


@given(
    st.lists(st.floats(-9, 9, width=32), min_size=1, max_size=29).map(np.array),
    st.builds(Dials, st.floats(0.1, 5), st.none() | st.integers(1, 31), st.none() | st.floats(0.05, 1)),
    st.integers(1, 7),
)
def test_two_roads_lead_to_the_three_probabilities(logits: np.ndarray, dials: Dials, shown: int) -> None:
    found = choose(logits, dials, 0.5, shown)
    np.testing.assert_allclose(found.recomputed(dials.temperature), found.shares, rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(found.logits, logits[found.ids])
    free = found.uncut
    np.testing.assert_allclose(free.recomputed(dials.temperature), free.shares, rtol=1e-9, atol=1e-300)


def test_another_temperature_is_another_road() -> None:
    found = choose(LOGITS, Dials(temperature=0.5))
    assert np.allclose(found.recomputed(0.5), found.shares) and not np.allclose(found.recomputed(1.0), found.shares)
