"""position_bias.py: a bias is of distance alone only if every recorded cell says so."""

from dataclasses import replace

import numpy as np
import pytest

from tests.transformer.families import SOURCES, TARGETS, family, scramble
from transformer import run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.position_bias import bias_by_distance, has_bias
from transformer.positions import alibi_slopes
from transformer.trace import Trace

IDS = [5, 7, 9, 7, 3, 11, 2]
SITE = "decoder.1.self"


def alibi(ids: list[int] = IDS, **more: object) -> Trace:
    config = ModelConfig(vocab_size=53, max_positions=31, d_model=28, n_layers=2, n_heads=7, positions="alibi")
    return run(wrap(scramble(DecoderLM(config))), ids=ids, **more)


@pytest.fixture(scope="module")
def t5() -> Trace:
    return run(family("t5").model, ids=SOURCES[0], target_ids=TARGETS[0])


def test_alibi_has_the_slopes_of_the_paper() -> None:
    found = bias_by_distance(alibi(), SITE)
    assert found.kind == "alibi" and found.distances.tolist() == list(range(7))
    np.testing.assert_allclose(found.slopes, alibi_slopes(7), rtol=1e-6)
    np.testing.assert_allclose(found.bias, -np.array(alibi_slopes(7))[:, None] * np.arange(7), rtol=1e-6)
    assert found.seal.holds and found.seal.compared == 7 * 7 * 7


def test_t5_looks_both_ways_and_its_decoder_back(t5: Trace) -> None:
    found = bias_by_distance(t5, "encoder.2.self")
    assert found.kind == "relative" and found.slopes is None
    assert found.distances.tolist() == list(range(-6, 7)) and found.bias.shape == (7, 13)
    bias = t5["encoder.2.self.bias"]
    for query, key in ((0, 6), (3, 3), (5, 1)):
        np.testing.assert_allclose(found.bias[:, found.distances.tolist().index(query - key)], bias[:, query, key])
    assert bias_by_distance(t5, SITE).distances.tolist() == [0, 1, 2, 3]
    assert found.seal.difference == 0 and np.ptp(found.bias) > 0.01
    assert found.within(2).bias.shape == (7, 5) and found.within(2).distances.tolist() == [-2, -1, 0, 1, 2]


def test_zeros_are_no_bias(t5: Trace) -> None:
    """T5 hands its cross-attention a bias of zeros."""
    assert not has_bias(t5, "decoder.1.cross") and bias_by_distance(t5, "decoder.1.cross") is None
    gpt2 = run(family("gpt2").model, ids=IDS)
    assert not has_bias(gpt2, SITE) and bias_by_distance(gpt2, SITE) is None


def test_one_cell_that_differs_is_enough(t5: Trace) -> None:
    how = t5.attention["encoder.0.self"]
    bias = np.array(how.bias)
    bias[3, 4, 2] += 1e-3
    changed = replace(t5, attention={**t5.attention, "encoder.0.self": replace(how, bias=bias)})
    assert has_bias(changed, "encoder.0.self") and bias_by_distance(changed, "encoder.0.self") is None
    assert bias_by_distance(t5, "encoder.0.self") is not None


def test_what_is_forbidden_counts_nothing() -> None:
    trace = alibi()
    how = trace.attention[SITE]
    bias = np.array(how.bias)
    bias[:, ~trace.allowed(SITE)] = 77.0
    changed = replace(trace, attention={**trace.attention, SITE: replace(how, bias=bias)})
    np.testing.assert_allclose(bias_by_distance(changed, SITE).slopes, alibi_slopes(7), rtol=1e-6)


def test_two_tokens_show_no_line() -> None:
    """One distance beside 0: any bias would be straight."""
    found = bias_by_distance(alibi([5, 7]), SITE)
    assert found.kind == "relative" and found.distances.tolist() == [0, 1]
    assert bias_by_distance(alibi([5, 7, 9]), SITE).kind == "alibi"


def test_padding_on_the_left() -> None:
    found = bias_by_distance(alibi([0, 0, *IDS], attention_mask=[0, 0, *[1] * 7]), SITE)
    np.testing.assert_allclose(found.slopes, alibi_slopes(7), rtol=1e-6)
    assert found.distances.tolist() == list(range(7))


def test_it_is_read_once_for_a_run(t5: Trace) -> None:
    assert bias_by_distance(t5, "encoder.1.self") is bias_by_distance(t5, "encoder.1.self")
