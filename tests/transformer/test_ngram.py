"""ngram.py: Witten and Bell's formula by hand, a true distribution for every context, perplexity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.errors import ShapesDoNotFit, UnknownToken
from transformer.ngram import NGram, top_of_both

VOCAB = 7
IDS = st.lists(st.integers(0, VOCAB - 1), max_size=9)


def test_bigram_by_hand():
    """After 0 came 1, 1, 2; in all 1 came twice and 2 once: p(1) = (2 + 2/5) / 5, p(1|0) = (2 + 2 p(1)) / 5."""
    model = NGram.train([[0, 1], [0, 1], [0, 2]], n=2, vocab_size=5)
    empty, after = model.steps([3, 0])
    assert (empty.context, empty.count, empty.kinds) == ((), 3, 2)
    np.testing.assert_allclose(empty.probabilities, [0.08, 0.48, 0.28, 0.08, 0.08], atol=1e-12)
    assert (after.context, after.count, after.kinds, after.share) == ((0,), 3, 2, 0.6)
    np.testing.assert_allclose(after.probabilities[1], (2 + 2 * 0.48) / 5, atol=1e-12)
    np.testing.assert_allclose(model.next_token([0]), after.probabilities)


def test_the_first_token_is_context_only():
    model = NGram.train([[4, 1]], n=1, vocab_size=5)
    assert model.next_token([])[4] < model.next_token([])[1]
    np.testing.assert_allclose(NGram.train([[4]], n=3, vocab_size=5).next_token([4]), 0.2)


def test_the_longest_context_that_was_seen_answers():
    model = NGram.train([[1, 2, 3, 4], [5, 2, 3, 6]], n=4, vocab_size=VOCAB)
    assert model.context([0, 1, 2, 3]) == (1, 2, 3), "never more than n − 1"
    assert model.context([4, 2, 3]) == (2, 3)
    assert model.context([2, 0]) == () and model.context([]) == ()
    assert model.next_token([1, 2, 3]).argmax() == 4 and model.next_token([5, 2, 3]).argmax() == 6
    np.testing.assert_allclose(model.next_token([4, 2, 3])[4], model.next_token([4, 2, 3])[6])
    np.testing.assert_array_equal(model.next_token([6, 1, 2, 3]), model.next_token([1, 2, 3]))


@given(st.lists(IDS, max_size=5), IDS, st.integers(1, 5))
def test_every_context_gives_a_true_distribution(sequences, ids, n):
    model = NGram.train(sequences, n, VOCAB)
    for step in model.steps(ids):
        assert step.probabilities.sum() == pytest.approx(1, abs=1e-12) and (step.probabilities > 0).all()
    p = model.next_token(ids)
    assert p.shape == (VOCAB,) and p.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose([model.probability(ids, token) for token in range(VOCAB)], p, atol=1e-15)


@given(st.lists(IDS, max_size=5), st.integers(1, 5))
def test_counts_are_those_of_a_second_count(sequences, n):
    model = NGram.train(sequences, n, VOCAB)
    for ids in sequences:
        for place in range(1, len(ids)):
            for length in range(min(n - 1, place) + 1):
                context = tuple(ids[place - length : place])
                places = [
                    other[end]
                    for other in sequences
                    for end in range(max(1, length), len(other))
                    if tuple(other[end - length : end]) == context
                ]
                step = list(model.steps(context))[length]
                assert (step.context, step.count, step.kinds) == (context, len(places), len(set(places)))


def test_perplexity_by_hand():
    model = NGram.train([[0, 1, 2]], n=2, vocab_size=5)
    expected = (model.probability([0], 1) * model.probability([1], 2)) ** -0.5
    assert model.perplexity([[0, 1, 2]]) == pytest.approx(expected)
    assert NGram(3, 11).perplexity([[1, 2, 3]]) == pytest.approx(11), "knowing nothing is one in eleven"
    with pytest.raises(ShapesDoNotFit):
        model.perplexity([[1], []])


def test_longer_contexts_help_where_the_text_needs_them():
    texts = [[1, 2, 1, 3] * 7] * 3
    bigram, trigram = (NGram.train(texts, n, VOCAB).perplexity(texts) for n in (2, 3))
    assert trigram < 1.2 < bigram


def test_what_does_not_fit_is_refused():
    for n in (0, 6):
        with pytest.raises(ShapesDoNotFit, match="1 … 5"):
            NGram(n, 5)
    with pytest.raises(UnknownToken):
        NGram.train([[0, 5]], 2, 5)
    with pytest.raises(UnknownToken):
        NGram(2, 5).next_token([-1])
    with pytest.raises(UnknownToken):
        NGram(2, 5).probability([1], 5)


def test_top_of_both_by_hand():
    first, second = np.array([0.5, 0.3, 0.0, 0.1, 0.1]), np.array([0.0, 0.4, 0.35, 0.2, 0.05])
    assert top_of_both(first, second, 2).tolist() == [0, 1, 2]
    assert top_of_both(first, second, 9).tolist() == [0, 1, 3, 4, 2], "of equal ones the other model's larger"
    with pytest.raises(ShapesDoNotFit):
        top_of_both(first, second[:3], 2)
