"""A row step by step: each step on its own scale, forbidden keys hatched, numbers legible, the sink told."""

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import score_steps, score_table
from viz.figures.narrow import compact

NAMES = ["dot", "scaled", "biased", "masked", "weights"]
KEYS = ["the", "·cat", "↵", "the", "<b>", "?", "·end"]
ALLOWED = np.array([True] * 5 + [False] * 2)


def stages() -> list[np.ndarray]:
    dot = np.array([12.0, -3.5, 0.001, 7.0, -150.0, 2.0, 3.0])
    scaled = dot / 7
    biased = scaled + np.arange(7) / 3
    masked = np.where(ALLOWED, biased, -np.inf)
    parts = np.exp(masked - masked.max())
    return [dot, scaled, biased, masked, parts / parts.sum()]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_step_is_a_column_on_its_own_scale(language: str) -> None:
    fig = score_table(stages(), NAMES, KEYS, selected=(1, 3), language=language)
    columns = [trace for trace in fig.data if trace.type == "heatmap"]
    assert [trace.x0 for trace in columns] == [0, 1, 2, 3, 4]
    for trace, values in zip(columns, stages(), strict=True):
        finite = np.isfinite(values)
        np.testing.assert_allclose(trace.z[finite, 0], values[finite], rtol=1e-6)
        assert np.isnan(trace.z[~finite, 0]).all()
    assert columns[0].zmax == 150 == -columns[0].zmin
    assert (columns[4].zmin, columns[4].zmax) == (0, 1)
    assert fig.layout.meta["select"]["at"] == [3, 1] and fig.layout.meta["select"]["count"] == [5, 7]
    go.Figure(fig.to_dict())


def test_forbidden_keys_are_hatched_once_masked() -> None:
    fig = score_table(stages(), NAMES, KEYS)
    (hatch,) = (trace for trace in fig.data if trace.type == "scatter" and trace.fill == "toself")
    assert np.nanmin(hatch.x) > 2.5 and np.nanmax(hatch.x) < 3.5  # the column "masked" only
    assert np.nanmin(hatch.y) == 4.5 and np.nanmax(hatch.y) == 6.5
    texts = next(trace for trace in fig.data if trace.type == "scatter" and trace.mode == "text")
    said = dict(zip(zip(texts.x.tolist(), texts.y.tolist(), strict=True), texts.text, strict=True))
    assert said[3, 5] == "−∞" and said[0, 4] == "−150" and said[0, 2] == "1e−3" and said[4, 5] == "0.00"


def test_window_and_sink_are_told() -> None:
    fig = score_table(stages(), NAMES, KEYS, selected=(5, 0), rows=slice(3, 7), sink=0.27)
    assert fig.layout.yaxis.tickvals == (3, 4, 5, 6) and fig.layout.meta["select"]["at"] == [0, 2]
    assert "27.0 %" in fig.layout.meta["caption"] and "3" in fig.layout.meta["caption"]
    assert "27.0 %" not in score_table(stages(), NAMES, KEYS).layout.meta["caption"]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(5, 7\)"):
        score_table(stages(), NAMES[:4], KEYS)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.00"),
        (-0.456, "−0.46"),
        (9.999, "10.0"),
        (23.82, "23.8"),
        (-151.2, "−151"),
        (2.3e-13, "2e−13"),
        (-0.003, "−3e−3"),
        (3e6, "3e6"),
        (-2e12, "−2e12"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert compact(value) == text


def test_steps_of_one_key_hold_its_numbers() -> None:
    page = score_steps(stages(), NAMES, 1, scale=1 / 7, d_head=49, bias=1 / 3, chosen="biased")
    assert "÷ √49 = <b>−0.500</b>" in page and "−0.500 + 0.333 = <b>−0.167</b>" in page
    assert page.count('class="stt-now"') == 2 and "−0.167 + 0" in page
    weight = stages()[4][1]
    assert f"= <b>{weight:.3f}</b>" in page
    hidden = score_steps(stages(), NAMES, 6, scale=0.3, d_head=49, bias=-2.0)
    assert "× 0.3" in hidden and "− 2.000" in hidden and "= <b>−∞</b>" in hidden and "exp(−∞)" in hidden


def test_steps_with_softcap_sink_and_nothing_to_look_at() -> None:
    names = ["dot", "scaled", "capped", "masked", "weights"]
    row = [np.array([4.0]), np.array([4.0]), 5 * np.tanh([0.8]), 5 * np.tanh([0.8]), np.array([0.5])]
    page = score_steps(row, names, 0, scale=1.0, d_head=3, softcap=5.0, sink=float(5 * np.tanh(0.8)))
    assert "5 · tanh(4.000 ÷ 5)" in page and "1.000 ÷ 2.000 = <b>0.500</b>" in page
    nothing = [np.zeros(2), np.zeros(2), np.full(2, -np.inf), np.full(2, 0.5)]
    assert "1 ÷ 2" in score_steps(nothing, ["dot", "scaled", "masked", "weights"], 0, scale=1.0, d_head=3)
