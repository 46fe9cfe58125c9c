"""replay.py: an untouched trace is sealed, a trace in which one number was changed is not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.transformer.families import CONFIGS, SOURCES, TARGETS, family
from transformer import run, seal
from transformer.errors import NoSuchSite
from transformer.maps import Attention
from transformer.replay import TOLERANCE, Seal, check_numbers, compare, replay, seal_attention, seal_probabilities
from transformer.trace import TopLogits, Trace


def trace_of(name: str) -> Trace:
    target = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    return run(family(name).model, ids=SOURCES[0], **target)


def corrupted(trace: Trace, site: str, at: tuple[int, ...], by: float = 0.5) -> Trace:
    """The trace with one number of one kept array changed."""
    array = trace.arrays[trace.resolve(site)].copy()
    array[at] += by
    return replace(trace, arrays={**trace.arrays, trace.resolve(site): array})


def broken(trace: Trace) -> list[str]:
    return [one.site for one in replay(trace) if not one.holds]


# --- one comparison --------------------------------------------------------------------------------------------------


def test_the_difference_is_the_largest_one_as_a_share_of_large_values():
    small = compare("x", np.array([1.0, 2.0]), np.array([1.0, 1.5]))
    assert (small.difference, small.compared) == (0.5 / 1.5, 2) and not small.holds
    assert compare("x", np.array([0.0, 0.5]), np.array([0.0, 0.25])).difference == 0.25
    assert compare("x", np.array([2000.01]), np.array([2000.0])).holds
    assert compare("x", np.array([1.0]), np.array([1.0 + TOLERANCE * 3])).holds is False


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_does_not_hold(wrong):
    right = np.ones(3)
    bad = right.copy()
    bad[1] = wrong
    with np.errstate(invalid="ignore"):
        assert not compare("x", bad, right).holds and not compare("x", right, bad).holds
        assert not compare("x", bad, bad).holds
    assert not Seal("x", float("nan"), 1).holds


def test_other_shapes_do_not_hold_and_are_not_broadcast():
    assert not compare("x", np.ones((3, 1)), np.ones(3)).holds and not compare("x", np.ones(1), np.ones(3)).holds


def test_check_numbers_tell_swapped_values():
    numbers = check_numbers(np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 0.0]]))
    assert numbers.tolist() == [1 + 2 * 1.5, 2 + 1 * 1.5, 3.0]


# --- whole traces ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CONFIGS))
def test_probabilities_hold_wherever_there_is_a_head(name):
    trace = trace_of(name)
    for position in (0, -1):
        found = seal_probabilities(trace, position)
        assert found.holds and found.compared == 50
    found, last = seal(trace, "logits"), trace.structure.stacks[-1].name
    assert found.holds and found.compared == 50 * len(trace.encodings[last])


@pytest.mark.parametrize("name", ["gpt2", "bert", "t5"])
def test_the_seal_covers_every_part_of_every_layer(name):
    trace = trace_of(name)
    sealed = {one.site.rsplit(".", 1)[0] for one in replay(trace)}
    for stack in trace.structure.stacks:
        for boxes in stack.blocks:
            for box in boxes:
                assert box.name in sealed or box.name in {one.site for one in replay(trace)}, box.name
    assert "logits" in {one.site for one in replay(trace)}


def test_a_view_can_be_sealed_alone():
    trace = trace_of("gpt2")
    assert seal(trace, "decoder.1.self", 3).compared == 7 and seal(trace, "decoder.1.self").compared == 49
    for site in ("decoder.1.ffn", "decoder.1.norm1", "decoder.1.self.projection", "decoder.1.resid.after", "logits"):
        assert seal(trace, site).holds, site
    with pytest.raises(NoSuchSite, match=r"decoder\.1\.self"):
        seal(trace, "decoder.7.self")
    part = run(family("gpt2").model, ids=SOURCES[0], record={"attention"})
    assert {one.site for one in replay(part) if one.compared} == {f"decoder.{layer}.self.check" for layer in range(3)}
    with pytest.raises(NoSuchSite):
        seal_probabilities(part, -1)


# --- changed traces --------------------------------------------------------------------------------------------------


def cells(array: np.ndarray) -> list[tuple[int, ...]]:
    """The first cell, the last one, and one in the middle."""
    return [(0,) * array.ndim, tuple(size - 1 for size in array.shape), tuple(size // 2 for size in array.shape)]


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bert", "t5", "gptj", "gpt_oss"])
def test_one_changed_number_in_any_kept_array_breaks_the_seal(name):
    trace = trace_of(name)
    assert broken(trace) == []
    unnoticed = [
        (site, cell)
        for site, array in trace.arrays.items()
        for cell in cells(array)
        if not broken(corrupted(trace, site, cell))
    ]
    assert unnoticed == []


@pytest.mark.parametrize("part", ["q", "k", "v", "check"])
def test_a_changed_cell_breaks_the_seal_of_its_own_head_only(part):
    changed = corrupted(trace_of("gpt2"), f"decoder.1.self.{part}", (4, 2) if part == "check" else (4, 2, 1))
    assert broken(changed) == ["decoder.1.self.check"] or part != "check"
    assert [head for head in range(7) if not seal(changed, "decoder.1.self", head).holds] == [4]


def test_some_rows_can_be_sealed_alone():
    """Of a long text only what is shown: a changed query is found by the seal of its own rows, a changed key by all."""
    changed = corrupted(trace_of("llama"), "decoder.1.self.check", (4, 2))
    for rows, holds in ((slice(2, 3), False), (slice(0, 2), True), (slice(3, 7), True), (slice(None), False)):
        found = seal_attention(changed, "decoder.1.self", 4, rows)
        assert (found.holds, found.compared) == (holds, len(range(7)[rows]))
    changed = corrupted(trace_of("llama"), "decoder.1.self.k", (0, 6, 1))
    assert not seal_attention(changed, "decoder.1.self", 0, slice(0, 2)).holds
    weights = trace_of("bloom").attention["decoder.1.self"].weights.copy()
    weights[2, 5] *= 0.9
    changed = replace(trace_of("bloom"), attention={"decoder.1.self": Attention(1.0, 6, 6, weights=weights)})
    found = [seal_attention(changed, "decoder.1.self", 2, rows).holds for rows in (slice(5), slice(5, 6), slice(6, 7))]
    assert found == [True, False, True]


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_changed_mask_breaks_the_seal(name):
    trace = trace_of(name)
    site = trace.attention_sites()[1]
    allowed = trace[f"{site}.allowed"].copy()
    allowed[3, 1] ^= True
    how = replace(trace.attention[site], causal=False, allowed=allowed)
    assert f"{site}.check" in broken(replace(trace, attention={**trace.attention, site: how}))


@pytest.mark.parametrize("change", [{"scale": 0.6}, {"causal": False}, {"softcap": 1.0}, {"kv_heads": 1}], ids=str)
def test_another_way_of_computing_breaks_the_seal(change):
    trace = trace_of("gpt2")
    how = replace(trace.attention["decoder.1.self"], **change)
    assert broken(replace(trace, attention={**trace.attention, "decoder.1.self": how}))


def test_a_changed_bias_or_sink_breaks_the_seal():
    trace = trace_of("t5")
    how = trace.attention["encoder.0.self"]
    bias = how.bias.copy()
    bias[2, 3, 1] += 1
    assert broken(replace(trace, attention={**trace.attention, "encoder.0.self": replace(how, bias=bias)}))
    trace = trace_of("gpt_oss")
    how = trace.attention["decoder.0.self"]
    assert broken(replace(trace, attention={**trace.attention, "decoder.0.self": replace(how, sinks=how.sinks + 1)}))


def test_changed_weights_of_a_family_that_gives_only_these_break_the_seal():
    trace = trace_of("bloom")
    how = trace.attention["decoder.0.self"]
    weights = how.weights.copy()
    weights[3, 4, 2] += 0.1
    changed = replace(trace, attention={**trace.attention, "decoder.0.self": replace(how, weights=weights)})
    assert broken(changed) == ["decoder.0.self.weights"]


@pytest.mark.parametrize("site", ["decoder.1.resid.after", "decoder.1.norm2.input", "decoder.0.resid.before"])
def test_a_changed_stream_breaks_the_seal(site):
    assert broken(corrupted(trace_of("gpt2"), site, (3, 5)))


def with_top(trace: Trace, **changes: np.ndarray) -> Trace:
    return replace(trace, top=TopLogits(**(vars(trace.top) | changes)))


def test_a_changed_logit_or_probability_breaks_the_seal():
    trace = trace_of("gpt2")
    values, ids, logsumexp = trace.top.values.copy(), trace.top.ids.copy(), trace.top.logsumexp.copy()
    values[3, 7] += 0.01
    ids[3, [7, 9]] = ids[3, [9, 7]]
    logsumexp[3] += 0.01
    assert broken(with_top(trace, values=values)) == ["logits"] == broken(with_top(trace, ids=ids))
    for changed in ({"values": values}, {"ids": ids}, {"logsumexp": logsumexp}):
        assert not seal_probabilities(with_top(trace, **changed), 3).holds, changed.keys()
        assert seal_probabilities(with_top(trace, **changed), 4).holds


def test_a_number_that_is_none_breaks_the_seal():
    trace = trace_of("gpt2")
    with np.errstate(invalid="ignore"):
        for site in ("decoder.1.self.q", "decoder.1.self.v", "decoder.1.resid.before"):
            assert broken(corrupted(trace, site, (0,) * trace.arrays[site].ndim, np.nan)), site


def test_a_changed_weight_of_the_model_breaks_the_seal():
    """The parts hold the model's weights: a model that is not the one that ran does not fit its trace."""
    trace = trace_of("gpt2")
    norm = trace.parts["decoder.1.norm1"]
    changed = replace(norm, weight=norm.weight + 0.01)
    fed = [f"decoder.1.self.{name}" for name in "qkv"]  # what it gives enters these
    found = broken(replace(trace, parts={**trace.parts, "decoder.1.norm1": changed}))
    assert sorted(found) == sorted(["decoder.1.norm1.output", *fed])


def test_even_weights_of_a_row_that_sees_nothing_are_sealed():
    trace = run(family("gpt2").model, ids=SOURCES[0], attention_mask=[0, 0, 1, 1, 1, 1, 1])
    assert trace["decoder.0.self.weights"][0, 0].tolist() == pytest.approx([1 / 7] * 7)
    assert broken(trace) == []


def test_rows_from_outside_must_sum_to_one():
    weights = np.full((1, 1, 2), 0.5, dtype=np.float32)
    trace = replace(trace_of("bloom"), attention={"decoder.0.self": Attention(1.0, 1, 1, weights=weights)})
    assert seal_attention(trace, "decoder.0.self").holds
