"""attention.py: by hand, the kernel against the written-out formula, parity with torch.nn, gradients."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from transformer import masks
from transformer.attention import MultiHeadAttention, attend, written_out
from transformer.listening import AttentionCall, listening
from transformer.positions import Rotary

E = math.e


class Ear:
    """Keeps the attention calls that it hears."""

    def __init__(self) -> None:
        self.calls: list[AttentionCall] = []

    def attention(self, module: nn.Module, call: AttentionCall) -> None:
        self.calls.append(call)

    def entering(self, module: nn.Module, tensor: torch.Tensor, mask: torch.Tensor | None) -> None: ...
    def leaving(self, module: nn.Module, tensor: torch.Tensor) -> None: ...


def of_one_head(*rows: list[float]) -> torch.Tensor:
    return torch.tensor([[list(rows)]], dtype=torch.float32)  # (1, 1, position, d_head)


def random(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# --- by hand -----------------------------------------------------------------------------------------------------

KEYS, VALUES = of_one_head([1.0, 0.0], [0.0, 1.0]), of_one_head([1.0, 0.0], [0.0, 1.0])


def test_weights_by_hand():
    """q = (0, √2), k = (1, 0) and (0, 1): scores (0, √2 / √2) = (0, 1), weights (1, e) / (1 + e)."""
    found = attend(of_one_head([0.0, math.sqrt(2)]), KEYS, VALUES)
    torch.testing.assert_close(found, of_one_head([1 / (1 + E), E / (1 + E)]), atol=1e-7, rtol=0)


def test_default_scale_is_one_over_the_root_of_d_head_and_can_be_given():
    query = of_one_head([0.0, 1.0])
    assert torch.equal(attend(query, KEYS, VALUES), attend(query, KEYS, VALUES, scale=1 / math.sqrt(2)))
    torch.testing.assert_close(attend(query, KEYS, VALUES, scale=1.0), of_one_head([1 / (1 + E), E / (1 + E)]))


def test_a_bias_is_added_after_scaling():
    found = attend(of_one_head([0.0, 0.0]), KEYS, VALUES, bias=torch.tensor([[0.0, 1.0]]))
    torch.testing.assert_close(found, of_one_head([1 / (1 + E), E / (1 + E)]))


def test_softcap_squashes_the_scores():
    """Scores (0, 100) under a cap of 1: (0, tanh 100) = (0, 1)."""
    found = attend(of_one_head([0.0, 100.0]), KEYS, VALUES, scale=1.0, softcap=1.0)
    torch.testing.assert_close(found, of_one_head([1 / (1 + E), E / (1 + E)]))


def test_a_sink_takes_its_share():
    """Logits 0, 0 and a sink of ln 2: 1/4, 1/4, and 1/2 for nobody."""
    found = attend(of_one_head([0.0, 0.0]), KEYS, VALUES, sinks=torch.tensor([math.log(2)]))
    torch.testing.assert_close(found, of_one_head([0.25, 0.25]))


def test_a_query_that_may_look_at_nothing_spreads_evenly():
    allowed = torch.tensor([[False, False], [True, False]])
    found = attend(of_one_head([3.0, 1.0], [3.0, 1.0]), KEYS, VALUES, allowed=allowed)
    torch.testing.assert_close(found, of_one_head([0.5, 0.5], [1.0, 0.0]))


def test_causal_first_token_sees_only_itself():
    found = attend(random(1, 1, 1, 2, 2), KEYS, VALUES, causal=True)
    assert torch.equal(found[0, 0, 0], VALUES[0, 0, 0]) and found[0, 0, 1, 0] != 0


def test_a_causal_mask_on_scores_1_to_9_by_hand():
    """The 3 × 3 example of a tutorial: rows (1), (4, 5) and (7, 8, 9) are left, and of row 0 only itself."""
    scores, one_hot = of_one_head([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]), torch.eye(3)[None, None]
    weights = attend(scores, one_hot, one_hot, causal=True, scale=1.0)  # scores · 1 = scores, and weights · 1 = weights
    two, three = 1 + E, 1 + E + E * E
    by_hand = of_one_head([1.0, 0.0, 0.0], [1 / two, E / two, 0.0], [1 / three, E / three, E * E / three])
    torch.testing.assert_close(weights, by_hand, atol=1e-6, rtol=0)
    assert weights[0, 0, 0].tolist() == [1.0, 0.0, 0.0] and weights[0, 0, 1, 2] == 0.0
    infinite = scores.masked_fill(~masks.causal(3), -math.inf).softmax(-1)
    torch.testing.assert_close(weights, infinite, atol=1e-6, rtol=0)


@pytest.mark.parametrize("d_head", [4, 64, 256])
def test_scores_of_unit_vectors_spread_with_d_head_and_the_scale_takes_it_back(d_head):
    """Vaswani et al. 2017, 3.2.1, footnote 4: Var(q · k) = d_k, so q · k / √d_k has variance 1."""
    query, key = (random(seed, 20_000, d_head) for seed in (1, 2))
    scores = (query * key).sum(-1)
    assert scores.var().item() == pytest.approx(d_head, rel=0.05)
    assert (scores / math.sqrt(d_head)).var().item() == pytest.approx(1.0, rel=0.05)


def test_grouped_heads_share_their_neighbours_key_and_value():
    """Heads 0 and 1 look at key-value head 0, heads 2 and 3 at head 1."""
    value = torch.tensor([[[[1.0]], [[2.0]]]])  # one key: its value is what every head gives
    found = attend(random(2, 1, 4, 1, 3), random(3, 1, 2, 1, 3), value)
    assert found.flatten().tolist() == [1.0, 1.0, 2.0, 2.0]


# --- kernel = formula ------------------------------------------------------------------------------------------------


@st.composite
def cases(draw):
    """Any shape, mask, bias and grouping; fully masked rows are among them."""
    groups, kv_heads = draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([1, 2, 5]))
    batch, queries, keys = draw(st.integers(1, 3)), draw(st.integers(1, 7)), draw(st.integers(1, 7))
    d_head, d_value, seed = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(0, 999))
    heads = groups * kv_heads
    causal = draw(st.booleans())
    keys = queries if causal else keys
    wide = (draw(st.sampled_from([1, batch])), draw(st.sampled_from([1, heads])), queries, keys)
    share = draw(st.sampled_from([None, 0.0, 0.3, 0.9]))
    generator = torch.Generator().manual_seed(seed)
    return {
        "query": random(seed, batch, heads, queries, d_head),
        "key": random(seed + 1, batch, kv_heads, keys, d_head),
        "value": random(seed + 2, batch, kv_heads, keys, d_value),
        "allowed": None if share is None else torch.rand(wide, generator=generator) >= share,
        "causal": causal,
        "bias": random(seed + 3, *wide) if draw(st.booleans()) else None,
        "scale": draw(st.sampled_from([1.0, 0.3, 2.0])),
    }


def by_loops(case: dict, softcap: float | None = None, sinks: torch.Tensor | None = None) -> torch.Tensor:
    """The definition of attention, cell by cell in Python floats: no broadcasting, no kernel, no trick."""
    query, key, value = case["query"], case["key"], case["value"]
    batch, heads, queries, _ = query.shape
    out = torch.zeros(batch, heads, queries, value.shape[-1])
    group = heads // key.shape[1]
    for b, h, q in ((b, h, q) for b in range(batch) for h in range(heads) for q in range(queries)):
        logits = {}
        for k in range(key.shape[2]):
            score = float((query[b, h, q].double() * key[b, h // group, k].double()).sum()) * case["scale"]
            score = score if softcap is None else softcap * math.tanh(score / softcap)
            score += 0.0 if case["bias"] is None else float(case["bias"].expand(batch, heads, -1, -1)[b, h, q, k])
            may = case["allowed"] is None or bool(case["allowed"].expand(batch, heads, -1, -1)[b, h, q, k])
            if may and not (case["causal"] and k > q):
                logits[k] = score
        if not logits and sinks is None:
            logits = dict.fromkeys(range(key.shape[2]), 0.0)
        total = sum(math.exp(one) for one in logits.values()) + (0 if sinks is None else math.exp(float(sinks[h])))
        for k, one in logits.items():
            out[b, h, q] += math.exp(one) / total * value[b, h // group, k]
    return out


@given(cases())
def test_kernel_equals_written_out_formula_and_definition(case):
    kernel = attend(**case)
    formula = written_out(**case)
    torch.testing.assert_close(kernel, formula, atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(kernel, by_loops(case), atol=5e-6, rtol=1e-5)


@given(cases(), st.sampled_from([None, 0.5, 3.0]), st.booleans())
def test_softcap_and_sinks_equal_the_definition(case, softcap, with_sinks):
    sinks = random(4, case["query"].shape[1]) if with_sinks else None
    found = attend(**case, softcap=softcap, sinks=sinks)
    torch.testing.assert_close(found, by_loops(case, softcap, sinks), atol=5e-6, rtol=1e-5)


@given(cases())
def test_inputs_are_not_changed(case):
    before = {name: one.clone() for name, one in case.items() if isinstance(one, torch.Tensor)}
    attend(**case)
    assert all(torch.equal(case[name], one) for name, one in before.items())


def test_kernel_equals_torch_scaled_dot_product_attention():
    query, key, value = (random(seed, 2, 7, 5, 4) for seed in (1, 2, 3))
    assert torch.equal(attend(query, key, value), F.scaled_dot_product_attention(query, key, value))
    causal = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert torch.equal(attend(query, key, value, causal=True), causal)
    torch.testing.assert_close(attend(query, key, value, allowed=masks.causal(5)), causal, atol=1e-6, rtol=0)
    mask = masks.padding(torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 1]]))
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(attend(query, key, value, allowed=mask), theirs, atol=1e-6, rtol=0)


# --- the module ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(tiny, scramble) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    ours = scramble(MultiHeadAttention(tiny()))
    theirs = nn.MultiheadAttention(28, 7, batch_first=True).eval()
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    return ours, theirs


def test_module_equals_torch_multihead_attention(pair):
    ours, theirs = pair
    x = random(5, 2, 5, 28)
    torch.testing.assert_close(ours(x), theirs(x, x, x, need_weights=False)[0], atol=1e-6, rtol=0)
    forbidden = ~masks.causal(5)
    wanted = theirs(x, x, x, attn_mask=forbidden, need_weights=False)[0]
    torch.testing.assert_close(ours(x, causal=True), wanted, atol=1e-6, rtol=0)
    torch.testing.assert_close(ours(x, masks.causal(5)), wanted, atol=1e-6, rtol=0)


@pytest.mark.parametrize("real", [[[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], [[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]])
def test_module_equals_torch_multihead_attention_with_padding(pair, real):
    ours, theirs = pair
    x, real = random(5, 2, 5, 28), torch.tensor(real)
    hidden = {"key_padding_mask": real == 0, "need_weights": False}
    torch.testing.assert_close(ours(x, masks.padding(real)), theirs(x, x, x, **hidden)[0], atol=1e-6, rtol=0)
    both = masks.combined(masks.causal(5), masks.padding(real))
    wanted = theirs(x, x, x, attn_mask=~masks.causal(5), **hidden)[0]
    torch.testing.assert_close(ours(x, both), wanted, atol=1e-6, rtol=0)
    torch.testing.assert_close(ours(x, masks.padding(real), causal=True), wanted, atol=1e-6, rtol=0)


def test_cross_attention_looks_at_its_context(pair):
    ours, theirs = pair
    x, source = random(6, 2, 5, 28), random(7, 2, 3, 28)
    real = torch.tensor([[1, 1, 0], [1, 1, 1]])
    wanted = theirs(x, source, source, key_padding_mask=real == 0, need_weights=False)[0]
    torch.testing.assert_close(ours(x, masks.padding(real), context=source), wanted, atol=1e-6, rtol=0)


@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_shared_heads_equal_repeated_ones(tiny, scramble, kv_heads):
    """Multi-query and grouped-query attention are multi-head attention whose key and value matrices repeat."""
    sizes = {"d_model": 24, "n_heads": 6, "n_kv_heads": kv_heads}
    shared, whole = scramble(MultiHeadAttention(tiny(**sizes))), MultiHeadAttention(tiny(d_model=24, n_heads=6)).eval()
    state = {}
    for name, one in shared.state_dict().items():
        of_group = one.unflatten(0, (-1, 4)).repeat_interleave(6 // kv_heads, 0).flatten(0, 1)
        state[name] = of_group if name.startswith(("key", "value")) else one
    whole.load_state_dict(state)
    x = random(8, 2, 5, 24)
    torch.testing.assert_close(shared(x, causal=True), whole(x, causal=True), atol=5e-6, rtol=0)


def test_rotary_turns_queries_and_keys(pair):
    """Turned queries and keys depend on distance only: everybody moved by 3 places changes nothing."""
    ours, _ = pair
    x, rotary = random(9, 1, 5, 28), Rotary(4, 10000.0)
    at = torch.arange(5)[None]
    here, moved = (ours(x, causal=True, rotary=rotary(places)) for places in (at, at + 3))
    torch.testing.assert_close(here, moved, atol=1e-5, rtol=0)
    assert (here - ours(x, causal=True)).abs().max() > 1e-3


def test_gradients_flow_when_nobody_listens(pair):
    ours, theirs = pair
    x = random(10, 1, 5, 28)
    ours.zero_grad()
    theirs.zero_grad()
    ours(x, causal=True).square().sum().backward()
    theirs(x, x, x, attn_mask=~masks.causal(5), need_weights=False)[0].square().sum().backward()
    wanted = theirs.in_proj_weight.grad.chunk(3)
    for part, grad in zip((ours.query, ours.key, ours.value), wanted, strict=True):
        torch.testing.assert_close(part.weight.grad, grad, atol=1e-5, rtol=1e-4)
    assert ours.output.weight.grad.abs().max() > 0


def test_dropout_only_while_training(tiny, scramble):
    module, x = scramble(MultiHeadAttention(tiny(dropout=0.5))), random(11, 1, 5, 28)
    assert torch.equal(module(x), module(x))
    module.train()
    assert not torch.equal(module(x), module(x))


# --- who listens -----------------------------------------------------------------------------------------------------


def test_a_listener_hears_what_was_given_and_what_came_out(pair):
    ours, ear, x = pair[0], Ear(), random(12, 1, 5, 28)
    with listening(ear):
        heard = ours(x, causal=True)
    (call,) = ear.calls
    assert call.query.shape == (1, 7, 5, 4) and call.scale == 0.5 and call.causal and call.allowed is None
    again = written_out(call.query, call.key, call.value, None, True, None, call.scale)
    torch.testing.assert_close(call.context, again, atol=1e-6, rtol=0)
    with torch.no_grad():
        assert torch.equal(heard, ours(x, causal=True))
    assert len(ear.calls) == 1


def test_a_call_without_a_module_is_not_told():
    ear = Ear()
    with listening(ear):
        attend(KEYS, KEYS, VALUES)
    assert not ear.calls
