"""trace.py: axes are checked, names are answered, arrays cannot be written to, maps obey their laws."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.transformer.families import SOURCES, TARGETS, family
from transformer import run
from transformer.errors import BadTrace, NoSuchSite
from transformer.maps import Attention
from transformer.parts import LinearPart
from transformer.replay import replay
from transformer.structure import Structure
from transformer.tokenizer import Encoding
from transformer.trace import AXES, TopLogits, Trace, check_axes

IDS = SOURCES[0]


def trace_of(name: str) -> Trace:
    return run(family(name).model, ids=IDS, **({"target_ids": TARGETS[0]} if family(name).seq2seq else {}))


def hand_made(**fields: object) -> Trace:
    """One head of width 2, two tokens, nothing masked: q = (0, √2) and (0, 0), k = v = (1, 0) and (0, 1)."""
    key = np.eye(2, dtype=np.float32)[None]
    query = np.array([[[0, 2**0.5], [0, 0]]], dtype=np.float32)
    arrays = {"encoder.0.self.q": query, "encoder.0.self.k": key, "encoder.0.self.v": key.copy()}
    given = {
        "key": "k", "model": "m", "encodings": {"encoder": Encoding.from_ids([5, 7])}, "arrays": arrays,
        "attention": {"encoder.0.self": Attention(scale=2**-0.5, heads=1, kv_heads=1)}, "structure": Structure(()),
    }  # fmt: skip
    return Trace(**(given | fields))


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_maps_by_hand():
    trace, e = hand_made(), np.e
    np.testing.assert_allclose(trace["encoder.0.self.scores"], [[[0, 1], [0, 0]]], atol=1e-6)
    np.testing.assert_allclose(trace.raw_scores("encoder.0.self"), [[[0, 2**0.5], [0, 0]]], atol=1e-6)
    wanted = [[[1 / (1 + e), e / (1 + e)], [0.5, 0.5]]]
    np.testing.assert_allclose(trace["encoder.0.self.weights"], wanted, atol=1e-7)
    np.testing.assert_allclose(trace["encoder.0.self.context"], wanted, atol=1e-7)
    assert trace["encoder.0.self.allowed"].all() and trace["encoder.0.self.allowed"].shape == (2, 2)


def test_top_logits_by_hand():
    """Logits (ln 3, 0, …) of four tokens, the other two not kept: 3/6 and 1/6."""
    top = TopLogits(np.array([[2, 0]]), np.log([[3.0, 1.0]]), np.log([6.0]), 4)
    ids, p = top.probabilities(0)
    assert ids.tolist() == [2, 0]
    np.testing.assert_allclose(p, [1 / 2, 1 / 6])


# --- axes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "shape"),
    [("q", (1, 3, 2)), ("q", (2, 2)), ("k", (1, 3, 2)), ("v", (1, 2)), ("nonsense", (1, 2, 2))],
)
def test_arrays_that_do_not_fit_their_tokens_are_refused(part, shape):
    arrays = {f"encoder.0.self.{part}": np.zeros(shape, np.float32)}
    with pytest.raises(BadTrace, match=f"encoder.0.self.{part}"):
        hand_made(arrays=arrays)


@given(st.sampled_from(sorted(AXES)), st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(5, 9))
def test_every_named_axis_is_checked(part, query, key, at, wrong):
    """A site has the axes of its part; any axis of tokens with another length is refused."""
    axes, lengths = AXES[part], {"query": query, "key": key, "position": query}
    shape = [lengths.get(axis, 3) for axis in axes]
    check_axes(f"decoder.0.cross.{part}", np.zeros(shape), lengths)
    at %= len(shape)
    shape[at] = wrong
    if axes[at] in lengths:
        with pytest.raises(BadTrace):
            check_axes(f"decoder.0.cross.{part}", np.zeros(shape), lengths)
    with pytest.raises(BadTrace):
        check_axes(f"decoder.0.cross.{part}", np.zeros([*shape, 1]), lengths)


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5", "bloom", "deepseek_v3", "gptj", "albert", "gpt_oss"])
def test_every_site_answers_with_the_axes_of_its_part(name):
    trace = trace_of(name)
    for site in trace.sites:
        array = trace[site]
        assert np.isfinite(array).all() or site.endswith(".masked"), site
        if not site.startswith("logits"):
            check_axes(site, array, trace._lengths(site))
            assert array.dtype == (bool if site.endswith("allowed") else np.float32), site
    assert {site.split(".")[0] for site in trace.sites} - {"logits"} == set(trace.encodings)


# --- names -----------------------------------------------------------------------------------------------------------


def test_an_unknown_site_is_answered_with_those_there_are():
    trace = trace_of("gpt2")
    with pytest.raises(NoSuchSite, match=r"decoder\.1\.self\.weights"):
        trace["decoder.1.self.wieghts"]
    with pytest.raises(NoSuchSite, match=r"decoder\.2\.self"):
        trace["decoder.9.self.weights"]
    with pytest.raises(NoSuchSite, match=r"decoder\.2\.self"):
        trace.weights("decoder.9.self", head=0)
    for nonsense in ("", ".", "logits.wrong", "weights", "decoder.0.self"):
        with pytest.raises(NoSuchSite):
            trace[nonsense]
    with pytest.raises(NoSuchSite, match="query, key"):
        trace.tokens("decoder.0.self", "value")


def test_what_gives_nothing_but_weights_has_no_scores():
    trace = trace_of("bloom")
    for part in (trace.raw_scores, trace.scores, trace.masked):
        with pytest.raises(NoSuchSite, match=r"decoder\.1\.self\.weights"):
            part("decoder.1.self", 2)


def test_what_was_not_recorded_is_no_site():
    trace = run(family("gpt2").model, ids=IDS, record={"attention"})
    with pytest.raises(NoSuchSite):
        trace.probabilities(-1)
    for site in ("logits", "decoder.0.resid.after", "decoder.0.ffn.hidden", "decoder.embed.sum"):
        with pytest.raises(NoSuchSite):
            trace[site]


def test_tokens_along_each_axis():
    trace = trace_of("bart")
    assert trace.tokens("decoder.0.cross", "query") == trace.tokens("decoder.0.cross.weights", "query")
    assert trace.tokens("decoder.0.cross", "query") == tuple(map(str, TARGETS[0]))
    assert trace.tokens("decoder.0.cross", "key") == tuple(map(str, IDS))
    assert trace.tokens("decoder.0.self", "key") == tuple(map(str, TARGETS[0]))
    assert trace.encoding("encoder.0.self").ids == tuple(IDS)


def test_attention_sites_stand_in_the_order_in_which_they_ran():
    assert trace_of("gpt2").attention_sites() == tuple(f"decoder.{layer}.self" for layer in range(3))
    decoder = [f"decoder.{layer}.{kind}" for layer in range(2) for kind in ("self", "cross")]
    assert trace_of("t5").attention_sites() == (*(f"encoder.{layer}.self" for layer in range(3)), *decoder)


# --- read-only -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpt2", "t5", "bloom", "gemma2", "gpt_oss"])
def test_nothing_kept_can_be_written_to(name):
    trace = trace_of(name)
    weights = [vars(part) for part in trace.parts.values()]
    weights += [vars(one) for part in weights for one in part.values() if isinstance(one, LinearPart)]
    for holder in (trace.arrays, vars(trace.top), *map(vars, trace.attention.values()), *weights):
        for array in holder.values():
            if isinstance(array, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0
    before = {site: trace[site].copy() for site in trace.sites}
    for site in trace.sites:
        if trace[site].flags.writeable:
            trace[site][...] = 0  # made for the one who asked
    assert all(np.array_equal(trace[site], array) for site, array in before.items())
    with pytest.raises(TypeError):
        trace.arrays["decoder.0.self.q"] = np.zeros(1)
    with pytest.raises(AttributeError):
        trace.key = "other"


def test_what_is_asked_for_is_never_what_the_model_still_uses():
    """Running again does not change an older trace, whatever the model does with its tensors."""
    model = family("gpt2").model
    trace = run(model, ids=IDS)
    before = {site: array.copy() for site, array in trace.arrays.items()}
    run(model, ids=[50, 49, 48, 47, 46, 45, 44])
    assert all(np.array_equal(trace.arrays[site], array) for site, array in before.items())


# --- laws ------------------------------------------------------------------------------------------------------------

NAMES = ["gpt2", "llama", "gemma2", "bert", "t5", "gpt_oss", "mistral"]


@given(st.sampled_from(NAMES), st.data())
def test_one_head_and_some_rows_are_a_piece_of_the_whole(name, data):
    trace = trace_of(name)
    site = data.draw(st.sampled_from(trace.attention_sites()))
    head = data.draw(st.integers(0, trace.attention[site].heads - 1))
    rows = slice(data.draw(st.integers(0, 3)), data.draw(st.integers(4, 7)))
    for part in ("scores", "masked", "weights", "context"):
        whole, piece = trace[f"{site}.{part}"], getattr(trace, part)(site, head, rows)
        assert np.array_equal(piece, whole[head, rows]), part
    assert np.array_equal(trace.allowed(site, head, rows), trace[f"{site}.allowed"][rows])


@given(st.sampled_from(NAMES), st.data())
def test_scores_are_raw_scores_scaled_and_capped(name, data):
    trace = trace_of(name)
    site = data.draw(st.sampled_from(trace.attention_sites()))
    how, rows = trace.attention[site], slice(data.draw(st.integers(0, 3)), data.draw(st.integers(4, 7)))
    raw = trace.raw_scores(site)
    k = np.repeat(trace[f"{site}.k"], how.heads // how.kv_heads, axis=0)
    np.testing.assert_allclose(raw, np.einsum("hqd,hkd->hqk", trace[f"{site}.q"], k), atol=1e-4)
    assert np.array_equal(trace.raw_scores(site, 1, rows), raw[1, rows]) and raw.dtype == np.float32
    scaled = raw * how.scale
    capped = scaled if how.softcap is None else how.softcap * np.tanh(scaled / how.softcap)
    np.testing.assert_allclose(capped, trace.scores(site), atol=1e-5)


@given(st.sampled_from(NAMES), st.lists(st.integers(0, 52), min_size=1, max_size=9), st.data())
def test_laws_of_attention(name, ids, data):
    """Rows sum to 1, what is forbidden is 0, weights · v = context, for any ids and any padding."""
    model = family(name).model
    mask = data.draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids)))
    target = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    trace = run(model, ids=ids, attention_mask=list(map(int, mask)), **target)
    for site in trace.attention_sites():
        how, weights, allowed = trace.attention[site], trace[f"{site}.weights"], trace[f"{site}.allowed"]
        seeing = allowed.any(-1)
        assert (weights >= 0).all() and (weights[:, seeing][:, ~allowed[seeing]] == 0).all()
        sums = weights.sum(-1)
        assert (sums < 1 + 1e-6).all() if how.sinks is not None else np.abs(sums - 1).max() < 1e-6
        masked = trace[f"{site}.masked"]
        assert np.array_equal(np.isneginf(masked), np.broadcast_to(~allowed, masked.shape))
        plain = trace[f"{site}.scores"] + (trace[f"{site}.bias"] if how.bias is not None else 0)
        np.testing.assert_allclose(masked[:, allowed], plain[:, allowed], atol=1e-5)
        v = np.repeat(trace[f"{site}.v"], how.heads // how.kv_heads, axis=0)
        np.testing.assert_allclose(weights @ v, trace[f"{site}.context"], atol=1e-5)
        merged = trace[f"{site}.context"].transpose(1, 0, 2).reshape(len(weights[0]), -1)
        assert np.array_equal(merged, trace[f"{site}.merged"])


def test_a_long_text_is_looked_at_some_rows_at_a_time_and_gives_the_same():
    trace = run(family("gpt2").model, ids=[3 + 7 * n % 50 for n in range(523)])
    site, v = "decoder.2.self", trace["decoder.2.self.v"]
    context = trace.context(site, 4)
    np.testing.assert_allclose(trace.weights(site, 4) @ v[4], context, atol=1e-5)
    assert np.array_equal(trace.context(site, 4, slice(250, 520)), context[250:520])
    assert all(seal.holds for seal in replay(trace))


@given(st.sampled_from(["gpt2", "bert", "gemma2", "gptj", "t5", "olmo2", "deepseek_v3"]))
def test_what_was_added_adds_up_to_the_residual_stream(name):
    trace = trace_of(name)
    after = [site for site in trace.sums if site.endswith(("resid.after", "norm1.input"))]
    assert after
    for site, terms in trace.sums.items():
        total = sum(trace[term].astype(np.float64) for term in terms)
        np.testing.assert_allclose(total, trace[site], atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_streams_are_hidden_states_of_the_untouched_twin(name):
    """Block by block, what enters and leaves; the middle is the sum of what entered and what attention added."""
    twin, trace = family(name), trace_of(name)
    with torch.no_grad():
        answer = twin.untouched(torch.tensor([IDS]), output_hidden_states=True, use_cache=False)
    for layer, hidden in enumerate(answer.hidden_states[:-1]):
        np.testing.assert_allclose(trace[f"decoder.{layer}.resid.before"], hidden[0], atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(trace["decoder.output"], answer.hidden_states[-1][0], atol=1e-5, rtol=1e-5)
    for layer in range(3):
        before, middle, after = (trace[f"decoder.{layer}.resid.{at}"] for at in ("before", "middle", "after"))
        np.testing.assert_allclose(before + trace[f"decoder.{layer}.self.output"], middle, atol=1e-5)
        np.testing.assert_allclose(middle + trace[f"decoder.{layer}.ffn.output"], after, atol=1e-5)


def test_statistics_of_a_norm():
    trace = trace_of("gpt2")
    x, norm = trace["decoder.1.norm2.input"].astype(np.float64), trace.parts["decoder.1.norm2"]
    np.testing.assert_allclose(trace["decoder.1.norm2.mean"], x.mean(-1), atol=1e-6)
    np.testing.assert_allclose(trace["decoder.1.norm2.std"], np.sqrt(x.var(-1) + norm.eps), rtol=1e-6)
    z = trace["decoder.1.norm2.normalized"]
    np.testing.assert_allclose(z * norm.weight + norm.bias, trace["decoder.1.norm2.output"], atol=1e-5)


def test_nbytes_counts_what_is_kept():
    trace = trace_of("gpt2")
    own = sum(array.nbytes for array in trace.arrays.values())
    assert own < trace.nbytes < own + 50 * 7 * 12 + 7 * 7 * 3 + 7 * 8 + 1
    assert replace(trace, arrays={}).nbytes == trace.nbytes - own
    assert "decoder.0.self.weights" not in trace.arrays and "decoder.0.self.context" not in trace.arrays
