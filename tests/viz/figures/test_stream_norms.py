"""The residual stream by layer: lines and bars hold the lengths and cosines that were given, at their own layer."""

from types import SimpleNamespace

import numpy as np
import pytest

from viz.figures import part_name, stream_added, stream_directions, stream_norms, theme

LENGTHS = np.array([2.0, 3.0, 5.0, 7.0])
OTHERS = SimpleNamespace(mean=LENGTHS + 1, low=LENGTHS, high=LENGTHS + 3)
ADDED = {"self": np.array([1.0, 2.0, 3.0]), "cross": np.array([2.0, np.nan, 4.0]), "ffn": np.array([5.0, 6.0, 7.0])}


def named(figure: object) -> dict[str, object]:
    return {trace.name: trace for trace in figure.data if trace.showlegend}


def test_the_chosen_token_is_violet_and_its_numbers_are_those_given(hostile: tuple[str, ...]) -> None:
    figure = stream_norms(LENGTHS, OTHERS, LENGTHS * 2, token=hostile[4], selected=1)
    band, others, first, chosen = figure.data
    np.testing.assert_array_equal(chosen.y, LENGTHS.astype(np.float32))
    assert chosen.x.tolist() == [-1, 0, 1, 2] and chosen.line.color == theme.LIGHT["residual"]
    np.testing.assert_array_equal(others.y, (LENGTHS + 1).astype(np.float32))
    np.testing.assert_array_equal(first.y, (LENGTHS * 2).astype(np.float32))
    np.testing.assert_array_equal(band.y, np.concatenate([OTHERS.high, OTHERS.low[::-1]]).astype(np.float32))
    assert chosen.line.width > max(others.line.width, first.line.width)
    assert "&lt;" in chosen.name and figure.layout.xaxis.ticktext[0] == "in"


def test_the_frame_and_the_grid_stand_at_the_chosen_layer() -> None:
    lengths, added = stream_norms(LENGTHS, token="x", selected=1), stream_added(ADDED, token="x", selected=1)
    for figure, origin, at, count in ((lengths, -1.5, [2, 0], 4), (added, -0.5, [1, 0], 3)):
        chosen = figure.layout.meta["select"]
        assert (chosen["origin"], chosen["at"], chosen["count"]) == ([origin, 0], at, [count, 1])
        shape = figure.layout.shapes[0]
        assert (shape.name, shape.x0, shape.x1, shape.yref) == ("selected", 0.5, 1.5, "y domain")
        assert figure.layout.meta["title"]
    assert not stream_added(ADDED, token="x").layout.shapes


def test_bars_stand_side_by_side_from_zero() -> None:
    figure = stream_added(ADDED, token="x")
    bars = named(figure)
    assert list(bars) == ["attention", "cross-attention", "feed-forward"]
    for (name, bar), values in zip(bars.items(), ADDED.values(), strict=True):
        assert bar.type == "bar", name
        np.testing.assert_array_equal(bar.y, values.astype(np.float32))
        assert bar.customdata.tolist() == [0, 1, 2] and np.abs(bar.x - [0, 1, 2]).max() <= 0.4
    centres = [bar.x[1] for bar in bars.values()]
    assert np.allclose(np.diff(centres), bars["attention"].width) and figure.layout.yaxis.range[0] == 0
    assert len({bar.marker.color for bar in bars.values()}) == 3


def test_a_wide_range_is_drawn_as_dots_on_a_logarithmic_axis() -> None:
    wide = {"self": np.array([0.5, 2.0, 3.0]), "ffn": np.array([5.0, 9000.0, np.nan])}
    figure = stream_added(wide, token="x")
    assert {trace.type for trace in figure.data} == {"scatter"} and figure.layout.yaxis.type == "log"
    assert any("logarithmic" in note.text for note in figure.layout.annotations)
    np.testing.assert_array_equal(named(figure)["feed-forward"].y, wide["ffn"].astype(np.float32))
    assert stream_norms(LENGTHS, token="x").layout.yaxis.type == "linear"
    assert stream_norms(LENGTHS * [1, 1, 1, 99], token="x").layout.yaxis.type == "log"


def test_directions_have_fixed_ends_and_the_stream_beside_them() -> None:
    cosines = {part: values / 10 for part, values in ADDED.items()}
    between = np.array([0.9, -0.2, 0.5])
    figure = stream_directions(cosines, between, token="x", language="zh")
    np.testing.assert_array_equal(figure.data[0].y, between.astype(np.float32))
    for trace, values in zip(figure.data[1:], cosines.values(), strict=True):
        np.testing.assert_array_equal(trace.y, values.astype(np.float32))
    low, high = figure.layout.yaxis.range
    assert low < -1 and high > 1 and figure.layout.yaxis.tickvals == (-1, -0.5, 0, 0.5, 1)


@pytest.mark.parametrize("layers", [2, 30, 48])
def test_few_ticks_stand_side_by_side(layers: int) -> None:
    figure = stream_norms(np.arange(1.0, layers + 2), token="x")
    ticks = figure.layout.xaxis.tickvals
    assert len(ticks) <= 10 and ticks[0] == -1 and (layers < 13 or min(np.diff(ticks)) >= 4)
    assert len(figure.to_json()) < 20_000


def test_unknown_and_further_parts_are_named() -> None:
    assert part_name("ffn2") == "feed-forward 2" and part_name("self", "zh") != "attention"


def test_lines_of_unlike_lengths_are_refused() -> None:
    for wrong in (
        lambda: stream_norms(LENGTHS, first=LENGTHS[:3], token="x"),
        lambda: stream_norms(LENGTHS[:1], token="x"),
        lambda: stream_added({"self": LENGTHS, "ffn": LENGTHS[:3]}, token="x"),
        lambda: stream_directions(ADDED, np.ones(4), token="x"),
    ):
        with pytest.raises(ValueError, match="one length"):
            wrong()
