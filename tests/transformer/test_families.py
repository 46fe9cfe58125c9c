"""Every family: the wrapped model equals its untouched twin, every map equals an eager twin's, every seal holds."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.transformer.families import CONFIGS, LISTED, MASKED_LM, SINKS, SOURCES, TARGETS, WEIGHTS_ONLY, Family, build
from tests.transformer.families import family as family_of
from transformer import run, wrap
from transformer.errors import NoAttentionSeen, NoSuchSite, NotATextModel
from transformer.messages import message
from transformer.replay import replay

TOLERANCE = 1e-5
SIDES = ["right", "left"]
# Families with a position per place in the row instead of per real token: padding on the left moves their tokens.
ABSOLUTE = (MASKED_LM - {"modernbert"}) | {"bart", "marian"}


@pytest.fixture(scope="module", params=list(CONFIGS))
def family(request) -> Family:
    return family_of(request.param)


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference, as a share of the largest value where that is above 1."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.shape == other.shape and one.size
    return float(np.abs(one - other).max() / max(1.0, np.abs(other).max()))


def real_positions(family: Family, wanted: dict) -> np.ndarray:
    shown = np.array(wanted["attention_mask"], dtype=bool)
    return np.ones_like(np.array(TARGETS), dtype=bool) if family.seq2seq else shown


@pytest.mark.parametrize("side", SIDES)
def test_wrapped_model_equals_its_untouched_twin(family, side):
    wanted = family.padded(side)
    real = real_positions(family, wanted)
    ours, theirs = (family.answer(m, wanted).logits.numpy()[real] for m in (family.model.module, family.untouched))
    assert np.isfinite(theirs).all()
    assert apart(ours, theirs) <= TOLERANCE


@pytest.mark.parametrize("side", SIDES)
def test_every_map_equals_output_attentions_of_an_eager_twin(family, side):
    wanted = family.padded(side)
    theirs = family.maps(family.answer(family.eager, wanted, output_attentions=True))
    traces = run(family.model, **wanted)
    assert set(traces[0].attention_sites()) == set(theirs) and len(traces) == 2
    for row, trace in enumerate(traces):
        for site, maps in theirs.items():
            ours = trace[f"{site}.weights"]
            assert apart(ours, maps[row].numpy()) <= TOLERANCE, site
            assert ours.std(-1).max() > 0.02, "a flat map would prove nothing"


@pytest.mark.parametrize("side", SIDES)
def test_logits_of_the_trace_are_the_untouched_twins(family, side):
    wanted = family.padded(side)
    theirs, real = family.answer(family.untouched, wanted).logits, real_positions(family, wanted)
    for row, trace in enumerate(run(family.model, **wanted)):
        largest = theirs[row].topk(50, dim=-1)
        assert apart(trace["logits"][real[row]], largest.values.numpy()[real[row]]) <= TOLERANCE
        ids, p = trace.probabilities(int(real[row].nonzero()[0][-1]))
        wanted_p = torch.softmax(theirs[row, real[row].nonzero()[0][-1]], -1).numpy()
        assert apart(p, wanted_p[ids]) <= TOLERANCE


@pytest.mark.parametrize("side", SIDES)
def test_rows_sum_to_one_and_forbidden_cells_are_zero(family, side):
    for trace in run(family.model, **family.padded(side)):
        for site in trace.attention_sites():
            weights = trace[f"{site}.weights"]
            sums = weights.sum(-1)
            if family.name in SINKS:
                # Padding that looks at nothing leaves all to the sink.
                assert (sums < 1).all() and (sums > 0).any(-1).all()
            else:
                assert np.abs(sums - 1).max() <= 1e-6
            if f"{site}.allowed" in trace.sites:
                allowed = trace[f"{site}.allowed"]
                seeing = allowed.any(-1)
                assert (weights[:, seeing][:, ~allowed[seeing]] == 0).all()
                assert not allowed.all() or ".cross" in site or "encoder" in site


@pytest.mark.parametrize("side", SIDES)
def test_padding_is_looked_at_by_no_real_token(family, side):
    wanted = family.padded(side)
    trace = run(family.model, **wanted)[1]
    padding = ~np.array(wanted["attention_mask"][1], dtype=bool)
    for site in trace.attention_sites():
        over_source = site.startswith("encoder") or ".cross" in site or not family.seq2seq
        if over_source:
            rows = slice(None) if ".cross" in site else ~padding
            assert (trace[f"{site}.weights"][:, rows][:, :, padding] == 0).all(), site
    assert trace.encodings[trace.structure.stacks[0].name].padding == tuple(padding)


@pytest.mark.parametrize("side", SIDES)
def test_two_unequal_lengths_in_one_batch_equal_each_alone(family, side):
    if side == "left" and family.name in ABSOLUTE:
        side = "right"  # both ways are the same for these: only `run`'s own padding is asked about
    batch = run(family.model, **family.padded(side))
    for row, ids in enumerate(SOURCES):
        target = {"target_ids": TARGETS[row]} if family.seq2seq else {}
        alone = run(family.model, ids=ids, **target)
        real = ~np.array(batch[row].encodings[alone.structure.stacks[0].name].padding)
        for site in alone.attention_sites():
            query = np.flatnonzero(real) if len(alone.tokens(site, "query")) == len(ids) else slice(None)
            keys = np.flatnonzero(real) if len(alone.tokens(site, "key")) == len(ids) else slice(None)
            assert apart(batch[row][f"{site}.weights"][:, query][:, :, keys], alone[f"{site}.weights"]) <= TOLERANCE
        last = slice(None) if family.seq2seq else np.flatnonzero(real)
        assert apart(batch[row]["logits"][last], alone["logits"]) <= TOLERANCE


@pytest.mark.parametrize("side", SIDES)
def test_every_seal_holds(family, side):
    for trace in run(family.model, **family.padded(side)):
        seals = replay(trace)
        assert len(seals) >= len(trace.attention_sites())
        assert not [seal for seal in seals if not seal.holds]


def test_laws_from_scores_to_context(family):
    """softmax(masked) = weights, weights · v = context; a family that hides them says so at each of these names."""
    trace = run(family.model, **family.padded("left"))[1]
    for site in trace.attention_sites():
        how = trace.attention[site]
        if how.weights is not None:
            for part in ("q", "k", "v", "scores", "masked", "context"):
                with pytest.raises(NoSuchSite):
                    trace[f"{site}.{part}"]
            continue
        masked, weights = trace[f"{site}.masked"].astype(np.float64), trace[f"{site}.weights"]
        seeing = np.isfinite(masked).any(-1)  # the others may look at nothing
        exp = np.exp(masked[seeing] - masked[seeing].max(-1, keepdims=True))
        share = 1.0 if how.sinks is None else weights[seeing].sum(-1, keepdims=True)
        assert apart(exp / exp.sum(-1, keepdims=True) * share, weights[seeing]) <= 1e-6
        v = np.repeat(trace[f"{site}.v"], how.heads // how.kv_heads, axis=0)
        assert apart(weights @ v, trace[f"{site}.context"]) <= 1e-5
        assert trace[f"{site}.q"].shape[0] == how.heads and trace[f"{site}.k"].shape[0] == how.kv_heads


def test_which_families_let_our_attention_in(family):
    assert family.model.weights_only == (family.name in WEIGHTS_ONLY)
    assert family.model.encoder_decoder == family.seq2seq


@pytest.mark.parametrize("name", sorted(WEIGHTS_ONLY))
def test_weights_only_families_say_what_they_lack_and_why(name):
    model = family_of(name).model
    trace = run(model, ids=SOURCES[0])
    for site in trace.attention_sites():
        reasons = {part: trace.lacks[f"{site}.{part}"] for part in ("q", "k", "v", "scores", "masked", "context")}
        assert set(reasons.values()) == {"lack.weights_only"}
        assert f"{site}.weights" in trace.sites and f"{site}.q" not in trace.sites
    for reason in trace.lacks.values():
        assert message(reason, "en") != message(reason, "zh")


def test_a_mask_that_is_not_seen_is_never_invented():
    """GPT-Neo's local layers cut off far keys inside their attention: the mask that is passed does not say so."""
    trace = run(family_of("gpt_neo").model, ids=SOURCES[0])
    assert trace.lacks["decoder.1.self.allowed"] == "lack.mask_unseen"
    assert "decoder.1.self.allowed" not in trace.sites and "decoder.0.self.allowed" in trace.sites
    with pytest.raises(NoSuchSite):
        trace["decoder.1.self.allowed"]


def test_a_sliding_window_is_in_the_mask():
    trace = run(family_of("mistral").model, ids=SOURCES[0])
    query, key = np.indices((7, 7))
    assert (trace["decoder.2.self.allowed"] == ((key <= query) & (key > query - 3))).all()


def test_a_model_without_attention_is_refused():
    with pytest.raises(NoAttentionSeen, match="Mamba"):
        wrap(build("mamba", hidden_size=24, num_hidden_layers=2, vocab_size=53))


def test_an_encoder_that_keeps_its_attention_to_itself_is_not_left_out():
    """LongT5's decoder lets our attention in, its encoder does not: half a model would be a false one."""
    with pytest.raises(NoAttentionSeen, match="LongT5"):
        wrap(build("longt5", **LISTED["t5"]))


def test_a_module_that_attends_twice_in_one_call_is_not_shown_by_half():
    """DiffLlama calls the attention twice per layer; its own weights are used instead."""
    assert family_of("diffllama").model.weights_only


def test_a_model_that_reads_no_text_is_refused():
    class Seer(torch.nn.Module):
        main_input_name = "pixel_values"

    with pytest.raises(NotATextModel, match="pixel_values"):
        wrap(Seer())


def test_the_listed_cases_are_the_shared_ones():
    cases = json.loads((Path(__file__).parent.parent / "cases" / "families.json").read_text(encoding="utf-8"))
    assert set(LISTED) == set(cases["families"]) and len(CONFIGS) >= 36
