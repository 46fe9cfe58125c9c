"""Time and recall: the drawn numbers are the measured ones, and the words say how they were measured."""

import numpy as np
import pytest

from tests.viz.figures.measured import recall, times
from viz.figures import recall_chart, time_chart


@pytest.mark.parametrize("training", [False, True])
def test_time_waiting_and_work_by_length(training: bool) -> None:
    measured = times()
    fig = time_chart(measured, training=training)
    lines = [trace for trace in fig.data if trace.mode == "lines+markers"]
    ms = measured.training_ms if training else measured.forward_ms
    wanted = [np.median(ms, axis=1), measured.waiting, measured.multiply_adds]
    for kind in (0, 1):
        for panel in range(3):
            line = lines[3 * kind + panel]
            assert np.array_equal(line.y, wanted[panel][kind]) and line.x.tolist() == [4, 8, 16, 64]
            assert line.yaxis == ("y", "y2", "y3")[panel]
    bands = [trace for trace in fig.data if trace.fill == "toself"]
    assert np.array_equal(bands[1].y[:4], ms[1].max(0)) and np.array_equal(bands[1].y[4:], ms[1].min(0)[::-1])
    assert [fig.layout[axis].type for axis in ("xaxis", "yaxis", "yaxis2", "yaxis3")] == ["log"] * 4
    assert ("backward" in fig.layout.meta["title"]) == training
    for fact in ("Runs: 5", "once: 7", "d_model: 28", "layers: 3", "threads: 2"):
        assert fact in fig.layout.meta["facts"]
    assert [trace.name for trace in lines if trace.showlegend] == [
        "LSTM · 1.05M parameters", "Our encoder · 9416 parameters",
    ]  # fmt: skip


@pytest.mark.parametrize(("training", "runs"), [("each", 3), ("mixed", 1)])
def test_recall_by_distance(training: str, runs: int) -> None:
    measured = recall(training, runs)
    before = measured.accuracy.copy()
    fig = recall_chart(measured)
    lines = [trace for trace in fig.data if trace.mode == "lines+markers"]
    assert len(lines) == 3 and np.array_equal(measured.accuracy, before)
    for line, accuracy in zip(lines, measured.accuracy, strict=True):
        assert np.allclose(line.y, accuracy.mean(0)) and line.x.tolist() == [1, 2, 4, 8]
    assert sum(trace.fill == "toself" for trace in fig.data) == (3 if runs > 1 else 0)
    (guessing,) = [trace for trace in fig.data if trace.mode == "lines" and trace.fill is None]
    assert list(guessing.y) == [0.125, 0.125] and guessing.name == "guessing, 1 in 8"
    for fact in ("steps: 211", "step: 31", "503", f"runs: {runs}"):
        assert fact in fig.layout.meta["facts"]
    assert ("mixed" in fig.layout.meta["facts"]) == (training == "mixed")
    assert "LSTM 2.2 s" in fig.layout.meta["caption"]
