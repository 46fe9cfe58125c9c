"""position_rows.py: recorded rows against the formula, and how alike they are."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.transformer.families import build, scramble
from transformer import run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.position_rows import (
    cosines,
    lengths,
    partner_of,
    position_rows,
    sinusoids,
    wave_of,
    wavelength,
)
from transformer.positions import sinusoidal_table
from transformer.wrapped import LoadedModel

IDS = [5, 7, 9, 7, 3]


def model_of(positions: str, **changes: object) -> LoadedModel:
    sizes = {"vocab_size": 53, "max_positions": 211, "d_model": 28, "n_layers": 2, "n_heads": 7}
    return wrap(scramble(DecoderLM(ModelConfig(**(sizes | {"positions": positions} | changes)))))


def test_the_formula_by_hand() -> None:
    found = sinusoids(np.array([0, 1, 2]), 4)
    wanted = [[0, 1, 0, 1]] + [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in (1, 2)]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_allclose(sinusoids(np.array([0, 1, 2]), 4, "halves"), found[:, [0, 2, 1, 3]])
    np.testing.assert_allclose(sinusoids(np.arange(40), 28), sinusoidal_table(40, 28).numpy(), atol=1e-7)
    assert sinusoids(np.arange(3), 7) is None


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_each_dimension_is_the_wave_it_is_said_to_be(layout: str) -> None:
    table = sinusoids(np.arange(11), 28, layout)
    for dimension in range(28):
        function, exponent = wave_of(dimension, 28, layout)
        wave = getattr(np, function)(np.arange(11) / 10_000 ** (exponent / 28))
        np.testing.assert_allclose(table[:, dimension], wave, atol=1e-12)
        partner = partner_of(dimension, 28, layout)
        assert wave_of(partner, 28, layout) == ("cos" if function == "sin" else "sin", exponent)
        assert partner_of(partner, 28, layout) == dimension
        long = wavelength(dimension, 28, layout)
        shifted = sinusoids(np.array([3.0, 3.0 + long]), 28, layout)[:, dimension]
        assert shifted[0] == pytest.approx(shifted[1], abs=1e-9)


def test_our_sinusoidal_model_follows_it() -> None:
    trace = run(model_of("sinusoidal"), ids=IDS)
    found = position_rows(trace, "decoder")
    assert found.layout == "interleaved" and found.seal.holds and found.seal.compared == 5 * 28
    np.testing.assert_array_equal(found.rows, trace["decoder.embed.position"])


def test_marian_writes_all_sines_first() -> None:
    model = build("marian")
    with torch.no_grad():  # the random weights of the tests have replaced its own
        for stack in (model.model.encoder, model.model.decoder):
            stack.embed_positions.weight.copy_(torch.tensor(sinusoids(np.arange(1024), 28, "halves")))
    trace = run(wrap(model), ids=IDS, target_ids=[3, 4, 5])
    assert [position_rows(trace, stack).layout for stack in ("encoder", "decoder")] == ["halves", "halves"]


def test_other_rows_do_not() -> None:
    assert position_rows(run(model_of("learned"), ids=IDS), "decoder").layout is None
    assert position_rows(run(model_of("rotary"), ids=IDS), "decoder") is None
    rows = run(model_of("learned"), ids=IDS)
    assert position_rows(rows, "decoder").seal is None


def test_positions_are_counted_over_real_tokens() -> None:
    trace = run(model_of("sinusoidal"), ids=[0, 0, *IDS], attention_mask=[0, 0, 1, 1, 1, 1, 1])
    found = position_rows(trace, "decoder")
    assert found.layout == "interleaved" and found.positions.tolist() == [0, 0, 0, 1, 2, 3, 4]


@given(st.integers(1, 6), st.integers(0, 99))
def test_cosines(count: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(count, 5))
    found = cosines(rows)
    np.testing.assert_allclose(np.diag(found), 1)
    np.testing.assert_allclose(found, found.T)
    np.testing.assert_allclose(cosines(3 * rows, -rows), -found)
    np.testing.assert_allclose(lengths(3 * rows), 3 * np.sqrt((rows**2).sum(1)))


def test_a_vector_of_no_length_has_no_direction() -> None:
    found = cosines(np.array([[0.0, 0], [3, 4]]))
    assert np.isnan(found[0]).all() and found[1, 1] == 1
