"""The strongest neurons as bars, one neuron over tokens, and the map of both: numbers, labels, frames."""

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import neuron_bars, neuron_map, neuron_tokens, theme

VALUES = np.array([3.0, -2.5, 1.25], np.float64)


def test_bars_in_the_order_given() -> None:
    before = VALUES.copy()
    figure = neuron_bars(VALUES, [71_000, 5, 13], chosen=5, count=71_003)
    bars = figure.data[0]
    assert bars.x.tolist() == VALUES.tolist() and bars.x.dtype == np.float32 and bars.y.tolist() == [0, 1, 2]
    assert bars.customdata.tolist() == [71_000, 5, 13]
    plus, minus = theme.LIGHT["plus"], theme.LIGHT["minus"]
    assert list(bars.marker.color) == [plus, minus, plus]
    labels = figure.layout.yaxis.ticktext
    assert labels[0] == "71000" and "<b" in labels[1] and labels[2] == "13"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first is on top"
    low, high = figure.layout.xaxis.range
    assert low < -2.5 and high > 3
    assert "3 largest" in figure.layout.meta["caption"] and "71,003" in figure.layout.meta["caption"]
    assert np.array_equal(VALUES, before)
    output = neuron_bars(-VALUES[::2], [1, 2], by="output", language="zh")
    assert output.layout.xaxis.range[1] == 0 and output.layout.meta["caption"] != figure.layout.meta["caption"]
    go.Figure(figure.to_dict())
    with pytest.raises(ValueError, match="do not fit"):
        neuron_bars(VALUES, [1, 2])


def test_one_neuron_at_every_token(hostile: tuple[str, ...]) -> None:
    values = np.linspace(-1, 2, 19)
    figure = neuron_tokens(values, hostile, neuron=7, selected=18)
    bars = figure.data[0]
    assert np.array_equal(bars.y, values.astype(np.float32)) and bars.x.tolist() == list(range(19))
    assert list(figure.layout.xaxis.ticktext)[5] == "&lt;b&gt;bold&lt;/b&gt;", "the hover says tokens whole, as text"
    assert "<b" in figure.layout.xaxis2.ticktext[-1]
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1) == (17.5, 18.5) and frame.y0 < -1 and frame.y1 > 2
    select = figure.layout.meta["select"]
    assert (
        select["count"] == [19, 1]
        and select["at"] == [18, 0]
        and select["pitch"] == pytest.approx([1, frame.y1 - frame.y0])
    )
    assert select["origin"] == [-0.5, frame.y0] and figure.layout.yaxis.range[0] == frame.y0
    go.Figure(figure.to_dict())


def test_a_part_of_a_long_text_says_which() -> None:
    tokens = [f"w{place}" for place in range(131)]
    figure = neuron_tokens(np.arange(131.0), tokens, neuron=7, selected=90, rows=slice(60, 124), by="output")
    assert figure.data[0].x.tolist() == list(range(60, 124)) and figure.data[0].y.tolist() == list(range(60, 124))
    assert "60 to 123" in figure.layout.meta["caption"] and figure.layout.meta["select"]["at"] == [30, 0]
    assert figure.layout.xaxis.ticktext[0] == "w60"
    outside = neuron_tokens(np.arange(131.0), tokens, neuron=7, selected=2, rows=slice(60, 124))
    assert not outside.layout.shapes and outside.layout.meta["select"]["at"] is None
    silent = neuron_tokens(np.zeros(3), "abc", neuron=1)
    assert silent.layout.yaxis.range[1] > 0 > silent.layout.yaxis.range[0]
    for wrong in (np.zeros(4), np.zeros((3, 1))):
        with pytest.raises(ValueError, match="do not fit"):
            neuron_tokens(wrong, "abc", neuron=1)


def test_the_map_of_tokens_and_neurons(hostile: tuple[str, ...]) -> None:
    strengths = np.random.default_rng(3).normal(size=(19, 5))
    before = strengths.copy()
    figure = neuron_map(strengths, hostile, [13, 2, 71, 5, 3], selected=(34, 71), first=30, count=1536)
    cells = figure.data[0]
    assert np.array_equal(cells.z, strengths.astype(np.float32)) and cells.z.dtype == np.float32
    top = np.abs(strengths).max()
    assert cells.zmax == pytest.approx(top) and cells.zmin == -cells.zmax
    assert (
        list(figure.layout.xaxis.ticktext) == ["13", "2", "71", "5", "3"] and "<b" in figure.layout.xaxis2.ticktext[2]
    )
    assert figure.layout.yaxis.tickvals[0] == 30 and len(figure.layout.yaxis.ticktext) == 19
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.y0) == (1.5, 33.5)
    assert figure.layout.meta["select"]["at"] == [2, 4] and figure.layout.meta["select"]["origin"] == [-0.5, 29.5]
    assert "5 of 1,536" in figure.layout.meta["caption"] and np.array_equal(strengths, before)
    for selected in ((34, 4), (2, 71), None):
        other = neuron_map(strengths, hostile, [13, 2, 71, 5, 3], selected=selected, first=30, language="zh")
        assert not other.layout.shapes and other.layout.meta["select"]["at"] is None
    go.Figure(figure.to_dict())
    with pytest.raises(ValueError, match="do not fit"):
        neuron_map(strengths, hostile, [1, 2])
