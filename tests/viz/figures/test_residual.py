"""Residual on and off: twelve curves in three panels, an exact zero kept on its logarithmic axis."""

import numpy as np

from tests.viz.figures.measured import residual
from viz.figures import residual_chart
from viz.figures.residual import SMALLEST


def test_four_stacks_in_three_panels() -> None:
    measured = residual()
    fig = residual_chart(measured)
    assert len(fig.data) == 12
    quantities = (measured.weights, measured.query_key, np.maximum(measured.difference, SMALLEST))
    for number, trace in enumerate(fig.data):
        panel, stack = divmod(number, 4)
        assert np.array_equal(trace.y, quantities[panel][divmod(stack, 2)])
        assert trace.x.tolist() == list(range(6 if panel == 2 else 5))
        assert trace.yaxis == ("y", "y2", "y3")[panel] and trace.showlegend == (panel == 0)
    assert [trace.name for trace in fig.data[:4]] == [
        "with residual, pre-norm", "without, pre-norm", "with residual, post-norm", "without, post-norm",
    ]  # fmt: skip
    low, high = fig.layout.yaxis3.range
    assert low < np.log10(SMALLEST) and high > np.log10(measured.difference.max())
    assert measured.difference.min() == 0, "what came in is unchanged"
    for fact in ("5 blocks", "d_model 28", "3 random texts of 11 tokens"):
        assert fact in fig.layout.meta["facts"]
    assert "5:" in fig.layout.xaxis3.title.text
    kept = " / ".join(f"{one:.4g}" for one in measured.difference[:, 0, -1])
    assert f"pre-norm / post-norm: {kept} with" in fig.layout.meta["caption"]
    assert "0 / 0 without" in fig.layout.meta["caption"]
