"""head_maps.py: many heads at once, by hand, beside the formula of `maps.py`, and with little in memory."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from tests.transformer.families import SOURCES, TARGETS, family
from transformer import head_maps, overview, run, wrap
from transformer.decoder_lm import DecoderLM
from transformer.head_maps import (
    NoRollout,
    allowed_by_any,
    largest_map,
    mean_map,
    mixed,
    most_decided,
    reachable,
    rollout,
    summary,
    why_no_rollout,
)
from transformer.maps import Attention
from transformer.trace import Trace

HEADS = 7


@pytest.fixture(scope="module")
def given(tiny, scramble) -> Callable[..., Trace]:
    """`given(ids, {"decoder.0.self": weights})`: a run of a causal model of three layers with these weights in it."""
    model = wrap(scramble(DecoderLM(tiny(max_positions=300))))

    def make(ids: list[int], weights: dict[str, np.ndarray], allowed: np.ndarray | None = None, **changes) -> Trace:
        found = run(model, ids=ids)
        mask = np.tri(len(ids), dtype=bool) if allowed is None else allowed
        told = {
            site: Attention(scale=1.0, heads=len(one), kv_heads=len(one), allowed=mask, weights=one.astype(np.float32))
            for site, one in weights.items()
        }
        return dataclasses.replace(found, attention={**found.attention, **told}, **changes)

    return make


def test_rollout_of_two_layers_by_hand(given):
    """Means ((1, 0), (.5, .5)) and ((1, 0), (.2, .8)); Â = ((1, 0), (.25, .75)) and ((1, 0), (.1, .9))."""
    first = np.array([[[1, 0], [share, 1 - share]] for share in (0, 1, 0.5, 0.25, 0.75, 0.4, 0.6)])
    second = np.tile(np.array([[[1, 0], [0.2, 0.8]]]), (HEADS, 1, 1))
    trace = given([5, 41], {"decoder.0.self": first, "decoder.1.self": second})
    np.testing.assert_allclose(mean_map(trace, "decoder.0.self"), [[1, 0], [0.5, 0.5]], atol=1e-7)
    np.testing.assert_allclose(rollout(trace, "decoder.0.self"), [[1, 0], [0.25, 0.75]], atol=1e-7)
    np.testing.assert_allclose(rollout(trace, "decoder.1.self"), [[1, 0], [0.325, 0.675]], atol=1e-7)
    np.testing.assert_allclose(largest_map(trace, "decoder.0.self"), [[1, 0], [1, 1]], atol=1e-7)


def test_mixed_rows_sum_to_one_also_where_a_sink_took_a_part():
    np.testing.assert_allclose(mixed(np.array([[0.5, 0.0], [0.2, 0.2]])), [[1, 0], [1 / 7, 6 / 7]])


@pytest.mark.parametrize("name", ["gpt2", "t5", "bloom", "gemma2", "gpt_oss", "bert"])
def test_parity_with_one_head_after_the_other(name):
    target = {"target_ids": TARGETS[0]} if name == "t5" else {}
    trace = run(family(name).model, ids=SOURCES[0], **target)
    for site in trace.attention_sites():
        weights = trace.weights(site).astype(np.float64)
        np.testing.assert_allclose(mean_map(trace, site), weights.mean(0), atol=1e-6)
        np.testing.assert_allclose(largest_map(trace, site), weights.max(0), atol=1e-6)
        if site.endswith("self"):
            np.testing.assert_allclose(rollout(trace, site).sum(-1), 1, atol=1e-6)
            assert not rollout(trace, site)[~reachable(trace, site)].any()


def test_a_window_reaches_one_window_further_with_each_layer():
    """Mistral's window of 3: a query sees itself and two before; through two layers four before."""
    trace = run(family("mistral").model, ids=SOURCES[0])
    for layer in range(2):
        found = reachable(trace, f"decoder.{layer}.self")
        distance = np.subtract.outer(np.arange(7), np.arange(7))
        np.testing.assert_array_equal(found, (distance >= 0) & (distance <= 2 * (layer + 1)))


def test_rollout_is_refused_with_its_reason(given):
    t5 = run(family("t5").model, ids=SOURCES[0], target_ids=TARGETS[0])
    assert why_no_rollout(t5, "decoder.0.cross") == "lack.rollout_cross"
    long = given(list(range(50)) * 5 + list(range(7)), {})
    assert why_no_rollout(long, "decoder.2.self") == "lack.rollout_long"
    with pytest.raises(NoRollout, match="257"):
        rollout(long, "decoder.2.self")
    gone = given([5, 7, 5], {})
    gone = dataclasses.replace(gone, attention={site: how for site, how in gone.attention.items() if ".0." not in site})
    assert why_no_rollout(gone, "decoder.1.self") == "lack.rollout_layers"
    assert why_no_rollout(given([5, 7, 5], {}), "decoder.1.self") is None


def test_even_rows_have_the_largest_entropy_and_sharp_rows_none(given):
    even = np.tri(5) / np.tri(5).sum(-1, keepdims=True)
    sharp = np.eye(5)
    halves = np.eye(5) / 2 + np.eye(5, k=-1) / 2
    halves[0, 0] = 1
    maps = np.stack([even, sharp, halves, even, sharp, halves, even])
    found = summary(given([5, 41, 5, 0, 52], {"decoder.1.self": maps}), "decoder.1.self")
    counts = np.arange(2, 6)  # the first row may look at one key and says nothing
    np.testing.assert_array_equal(found.rows, [4] * HEADS)
    np.testing.assert_allclose(found.nats[:3], [np.log(counts).mean(), 0, np.log(2)], atol=1e-6)
    np.testing.assert_allclose(found.relative[:3], [1, 0, (np.log(2) / np.log(counts)).mean()], atol=1e-6)


def test_what_each_key_gets_by_hand(given):
    first = np.zeros((3, 3))
    first[:, 0] = 1
    maps = np.stack([first, *[np.eye(3)] * 6])
    found = summary(given([5, 41, 5], {"decoder.0.self": maps}), "decoder.0.self")
    np.testing.assert_allclose(found.received[:2], [[1, 0, 0], [0, 0.5, 0.5]], atol=1e-7)
    np.testing.assert_allclose(found.even[0], [(1 / 2 + 1 / 3) / 2, (1 / 2 + 1 / 3) / 2, 1 / 6], atol=1e-7)


def test_a_hidden_mask_leaves_only_nats(given):
    maps = np.full((HEADS, 3, 3), 1 / 3)
    trace = given(
        [5, 41, 5],
        {"decoder.0.self": maps},
        np.ones((3, 3), bool),
        lacks={"decoder.0.self.allowed": "lack.mask_unseen"},
    )
    found = summary(trace, "decoder.0.self")
    np.testing.assert_allclose(found.nats, np.log(3), atol=1e-6)
    assert np.isnan(found.relative).all() and np.isnan(found.even).all()
    assert allowed_by_any(trace, "decoder.0.self") is None and reachable(trace, "decoder.0.self") is None


def test_a_single_token_has_no_row_with_a_choice(given):
    found = summary(given([5], {}), "decoder.0.self")
    assert np.isnan(found.nats).all() and np.isnan(found.relative).all() and not found.rows.any()


def test_one_head_at_a_time_gives_the_same(monkeypatch):
    trace = run(family("gpt_oss").model, ids=SOURCES[0])
    site = trace.attention_sites()[1]
    together = summary(trace, site), mean_map(trace, site)
    monkeypatch.setattr(overview, "CELLS_AT_ONCE", 1)
    assert [len(heads) for heads, _ in overview.some_heads_at_a_time(trace, site)] == [1] * trace.attention[site].heads
    apart = summary(trace, site), mean_map(trace, site)
    for one, other in zip(vars(together[0]).values(), vars(apart[0]).values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(together[1], apart[1], atol=1e-6)


def test_padding_does_not_look():
    padded = family("gpt2").padded("right")
    trace = run(family("gpt2").model, **padded)[1]
    alone = run(family("gpt2").model, ids=SOURCES[1])
    for site in trace.attention_sites():
        one, other = summary(trace, site), summary(alone, site)
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_allclose(one.relative, other.relative, atol=1e-5)
        np.testing.assert_allclose(one.received[:, : len(SOURCES[1])], other.received, atol=1e-5)


def test_the_most_decided_heads_stand_beside_the_chosen_one():
    none = np.full(5, np.nan)
    found = head_maps.HeadSummary(none, np.array([0.9, 0.1, 0.5, 0.2, 0.8]), none[None], none[None], np.ones(5))
    assert most_decided(found, 4, 3) == (1, 3, 4)
    assert most_decided(found, 1, 3) == (1, 2, 3)
    assert most_decided(dataclasses.replace(found, relative=none, nats=np.arange(5.0)), 4, 2) == (0, 4)
    assert most_decided(found, 0, 9) == (0, 1, 2, 3, 4)
