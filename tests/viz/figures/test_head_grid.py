"""One cell per head: its number or word, grey where there is none, and layers of unlike size."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import head_grid, theme

VALUES = [np.array([0.0, 0.5, np.nan]), np.array([1.0, 0.25])]


def written(fig: go.Figure) -> dict[tuple[int, int], str]:
    """What stands in each cell."""
    return {
        (row, head): text
        for trace in fig.data
        if trace.type == "heatmap" and trace.text is not None
        for row, line in enumerate(trace.text)
        for head, text in enumerate(line)
        if text.strip()
    }


def test_numbers_by_layer_and_head() -> None:
    fig = head_grid(VALUES, ["0", "decoder 1 · <b>"], selected=(1, 0), caption="how to read it")
    cells = np.asarray(fig.data[0].z)
    np.testing.assert_array_equal(cells, np.array([[0, 0.5, np.nan], [1, 0.25, np.nan]], np.float32))
    assert (fig.data[0].zmin, fig.data[0].zmax) == (0, 1)
    assert written(fig) == {(0, 0): ".00", (0, 1): ".50", (0, 2): "–", (1, 0): "1.0", (1, 1): ".25"}
    assert fig.layout.meta["select"]["count"] == [3, 2] and fig.layout.meta["select"]["at"] == [0, 1]
    assert fig.layout.yaxis.ticktext[1] == "decoder 1 · &lt;b&gt;"
    assert any("how to read it" in note.text for note in fig.layout.annotations)
    assert np.isnan(VALUES[0][2]), "unchanged"
    go.Figure(fig.to_dict())
    assert set(re.findall("#[0-9a-f]{6}", fig.to_json())) <= theme.DARK_OF.keys()


def test_a_head_without_a_number_is_grey_and_one_that_is_not_there_is_nothing() -> None:
    grey = head_grid(VALUES, "ab").data[1]
    np.testing.assert_array_equal(np.asarray(grey.z), [[np.nan, np.nan, 1], [np.nan, np.nan, np.nan]])
    assert grey.colorscale[0][1] == theme.LIGHT["masked"]
    whole = head_grid([np.ones(2)], "a")
    assert [trace.type for trace in whole.data] == ["heatmap", "heatmap"], "the cells, and what is written in them"


def test_words_instead_of_numbers_and_more_in_the_hover() -> None:
    fig = head_grid(VALUES, "ab", words=[["ind", "", "x"], ["prev", ""]], told=[["<i>", "no", "u"], ["v", "w"]])
    assert written(fig) == {(0, 0): "ind", (0, 2): "x", (1, 0): "prev"}
    assert fig.data[0].hovertext[0][0] == "layer a · head 0<br>&lt;i&gt;"
    assert "%{z" not in fig.data[0].hovertemplate and "%{z" in head_grid(VALUES, "ab").data[0].hovertemplate


def test_words_have_the_ink_of_their_cell() -> None:
    fig = head_grid([np.array([0.1, 0.8, 1.0])], "a")
    inks = {tuple(text.strip() for text in trace.text[0]): trace.textfont.color for trace in fig.data if trace.text}
    assert inks == {
        (".10", "", ""): theme.CELL_INKS[0][1][0],
        ("", ".80", ""): theme.CELL_INKS[1][1][0],
        ("", "", "1.0"): theme.CELL_INKS[2][1][0],
    }


def test_many_heads_have_only_their_shade() -> None:
    assert written(head_grid([np.ones(17)], "a")) == {}
    fig = head_grid([np.ones(9)] * 30, [str(layer) for layer in range(30)])
    assert 640 <= fig.layout.height <= 720 and len(fig.to_json()) < 60_000


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="2 layers do not fit 1 names"):
        head_grid(VALUES, "a")
    with pytest.raises(ValueError, match=r"words \[3, 3\] do not fit heads \[3, 2\]"):
        head_grid(VALUES, "ab", words=[["", "", ""]] * 2)
    with pytest.raises(ValueError, match="0 layers"):
        head_grid([], [])
