"""The scale: measured signs over the lines of theory, and softmax in three panels."""

import numpy as np

from tests.viz.figures.measured import saturation, variances
from viz.figures import saturation_chart, variance_chart


def test_signs_over_lines() -> None:
    measured = variances()
    fig = variance_chart(measured)
    signs = [trace for trace in fig.data if trace.mode == "markers"]
    assert np.array_equal(signs[0].y, measured.plain) and np.array_equal(signs[1].y, measured.scaled)
    assert [sign.name for sign in signs] == ["q · k", "q · k / √d_k"]
    theory = [trace for trace in fig.data if trace.mode == "lines"]
    assert [list(line.y) for line in theory] == [[2, 512], [1, 1]]
    assert [line.showlegend for line in theory] == [True, False]
    low, high = fig.layout.yaxis.range
    assert low < np.log10(0.9) and high > np.log10(563.2), "every sign is inside"
    assert "10,007" in fig.layout.meta["facts"]


def test_softmax_in_three_panels() -> None:
    measured = saturation()
    fig = saturation_chart(measured)
    lines = [trace for trace in fig.data if trace.mode == "lines+markers"]
    for line, values in zip(lines, (measured.largest, measured.entropy, measured.jacobian), strict=True):
        assert np.array_equal(line.y, values) and line.x.tolist() == [0.5, 1, 8, 64]
    even = {trace.yaxis: list(trace.y) for trace in fig.data if trace.mode == "lines"}
    assert even == {"y": [1 / 7] * 2, "y2": [np.log(7)] * 2}
    assert "2,003" in fig.layout.meta["facts"] and " 7 " in fig.layout.meta["facts"]
