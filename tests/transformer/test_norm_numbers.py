"""norm_numbers.py: one token's norm, by hand and against torch."""

import numpy as np
import pytest
import torch

from tests.transformer.families import SOURCES, family
from transformer import run
from transformer.errors import NoSuchSite
from transformer.norm_numbers import knows_norm, moments, norm_numbers, token_moments
from transformer.norm_placement import norm_sites
from transformer.trace import Trace


def traced(name: str) -> Trace:
    trace = run(family(name).model, ids=SOURCES[0])
    assert isinstance(trace, Trace)
    return trace


def test_moments_by_hand():
    assert moments(np.array([1.0, 3.0], np.float32)) == (2.0, 1.0)
    assert moments(np.full(7, 5.0)) == (5.0, 0.0)


@pytest.mark.parametrize("site", ["decoder.1.norm2", "decoder.final.norm"])
def test_layer_norm_is_that_of_torch(site):
    trace, token = traced("gpt2"), 3
    one = norm_numbers(trace, site, token)
    x = torch.tensor(np.array(one.before))
    expected = torch.nn.functional.layer_norm(
        x, (28,), torch.tensor(np.array(one.gamma)), torch.tensor(np.array(one.beta)), one.eps
    )
    np.testing.assert_allclose(one.after, expected.numpy(), atol=1e-5)
    assert one.kind == "layernorm" and one.mean == pytest.approx(float(x.mean()), abs=1e-6)
    assert one.std == pytest.approx(float((x.var(correction=0) + one.eps) ** 0.5), rel=1e-5)
    assert one.normalized_moments == pytest.approx((0, 1), abs=1e-3)
    np.testing.assert_allclose(one.after, one.normalized * one.gamma + one.beta, atol=1e-5)
    assert one.after_moments == pytest.approx((one.after.mean(), one.after.std()), abs=1e-6)


def test_rms_norm_takes_no_mean_away_and_adds_nothing():
    one = norm_numbers(traced("llama"), "decoder.2.norm1", 4)
    assert (one.kind, one.mean, one.beta) == ("rmsnorm", 0.0, None)
    x = one.before.astype(np.float64)
    assert one.std == pytest.approx(np.sqrt((x**2).mean() + one.eps))
    np.testing.assert_allclose(one.after, x / one.std * one.gamma, rtol=1e-5, atol=1e-6)


def test_moments_of_all_tokens_are_those_of_each():
    trace, site = traced("gpt2"), "decoder.2.norm2"
    found = token_moments(trace, site)
    assert found.shape == (7, 2)
    for token in range(7):
        one = norm_numbers(trace, site, token)
        np.testing.assert_allclose(found[token], [one.mean, one.std], rtol=1e-5)
    rms = token_moments(traced("llama"), site)
    assert rms.shape == (7, 1) and (rms > 0).all()


@pytest.mark.parametrize("name", ["bert", "gemma2", "bloom", "gpt_neox"])
def test_every_norm_of_every_kind_of_block_has_its_numbers(name):
    trace = traced(name)
    sites = norm_sites(trace, f"{next(iter(trace.encodings))}.1")
    assert sites and all(knows_norm(trace, site) for site in sites)
    for site in sites:
        assert np.isfinite(norm_numbers(trace, site, 2).after).all()


def test_what_is_no_norm_is_refused_with_the_names_of_those_that_are():
    trace = traced("gpt2")
    assert not knows_norm(trace, "decoder.1.ffn") and not knows_norm(trace, "")
    with pytest.raises(NoSuchSite, match=r"decoder\.1\.norm2"):
        norm_numbers(trace, "decoder.1.ffn", 0)


def test_a_run_that_kept_no_stream_knows_no_norm():
    trace = run(family("gpt2").model, ids=SOURCES[0], record={"attention"})
    assert not knows_norm(trace, "decoder.1.norm1")
