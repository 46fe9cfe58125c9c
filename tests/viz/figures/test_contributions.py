"""Contributions: bars in their layer, their running sum, heads on a scale symmetric about 0."""

from itertools import pairwise

import numpy as np
import pytest

from tests.viz.figures.sound import sound
from viz.figures import contribution_chart, head_contribution_map, theme

KINDS = ["token", "position", "self", "ffn", "self", "ffn", "self", "ffn"]
LAYERS = [None, None, 0, 0, 1, 1, 2, 2]
VALUES = np.array([1.0, -0.5, 2.0, 0.25, -1.0, 3.0, 0.5, -4.0])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_bars_stand_in_their_layer_and_the_line_is_their_sum(language: str) -> None:
    before = VALUES.copy()
    fig = sound(contribution_chart(VALUES, KINDS, LAYERS, constant=0.125, token="<s>", selected=1, language=language))
    *bars, running = fig.data
    drawn = {round(float(x), 3): float(y) for trace in bars for x, y in zip(trace.x, trace.y, strict=True)}
    assert sorted(drawn.values()) == sorted([*VALUES, 0.125]) and (before == VALUES).all()
    order = [drawn[x] for x in sorted(drawn)]
    assert order == [*VALUES, 0.125]  # from left to right in the order of the pass
    by_layer = {trace.name: [round(x) for x in trace.x.tolist()] for trace in bars}
    assert list(by_layer.values()) == [[-1], [-1], [0, 1, 2], [0, 1, 2], [3]]
    np.testing.assert_allclose(running.y, [*np.cumsum(VALUES), VALUES.sum() + 0.125])
    assert (running.xaxis, running.yaxis) == ("x2", "y2") and fig.layout.shapes[1].x0 == 0.5
    grid, low, high = fig.layout.meta["select"], *fig.layout.yaxis.range
    assert (grid["origin"], grid["size"], grid["count"], grid["at"]) == ([-0.5, low], [1, high - low], [3, 1], [1, 0])
    assert (fig.layout.shapes[1].name, fig.layout.shapes[1].y0, fig.layout.shapes[1].y1) == ("selected", low, high)
    assert list(bars[2].customdata) == [0, 1, 2]
    assert len({trace.marker.color for trace in bars}) == len(bars)


def test_the_total_is_told_and_without_a_constant_none_is_drawn() -> None:
    fig = contribution_chart(VALUES, KINDS, LAYERS, token="x")
    assert "1.25" in fig.layout.title.text and len(fig.data) == 5 and len(fig.layout.shapes) == 1


def test_three_parts_of_a_layer_stand_side_by_side() -> None:
    kinds, layers = ["start", "self", "cross", "ffn"], [None, 0, 0, 0]
    fig = sound(contribution_chart(np.ones(4), kinds, layers))
    places = sorted(float(trace.x[0]) for trace in fig.data[:-1])
    widths = [trace.width for trace in fig.data[:-1]]
    assert all(right - left >= 0.9 * min(widths) for left, right in pairwise(places[1:]))


def test_many_layers_have_labels_that_do_not_touch() -> None:
    kinds, layers = ["token", *["self", "ffn"] * 30], [None, *(layer for layer in range(30) for _ in range(2))]
    fig = sound(contribution_chart(np.ones(61), kinds, layers, constant=1))
    ticks = np.array(fig.layout.xaxis.tickvals)
    assert len(ticks) <= 8 and np.diff(ticks).min() >= 4 and len(fig.to_json()) < 20_000


def test_heads_are_symmetric_about_zero_and_hostile_names_stay_words(hostile: tuple[str, ...]) -> None:
    values = np.array([[0.5, -2.0, np.nan], [1.0, 0.0, 0.25]])
    fig = sound(head_contribution_map(values, hostile[3:5], ["0", "1", "2"], selected=(0, 1)))
    main = fig.data[0]
    np.testing.assert_array_equal(main.z, values.astype(np.float32))
    assert (main.zmin, main.zmax) == (-2, 2)
    assert [list(stop) for stop in main.colorscale] == [list(stop) for stop in theme.SIGNED]
    written = {text for trace in fig.data[1:] for row in trace.text for text in row if text.strip()}
    assert written == {"0.5", "−2.0", "1.0", "0.0", "0.2"}
    assert fig.layout.meta["select"]["at"] == [1, 0]
    sound(head_contribution_map(np.ones((30, 9)), list(map(str, range(30))), list("012345678"), language="zh"))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        contribution_chart(VALUES, KINDS[1:], LAYERS)
    with pytest.raises(ValueError, match="do not fit"):
        head_contribution_map(np.ones((2, 3)), ["0", "1"], ["0"])
