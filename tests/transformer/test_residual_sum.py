"""The last stream is the sum of its addends, each of them what its own part gave."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.transformer.families import SOURCES, TARGETS, family
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.readout import CannotReadOut
from transformer.residual_sum import addends, attention_behind, term
from transformer.runner import run
from transformer.trace import Trace
from transformer.wrapped import wrap

PARALLEL = {"gptj", "gpt_neox", "phi", "cohere"}


def trace_of(name: str) -> Trace:
    target = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    return run(family(name).model, ids=SOURCES[0], **target)


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "olmo2", "t5", "bloom", *sorted(PARALLEL)])
def test_they_sum_to_the_last_stream(name: str) -> None:
    trace = trace_of(name)
    layers = len(trace.structure.stack("decoder").blocks)
    found, position = addends(trace, "decoder", layers), 3
    total = sum(part.vector(trace, position) for part in found)
    last = trace[f"decoder.{layers - 1}.resid.after"][position]
    np.testing.assert_allclose(total, last, atol=1e-5 * max(1, np.abs(last).max()))
    kinds = [part.kind for part in found if part.layer == 1]
    assert kinds == (["self", "cross", "ffn"] if name == "t5" else ["self", "ffn"])
    if name != "olmo2":  # whose middle stream enters no norm, so it is not recorded
        assert all((part.minus is None) == (name in PARALLEL) for part in found if part.layer is not None)


@pytest.mark.parametrize("name", ["gpt2", "gemma2", "t5", "gptj"])
def test_a_difference_of_streams_is_what_the_part_gave(name: str) -> None:
    trace = trace_of(name)
    for part in addends(trace, "decoder", 2):
        np.testing.assert_allclose(part.vector(trace, 2), trace[part.site][2], atol=1e-5)
        np.testing.assert_allclose(term(trace, part.site, 2), trace[part.site][2], atol=1e-5)


def test_a_norm_behind_an_attention_belongs_to_it() -> None:
    trace = trace_of("gemma2")
    own = [part for part in addends(trace, "decoder", 2) if part.kind == "self"]
    assert [attention_behind(trace, part)[0] for part in own] == ["decoder.0.self", "decoder.1.self"]
    assert all(len(attention_behind(trace, part)[1]) == 1 for part in own)
    plain = [part for part in addends(trace_of("gpt2"), "decoder", 2) if part.kind == "self"]
    assert attention_behind(trace_of("gpt2"), plain[0]) == ("decoder.0.self", ())


def test_a_start_that_is_no_bare_sum_is_one_piece(tiny: Callable[..., ModelConfig]) -> None:
    trace = run(wrap(DecoderLM(tiny(embedding_norm=True, positions="learned"))), ids=[5, 7, 5])
    first = addends(trace, "decoder", 3)[0]  # a norm stands between the embedding and the first block
    assert (first.site, first.kind, first.layer) == ("decoder.0.resid.before", "start", None)


def test_sums_that_were_not_found_are_not_made_up() -> None:
    trace = trace_of("gpt2")
    bare = replace(trace, sums={name: terms for name, terms in trace.sums.items() if ".1." not in name})
    with pytest.raises(CannotReadOut) as caught:
        addends(bare, "decoder", 3)
    assert caught.value.key == "lack.sum_unexplained"
    with pytest.raises(CannotReadOut) as caught:
        addends(trace_of("bart"), "decoder", 3)
    assert caught.value.key == "lack.norm_on_stream"
