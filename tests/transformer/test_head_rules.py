"""head_rules.py: cells by hand."""

import numpy as np
import pytest

from transformer.head_rules import EVEN_AT_MOST, RULES, Ground, cells_of, labels_of
from transformer.head_scores import on_cells

CAUSAL, FREE = np.tri(13, dtype=bool), np.ones((13, 13), bool)
TOLD = np.ones(13, bool)


def cells(label: str, ground: Ground) -> set[tuple[int, int]]:
    return {(int(query), int(key)) for query, key in np.argwhere(cells_of(label, ground))}


def test_rows_that_prove_nothing_are_left_out():
    """Among fewer than four keys, even looking gives one of them more than a quarter."""
    ground = Ground(CAUSAL, TOLD)
    assert cells("previous", ground) == {(row, row - 1) for row in range(3, 13)}
    assert cells("first", ground) == {(row, 0) for row in range(3, 13)}
    assert cells("self", ground) == {(row, row) for row in range(3, 13)}
    assert cells("local", ground) == {(row, row - back) for row in (11, 12) for back in range(3)}
    assert cells("next", ground) == set(), "no later token may be looked at"


def test_an_encoder_looks_both_ways():
    ground = Ground(FREE, TOLD)
    assert cells("next", ground) == {(row, row + 1) for row in range(12)}
    assert cells("first", ground) == {(row, 0) for row in range(1, 13)}, "the first token itself would look at itself"
    assert cells("local", ground) == {(0, 0), (0, 1), (0, 2), (12, 10), (12, 11), (12, 12)}


def test_repeats_by_hand():
    """<bos> a b c d a b c d: the second a stands at 5; it looks at the first a (1), or at what came after it (2)."""
    allowed = np.tri(9, dtype=bool)
    ground = Ground(allowed, np.ones(9, bool), first=1, period=4)
    assert cells("duplicate", ground) == {(5, 1), (6, 2), (7, 3), (8, 4)}
    assert cells("induction", ground) == {(5, 2), (6, 3), (7, 4), (8, 5)}
    both_ways = Ground(np.ones((10, 10), bool), np.ones(10, bool), first=1, period=4)  # and </s>
    pairs = [(5, 1), (6, 2), (7, 3), (8, 4)]
    assert cells("duplicate", both_ways) == {*pairs, *((key, query) for query, key in pairs)}


def test_the_diagonal_goes_over_what_is_text():
    """Four rows over sixteen keys, of which the first and the last stand for no text: 0, 13/3, 26/3, 13 of them."""
    told = np.array([False, *[True] * 14, False])
    ground = Ground(np.ones((4, 16), bool), told)
    assert cells("diagonal", ground) == {(0, 1), (0, 2), (1, 5), (1, 6), (2, 9), (2, 10), (3, 13), (3, 14)}


def test_which_labels_are_measured_where():
    assert labels_of(Ground(CAUSAL, TOLD), "self") == ("previous", "first", "self", "local")
    assert "next" in labels_of(Ground(FREE, TOLD), "self")
    assert labels_of(Ground(FREE, TOLD), "cross") == ("diagonal",)
    assert labels_of(Ground(CAUSAL, TOLD, 1, 4), "self") == ("induction", "duplicate")
    assert labels_of(Ground(FREE, TOLD, 1, 4), "self") == ("duplicate",)
    assert labels_of(Ground(FREE, TOLD, 1, 4), "cross") == ()


@pytest.mark.parametrize("label", RULES)
@pytest.mark.parametrize("allowed", [CAUSAL, FREE])
def test_even_looking_never_earns_a_label(label: str, allowed: np.ndarray):
    ground = Ground(allowed, TOLD, 1, 6 if label in ("induction", "duplicate") else 0)
    even = (allowed / allowed.sum(-1, keepdims=True))[None]
    value, rows = on_cells(even, cells_of(label, ground))
    assert rows == 0 or value[0] <= EVEN_AT_MOST + 1e-12


def test_on_cells_is_a_mean_over_rows_of_sums_over_cells():
    weights = np.array([[[0.5, 0.5, 0], [0.1, 0.2, 0.7], [0, 0, 1]]])
    wanted = np.array([[True, True, False], [True, False, False], [False, False, False]])
    value, rows = on_cells(weights, wanted)
    assert rows == 2 and value == pytest.approx([(1.0 + 0.1) / 2])
    none, rows = on_cells(weights, np.zeros((3, 3), bool))
    assert rows == 0 and np.isnan(none).all()
