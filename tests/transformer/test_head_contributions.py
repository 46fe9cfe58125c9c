"""What heads add: by hand, as a sum that is the recorded output in every family, and errors where a part is missing."""

import numpy as np
import pytest

from tests.transformer.families import SOURCES, TARGETS, family
from transformer.errors import NoSuchSite, WeightsChanged
from transformer.head_contributions import (
    HeadOutputs,
    MixedValues,
    NoOutputProjection,
    NoVectors,
    head_matrices,
    head_outputs,
    joins_the_stream,
    mixed_values,
    seal_context,
    seal_output,
)
from transformer.parts import LinearPart
from transformer.runner import run
from transformer.trace import Trace

FAMILIES = ["gpt2", "llama", "bert", "t5", "bart", "gpt_oss", "gemma2", "deepseek_v3", "gpt_bigcode"]


def trace_of(name: str, **options: object) -> Trace:
    target = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    trace = run(family(name).model, ids=SOURCES[0], **target, **options)
    assert isinstance(trace, Trace)
    return trace


def test_a_mix_by_hand() -> None:
    mix = MixedValues(np.array([0.25, 0.5]), np.array([[4.0, 0.0, -8.0], [2.0, 6.0, 0.0]]))
    np.testing.assert_array_equal(mix.weighted, [[1, 0, -2], [1, 3, 0]])
    np.testing.assert_array_equal(mix.context, [2, 3, -2])
    assert mix.sink == 0.25
    np.testing.assert_array_equal(mix.above_its_sum(mix.weighted), [[1, 0, -2], [1, 3, 0], [2, 3, -2]])


def test_heads_and_bias_by_hand() -> None:
    parts = HeadOutputs(np.array([[3.0, 0.0], [0.0, 3.0], [0.0, 0.0]]), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(parts.total, [3, 4])
    np.testing.assert_array_equal(parts.lengths, [3, 3, 0])
    np.testing.assert_allclose(parts.cosines, [0.6, 0.8, 0])  # a part without a length points nowhere
    assert parts.length == 5 and parts.of_bias == (1.0, 0.8)
    np.testing.assert_allclose(parts.table[:, 2], [1.8, 2.4, 0, 0.8])
    assert HeadOutputs(parts.heads, np.zeros(2)).of_bias is None
    assert HeadOutputs(parts.heads, np.zeros(2)).table.shape == (3, 3)


def test_each_head_meets_its_own_columns_of_the_output_matrix() -> None:
    weight = np.arange(30.0).reshape(5, 6)  # (d_model, 2 heads · 3)
    matrices = head_matrices(LinearPart(weight, None), 2)
    assert matrices.shape == (2, 3, 5)
    np.testing.assert_array_equal(matrices[1], weight[:, 3:].T)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_parts_of_all_heads_and_the_bias_are_the_recorded_output(name: str) -> None:
    trace = trace_of(name)
    for site in trace.attention_sites():
        recorded = trace[f"{site}.output"]
        for position in (0, len(recorded) - 1):
            parts = head_outputs(trace, site, position)
            assert parts.heads.shape == (trace.attention[site].heads, recorded.shape[1])
            np.testing.assert_allclose(parts.total, recorded[position], atol=1e-5)
            np.testing.assert_allclose(parts.table[:, 2].sum(), parts.length)
            assert seal_output(trace, site, position).holds
        some = head_outputs(trace, site, slice(1, 3))
        np.testing.assert_allclose(some.total, recorded[1:3], atol=1e-5)
        np.testing.assert_allclose(some.heads[:, 0], head_outputs(trace, site, np.int64(1)).heads, atol=1e-12)
        np.testing.assert_allclose(some.cosines[:, 0], head_outputs(trace, site, 1).cosines)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_mix_is_the_recorded_context(name: str) -> None:
    trace = trace_of(name)
    for site in trace.attention_sites():
        for head in (0, trace.attention[site].heads - 1):
            mix = mixed_values(trace, site, head, 1)
            assert len(mix.values) == len(trace.tokens(site, "key"))
            np.testing.assert_allclose(mix.context, trace.context(site, head)[1], atol=1e-6)
            assert seal_context(trace, site, head, 1).holds
            assert (mix.sink > 0.01) == (name == "gpt_oss")  # elsewhere the keys take all


def test_one_bias_one_group_of_values() -> None:
    """The bias belongs to no head: without it the sum misses exactly it. Grouped heads mix the same values."""
    parts = head_outputs(trace_of("gpt2"), "decoder.1.self", 2)
    assert parts.bias.any()
    np.testing.assert_allclose(parts.total - parts.heads.sum(0), parts.bias)
    trace = trace_of("llama")
    how, site = trace.attention["decoder.0.self"], "decoder.0.self"
    assert how.kv_heads < how.heads and how.kv_head(0) == how.kv_head(1)
    mixes = [mixed_values(trace, site, head, 3) for head in (0, 1, how.heads - 1)]
    np.testing.assert_array_equal(mixes[0].values, mixes[1].values)
    assert not np.array_equal(mixes[0].weights, mixes[1].weights)
    assert not np.array_equal(mixes[0].values, mixes[2].values)


def test_where_the_sum_goes() -> None:
    assert joins_the_stream(trace_of("gpt2"), "decoder.0.self")
    assert not joins_the_stream(trace_of("gemma2"), "decoder.0.self")  # a norm comes first


def test_what_a_run_has_not_is_named() -> None:
    bloom = trace_of("bloom")
    with pytest.raises(NoVectors, match=r"decoder\.1\.self"):
        mixed_values(bloom, "decoder.1.self", 0, 1)
    with pytest.raises(NoVectors):
        head_outputs(bloom, "decoder.1.self", 1)
    gpt2 = trace_of("gpt2")
    with pytest.raises(NoSuchSite):
        head_outputs(gpt2, "decoder.7.self", 1)
    with pytest.raises(NoSuchSite):
        mixed_values(gpt2, "decoder.1.self", 7, 1)
    without = Trace(**vars_of(gpt2) | {"parts": {}})
    with pytest.raises(NoOutputProjection, match=r"decoder\.1\.self"):
        head_outputs(without, "decoder.1.self", 1)
    trained = Trace(**vars_of(gpt2) | {"weights_changed": lambda: True})
    with pytest.raises(WeightsChanged):
        head_outputs(trained, "decoder.1.self", 1)


def vars_of(trace: Trace) -> dict:
    """Its fields, to make another one of them."""
    return {name: getattr(trace, name) for name in Trace.__dataclass_fields__}
