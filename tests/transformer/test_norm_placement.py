"""norm_placement.py: the order of a block is the model's own, read off the run and never taken from a name."""

import numpy as np
import pytest
import torch

from tests.transformer.families import SOURCES, TARGETS, build, family
from transformer import run, wrap
from transformer.block import Block
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.measure_residual import BlockWithoutResidual
from transformer.norm_placement import Line, Placement, norm_placement, norm_sites
from transformer.trace import Trace

SIZES = {"vocab_size": 53, "max_positions": 11, "d_model": 28, "n_layers": 3, "n_heads": 7}
PRE = ["resid.before + self.output → norm2", "norm2.input + ffn.output → resid.after"]
POST = [
    "resid.before + self.output → norm1",
    "norm1 on the line",
    "norm1.output + ffn.output → norm2",
    "norm2 on the line",
]
SANDWICH = ["resid.before + norm2.output → norm3", "norm3.input + norm4.output → resid.after"]
BEHIND = ["resid.before + norm1.output → ffn", "ffn.input + norm2.output → resid.after"]
PARALLEL = ["resid.before + self.output + ffn.output → resid.after"]
CROSS = [
    "resid.before + self.output → norm2",
    "norm2.input + cross.output → norm3",
    "norm3.input + ffn.output → resid.after",
]


def traced(name: str) -> Trace:
    targets = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    trace = run(family(name).model, ids=SOURCES[0], **targets)
    assert isinstance(trace, Trace)
    return trace


def ours(**changes: object) -> Trace:
    model = DecoderLM(ModelConfig(**(SIZES | changes)), generator=torch.Generator().manual_seed(3))
    trace = run(wrap(model), ids=[5, 7, 9, 7, 3])
    assert isinstance(trace, Trace)
    return trace


def steps(placement: Placement) -> list[str]:
    return [f"{one.part} on the line" if isinstance(one, Line) else one.text for one in placement.steps]


@pytest.mark.parametrize(
    ("name", "kind", "order"),
    [
        ("gpt2", "pre", PRE),
        ("llama", "pre", PRE),
        ("bert", "post", POST),
        ("gemma2", "sandwich", SANDWICH),
        ("olmo2", "behind", BEHIND),
        ("gptj", "parallel", PARALLEL),
        ("gpt_neox", "parallel", PARALLEL),
        ("t5", "pre", CROSS),
        ("bloom", "pre", PRE),
    ],
)
def test_each_family_is_read_as_it_is(name, kind, order):
    trace = traced(name)
    stack = list(trace.encodings)[-1]
    for layer in range(len(trace.structure.stack(stack).blocks)):
        placement = norm_placement(trace, f"{stack}.{layer}")
        assert (placement.kind, steps(placement), placement.unread) == (kind, order, "")


@pytest.mark.parametrize(("norm", "order"), [("pre", PRE), ("post", POST)])
def test_our_own_blocks_stand_as_they_were_told_to(norm, order):
    placement = norm_placement(ours(norm=norm), "decoder.1")
    assert (placement.kind, steps(placement)) == (norm, order)


def test_the_parts_on_the_way_are_told_in_order():
    sandwich, behind = (norm_placement(traced(name), "decoder.1").sums for name in ("gemma2", "olmo2"))
    assert [branch.parts for one in sandwich for branch in one.branches] == [
        ("norm1", "self", "norm2"),
        ("norm3", "ffn", "norm4"),
    ]
    assert [branch.parts for one in behind for branch in one.branches] == [("self", "norm1"), ("ffn", "norm2")]
    one_norm, two_norms = (norm_placement(traced(name), "decoder.1").sums[0].branches for name in ("gptj", "gpt_neox"))
    assert [branch.parts for branch in one_norm] == [("norm1", "self"), ("norm1", "ffn")]
    assert [branch.parts for branch in two_norms] == [("norm1", "self"), ("norm2", "ffn")]
    cross = norm_placement(traced("bart"), "decoder.1")
    assert [branch.parts for one in cross.sums for branch in one.branches] == [("self",), ("cross",), ("ffn",)]
    assert cross.norms_on_line == ("norm1", "norm2", "norm3")


@pytest.mark.parametrize("name", ["gpt2", "bert", "gemma2", "olmo2", "gptj", "t5", "deepseek_v3"])
def test_the_sums_that_are_told_are_the_sums_of_the_run(name):
    """Not only the names: the arrays of the terms add up to the array of the sum."""
    trace = traced(name)
    for place in {site.rpartition(".")[0] for site in trace.attention}:
        for one in norm_placement(trace, place).sums:
            terms = [one.stream, *(branch.term for branch in one.branches)]
            total = sum(trace[f"{place}.{term}"].astype(np.float64) for term in terms)
            np.testing.assert_allclose(total, trace[f"{place}.{one.site}"], atol=1e-4 * np.abs(total).max())


def test_a_stream_that_is_scaled_is_not_read_as_a_sum():
    """Granite multiplies what it adds: no sum of recorded arrays gives the stream, and none is claimed."""
    trace = run(wrap(build("granite", residual_multiplier=0.22)), ids=SOURCES[0])
    placement = norm_placement(trace, "decoder.1")
    assert (placement.kind, placement.steps, placement.unread) == ("unknown", (), "resid.after")


def test_a_block_without_residual_replaces_its_stream(monkeypatch):
    monkeypatch.setattr(Block, "_add", BlockWithoutResidual._add)
    placement = norm_placement(ours(norm="post"), "decoder.1")
    assert placement.sums == () and placement.kind == "unknown"
    assert steps(placement) == [f"{part} on the line" for part in ("self", "norm1", "ffn", "norm2")]


@pytest.mark.parametrize(
    ("name", "sites"),
    [
        ("gpt2", ["decoder.1.norm1", "decoder.1.norm2", "decoder.final.norm"]),
        ("bert", ["encoder.embed.norm", "encoder.1.norm1", "encoder.1.norm2"]),
        ("gpt_neox", ["decoder.1.norm1", "decoder.1.norm2", "decoder.final.norm"]),
        ("gemma2", [*(f"decoder.1.norm{n}" for n in (1, 2, 3, 4)), "decoder.final.norm"]),
    ],
)
def test_all_norms_of_a_block_and_of_its_stack_are_listed(name, sites):
    trace = traced(name)
    assert norm_sites(trace, sites[1].rpartition(".")[0]) == tuple(sites)
    for nowhere in ("decoder.53", "encoder.53", "nowhere.0", f"{sites[1].split('.')[0]}.embed", "decoder.1.norm2"):
        assert norm_sites(trace, nowhere) == ()
