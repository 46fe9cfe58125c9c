"""long_map.py: a head of a long text, made some rows at a time, is the whole map shrunk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transformer.families import SINKS, WEIGHTS_ONLY, family
from transformer import long_map as room
from transformer import run
from transformer.long_map import long_map
from transformer.overview import weights_of_heads
from transformer.trace import Trace

# Causal, grouped, a window of 3, sinks, bias and cross-attention, soft-capped, nothing but weights, a hidden mask.
NAMES = ["gpt2", "llama", "mistral", "gpt_oss", "t5", "gemma2", "bloom", "gpt_neo"]
SOURCE, TARGET = ([3 + step * token % 50 for token in range(count)] for step, count in ((7, 19), (5, 13)))


def trace_of(name: str, **more: object) -> Trace:
    targets = {"target_ids": TARGET} if family(name).seq2seq else {}
    return run(family(name).model, ids=SOURCE, **targets, **more)


def pooled(weights: np.ndarray, allowed: np.ndarray, block: int) -> np.ndarray:
    """The definition: the largest allowed weight of every block, NaN where there is none."""
    shape = [-(-size // block) for size in weights.shape]
    found = np.full(shape, np.nan)
    for row, column in np.ndindex(*shape):
        part = np.s_[row * block : (row + 1) * block, column * block : (column + 1) * block]
        if allowed[part].any():
            found[row, column] = weights[part][allowed[part]].max()
    return found


@pytest.fixture(autouse=True, scope="module")
def few_rows():
    """So that a text of 19 tokens is long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "ROWS_AT_ONCE", 5)
        yield


@given(st.sampled_from(NAMES), st.integers(1, 23), st.data())
def test_it_is_the_whole_map_shrunk(name, block, data):
    trace = trace_of(name)
    site = data.draw(st.sampled_from(trace.attention_sites()))
    head = data.draw(st.integers(0, trace.attention[site].heads - 1))
    weights = trace.weights(site, head)
    hidden = f"{site}.allowed" in trace.lacks
    allowed = np.ones(weights.shape, bool) if hidden else trace.allowed(site, head)
    found = long_map(trace, site, head, block)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, pooled(weights, allowed, block), atol=1e-6)


def test_forbidden_blocks_by_hand():
    """19 tokens in blocks of 4: a causal mask hides what lies above the diagonal, a window also what lies far below."""
    rows, columns = np.indices((5, 5))
    for name, window in (("gpt2", 19), ("mistral", 3)):
        hidden = np.isnan(long_map(trace_of(name), "decoder.1.self", 2, 4))
        nearest = np.maximum(4 * (rows - columns) - 3, 0)  # the closest query and key of a block
        assert np.array_equal(hidden, (columns > rows) | (nearest >= window)), name
    assert not np.isnan(long_map(trace_of("t5"), "decoder.1.cross", 2, 4)).any()
    assert not np.isnan(long_map(trace_of("gpt_neo"), "decoder.1.self", 2, 4)).any()  # its mask is not known


def test_padding_looks_at_nothing():
    trace = trace_of("gpt2", attention_mask=[0] * 8 + [1] * 11)
    found = long_map(trace, "decoder.0.self", 3, 4)
    assert np.isnan(found[:2]).all() and np.isnan(found[:, :2]).all() and not np.isnan(found[2:, 2]).any()


@given(st.sampled_from(NAMES), st.data())
def test_some_heads_and_some_rows_of_all_maps(name, data):
    """What a long map is made of: any rows of any neighbouring heads, as the formula gives them one by one."""
    trace = trace_of(name)
    site = data.draw(st.sampled_from(trace.attention_sites()))
    count, length = trace.attention[site].heads, len(trace.tokens(site, "query"))
    first, start = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, length - 1))
    heads = range(first, data.draw(st.integers(first + 1, count)))
    rows = slice(start, data.draw(st.integers(start + 1, length)))
    found = weights_of_heads(trace, site, heads, rows).numpy()
    np.testing.assert_allclose(found, trace[f"{site}.weights"][heads.start : heads.stop, rows], atol=1e-6)
    assert (name in SINKS) == bool((found.sum(-1) < 1 - 1e-5).all()), "a sink takes its share"


def test_what_was_drawn_here_holds_every_kind():
    made = [how for name in NAMES for how in trace_of(name).attention.values()]
    kinds = ("causal", "bias", "sinks", "softcap", "weights", "allowed")
    assert all(
        any(getattr(how, kind) is not None and getattr(how, kind) is not False for how in made) for kind in kinds
    )
    assert any(how.kv_heads < how.heads for how in made) and WEIGHTS_ONLY & set(NAMES)
