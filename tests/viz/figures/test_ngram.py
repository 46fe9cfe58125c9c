"""Model and n-gram side by side: numbers as given, one scale, and what the n-gram saw."""

import numpy as np
import pytest

from viz.figures import next_tokens_beside
from viz.figures.axes import escape, shorten

MODEL, NGRAM = np.array([0.6, 0.2, 0.0]), np.array([0.1, 0.05, 0.5])


def test_both_distributions_over_the_same_tokens(hostile):
    before = MODEL.copy(), NGRAM.copy()
    fig = next_tokens_beside(MODEL, NGRAM, hostile[:3], context=("·the", "<b>"), seen=1071, n_vocabulary=53)
    left, right = fig.data
    assert np.allclose(left.x, MODEL) and np.allclose(right.x, NGRAM)
    assert np.array_equal(MODEL, before[0]) and np.array_equal(NGRAM, before[1])
    assert list(left.text) == ["60.0 %", "20.0 %", "0.0 %"] and list(right.text) == ["10.0 %", "5.0 %", "50.0 %"]
    assert (left.name, right.name, right.xaxis) == ("model", "n-gram", "x2")
    assert fig.layout.xaxis.range == fig.layout.xaxis2.range, "one scale, or the bars could not be compared"
    assert fig.layout.xaxis.domain[1] < fig.layout.xaxis2.domain[0]
    assert list(fig.layout.yaxis.ticktext) == [escape(token) for token in hostile[:3]]


def test_the_caption_says_what_the_ngram_saw_and_what_is_not_shown():
    args = {"context": ("·the", "<b>"), "seen": 1071, "n_vocabulary": 53}
    caption = next_tokens_beside(MODEL, NGRAM, "abc", **args).layout.meta["caption"]
    assert caption == "n-gram sees: ·the <b> (1,071×)\nOther 50: model 20.0 %, n-gram 35.0 %"
    drawn = next_tokens_beside(MODEL, NGRAM, "abc", **args).layout.annotations[2].text
    assert "&lt;b&gt;" in drawn and "<br>" in drawn
    assert "1,071" in next_tokens_beside(MODEL, NGRAM, "abc", **args, language="zh").layout.meta["caption"]
    none = next_tokens_beside(MODEL, NGRAM, "abc", context=(), seen=0, n_vocabulary=3).layout.meta["caption"]
    assert "no context" in none


def test_long_tokens_are_shortened_but_whole_in_the_hover(hostile):
    long = "Donaudampfschifffahrt"
    fig = next_tokens_beside(MODEL, NGRAM, [long, "b", "c"], context=(long,), seen=1, n_vocabulary=7)
    assert fig.layout.yaxis.ticktext[0] == shorten(long, 11) and fig.data[0].hovertext[0] == long
    assert long not in fig.layout.meta["caption"]


def test_what_does_not_fit_is_refused():
    for model, ngram in ((MODEL, NGRAM[:2]), (MODEL[:2], NGRAM)):
        with pytest.raises(ValueError, match="do not fit 3 tokens"):
            next_tokens_beside(model, ngram, "abc", context=(), seen=0, n_vocabulary=7)
