"""rotation.py: which dimensions turn together and how far, told from the numbers before and after."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.rotation import (
    Pairing,
    angles_between,
    base_of,
    factor_between,
    find_pairing,
    frequencies_of,
)

PAIRINGS = [Pairing(kind, turned) for kind in ("halves", "neighbours") for turned in (4, 10, 14)]


def vectors(seed: int = 0, shape: tuple[int, int, int] = (3, 5, 14)) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def turned(pairing: Pairing, before: np.ndarray, base: float = 10_000.0) -> np.ndarray:
    """As a model does it, in float32."""
    frequencies = base ** (-2 * np.arange(pairing.turned // 2) / pairing.turned)
    return pairing.turn(before, np.arange(before.shape[1])[:, None] * frequencies).astype(np.float32)


def test_a_quarter_turn_by_hand() -> None:
    halves, neighbours = Pairing("halves", 4), Pairing("neighbours", 4)
    assert halves.pairs.tolist() == [[0, 2], [1, 3]] and neighbours.pairs.tolist() == [[0, 1], [2, 3]]
    one, angles = np.array([[[1.0, 2, 3, 4, 5]]]), np.array([[math.pi / 2, math.pi]])
    # (x₁, x₂) → (−x₂, x₁) by a quarter, (−x₁, −x₂) by a half; the fifth dimension stays.
    np.testing.assert_allclose(halves.turn(one, angles)[0, 0], [-3, -2, 1, -4, 5], atol=1e-12)
    np.testing.assert_allclose(neighbours.turn(one, angles)[0, 0], [-2, 1, -3, -4, 5], atol=1e-12)
    assert one.tolist() == [[[1, 2, 3, 4, 5]]]


@pytest.mark.parametrize("pairing", PAIRINGS, ids=str)
def test_a_pairing_is_found(pairing: Pairing) -> None:
    before = vectors(1)
    assert find_pairing(before, turned(pairing, before)) == pairing


@pytest.mark.parametrize("kind", ["halves", "neighbours"])
def test_what_is_no_turn_is_none(kind: str) -> None:
    before, pairing = vectors(2), Pairing(kind, 14)
    after = turned(pairing, before)
    longer, shuffled, other = after * np.float32(1.01), after[..., ::-1], vectors(3)
    assert [find_pairing(before, one) for one in (longer, shuffled, other)] == [None] * 3


def test_a_head_of_one_dimension_has_no_pair() -> None:
    assert find_pairing(vectors(7)[..., :1], vectors(8)[..., :1]) is None
    assert find_pairing(np.zeros((3, 5, 1)), np.zeros((3, 5, 1))) is None


@given(st.integers(0, 99), st.sampled_from(PAIRINGS))
def test_no_turn_changes_lengths(seed: int, pairing: Pairing) -> None:
    before = vectors(seed)
    angles = np.random.default_rng(seed).uniform(-9, 9, (5, pairing.turned // 2))
    after = pairing.turn(before, angles)
    np.testing.assert_allclose(pairing.lengths(after), pairing.lengths(before), atol=1e-6)
    found = angles_between(pairing, (before, after))
    np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * angles), atol=1e-6)


def test_angles_are_those_that_queries_and_keys_share() -> None:
    pairing, angles = Pairing("halves", 4), np.array([[0.0, 0.0], [1.0, 0.25], [2.0, 0.5]])
    q, k = vectors(4, (5, 3, 7)), vectors(5, (2, 3, 7))
    found = angles_between(pairing, (q, pairing.turn(q, angles)), (k, pairing.turn(k, angles)))
    np.testing.assert_allclose(found, angles, atol=1e-9)


@given(st.floats(1e-7, 3.1), st.integers(2, 40))
def test_a_frequency_is_counted_over_whole_turns(frequency: float, count: int) -> None:
    positions = np.arange(count)
    angles = np.angle(np.exp(1j * positions[:, None] * np.array([frequency, frequency / 3])))
    found = frequencies_of(angles, positions)
    np.testing.assert_allclose(found, [frequency, frequency / 3], atol=1e-9)


def test_one_position_tells_no_frequency() -> None:
    assert frequencies_of(np.zeros((1, 3)), np.array([0])).tolist() == [0, 0, 0]
    assert base_of(Pairing("halves", 6), np.zeros(3), 0, 6) is None


@pytest.mark.parametrize("base", [500.0, 10_000.0, 1_000_000.0])
def test_the_base_of_the_frequencies(base: float) -> None:
    frequencies = base ** (-2 * np.arange(7) / 14)
    assert base_of(Pairing("halves", 14), frequencies, 30, 16) == pytest.approx(base, rel=1e-9)
    bent = frequencies * np.where(np.arange(7) < 4, 1, 1 / 8)  # as Llama 3 slows its far pairs
    assert base_of(Pairing("halves", 14), bent, 30, 16) is None


def test_a_part_of_a_head_whose_slow_pairs_may_be_missed_has_no_base() -> None:
    """Neighbours that hardly turn cannot be told from those that stay: the part may be larger than it seems."""
    frequencies = 1e6 ** (-2 * np.arange(3) / 6)
    assert base_of(Pairing("neighbours", 6), frequencies, 30, 6) == pytest.approx(1e6)
    assert base_of(Pairing("neighbours", 6), frequencies, 30, 16) is None


def test_a_factor() -> None:
    before = vectors(6)
    assert factor_between(before, before * np.float32(0.5)) == pytest.approx(0.5)
    assert factor_between(before, before * np.float32(1 + 1e-6)) == 1.0
    assert factor_between(np.zeros((1, 2, 3)), np.ones((1, 2, 3))) == 1.0
