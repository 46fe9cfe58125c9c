"""Tokens on axes: whole in the hover, short beside the map, never markup, never merged."""

import html
from itertools import pairwise

import pytest

from viz.figures import axes


def test_escape_by_hand() -> None:
    assert axes.escape("<s>") == "&lt;s&gt;"
    assert axes.escape("$x$") == "&#36;x&#36;"
    assert axes.escape("#3b5bdb") == "&#35;3b5bdb"
    assert axes.escape("&#36;") == "&amp;&#35;36;"
    assert axes.escape("'\"·") == "'\"·"


def test_escape_can_be_read_back(hostile: tuple[str, ...]) -> None:
    for token in hostile:
        escaped = axes.escape(token)
        assert html.unescape(escaped) == token
        assert not set("<>$") & set(escaped)


def test_repeated_tokens_keep_their_own_places(hostile: tuple[str, ...]) -> None:
    for axis in "xy":
        pair = axes.token_axes(hostile, range(len(hostile)), axis=axis)
        whole, shown = pair[f"{axis}axis"], pair[f"{axis}axis2"]
        assert whole["type"] == shown["type"] == "linear"
        assert whole["tickvals"] == list(range(len(hostile)))
        assert whole["ticktext"] == [axes.escape(token) for token in hostile]
        assert whole["range"] == ([-0.5, 18.5] if axis == "x" else [18.5, -0.5])


def test_labels_are_thinned_but_never_the_chosen_one() -> None:
    assert axes.thinned(5, 20) == [0, 1, 2, 3, 4]
    assert axes.thinned(41, 20) == [*range(0, 41, 3)]
    shown = axes.thinned(41, 20, selected=7)
    assert 7 in shown and 6 not in shown and 9 not in shown
    assert all(later - earlier >= 3 for earlier, later in pairwise(shown))
    assert len(axes.thinned(1024, 20)) <= 20


@pytest.mark.parametrize(
    "token", ["Donaudampfschifffahrtselektrizität", "得了满分所以非常开心", "ab", "", "e\u0301" * 30]
)
def test_short_labels_fit(token: str) -> None:
    short = axes.shorten(token)
    assert axes.width(short) <= axes.LONGEST_LABEL
    assert short == token or (short.count("…") == 1 and token.startswith(short.split("…")[0]))
    assert short == token or token.endswith(short.split("…")[1])


def test_the_chosen_label_is_marked_and_still_escaped() -> None:
    shown = axes.labelled(["<b>", "x"], [0, 1], 20, 0)
    assert shown["ticktext"][0].startswith("<b style=") and "&lt;b&gt;" in shown["ticktext"][0]
    assert shown["ticktext"][1] == "x"
