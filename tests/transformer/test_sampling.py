"""Sampling: by hand, laws of the cuts (nested, sum to 1, the fewest, ties by id), parity with transformers' warpers."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from transformer.errors import ShapesDoNotFit
from transformer.sampling import GREEDY, Dials, draw, entropy, fewest_that_hold, log_sum_exp, sampling_steps, softmax

HALVES = np.log([0.125, 0.5, 0.25, 0.125])  # ids 1, 2, 0, 3 by rank; 0 and 3 are equal
SCORES = st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=13).map(np.array)
DIALS = st.builds(
    Dials,
    temperature=st.floats(0.05, 20),
    top_k=st.none() | st.integers(1, 17),
    top_p=st.none() | st.floats(0.01, 1),
)


def by_dial(logits: np.ndarray, dials: Dials) -> dict:
    return {step.dial: step for step in sampling_steps(logits, dials)}


def test_every_dial_by_hand() -> None:
    steps = by_dial(HALVES, Dials(temperature=0.5, top_k=3, top_p=0.9))
    assert list(steps) == ["temperature", "top_k", "top_p", "softmax"]
    # Halving the temperature squares the probabilities: 1, 16, 4, 1 of 22; of the first three 1, 16, 4 of 21.
    np.testing.assert_allclose(steps["temperature"].probabilities, np.array([1, 16, 4, 1]) / 22, atol=1e-12)
    assert steps["top_k"].kept.tolist() == [1, 2, 0] and steps["top_k"].logits[3] == -np.inf
    np.testing.assert_allclose(steps["top_k"].probabilities, np.array([1, 16, 4, 0]) / 21, atol=1e-12)
    assert steps["top_p"].kept.tolist() == [1, 2]  # 16 / 21 = 0.76 is too little, 20 / 21 = 0.95 is enough
    np.testing.assert_allclose(np.exp(steps["softmax"].logits), [0, 0.8, 0.2, 0], atol=1e-12)


def test_dials_at_rest_change_nothing() -> None:
    steps = by_dial(HALVES, Dials())
    for step in steps.values():
        assert step.n_kept == 4
        np.testing.assert_allclose(step.probabilities, [0.125, 0.5, 0.25, 0.125], atol=1e-15)


@given(SCORES, DIALS)
def test_kept_tokens_are_nested_and_sum_to_1(logits: np.ndarray, dials: Dials) -> None:
    steps = list(sampling_steps(logits, dials))
    for before, after in pairwise(steps):
        assert set(after.kept) <= set(before.kept) and after.n_kept >= 1
        assert after.kept.tolist() == before.kept[: after.n_kept].tolist(), "a cut never changes the order"
    assert np.exp(steps[-1].logits).sum() == pytest.approx(1, abs=1e-12)
    for step in steps:
        assert np.array_equal(np.flatnonzero(np.isfinite(step.logits)), np.sort(step.kept))
        assert step.probabilities.sum() == pytest.approx(1, abs=1e-12)


@given(SCORES, DIALS)
def test_top_p_keeps_the_fewest_that_hold_the_share(logits: np.ndarray, dials: Dials) -> None:
    steps = by_dial(logits, dials)
    if dials.top_p is None or dials.top_p == 1:
        assert steps["top_p"].n_kept == steps["top_k"].n_kept
        return
    shares = steps["top_k"].probabilities[steps["top_p"].kept]
    assert shares.sum() >= dials.top_p - 1e-9
    assert shares[:-1].sum() < dials.top_p + 1e-9


@given(st.lists(st.integers(0, 3), min_size=2, max_size=11), st.integers(1, 11))
def test_of_equal_scores_the_smaller_id_goes_first(levels: list[int], k: int) -> None:
    step = by_dial(np.array(levels, float), Dials(top_k=k))["top_k"]
    expected = sorted(range(len(levels)), key=lambda id: (-levels[id], id))[:k]
    assert step.kept.tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_parity_with_the_warpers_of_transformers(seed: int) -> None:
    logits = torch.randn(1, 997, generator=torch.Generator().manual_seed(seed)) * 3
    temperature, k, p = 0.6 + 0.3 * seed, 5 + 40 * seed, 0.5 + 0.1 * seed
    warpers = TemperatureLogitsWarper(temperature), TopKLogitsWarper(k), TopPLogitsWarper(p)
    for step, warp in zip(sampling_steps(logits[0].numpy(), Dials(temperature, k, p)), warpers, strict=False):
        logits = warp(torch.zeros(1, 1, dtype=torch.long), logits)
        assert np.array_equal(np.isfinite(step.logits), torch.isfinite(logits[0]).numpy()), step.dial
        np.testing.assert_allclose(step.logits[step.kept], logits[0][step.kept].numpy(), rtol=1e-6)


def test_a_draw_falls_on_stretches_as_long_as_the_probabilities() -> None:
    last = by_dial(HALVES, Dials())["softmax"]  # along the unit interval: 1 to 0.5, 2 to 0.75, 0 to 0.875, 3 to 1
    points = (0, 0.49, 0.51, 0.74, 0.76, 0.874, 0.876, np.nextafter(1, 0))
    assert [draw(last, point) for point in points] == [1, 1, 2, 2, 0, 0, 3, 3]
    even = [draw(last, (place + 0.5) / 1000) for place in range(1000)]
    assert np.bincount(even).tolist() == [125, 500, 250, 125]


@given(SCORES, st.floats(0, 1, exclude_max=True))
def test_only_what_was_kept_is_drawn(logits: np.ndarray, point: float) -> None:
    last = by_dial(logits, Dials(top_k=3, top_p=0.7))["softmax"]
    assert draw(last, point) in last.kept


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=11, unique=True), st.floats(0, 1, exclude_max=True))
def test_in_the_cold_a_draw_is_greedy(levels: list[int], point: float) -> None:
    cold = by_dial(np.array(levels, float), Dials(temperature=0.001))["softmax"]
    greedy = by_dial(np.array(levels, float), GREEDY)["softmax"]
    assert draw(cold, point) == draw(greedy, point) == int(np.argmax(levels)) and greedy.n_kept == 1


def test_a_token_that_the_model_forbids_is_never_kept() -> None:
    steps = by_dial(np.array([0.0, -np.inf, 1.0]), Dials())
    assert {step.n_kept for step in steps.values()} == {2} and 1 not in steps["softmax"].kept


def test_sums_by_hand() -> None:
    assert log_sum_exp(np.array([1000.0, 1000.0])) == pytest.approx(1000 + np.log(2))
    assert entropy(np.array([1.0, 0.0])) == 0 and entropy(np.full(7, 1 / 7)) == pytest.approx(np.log(7))
    assert softmax(np.array([0.0, np.log(3)])).tolist() == pytest.approx([0.25, 0.75])
    shares = np.array([0.5, 0.25, 0.25])
    assert [fewest_that_hold(shares, p) for p in (0.01, 0.5, 0.51, 0.75, 0.76, 1)] == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": 0}, {"temperature": -1.0}, {"temperature": float("nan")}, {"temperature": True},
        {"temperature": 1e9},
        {"top_k": 0}, {"top_k": 2.0}, {"top_k": True}, {"top_p": 0}, {"top_p": 1.01}, {"top_p": "0.9"},
    ],
    ids=str,
)  # fmt: skip
def test_dials_out_of_range_are_refused_by_name(values: dict) -> None:
    with pytest.raises(ShapesDoNotFit) as caught:
        Dials(**values)
    assert caught.value.values["what"] == next(iter(values))


@pytest.mark.parametrize("logits", [[1.0, np.nan], [-np.inf, -np.inf], [np.inf, 0.0], [], [[1.0]]], ids=str)
def test_scores_that_are_no_numbers_are_refused(logits: list) -> None:
    with pytest.raises(ShapesDoNotFit):
        list(sampling_steps(np.array(logits), Dials()))
