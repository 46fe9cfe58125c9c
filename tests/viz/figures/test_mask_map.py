"""Masks drawn: one trace per kind of cell, hatches that say the same, blocks of long texts, and the legend."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from transformer.mask_rules import FORBIDS, RULES
from viz.figures import mask_grid, mask_legend, mask_map
from viz.figures.mask_map import FORBIDDING, KINDS, names_of

CODES = np.array([[0, 16, 1, 3], [0, 0, 1, 3], [0, 0, 0, 2], [4, 0, 0, 6], [8, 4, 0, 2]], np.uint8)  # 5 queries, 4 keys


def cells(figure: go.Figure) -> dict[str, np.ndarray]:
    """What each trace of cells covers, by the last line of its hover."""
    found = {}
    for trace in figure.data:
        if trace.type == "heatmap" and trace.hovertemplate:
            found[trace.hovertemplate.removesuffix("<extra></extra>")] = ~np.isnan(trace.z)
    return found


def test_the_bits_are_those_of_the_engine() -> None:
    assert KINDS == RULES and FORBIDDING == FORBIDS
    assert names_of(0) == () and names_of(1 | 2 | 16) == ("causal", "padding", "prefix")


def test_every_cell_is_in_the_trace_of_its_rules(hostile: tuple[str, ...]) -> None:
    before = CODES.copy()
    figure = mask_map(CODES, hostile[:5], hostile[:4], selected=(3, 0))
    covered = cells(figure)
    assert sum(mask.astype(int) for mask in covered.values()).tolist() == np.ones((5, 4)).tolist()
    said = {re.sub("<.*?>", "", words): mask for words, mask in covered.items()}
    assert (said["query %{y} may look at key %{x}"] == (CODES == 0)).all()
    assert (said["query %{y} may look at key %{x}prefix"] == (CODES == 16)).all()
    assert (said["query %{y} may not look at key %{x}causal"] == (CODES == 1)).all()
    assert (said["query %{y} may not look at key %{x}causal + padding"] == (CODES == 3)).all()
    assert (said["query %{y} may not look at key %{x}another rule"] == (CODES == 8)).all()
    assert (said["query %{y} may not look at key %{x}padding + window"] == (CODES == 6)).all()
    assert np.array_equal(CODES, before)
    assert all(trace.z.dtype == np.float32 for trace in figure.data if trace.type == "heatmap" and trace.hovertemplate)
    assert figure.layout.meta["select"] == {
        "origin": [-0.5, -0.5], "pitch": [1, 1], "size": [1, 1], "count": [4, 5], "at": [0, 3],
    }  # fmt: skip
    shape = figure.layout.shapes[0]
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (-0.5, 0.5, 2.5, 3.5)
    assert figure.layout.height == (5 * 42) + figure.layout.margin.t + figure.layout.margin.b


def test_each_rule_has_a_hatch_of_its_own_over_all_its_cells() -> None:
    figure = mask_map(CODES, "abcde", "wxyz")
    hatches = [trace for trace in figure.data if trace.type == "scatter"]
    shapes = [trace.fillpattern.shape for trace in hatches]
    assert len(hatches) == 5 and len(set(shapes)) == 5
    assert len({trace.fillpattern.fgcolor for trace in hatches}) == 5
    window = next(trace for trace in hatches if trace.fillpattern.shape == "|")
    runs = window.x.reshape(-1, 6), window.y.reshape(-1, 6)
    boxes = {(x[0], x[1], y[0], y[2]) for x, y in zip(*runs, strict=True)}
    assert boxes == {(-0.5, 0.5, 2.5, 3.5), (2.5, 3.5, 2.5, 3.5), (0.5, 1.5, 3.5, 4.5)}


def test_a_window_keeps_positions_of_the_text() -> None:
    figure = mask_map(CODES, "abcde", "wxyz", selected=(3, 3), rows=slice(2, 5), columns=slice(1, 4))
    codes = sorted(re.sub("<.*?>", " ", words).split()[-1] for words in cells(figure))
    assert codes == ["%{x}", "padding", "window", "window"]
    assert figure.data[0].y0 == 2 and figure.data[0].x0 == 1
    assert figure.layout.meta["select"]["origin"] == [0.5, 1.5] and figure.layout.meta["select"]["at"] == [2, 1]
    grid = mask_grid(CODES, "abcde", "wxyz", rows=slice(2, 5), columns=slice(1, 4))
    assert np.array_equal(grid.weights, CODES[2:5, 1:4]) and grid.queries == ("c", "d", "e")


@pytest.mark.parametrize("count", [131, 64])
def test_long_texts_are_drawn_in_blocks(count: int) -> None:
    """A block is allowed where any of its cells is, and says all rules where none is."""
    query, key = np.indices((count, count))
    codes = (1 * (key > query) + 4 * (query - key >= 53)).astype(np.uint8)
    codes[:, :2] = np.where(codes[:, :2] > 0, 16, 0)
    grid = mask_grid(codes, ["w"] * count, ["w"] * count)
    block = -(-count // 64)
    assert grid.block == block and len(grid.y) == -(-count // block)
    for row in range(0, len(grid.y), 7):
        for column in range(len(grid.x)):
            cell = codes[row * block : (row + 1) * block, column * block : (column + 1) * block]
            allowed = (cell & FORBIDS) == 0
            if (cell == 0).any():
                expected = 0
            elif allowed.any():
                expected = int(np.bitwise_or.reduce(cell, axis=None)) & 48
            else:
                expected = int(np.bitwise_or.reduce(cell, axis=None))
            assert grid.weights[row, column] == expected, (row, column)
    figure = mask_map(codes, ["w"] * count, ["w"] * count, selected=(100 % count, 3), language="zh")
    assert bool(figure.layout.meta["caption"]) == (block > 1)
    assert len(figure.to_json()) < 150_000
    if block > 1:
        assert f"{block} × {block}" in figure.layout.annotations[0].text
        assert figure.layout.meta["select"]["at"] == [1, 33] and figure.layout.meta["select"]["size"] == [3, 3]


def test_plotly_knows_the_figure_and_wrong_shapes_are_refused() -> None:
    go.Figure(mask_map(CODES, "abcde", "wxyz").to_dict())
    with pytest.raises(ValueError, match="does not fit"):
        mask_map(CODES, "abcd", "wxyz")
    with pytest.raises(ValueError, match="no cell"):
        mask_map(CODES[:0], "", "wxyz")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_legend_names_what_is_there(language: str) -> None:
    legend = mask_legend(("causal", "other"), language=language)
    assert legend.count("<i ") == 3 and "#" not in legend
    assert len(set(re.findall('style="(.*?)"', legend))) == 3
    assert mask_legend((), language=language).count("<i ") == 1
