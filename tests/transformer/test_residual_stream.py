"""residual_stream.py: lengths, cosines and what was added, by hand and against the parts' own formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.transformer.families import SOURCES, TARGETS, build, family
from transformer import run, wrap
from transformer.residual_stream import ResidualStream, cosine, length, spread, widths
from transformer.trace import Trace

VECTORS = arrays(np.float64, (5, 7), elements=st.floats(-1e3, 1e3, width=32))


def traced(name: str) -> Trace:
    targets = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    trace = run(family(name).model, ids=SOURCES[0], **targets)
    assert isinstance(trace, Trace)
    return trace


def stream(name: str, tokens: slice = slice(None)) -> ResidualStream:
    trace = traced(name)
    return ResidualStream(trace, list(trace.encodings)[-1], tokens)


def test_lengths_and_cosines_by_hand():
    assert length(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [5.0, 0.0]
    x, y = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    assert cosine(x, y) == pytest.approx(0.5**0.5) and cosine(x, -3 * x) == -1.0
    assert cosine(x, np.array([0.0, 2.0])) == 0.0 and cosine(x, np.zeros(2)) == 0.0
    found = spread(np.arange(11.0)[None])
    assert (found.mean[0], found.low[0], found.high[0]) == (5.0, 1.0, 9.0)


@given(VECTORS, VECTORS)
def test_laws_of_length_and_cosine(one, other):
    found = cosine(one, other)
    assert ((found >= -1) & (found <= 1)).all()
    np.testing.assert_array_equal(found, cosine(other, one))
    together = length(one) ** 2 + length(other) ** 2 + 2 * found * length(one) * length(other)
    np.testing.assert_allclose(length(one + other) ** 2, together, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("name", ["gpt2", "bert", "gemma2", "olmo2", "gptj", "gpt_neox", "t5", "bart", "deepseek_v3"])
def test_what_was_added_is_what_the_parts_give(name):
    """The difference of two recorded streams, against the attention's or feed-forward's own formula."""
    of = stream(name)
    trace = of.trace
    assert of.additions and not of.unread
    for one in of.additions:
        expected = trace[one.term]
        np.testing.assert_allclose(of.vector(one), expected, atol=3e-4 * max(1, np.abs(trace[one.total]).max()))
        np.testing.assert_allclose(of.added[one.part][one.layer], length(of.vector(one)))
        np.testing.assert_allclose(
            of.directions[one.part][one.layer], cosine(of.vector(one), trace[one.stream].astype(float))
        )


def test_points_are_what_enters_and_what_leaves_each_layer():
    of = stream("bert")
    assert of.points.shape == (4, 7, 28) and of.layers == 3
    np.testing.assert_array_equal(of.points[0], of.trace["encoder.0.resid.before"])
    for layer in range(3):
        np.testing.assert_array_equal(of.points[layer + 1], of.trace[f"encoder.{layer}.resid.after"])
        np.testing.assert_allclose(of.points[layer], of.trace[f"encoder.{layer}.resid.before"], atol=1e-5)
    np.testing.assert_allclose(of.lengths, np.linalg.norm(of.points, axis=-1))


def test_pairs_of_layers_agree_with_neighbours():
    of = stream("gpt2")
    for position in range(7):
        pairs = of.similarity(position)
        assert pairs.shape == (4, 4)
        np.testing.assert_allclose(np.diag(pairs), 1)
        np.testing.assert_allclose(pairs, pairs.T)
        np.testing.assert_allclose(np.diag(pairs, 1), of.between[:, position])


def test_the_steps_of_a_layer_are_the_law_of_cosines():
    of = stream("gemma2")
    attention, feed_forward = of.steps(1, 3)
    assert (attention.part, feed_forward.part) == ("self", "ffn")
    for step in (attention, feed_forward):
        expected = step.stream**2 + step.added**2 + 2 * step.cosine * step.stream * step.added
        assert step.total**2 == pytest.approx(expected, rel=1e-6)
    assert attention.total == pytest.approx(feed_forward.stream)


def test_parts_that_are_added_at_once_share_their_stream_and_their_sum():
    attention, feed_forward = stream("gptj").steps(2, 1)
    assert (attention.stream, attention.total) == (feed_forward.stream, feed_forward.total)
    assert attention.added != pytest.approx(feed_forward.added)


def test_cross_attention_has_a_line_of_its_own_and_experts_two():
    assert stream("t5").parts == ("self", "cross", "ffn")
    found = stream("deepseek_v3")
    assert found.parts[:2] == ("self", "ffn") and "ffn2" in found.parts


def test_a_layer_without_a_part_has_no_number_for_it():
    """The first layer of DeepSeek has no second feed-forward."""
    of = stream("deepseek_v3")
    missing = [layer for layer in range(of.layers) if "ffn2" not in {one.part for one in of.of_layer(layer)}]
    assert missing and np.isnan(of.added["ffn2"][missing]).all() and np.isfinite(of.added["ffn"]).all()


@pytest.mark.parametrize(("name", "normalised"), [("bert", True), ("gpt2", False), ("gemma2", False)])
def test_norms_on_the_stream_itself_are_told(name, normalised):
    assert stream(name).is_normalised is normalised


def test_sums_that_are_not_known_are_not_guessed():
    of = ResidualStream(run(wrap(build("granite", residual_multiplier=0.22)), ids=SOURCES[0]), "decoder")
    assert of.unread == (0, 1, 2) and of.additions == () and of.added == {} and of.steps(1, 2) == ()
    assert np.isfinite(of.lengths).all() and of.lengths.shape == (4, 7)


def test_a_run_that_kept_no_stream_has_no_layers():
    assert ResidualStream(run(family("gpt2").model, ids=SOURCES[0], record={"attention"}), "decoder").layers == 0


def test_the_width_of_each_stack_is_told_where_it_was_recorded():
    assert widths(traced("t5")) == {"encoder": 28, "decoder": 28} and widths(traced("llama")) == {"decoder": 24}
    assert widths(run(family("gpt2").model, ids=SOURCES[0], record={"attention"})) == {}


def test_a_window_holds_the_same_numbers():
    whole, part = stream("gpt2"), stream("gpt2", slice(2, 6))
    np.testing.assert_array_equal(part.lengths, whole.lengths[:, 2:6])
    np.testing.assert_array_equal(part.added["ffn"], whole.added["ffn"][:, 2:6])
    np.testing.assert_array_equal(part.similarity(1), whole.similarity(3))
    assert part.first(1) is None and whole.first(0) is None
    np.testing.assert_array_equal(whole.first(3), whole.lengths[:, 0])


def test_the_other_tokens_are_all_but_the_chosen_and_the_first():
    of = stream("gpt2")
    others = of.others(3)
    np.testing.assert_allclose(others.mean, of.lengths[:, [1, 2, 4, 5, 6]].mean(-1))
    assert (others.low <= others.mean).all() and (others.mean <= others.high).all()
    np.testing.assert_allclose(of.others(0).mean, of.lengths[:, 1:].mean(-1))
    alone = ResidualStream(run(family("gpt2").model, ids=[5]), "decoder")
    assert alone.others(0) is None


def test_the_table_holds_a_column_for_each_part():
    of = stream("t5")
    table = of.table("directions", 2)
    assert table.shape == (2, 4)
    np.testing.assert_array_equal(table[:, 3], of.between[:, 2])
    np.testing.assert_array_equal(of.table("added", 2)[:, 1], of.of_token(of.added, 2)["cross"])


def test_no_feed_forward_is_computed_again(monkeypatch):
    """What makes thirty layers fast: differences of recorded streams."""
    of = stream("gpt2")
    monkeypatch.setattr(
        "transformer.parts.FeedForwardPart.__call__", lambda *_: pytest.fail("a feed-forward was computed again")
    )
    assert np.isfinite(of.added["ffn"]).all() and np.isfinite(of.directions["self"]).all()
