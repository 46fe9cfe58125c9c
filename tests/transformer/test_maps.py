"""maps.py: softmax by hand, and the NumPy formula against our torch kernel for any shape and mask."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.attention import attend
from transformer.maps import Attention, softmax

INF = np.inf


def test_softmax_by_hand():
    e = np.e
    np.testing.assert_allclose(softmax(np.array([[0.0, 1.0, -INF]])), [[1 / (1 + e), e / (1 + e), 0]])
    assert softmax(np.array([[-INF, -INF]])).tolist() == [[0.5, 0.5]]
    assert softmax(np.array([[1000.0, 1000.0], [-1000.0, -1000.0]])).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_softmax_with_a_sink_by_hand():
    np.testing.assert_allclose(softmax(np.array([[0.0, 0.0]]), np.log(2)), [[0.25, 0.25]])
    assert softmax(np.array([[-INF, -INF]]), 0.0).tolist() == [[0, 0]]
    np.testing.assert_allclose(softmax(np.array([[1000.0]]), 1000.0), [[0.5]])


@given(st.lists(st.lists(st.floats(-1e4, 1e4) | st.just(-INF), min_size=3, max_size=3), min_size=1, max_size=5))
def test_laws_of_softmax(rows):
    masked = np.array(rows)
    weights, with_sink = softmax(masked), softmax(masked, 0.5)
    assert (weights >= 0).all() and (with_sink.sum(-1) < 1 + 1e-12).all()
    np.testing.assert_allclose(weights.sum(-1), 1)
    seeing = np.isfinite(masked).any(-1)
    assert (weights[seeing][np.isneginf(masked)[seeing]] == 0).all()
    np.testing.assert_allclose(softmax(masked + 3.0)[seeing], weights[seeing], atol=1e-12)


@given(
    st.sampled_from([(1, 1), (2, 1), (6, 2), (5, 5)]), st.integers(1, 7), st.integers(1, 7), st.integers(0, 999),
    st.sampled_from([None, 2.0]), st.booleans(), st.booleans(),
    st.sampled_from(["none", "causal", "shared", "per head"]),
)  # fmt: skip
def test_numpy_equals_the_kernel(heads, n_query, n_key, seed, softcap, with_sinks, with_bias, mask):
    n_heads, kv_heads = heads
    n_key = n_query if mask == "causal" else n_key
    random = torch.Generator().manual_seed(seed)
    shapes = ((n_heads, n_query), (kv_heads, n_key), (kv_heads, n_key))
    q, k, v = (torch.randn(1, *shape, 3, generator=random) for shape in shapes)
    bias = torch.randn(1, n_heads, n_query, n_key, generator=random) if with_bias else None
    sinks = torch.randn(n_heads, generator=random) if with_sinks else None
    wide = n_heads if mask == "per head" else 1
    allowed = torch.rand(1, wide, n_query, n_key, generator=random) > 0.4 if mask in ("shared", "per head") else None
    causal = mask == "causal"
    context = attend(q, k, v, allowed=allowed, causal=causal, bias=bias, scale=0.7, softcap=softcap, sinks=sinks)
    how = Attention(
        scale=0.7, heads=n_heads, kv_heads=kv_heads, causal=causal, softcap=softcap,
        allowed=None if allowed is None else allowed[0].numpy() if wide > 1 else allowed[0, 0].numpy(),
        bias=None if bias is None else bias[0].numpy(), sinks=None if sinks is None else sinks.numpy(),
    )  # fmt: skip
    for head in range(n_heads):
        for rows in (slice(None), slice(n_query // 2, None)):
            scores = how.scores(q[0, head, rows].numpy(), k[0, how.kv_head(head)].numpy())
            may_look = how.may_look(head, rows, n_query, n_key)
            weights = how.softmax(how.masked(scores, may_look, head, rows), head)
            found = weights @ v[0, how.kv_head(head)].numpy()
            np.testing.assert_allclose(found, context[0, head, rows], atol=5e-6, rtol=1e-5)


@pytest.mark.parametrize(("heads", "kv_heads", "shared"), [(4, 2, [0, 0, 1, 1]), (3, 1, [0, 0, 0]), (2, 2, [0, 1])])
def test_neighbouring_heads_share(heads, kv_heads, shared):
    how = Attention(1.0, heads, kv_heads)
    assert [how.kv_head(head) for head in range(heads)] == shared
