"""Lengths and cosines of the heads' parts, and the brackets of heads that share keys and values."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import head_group_brackets, head_output_bars

LENGTHS, COSINES = np.array([5.0, 1.0, 0.0, 2.0, 3.0]), np.array([0.9, -0.5, 0.0, 0.25, 0.5])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_row_per_head_and_one_for_the_bias(language: str) -> None:
    fig = head_output_bars(LENGTHS, COSINES, total=6.5, bias=(0.5, 1.0), selected=3, language=language)
    lengths, cosines = fig.data
    np.testing.assert_allclose(lengths.x, [*LENGTHS, 0.5])
    np.testing.assert_allclose(cosines.x, [*COSINES, 1.0])
    np.testing.assert_allclose(lengths.customdata[:, 2], [4.5, -0.5, 0, 0.5, 1.5, 0.5])
    assert len(fig.layout.yaxis.ticktext) == 6 and "<b" in fig.layout.yaxis.ticktext[3]
    assert fig.layout.meta["caption"].count("6.500") == 2  # the output's length, and what adds up to it
    grid = fig.layout.meta["select"]
    assert grid["count"] == [1, 5] and grid["at"] == [0, 3]  # the bias is no head
    assert fig.layout.xaxis.range == (0, grid["pitch"][0]) and grid["pitch"][0] > LENGTHS.max() * 2
    go.Figure(fig.to_dict())


def test_without_bias_or_choice() -> None:
    fig = head_output_bars(LENGTHS, COSINES, total=6.0)
    assert len(fig.data[0].x) == 5 and not fig.layout.shapes and fig.layout.meta["select"]["at"] is None
    assert fig.data[1].marker.color[1] != fig.data[1].marker.color[0]  # against the output, and along it
    silent = head_output_bars(np.zeros(3), np.zeros(3), total=0.0)
    assert silent.layout.xaxis.range[1] > 0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lengths \(5,\)"):
        head_output_bars(LENGTHS, COSINES[:4], total=1.0)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_heads_stand_in_the_brackets_of_what_they_share(language: str) -> None:
    page = head_group_brackets(6, 2, selected=4, language=language)
    groups = page.split('<span class="stt-head-group')[1:]
    found = [re.findall(r'data-head="(\d+)"', group) for group in groups if "data-head" in group]
    assert found == [["0", "1", "2"], ["3", "4", "5"]]
    assert page.count('aria-pressed="true"') == 1 and page.count("stt-head-group-chosen") == 1
    assert "stt-head-group-chosen" in page[page.index('data-head="2"') : page.index('data-head="3"')]


def test_one_pair_for_all_and_one_for_each() -> None:
    assert head_group_brackets(5, 1).count("stt-head-bracket") == 1
    assert head_group_brackets(5, 5).count("stt-head-bracket") == 5
    with pytest.raises(ValueError, match="5 heads"):
        head_group_brackets(5, 2)
