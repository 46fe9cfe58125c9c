"""rotary_turns.py: measured angles are the model's own, and q·k at another distance is what it would have been."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.transformer.families import SOURCES, build, family, scramble
from transformer import positions, run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.positions import Rotation
from transformer.rotary_turns import has_turns, measure_turns, score_by_distance
from transformer.trace import Trace
from transformer.wrapped import LoadedModel

IDS = [5, 7, 9, 7, 3, 11, 2, 50, 7, 31, 4]
SITE = "decoder.1.self"


def model_of(**changes: object) -> LoadedModel:
    sizes = {"vocab_size": 53, "max_positions": 211, "d_model": 30, "n_layers": 2, "n_heads": 6, "n_kv_heads": 2}
    config = ModelConfig(**(sizes | {"d_head": 14, "positions": "rotary"} | changes))
    return wrap(scramble(DecoderLM(config)))


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run(model_of(), ids=IDS)


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_angles_are_position_times_frequency(base: float) -> None:
    found = measure_turns(run(model_of(rotary_base=base), ids=IDS), SITE)
    wanted = base ** (-2 * np.arange(7) / 14)
    np.testing.assert_allclose(found.frequencies, wanted, atol=1e-6)
    np.testing.assert_allclose(found.angles, (np.arange(11)[:, None] * wanted) % (2 * np.pi), atol=2e-5)
    assert found.regular and found.seal.holds and found.base == pytest.approx(base, rel=1e-3)
    assert found.pairing.pairs.tolist() == [[i, i + 7] for i in range(7)]
    assert found.slowest == pytest.approx(2 * np.pi * base ** (12 / 14), rel=1e-2)


@pytest.mark.parametrize("name", ["llama", "gemma2", "gptj", "gpt_oss", "modernbert", "cohere"])
def test_angles_of_other_families(name: str) -> None:
    """GPT-J turns neighbours; gpt-oss makes q and k longer besides (YaRN); ModernBERT's layers have two bases."""
    trace = run(family(name).model, ids=SOURCES[0])
    for site in trace.attention:
        found = measure_turns(trace, site)
        assert found.regular and found.seal.difference < 1e-6 and found.seal.compared > 0, site
        assert found.frequencies[0] == pytest.approx(1, abs=1e-6)


def test_q_k_at_the_present_distance_is_the_recorded_one(trace: Trace) -> None:
    turns = measure_turns(trace, SITE)
    for head, query, key in ((0, 10, 3), (5, 4, 4), (3, 7, 0)):
        found = score_by_distance(trace, turns, head, query, key)
        here = found.scores[found.distances.tolist().index(query - key)]
        assert here == pytest.approx(trace.scores(SITE, head)[query, key], abs=1e-6)
        assert found.current == query - key and found.seal.holds and found.reach == 10
        assert found.distances.tolist() == list(range(65))  # causal: no key lies ahead


def test_a_key_that_the_mask_forbids_can_be_looked_at(trace: Trace) -> None:
    found = score_by_distance(trace, measure_turns(trace, SITE), 2, 3, 8)
    assert found.current == -5 and found.distances.tolist() == list(range(-5, 65)) and found.seal.holds
    assert found.scores[0] == pytest.approx(trace.scores(SITE, 2)[3, 8], abs=1e-6)


def test_q_k_at_another_distance_is_what_the_model_gives_there() -> None:
    """The same two vectors further apart: the first layer's q and k of a token depend on its id and position alone."""
    model = model_of()
    near, far = run(model, ids=[5, 9, 7]), run(model, ids=[5, 9, 8, 8, 8, 8, 7])
    site = "decoder.0.self"
    turns = measure_turns(near, site)
    found = score_by_distance(near, turns, 4, 2, 1)
    assert found.scores[5] == pytest.approx(far.scores(site, 4)[6, 1], abs=1e-5)
    assert found.scores[1] == pytest.approx(near.scores(site, 4)[2, 1], abs=1e-6)
    assert abs(found.scores[5] - found.scores[1]) > 1e-3


def test_an_encoder_looks_both_ways() -> None:
    trace = run(family("modernbert").model, ids=SOURCES[0])
    turns = measure_turns(trace, "encoder.1.self")
    found = score_by_distance(trace, turns, 2, 1, 5, least=3)
    assert found.distances.tolist() == list(range(-6, 7)) and found.current == -4 and found.seal.holds
    scores = trace.scores("encoder.1.self", 2)
    assert found.scores[2] == pytest.approx(scores[1, 5], abs=1e-6)


def test_dimensions_that_stay_count_alike_at_every_distance() -> None:
    trace = run(wrap(build("gptj", n_embd=24, n_head=2, rotary_dim=4)), ids=SOURCES[0])
    turns = measure_turns(trace, SITE)
    assert turns.pairing.turned == 4 and turns.query.shape == (2, 7, 12)
    products = turns.products((1, 6), (1, 2), np.arange(9))
    rest = float(turns.query[1, 6, 4:] @ turns.key[1, 2, 4:])
    pairs = [turns.pairing.complex_of(one) for one in (turns.query[1, 6], turns.key[1, 2])]
    wave = [(pairs[0] * pairs[1].conj() * np.exp(1j * turns.frequencies * d)).real.sum() for d in range(9)]
    np.testing.assert_allclose(products, np.array(wave) + rest, atol=1e-9)


def test_angles_that_do_not_grow_evenly_are_shown_as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that turns by the square root of the position: no frequency says it."""

    def forward(self: positions.Rotary, position_ids: Tensor) -> Rotation:
        angle = position_ids[:, None, :, None].float().sqrt() * self.frequency
        angle = torch.cat((angle, angle), dim=-1)
        return Rotation(angle.cos(), angle.sin())

    monkeypatch.setattr(positions.Rotary, "forward", forward)
    trace = run(model_of(), ids=IDS)
    turns = measure_turns(trace, SITE)
    assert not turns.regular and turns.base is None and turns.seal.holds
    np.testing.assert_allclose(turns.angles[:, 0], np.sqrt(np.arange(11)), atol=1e-5)
    found = score_by_distance(trace, turns, 1, 8, 8)
    assert found.distances.tolist() == list(range(11))  # nothing is said of what was not measured


def test_padding_on_the_left_moves_nobody() -> None:
    model = model_of()
    padded, alone = run(model, ids=[0, 0, 0, *IDS], attention_mask=[0, 0, 0] + [1] * 11), run(model, ids=IDS)
    found, wanted = measure_turns(padded, SITE), measure_turns(alone, SITE)
    np.testing.assert_allclose(found.frequencies, wanted.frequencies, atol=1e-6)
    assert found.regular and found.positions.tolist() == [0, 0, 0, *range(11)]


def test_where_nothing_turns_or_nobody_knows() -> None:
    plain = run(model_of(positions="none"), ids=IDS)
    hidden, normed = run(family("bloom").model, ids=IDS), run(family("qwen3").model, ids=IDS)
    for trace in (plain, hidden, normed):
        assert not has_turns(trace, SITE) and measure_turns(trace, SITE) is None


def test_weights_that_were_changed_since_are_not_used(trace: Trace) -> None:
    assert has_turns(trace, SITE) and not has_turns(replace(trace, weights_changed=lambda: True), SITE)


def test_one_token_alone_tells_no_frequency() -> None:
    found = measure_turns(run(model_of(), ids=[7]), SITE)
    assert not found.regular and found.base is None and found.seal.holds
    assert found.angles.shape == (1, 7) and not found.angles.any()


def test_a_seal_breaks_with_the_queries(trace: Trace) -> None:
    changed = trace.arrays[f"{SITE}.q"].copy()
    changed[2, 6, 3] += 0.01
    found = measure_turns(replace(trace, arrays={**trace.arrays, f"{SITE}.q": changed}), SITE)
    assert not found.seal.holds
