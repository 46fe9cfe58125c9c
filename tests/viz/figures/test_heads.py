"""Heads: a curve per number of heads, the mean of its runs, and what the fewest reach on either neighbour."""

import numpy as np

from tests.viz.figures.measured import heads
from viz.figures import heads_chart
from viz.figures.predictions import percent


def test_curves_and_what_the_note_says() -> None:
    measured = heads()
    before = measured.both.copy()
    fig = heads_chart(measured)
    lines = [trace for trace in fig.data if trace.mode == "lines+markers"]
    assert [line.name for line in lines] == ["2 heads", "1 head"] and np.array_equal(measured.both, before)
    for line, both in zip(lines, measured.both, strict=True):
        assert np.allclose(line.y, both.mean(0)) and line.x.tolist() == [0, 10, 20, 30, 40]
    ends = np.stack([measured.before[1, :, -1], measured.after[1, :, -1]])  # of one head, the second here
    assert percent(ends.max(0).mean()) in fig.layout.meta["caption"]
    assert percent(ends.min(0).mean()) in fig.layout.meta["caption"] and "(1)" in fig.layout.meta["caption"]
    facts = fig.layout.meta["facts"]
    assert "4,910 parameters" in facts and "Runs: 3" in facts and "step: 31" in facts and "judged: 101" in facts


def test_different_sizes_are_all_named() -> None:
    measured = heads()
    measured.parameters = np.array([4910, 5011])
    assert "4,910 / 5,011" in heads_chart(measured).layout.meta["facts"]
