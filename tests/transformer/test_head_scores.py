"""head_scores.py: heads whose attention is known by hand."""

import dataclasses

import numpy as np
import pytest

from transformer import run, wrap
from transformer.decoder_lm import DecoderLM
from transformer.head_scores import aimed_at, induction, previous_token, weight_on
from transformer.maps import Attention

IDS = [5, 41, 5, 0, 52, 7, 11]


@pytest.fixture(scope="module")
def trace(tiny, scramble):
    """A run whose second layer's head 3 always looks at the token before, and whose head 4 never does."""
    found = run(wrap(scramble(DecoderLM(tiny()))), ids=IDS)
    size = len(IDS)
    weights = np.full((7, size, size), 1 / size, dtype=np.float32)
    before = np.eye(size, k=-1, dtype=np.float32)
    before[0, 0] = 1
    weights[3], weights[4] = before, np.eye(size, dtype=np.float32)
    how = Attention(scale=1.0, heads=7, kv_heads=7, weights=weights)
    return dataclasses.replace(found, attention={**found.attention, "decoder.1.self": how})


def test_the_head_that_looks_back_is_found(trace) -> None:
    cells = [list(previous_token(len(IDS)))]
    best = weight_on([trace], cells)[0]
    assert (best.site, best.head, best.value, best.rows, best.name) == ("decoder.1.self", 3, 1.0, 6, "1.3")
    aimed = {(one.site, one.head): one.value for one in aimed_at([trace], cells)}
    assert aimed["decoder.1.self", 3] == 1.0 and aimed["decoder.1.self", 4] == 0.0


def test_scores_are_means_over_all_rows_of_all_runs(trace) -> None:
    once = {(one.site, one.head): one.value for one in weight_on([trace], [[(1, 0), (2, 0)]])}
    twice = {(one.site, one.head): one.value for one in weight_on([trace, trace], [[(1, 0)], [(2, 0)]])}
    assert once == pytest.approx(twice)
    weights = trace["decoder.0.self.weights"]
    assert once["decoder.0.self", 2] == pytest.approx((weights[2, 1, 0] + weights[2, 2, 0]) / 2)


def test_cells_by_hand() -> None:
    assert list(previous_token(3)) == [(1, 0), (2, 1)]
    # <bos> a b c a b c: the second a (4) looks at b (2), the second b (5) at c (3), the second c (6) at a (4)
    assert list(induction(1, 3, 7)) == [(4, 2), (5, 3), (6, 4)]


def test_runs_without_such_an_attention_have_no_scores(trace) -> None:
    assert weight_on([trace], [[(1, 0)]], kind="cross") == []
