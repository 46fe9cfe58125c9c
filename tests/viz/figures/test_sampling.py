"""Bars of one step: what was kept and what was cut, where the line falls, and what is said below."""

from types import SimpleNamespace

import numpy as np
import pytest

from viz.figures import sampling_bars
from viz.figures.axes import escape


def chosen(**changes: object) -> SimpleNamespace:
    """Seven tokens of 53 by rank; top-k kept 5 of them, top-p 2, and the second one was drawn."""
    facts = {
        "ranks": np.arange(7), "p": np.array([0.4, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02]),
        "scaled": np.array([0.5, 0.25, 0.1, 0.03, 0.02, 0.01, 0.01]), "final": np.array([2, 1, 0, 0, 0, 0, 0]) / 3,
        "place": 1, "vocabulary": 53, "n_after_top_k": 5, "n_kept": 2, "mass_kept": 0.75, "mass_cut_by_top_k": 0.1,
        "mass_cut_by_top_p": 0.15, "entropy": np.log(7), "cut_by": ("", "", *["top_p"] * 3, *["top_k"] * 2),
    }  # fmt: skip
    return SimpleNamespace(**(facts | changes))


def test_bars_hold_the_probabilities_at_the_temperature(hostile: tuple[str, ...]) -> None:
    fig = sampling_bars(chosen(), hostile[:7])
    kept, by_p, by_k, others = fig.data
    assert np.allclose(kept.x, [0.5, 0.25]) and np.allclose(by_p.x, [0.1, 0.03, 0.02]) and np.allclose(by_k.x, 0.01)
    assert [list(bars.y) for bars in fig.data] == [[0, 1], [2, 3, 4], [5, 6], [7]]
    assert others.x[0] == pytest.approx(0.08) and others.text[0] == "8.0 %"
    assert list(kept.text) == ["50.0 → 66.7 %", "25.0 → 33.3 %"] and list(by_p.text) == ["10.0 %", "3.0 %", "2.0 %"]
    assert kept.marker.color[0] != kept.marker.color[1], "the token that was drawn stands out"
    assert by_p.marker.pattern.shape != by_k.marker.pattern.shape and kept.marker.pattern.shape is None
    ticks = list(fig.layout.yaxis.ticktext)
    assert ticks[0] == escape(hostile[0]) and ticks[1] == f"<b>{escape(hostile[1])}</b>" and ticks[7] == "46 others"


def test_a_row_that_is_looked_at_is_one_of_a_grid_so_that_a_short_bar_can_be_chosen() -> None:
    select = sampling_bars(chosen(), list("abcdefg"), selected=3).layout.meta["select"]
    assert select["count"] == [1, 7] and select["at"] == [0, 3], "without the bar of all others"
    assert "select" not in sampling_bars(chosen(), list("abcdefg")).layout.meta


def test_lines_stand_behind_what_each_dial_kept() -> None:
    fig = sampling_bars(chosen(), list("abcdefg"))
    assert [line.y0 for line in fig.layout.shapes] == [1.5, 4.5] == [line.y1 for line in fig.layout.shapes]
    named = [words.text for words in fig.layout.annotations[1:]]
    assert "top-p" in named[0] and "top-k" in named[1]


def test_no_line_where_nothing_is_cut_or_the_cut_is_out_of_sight() -> None:
    free = {"n_kept": 53, "n_after_top_k": 53, "mass_kept": 1.0, "mass_cut_by_top_k": 0, "mass_cut_by_top_p": 0}
    fig = sampling_bars(chosen(**free, cut_by=("",) * 7, final=chosen().scaled), list("abcdefg"))
    assert not fig.layout.shapes and "Nothing is cut" in fig.layout.meta["caption"]
    assert list(fig.data[0].text) == ["50.0 %", "25.0 %", "10.0 %", "3.0 %", "2.0 %", "1.0 %", "1.0 %"]
    far = sampling_bars(chosen(n_kept=31, n_after_top_k=31, cut_by=("",) * 7), list("abcdefg"))
    assert not far.layout.shapes and "31 of 53" in far.layout.meta["caption"]


def test_the_caption_says_what_the_cut_left() -> None:
    caption = sampling_bars(chosen(), list("abcdefg")).layout.meta["caption"]
    for part in ("2 of 53", "75.0 %", "top-k: 10.0 %", "top-p: 15.0 %", "1.95 nats", "7 equal choices"):
        assert part in caption
    only = sampling_bars(chosen(mass_cut_by_top_p=0.0), list("abcdefg")).layout.meta["caption"]
    assert "top-k" in only and "top-p" not in only


def test_a_rare_token_says_its_rank() -> None:
    fig = sampling_bars(chosen(ranks=np.array([0, 1, 2, 3, 4, 5, 30]), place=6), list("abcdefg"))
    assert fig.layout.yaxis.ticktext[6] == "<b>g (rank 31)</b>" and fig.layout.yaxis.ticktext[5] == "f"
    assert "rank 31" in fig.data[2].hovertext[1]


def test_a_vocabulary_that_is_shown_whole_has_no_others() -> None:
    fig = sampling_bars(chosen(vocabulary=7), list("abcdefg"))
    assert len(fig.data) == 3 and len(fig.layout.yaxis.ticktext) == 7


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        sampling_bars(chosen(), ["a"])


def test_the_row_that_is_looked_at_is_framed() -> None:
    frame = sampling_bars(chosen(), list("abcdefg"), selected=3).layout.shapes[-1]
    assert frame.name == "selected" and (frame.y0 + frame.y1) / 2 == 3 and frame.y1 - frame.y0 < 1
    for none in (None, 7, -1):
        assert all(
            shape.name != "selected" for shape in sampling_bars(chosen(), list("abcdefg"), selected=none).layout.shapes
        )
