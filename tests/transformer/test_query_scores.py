"""A row step by step: by hand, and in every family the weights that the trace gives."""

import numpy as np
import pytest

from tests.transformer.families import SOURCES, TARGETS, family
from transformer.errors import NoSuchSite
from transformer.head_contributions import NoVectors
from transformer.query_scores import QueryScores, products, query_scores
from transformer.runner import run
from transformer.trace import Trace


def trace_of(name: str) -> Trace:
    target = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    trace = run(family(name).model, ids=SOURCES[0], **target)
    assert isinstance(trace, Trace)
    return trace


def test_by_hand() -> None:
    row = QueryScores(
        q=np.array([1.0, 2.0]),
        k=np.array([[3.0, 0.5], [0.0, -1.0], [5.0, 5.0]]),
        scale=0.5,
        allowed=np.array([True, True, False]),
        bias=np.array([0.0, 1.0, 7.0]),
        softcap=4.0,
    )
    np.testing.assert_array_equal(row.products, [[3, 1], [0, -2], [5, 10]])
    steps = {stage.name: stage.values for stage in row.stages}
    assert list(steps) == ["dot", "scaled", "capped", "biased", "masked", "weights"]
    np.testing.assert_array_equal(steps["dot"], [4, -2, 15])
    np.testing.assert_array_equal(steps["scaled"], [2, -1, 7.5])
    np.testing.assert_allclose(steps["capped"], 4 * np.tanh([0.5, -0.25, 1.875]))
    np.testing.assert_allclose(steps["biased"], steps["capped"] + [0, 1, 7])
    assert np.isneginf(steps["masked"][2]) and np.isfinite(steps["masked"][:2]).all()
    parts = np.exp(steps["biased"][:2])
    np.testing.assert_allclose(steps["weights"], [*parts / parts.sum(), 0])
    np.testing.assert_array_equal(row.table[:, 0], steps["dot"])
    np.testing.assert_array_equal(row.beside(row.k)[1], [0, -1, -2, -1, row.weights[1]])


def test_a_sink_takes_its_share() -> None:
    row = QueryScores(np.ones(1), np.zeros((3, 1)), 1.0, np.ones(3, bool), sink=0.0)
    np.testing.assert_allclose(row.weights, [0.25, 0.25, 0.25])
    assert row.sunk == pytest.approx(0.25)
    assert QueryScores(np.ones(1), np.zeros((3, 1)), 1.0, np.ones(3, bool)).sunk == 0.0


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5", "bart", "gpt_oss", "gemma2", "deepseek_v3"])
def test_the_last_step_is_the_weights_of_the_trace(name: str) -> None:
    trace = trace_of(name)
    for site in trace.attention_sites():
        for head in (0, trace.attention[site].heads - 1):
            row = query_scores(trace, site, head, 2)
            assert row.k.shape == (len(trace.tokens(site, "key")), len(row.q))
            np.testing.assert_allclose(row.weights, trace.weights(site, head)[2], atol=1e-6)
            np.testing.assert_allclose(row.stage("dot"), trace.raw_scores(site, head)[2], atol=1e-5)
            np.testing.assert_array_equal(row.allowed, trace.allowed(site, head)[2])
            np.testing.assert_array_equal(products(trace, site, head, 2).sum(-1), row.stage("dot"))


def test_only_steps_that_the_model_takes() -> None:
    names = {
        name: [s.name for s in query_scores(trace_of(name), "decoder.0.self", 1, 2).stages]
        for name in ("gpt2", "t5", "gemma2")
    }
    assert names["gpt2"] == ["dot", "scaled", "masked", "weights"]
    assert names["t5"] == ["dot", "scaled", "biased", "masked", "weights"]
    assert names["gemma2"] == ["dot", "scaled", "capped", "masked", "weights"]


def test_cross_attention_meets_the_keys_of_the_other_stack() -> None:
    row = query_scores(trace_of("bart"), "decoder.1.cross", 3, 1)
    assert len(row.k) == len(SOURCES[0]) != len(TARGETS[0])


def test_what_a_run_has_not_is_named() -> None:
    with pytest.raises(NoVectors):
        query_scores(trace_of("bloom"), "decoder.1.self", 0, 1)
    with pytest.raises(NoSuchSite):
        query_scores(trace_of("gpt2"), "decoder.9.self", 0, 1)
