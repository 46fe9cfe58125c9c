"""Several heads as lines: each with a colour and a dash of its own, and honest about what is left out."""

import re
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import head_lines, head_toggles, lines_of_heads, theme
from viz.figures.axes import escape
from viz.figures.head_lines import DASHES, LANES, MOST_LINES, head_styles

Head = Callable[..., tuple[np.ndarray, np.ndarray]]


def ends(fig: go.Figure, style: int, least: float = 0) -> set[tuple[int, int]]:
    """(query, key) of every line in a style, of at least this opacity; rows of both columns are one apart here."""
    found = set()
    for trace in fig.data:
        if trace.mode == "lines" and trace.line.color == theme.CLASSES[style] and trace.opacity >= least:
            assert trace.line.dash == DASHES[style]
            x, y = np.asarray(trace.x), np.asarray(trace.y)
            found |= set(
                zip(np.rint(y[x == 0]).astype(int).tolist(), np.rint(y[x == 1]).astype(int).tolist(), strict=True)
            )
    return found


def test_a_line_for_each_head_and_weight_above_the_threshold(head: Head, hostile: tuple[str, ...]) -> None:
    weights, _ = head(19, 19, 3)
    before = weights.copy()
    fig = head_lines(weights, (0, 4, 11), hostile, hostile, threshold=0.07, selected_query=5)
    for place, style in enumerate((0, 4, 2)):  # eleven has the colour of two
        expected = {(int(query), int(key)) for query, key in np.argwhere(weights[place] >= 0.07)}
        assert ends(fig, style) == expected
        assert ends(fig, style, 0.9) == {pair for pair in expected if pair[0] == 5}
    assert np.array_equal(weights, before)
    go.Figure(fig.to_dict())
    assert set(re.findall("#[0-9a-f]{6}", fig.to_json())) <= theme.DARK_OF.keys()


def test_heads_never_share_a_style_and_keep_it() -> None:
    assert head_styles((0, 3, 7)) == [0, 3, 7] and head_styles((3, 12, 21)) == [3, 4, 5]
    assert len(set(head_styles(range(1, 9)))) == 8
    assert len(set(DASHES)) == len(DASHES) == len(theme.CLASSES)


def test_equal_lines_of_two_heads_lie_beside_each_other() -> None:
    weights = np.stack([np.eye(5)] * 4)
    fig = head_lines(weights, range(4), "abcde", "abcde")
    starts = [float(trace.y[0]) for trace in fig.data if trace.mode == "lines"]
    assert len(set(starts)) == 4 and max(starts) - min(starts) < LANES
    assert all(abs(start) < LANES / 2 for start in starts)


def test_columns_of_two_lengths_and_the_chosen_token(head: Head, hostile: tuple[str, ...]) -> None:
    weights, _ = head(7, 13, 2)
    fig = head_lines(weights, (1, 2), hostile[:7], hostile[:13], selected_query=3)
    dots = fig.data[-1]
    assert np.asarray(dots.customdata).tolist() == [*range(7), *range(13)]
    assert np.asarray(dots.x).tolist() == [0] * 7 + [1] * 13
    assert [number for number, tone in enumerate(dots.marker.color) if tone == theme.LIGHT["select"]] == [3]
    assert [escape(token) in text for token, text in zip(hostile[:7], fig.layout.yaxis.ticktext, strict=True)] == [
        True
    ] * 7


def test_hover_names_head_and_weight() -> None:
    weights = np.zeros((2, 3, 3))
    weights[0, 1, 0], weights[1, 2, 1] = 0.25, 0.75
    fig = head_lines(weights, (2, 6), ["a", "<b>", "c"], ["d", "e", "f"])
    answers = fig.data[-2]
    assert answers.mode == "markers" and answers.marker.opacity == 0
    assert list(answers.text) == ["head 2: &lt;b&gt; → d<br><b>0.250</b>", "head 6: c → e<br><b>0.750</b>"]
    assert np.asarray(answers.customdata).tolist() == [1, 2]
    assert "0.750 e · head 6" in fig.data[-1].text[2] and "head 2" not in fig.data[-1].text[2]


def test_a_head_without_a_line_stands_in_the_legend() -> None:
    fig = head_lines(np.stack([np.eye(3), np.full((3, 3), 0.01)]), (0, 1), "abc", "abc", language="zh")
    said = [note.text for note in fig.layout.annotations]
    assert "头 0" in said and "头 1" in said
    assert [shape.line.dash for shape in fig.layout.shapes] == [DASHES[0], DASHES[1]]


def test_long_texts_draw_the_strongest_and_say_how_many(head: Head) -> None:
    weights, _ = head(64, 64, 8)
    fig = head_lines(weights, range(8), ["w"] * 64, ["w"] * 64, threshold=0.02, selected_query=63)
    total = int((weights >= 0.02).sum())
    lines, counted = lines_of_heads(weights, 0.02, 63)
    assert counted == total > MOST_LINES == len(lines[0])
    caption = fig.layout.meta["caption"]
    assert str(MOST_LINES) in caption and str(total) in caption and fig.layout.annotations[0].text == escape(caption)
    assert (lines[1] == 63).sum() == (weights[:, 63] >= 0.02).sum(), "the chosen query keeps all its lines"
    assert len(fig.to_json()) < 150_000


def test_what_does_not_fit_is_refused(head: Head) -> None:
    with pytest.raises(ValueError, match=r"weights \(2, 3, 3\) do not fit 1 heads"):
        head_lines(np.ones((2, 3, 3)), (0,), "abc", "abc")
    with pytest.raises(ValueError, match="9 heads"):
        head_lines(np.ones((9, 2, 2)), range(9), "ab", "ab")


def test_toggles_show_the_line_that_is_drawn() -> None:
    html = head_toggles(4, (1, 3))
    assert re.findall(r'data-toggle="(\d)" aria-pressed="(\w+)"', html) == [
        ("0", "false"), ("1", "true"), ("2", "false"), ("3", "true"),
    ]  # fmt: skip
    assert html.count("var(--stt-class-1)") == html.count("var(--stt-class-3)") == 1
    assert 'stroke-dasharray="7,3"' in html and "px" not in html
