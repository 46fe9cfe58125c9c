"""attention_sinks.py: resting places that were built by hand, and the one that mini-gpt made itself."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from transformer import load_model, run, wrap
from transformer.attention_sinks import resting_places, sinks, value_lengths, without_keys
from transformer.decoder_lm import DecoderLM
from transformer.head_maps import summary
from transformer.maps import Attention
from transformer.trace import Trace

IDS = [5, 41, 5, 0, 52]
SITE = "decoder.1.self"


def resting(key: int, share: float) -> np.ndarray:
    """(query, key): from behind `key` on every row gives it `share`, and itself the rest."""
    weights = np.eye(len(IDS))
    for row in range(key + 1, len(IDS)):
        weights[row, row], weights[row, key] = 1 - share, share
    return weights


@pytest.fixture(scope="module")
def given(tiny, scramble) -> Callable[..., Trace]:
    """`given(maps, lengths)`: a run with these weights, whose value vectors have these lengths (None: not known)."""
    found = run(wrap(scramble(DecoderLM(tiny()))), ids=IDS)

    def make(maps: np.ndarray, lengths: list[float] | None, **changes) -> Trace:
        how = Attention(scale=1.0, heads=7, kv_heads=7, causal=True, weights=maps.astype(np.float32))
        arrays = {site: array for site, array in found.arrays.items() if site != f"{SITE}.v"}
        if lengths is not None:
            v = np.zeros((7, len(IDS), 4), np.float32)
            v[:, :, 2] = lengths
            arrays[f"{SITE}.v"] = v
        return dataclasses.replace(found, arrays=arrays, attention={**found.attention, SITE: how}, **changes)

    return make


def found(trace: Trace) -> tuple:
    return resting_places(trace, SITE, summary(trace, SITE))


def test_much_weight_on_a_short_vector_is_a_sink(given):
    maps = np.stack([resting(0, 0.9)] * 6 + [np.eye(5)])
    trace = given(maps, [0.5, 2, 3, 4, 1.5])
    (one,) = found(trace)
    assert (one.key, one.heads, one.is_sink, one.short) == (0, 6, True, True)
    assert one.received == pytest.approx(0.9 * 6 / 7, abs=1e-6)
    assert one.even == pytest.approx((1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4, abs=1e-6)
    assert (one.length, one.usual) == (pytest.approx(0.5), pytest.approx(2.5))  # the median of 2, 3, 4, 1.5
    assert sinks(trace, SITE, summary(trace, SITE)) == (one,)


def test_much_weight_on_a_long_vector_is_none(given):
    trace = given(np.stack([resting(0, 0.9)] * 7), [1.6, 2, 3, 4, 1.5])
    (one,) = found(trace)
    assert one.short is False and not one.is_sink and sinks(trace, SITE, summary(trace, SITE)) == ()


def test_unknown_vectors_are_told_apart_from_short_ones(given):
    trace = given(np.stack([resting(0, 0.9)] * 7), None)
    (one,) = found(trace)
    assert value_lengths(trace, SITE) is None
    assert (one.length, one.usual, one.short, one.is_sink) == (None, None, None, True)


def test_few_tokens_are_no_sinks(given):
    """Evenly, the first of five tokens gets 0.32 of the rows with a choice: over 0.3, and nobody rests there."""
    even = np.tri(5) / np.tri(5).sum(-1, keepdims=True)
    trace = given(np.stack([even] * 7), [0.1, 2, 3, 4, 1.5])
    assert summary(trace, SITE).received[0, 0] > 0.3 and found(trace) == ()


def test_a_hidden_mask_names_no_sink(given):
    trace = given(np.stack([resting(0, 0.9)] * 7), [0.1, 2, 3, 4, 1.5], lacks={f"{SITE}.allowed": "lack.mask_unseen"})
    assert found(trace) == ()


def test_the_strongest_comes_first(given):
    maps = np.zeros((5, 5))
    maps[:3, 0], maps[3:, 0], maps[3:, 3] = 1, (0.3, 0.4), (0.7, 0.6)
    places = found(given(np.stack([maps] * 7), [1, 2, 2, 1, 2]))
    assert [(one.key, one.is_sink) for one in places] == [(0, True), (3, True)]
    np.testing.assert_allclose([one.received for one in places], [(1 + 1 + 0.3 + 0.4) / 4, (0.7 + 0.6) / 4], atol=1e-6)


def test_without_keys_by_hand():
    weights = np.array([[[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.3, 0.2]]], np.float32)
    before = weights.copy()
    left = without_keys(weights, (0,))
    assert np.isnan(left[0, 0]).all(), "everything lay on the sink: there is nothing to rescale"
    np.testing.assert_allclose(left[0, 1:], [[0, 1, 0], [0, 0.6, 0.4]], atol=1e-6)
    assert left.dtype == np.float32 and np.array_equal(weights, before)
    np.testing.assert_allclose(without_keys(weights, ())[0, 2], weights[0, 2], atol=1e-6)
    assert np.isnan(without_keys(weights[0], (0, 1))[1]).all()


def test_mini_gpt_rests_on_its_first_token():
    trace = run(load_model("mini-gpt"), "The dog chased the cat because it was hungry, and the cat ran to the garden.")
    places = sinks(trace, "decoder.0.self", summary(trace, "decoder.0.self"))
    assert [one.key for one in places] == [0] and places[0].heads == 4
    assert places[0].length < places[0].usual / 4
