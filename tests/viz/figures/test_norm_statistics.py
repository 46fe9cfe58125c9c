"""BatchNorm against LayerNorm: rings without padding, filled signs with it, a line from one to the other."""

from typing import Literal

import numpy as np
import pytest

from tests.viz.figures.measured import norms
from viz.figures import norm_chart


@pytest.mark.parametrize("statistic", ["std", "mean"])
def test_rings_signs_and_lines(statistic: Literal["mean", "std"]) -> None:
    measured = norms()
    fig = norm_chart(measured, statistic=statistic)
    pairs = [(measured.batch_real, measured.batch_padded), (measured.layer_real, measured.layer_padded)]
    for panel, (real, padded) in enumerate(pairs):
        line, ring, filled = fig.data[3 * panel : 3 * panel + 3]
        real, padded = getattr(real, statistic), getattr(padded, statistic)
        assert np.array_equal(ring.y, real) and np.array_equal(filled.y, padded)
        assert ring.marker.symbol == "circle-open" and filled.marker.symbol == "diamond"
        joined = line.y.reshape(-1, 3)
        assert np.array_equal(joined[:, 0], real) and np.array_equal(joined[:, 1], padded)
        assert np.isnan(joined[:, 2]).all() and line.x.reshape(-1, 3)[:, 0].tolist() == list(range(len(real)))
        assert {one.yaxis for one in (line, ring, filled)} == {("y", "y2")[panel]}
    assert [trace.name for trace in fig.data if trace.showlegend] == ["without padding", "with padding"]
    assert "0.328" in fig.layout.meta["caption"] and "by 0 under LayerNorm" in fig.layout.meta["caption"]
    assert fig.layout.meta["facts"] == "Texts: 2; real tokens: 5; share of padding: 38%."
    assert fig.layout.xaxis.title.text == "feature" and fig.layout.xaxis2.title.text == "real token, text by text"
