"""The heat map draws the numbers it was given, where they belong, and draws nothing that it was not given."""

from collections.abc import Callable

import numpy as np
import pytest

from viz.figures import attention_heatmap, pool, theme
from viz.figures.axes import escape

Head = Callable[..., tuple[np.ndarray, np.ndarray]]


def test_draws_the_weights_with_repeated_and_hostile_tokens(head: Head, hostile: tuple[str, ...]) -> None:
    weights, _ = head(19, 13)
    before = weights.copy()
    fig = attention_heatmap(weights, hostile, hostile[:13])
    assert np.array_equal(fig.data[0].z, weights) and fig.data[0].z.dtype == np.float32
    assert np.array_equal(weights, before)
    assert list(fig.layout.yaxis.ticktext) == [escape(token) for token in hostile]
    assert list(fig.layout.xaxis.ticktext) == [escape(token) for token in hostile[:13]]
    assert (fig.data[0].zmin, fig.data[0].zmax) == (0, 1)
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1], "the first query stands on top"
    assert fig.layout.xaxis2.side == "top"


def test_forbidden_cells_are_hatched_and_not_zero(head: Head) -> None:
    weights, allowed = head(5, 7)
    frozen = allowed.copy()
    fig = attention_heatmap(weights, "abcde", "abcdefg", allowed=allowed)
    assert np.array_equal(np.isnan(fig.data[0].z), ~allowed) and np.array_equal(allowed, frozen)
    assert np.array_equal(fig.data[1].z == 1, ~allowed)
    assert "forbidden" in fig.data[1].hovertemplate and "%{z" not in fig.data[1].hovertemplate
    hatch = fig.data[2]
    assert hatch.fill == "toself" and hatch.fillpattern.shape == "/"
    x, y = (np.asarray(values).reshape(-1, 6)[:, :5] for values in (hatch.x, hatch.y))
    area = (x.max(1) - x.min(1)) * (y.max(1) - y.min(1))
    assert area.sum() == (~allowed).sum()


def test_numbers_are_written_once_each_in_a_legible_ink() -> None:
    weights = np.linspace(0, 1, 49).reshape(7, 7)
    fig = attention_heatmap(weights, "abcdefg", "abcdefg")
    inked = [trace for trace in fig.data if trace.texttemplate]
    assert [trace.textfont.color for trace in inked] == [ink for _, (ink, _) in theme.CELL_INKS]
    written = np.array([np.array(trace.text).ravel() for trace in inked])
    assert ["".join(cell).strip() for cell in written.T] == [f"{weight:.2f}" for weight in weights.ravel()]
    for trace in inked:
        assert trace.xaxis == "x2" and trace.yaxis == "y2" and trace.hoverinfo == "skip"


def test_no_number_where_looking_is_forbidden(head: Head) -> None:
    weights, allowed = head(11)
    fig = attention_heatmap(weights, "abcdefghijk", "abcdefghijk", allowed=allowed)
    texts = [np.array(trace.text) for trace in fig.data if trace.texttemplate]
    assert sum((np.char.strip(text) != "").sum() for text in texts) == allowed.sum()
    for text in texts:
        assert not (np.char.strip(text) != "")[~allowed].any()


def test_the_chosen_cell_is_framed(head: Head) -> None:
    weights, allowed = head(5, 7)
    fig = attention_heatmap(weights, "abcde", "abcdefg", allowed=allowed, selected=(4, 1))
    (frame,) = fig.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, 3.5, 4.5)
    assert frame.line.color == theme.LIGHT["select"] and frame.name == "selected"
    assert fig.layout.meta["select"] == {
        "origin": [-0.5, -0.5], "pitch": [1, 1], "size": [1, 1], "count": [7, 5], "at": [1, 4],
    }  # fmt: skip


def test_one_token() -> None:
    fig = attention_heatmap(np.ones((1, 1)), ["x"], ["x"], allowed=np.ones((1, 1), bool), selected=(0, 0))
    assert fig.data[0].z.tolist() == [[1.0]] and fig.data[-1].text[0][0] == "1.00"


def test_a_query_that_may_look_at_nothing_has_no_number() -> None:
    allowed = np.array([[False, False, False], [True, False, False]])
    fig = attention_heatmap(np.full((2, 3), 1 / 3), "ab", "abc", allowed=allowed)
    assert np.isnan(fig.data[0].z[0]).all()


def test_long_texts_are_pooled_and_say_so(head: Head) -> None:
    weights, allowed = head(271)
    fig = attention_heatmap(weights, ["w"] * 271, ["w"] * 271, allowed=allowed, selected=(200, 7))
    block = fig.layout.meta["block"]
    assert block == 3 and "3 × 3" in fig.layout.annotations[0].text and "3 × 3" in fig.layout.meta["caption"]
    expected, _, _ = pool(np.where(allowed, weights, 0), block)
    drawn = fig.data[0].z
    assert np.array_equal(np.nan_to_num(drawn), expected * ~np.isnan(drawn))
    assert fig.data[0].x0 == 1 and fig.data[0].dx == 3, "positions stay positions of the text"
    (frame,) = fig.layout.shapes
    assert frame.y0 <= 200 <= frame.y1 and frame.x0 <= 7 <= frame.x1
    assert len(fig.to_json()) < 300_000


def test_a_window_is_exact(head: Head) -> None:
    weights, _ = head(271)
    tokens = [f"t{position}" for position in range(271)]
    rows, columns = slice(250, 261), slice(240, 253)
    fig = attention_heatmap(weights, tokens, tokens, rows=rows, columns=columns, selected=(251, 241))
    assert np.array_equal(fig.data[0].z, weights[rows, columns])
    assert list(fig.layout.yaxis.ticktext) == tokens[rows] and fig.data[0].x0 == 240
    assert fig.layout.shapes[0].x0 == 240.5 and fig.layout.meta["select"]["at"] == [1, 1]
    cut = attention_heatmap(weights[rows], tokens, tokens, rows=rows, columns=columns)
    assert np.array_equal(cut.data[0].z, fig.data[0].z)
    outside = attention_heatmap(weights, tokens, tokens, rows=rows, columns=columns, selected=(3, 3))
    assert not outside.layout.shapes


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"map \(3, 3\) does not fit 2 queries and 3 keys"):
        attention_heatmap(np.ones((3, 3)), "ab", "abc")
    with pytest.raises(ValueError, match="no cell"):
        attention_heatmap(np.ones((0, 0)), "", "")


def test_pool_by_hand() -> None:
    pooled, rows, columns = pool(np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), 2)
    assert pooled.tolist() == [[5, 6], [8, 9]]
    assert rows.tolist() == columns.tolist() == [0, 2, 3]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 53])
def test_pool_keeps_every_peak(size: int) -> None:
    weights = np.random.default_rng(size).random((3, 11, 7))
    before = weights.copy()
    pooled, rows, columns = pool(weights, size)
    assert np.array_equal(weights, before)
    for row, column in np.ndindex(len(rows) - 1, len(columns) - 1):
        block = weights[:, rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
        assert np.array_equal(pooled[:, row, column], block.max(axis=(1, 2)))
    with pytest.raises(ValueError, match="at least 1"):
        pool(weights, 0)
