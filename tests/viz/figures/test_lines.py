"""Lines: from the query at the left to the key at the right, few traces, and honest about what is left out."""

from collections.abc import Callable

import numpy as np
import pytest

from viz.figures import attention_lines, line_token, theme
from viz.figures.axes import escape

Head = Callable[..., tuple[np.ndarray, np.ndarray]]


def ends(fig: object, colour: str) -> set[tuple[float, float]]:
    """(height left, height right) of every line of `colour`."""
    found = set()
    for trace in fig.data:
        if trace.mode == "lines" and trace.line.color == colour:
            x, y = np.asarray(trace.x), np.asarray(trace.y)
            found |= set(zip(y[x == 0].round(4).tolist(), y[x == 1].round(4).tolist(), strict=True))
    return found


def test_a_line_for_each_weight_above_the_threshold(head: Head, hostile: tuple[str, ...]) -> None:
    weights, _ = head(19)
    before = weights.copy()
    fig = attention_lines(weights, hostile, hostile, threshold=0.05, selected_query=3)
    expected = {(float(query), float(key)) for query, key in np.argwhere(weights >= 0.05)}
    orange = {pair for pair in expected if pair[0] == 3}
    assert ends(fig, theme.LIGHT["select"]) == orange
    assert ends(fig, theme.LIGHT["accent"]) == expected - orange
    assert np.array_equal(weights, before)
    assert sum(trace.mode == "lines" for trace in fig.data) <= 8


def test_tokens_stand_at_both_sides_and_differ_in_number(head: Head, hostile: tuple[str, ...]) -> None:
    weights, _ = head(7, 13)
    fig = attention_lines(weights, hostile[:7], hostile[:13])
    assert list(fig.layout.yaxis.ticktext) == [escape(token) for token in hostile[:7]]
    assert list(fig.layout.yaxis2.ticktext) == [escape(token) for token in hostile[:13]]
    dots = fig.data[-1]
    for x, y, index in zip(dots.x, dots.y, dots.customdata, strict=True):
        assert line_token(x, y, 7, 13) == ("query" if x == 0 else "key", index)


def test_thicker_means_more() -> None:
    fig = attention_lines(np.diag([0.05, 0.2, 0.4, 0.9]), "abcd", "abcd")
    lines = [trace for trace in fig.data if trace.mode == "lines"]
    assert [trace.line.width for trace in lines] == sorted({trace.line.width for trace in lines})
    assert [float(trace.y[0]) for trace in lines] == [0, 1, 2, 3]


def test_long_texts_draw_the_strongest_and_say_how_many(head: Head) -> None:
    weights, _ = head(271)
    fig = attention_lines(weights, ["w"] * 271, ["w"] * 271, threshold=0.001, selected_query=270)
    drawn = ends(fig, theme.LIGHT["accent"]) | ends(fig, theme.LIGHT["select"])
    total = int((weights >= 0.001).sum())
    assert len(drawn) == 400 < total
    assert "400" in fig.layout.meta["caption"] and str(total) in fig.layout.meta["caption"]
    assert fig.layout.annotations[0].text.startswith("400 of")
    assert len(ends(fig, theme.LIGHT["select"])) == (weights[270] >= 0.001).sum(), (
        "the chosen query keeps all its lines"
    )
    assert len(fig.to_json()) < 200_000


def test_hover_names_the_strongest_partners() -> None:
    fig = attention_lines(np.array([[0.25, 0.75], [1.0, 0.0]]), ["a", "<b>"], ["c", "d"])
    assert fig.data[-1].text[0].endswith("0.750 d<br>0.250 c")
    assert "&lt;b&gt;" in fig.data[-1].text[1] and fig.data[-1].text[1].endswith("1.000 c"), "no partner with weight 0"


def test_nothing_above_the_threshold_is_no_line() -> None:
    fig = attention_lines(np.full((2, 3), 1 / 3), "ab", "abc", threshold=0.5)
    assert [trace.mode for trace in fig.data] == ["markers"]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"weights \(3, 3\) do not fit 2 queries and 3 keys"):
        attention_lines(np.ones((3, 3)), "ab", "abc")
