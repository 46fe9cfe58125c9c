"""The parts of a logit sum to it, in every family whose stream is a sum; where it is none, that is said."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.transformer import tiny_hugging_face
from tests.transformer.families import SOURCES, TARGETS, family
from transformer.decoder_lm import DecoderLM
from transformer.direct_contributions import (
    MEAN,
    addend_products,
    direct_contributions,
    head_shares,
    seal_contributions,
    seal_heads,
    through,
)
from transformer.encoder_classifier import EncoderClassifier
from transformer.full_logits import full_logits
from transformer.head_contributions import head_outputs
from transformer.parts import NormPart
from transformer.readout import CannotReadOut
from transformer.runner import run
from transformer.trace import Trace
from transformer.wrapped import wrap

SUMS = ["gpt2", "llama", "gemma2", "olmo2", "t5", "gptj", "phi", "bloom", "cohere", "gpt_oss", "mixtral", "granite"]
Make = Callable[..., Any]


def trace_of(name: str) -> Trace:
    target = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    return run(family(name).model, ids=SOURCES[0], **target)


@pytest.mark.parametrize("name", SUMS)
def test_the_parts_sum_to_the_recorded_logit(name: str) -> None:
    trace = trace_of(name)
    for position, token in ((3, int(trace.top.ids[3][0])), (0, 17)):
        found = direct_contributions(trace, position, token)
        assert seal_contributions(trace, found).holds, name
        assert found.values.shape == (len(found.addends),) and found.running[-1] + found.constant == pytest.approx(
            found.total
        )
        shares = head_shares(trace, found)
        assert seal_heads(shares).holds and (len(shares.sites) > 0) == (name != "bloom")


def test_each_part_by_hand() -> None:
    """The final norm is linear in what is added, once its mean and deviation are those of the whole stream."""
    trace, position, token = trace_of("gpt2"), 4, 23
    found = direct_contributions(trace, position, token)
    assert [(part.kind, part.layer) for part in found.addends] == [
        ("token", None), ("position", None),
        ("self", 0), ("ffn", 0), ("self", 1), ("ffn", 1), ("self", 2), ("ffn", 2),
    ]  # fmt: skip
    norm, head = trace.parts["decoder.final.norm"], trace.parts["decoder.head"]
    stream = trace["decoder.2.resid.after"][position].astype(np.float64)
    deviation = np.sqrt(stream.var() + norm.eps)
    for part, value in zip(found.addends, found.values, strict=True):
        vector = trace[part.site][position].astype(np.float64)
        by_hand = ((vector - vector.mean()) / deviation * norm.weight) @ head.linear.weight[token]
        assert value == pytest.approx(by_hand, abs=1e-5), part
    assert found.constant == pytest.approx(float(norm.bias @ head.linear.weight[token]), abs=1e-6)


@pytest.mark.parametrize("kind", ["layernorm", "rmsnorm"])
def test_ours_with_either_norm(tiny: Make, scramble: Make, kind: str) -> None:
    changes = {"positions": "rotary", "norm_kind": kind, "tied_embeddings": False, "n_kv_heads": 1}
    trace = run(wrap(scramble(DecoderLM(tiny(**changes)))), ids=[5, 7, 5, 11])
    found = direct_contributions(trace, 2, 31)
    assert seal_contributions(trace, found).holds and found.total == pytest.approx(full_logits(trace, 2)[31], rel=1e-4)
    assert seal_heads(head_shares(trace, found)).holds


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_heads_are_what_their_outputs_point_at(name: str) -> None:
    trace = trace_of(name)
    found = direct_contributions(trace, 3, 19)
    shares, to = head_shares(trace, found), found.directions[0]
    for number, site in enumerate(shares.sites):
        outputs = head_outputs(trace, site, 3)
        np.testing.assert_allclose(shares.values[number], outputs.heads @ to.vector, atol=1e-6)
        assert shares.biases[number] == pytest.approx(float(outputs.bias @ to.vector), abs=1e-6)


def test_one_bar_dimension_by_dimension(tiny: Make, scramble: Make) -> None:
    ours = run(wrap(scramble(EncoderClassifier(tiny(positions="learned"), 5, summary="mean"))), ids=[5, 7, 5])
    for trace, position in ((trace_of("gpt2"), 3), (ours, 0)):
        found = direct_contributions(trace, position, 2)
        for place, value in enumerate(found.values):
            products = addend_products(trace, found, place)
            assert products.shape == (28,) and products.sum() == pytest.approx(float(value), abs=1e-9)


def test_against_another_token_and_against_the_mean() -> None:
    trace = trace_of("llama")
    one, other = (direct_contributions(trace, 2, token) for token in (11, 13))
    both = direct_contributions(trace, 2, 11, 13)
    np.testing.assert_allclose(both.values, one.values - other.values, atol=1e-9)
    assert both.total == pytest.approx(full_logits(trace, 2)[11] - full_logits(trace, 2)[13], abs=1e-4)
    every = np.mean([direct_contributions(trace, 2, token).values for token in range(53)], axis=0)
    mean = direct_contributions(trace, 2, 11, MEAN)
    np.testing.assert_allclose(mean.values, one.values - every, atol=1e-6)
    assert seal_contributions(trace, both).holds and seal_contributions(trace, mean).holds


@pytest.mark.parametrize("summary", ["first", "mean"])
def test_a_class_is_a_sum_over_the_positions_of_its_summary(tiny: Make, scramble: Make, summary: str) -> None:
    trace = run(wrap(scramble(EncoderClassifier(tiny(positions="learned"), 5, summary=summary))), ids=[5, 7, 5])
    found = direct_contributions(trace, 0, 3)
    assert len(found.directions) == (1 if summary == "first" else 3)
    assert seal_contributions(trace, found).holds and seal_heads(head_shares(trace, found)).holds


def test_a_norm_on_the_stream_makes_it_no_sum(tiny: Make, scramble: Make) -> None:
    ours = run(wrap(scramble(DecoderLM(tiny(norm="post")))), ids=[5, 7, 5])
    for trace in (ours, trace_of("bart")):
        with pytest.raises(CannotReadOut) as caught:
            direct_contributions(trace, 1, 3)
        assert caught.value.key == "lack.norm_on_stream"


def test_what_bends_is_no_sum() -> None:
    pooled = run(wrap(tiny_hugging_face.bert_classifier().eval()), ids=[5, 7])
    with pytest.raises(CannotReadOut) as caught:
        direct_contributions(pooled, 0, 1)
    assert caught.value.key == "lack.pooler_bends"
    trace = trace_of("gemma2")
    assert direct_contributions(trace, 1, 3).total != pytest.approx(float(full_logits(trace, 1)[3]), abs=1e-6)
    with pytest.raises(CannotReadOut) as caught:
        direct_contributions(trace, 1, 3, 5)
    assert caught.value.key == "lack.softcap_bends"
    with pytest.raises(CannotReadOut) as caught:
        direct_contributions(trace_of("bert"), 1, 3)
    assert caught.value.key == "lack.transform"


def test_a_changed_number_breaks_the_seals() -> None:
    trace = trace_of("gpt2")
    v = trace.arrays["decoder.1.self.v"].copy()
    v[2, 1] += 0.5
    changed = replace(trace, arrays={**trace.arrays, "decoder.1.self.v": v})
    found = direct_contributions(changed, 3, 7)
    assert seal_contributions(changed, found).holds and not seal_heads(head_shares(changed, found)).holds
    last = trace.resolve("decoder.2.resid.after")
    stream = trace.arrays[last].copy()
    stream[3, 5] += 0.5
    changed = replace(trace, arrays={**trace.arrays, last: stream})
    assert not seal_contributions(changed, direct_contributions(changed, 3, int(trace.top.ids[3][0]))).holds


@pytest.mark.parametrize("kind", ["layernorm", "rmsnorm"])
def test_through_a_norm(kind: str) -> None:
    rng = np.random.default_rng(7)
    x, wanted, gamma, beta = rng.normal(size=(4, 13))
    for norm in (NormPart(kind, gamma, beta, 1e-5), NormPart(kind, None, None, 1e-5)):
        vector, constant = through(norm, x[None], wanted)
        assert vector @ x + constant == pytest.approx(float(wanted @ norm(x[None])[0]))
