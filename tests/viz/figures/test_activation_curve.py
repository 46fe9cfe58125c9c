"""Neurons as dots: on the curve of the activation, and gate against value; what is drawn is what was given."""

import numpy as np
import plotly.graph_objects as go
import pytest

from transformer.neurons import activation_curve as curve_of
from transformer.parts import ACTIVATIONS
from viz.figures import activation_curve, gate_map, theme
from viz.figures.activations import FORMULAS, NAMES, NUMPY
from viz.figures.neuron_dots import MOST_DOTS, drawn_dots

RNG = np.random.default_rng(7)
PRE = RNG.normal(size=31) * 2


def test_every_activation_has_a_name_a_formula_and_code() -> None:
    import math

    assert NAMES.keys() == FORMULAS.keys() == NUMPY.keys() == ACTIVATIONS.keys()
    for name, formula in ACTIVATIONS.items():
        for z in (-2.7, -0.3, 0.0, 0.4, 3.1):
            said = eval(NUMPY[name], {"np": np, "math": math, "z": z})
            assert said == pytest.approx(float(formula(np.array([z]))[0]), abs=1e-12), name
    assert len(set(NAMES.values())) == len(NAMES)


def test_dots_lie_where_the_numbers_say() -> None:
    before, act = PRE.copy(), ACTIVATIONS["silu"](PRE)
    curve = curve_of("silu", float(PRE.min()), float(PRE.max()))
    figure = activation_curve(curve, PRE, act, activation="silu", chosen=5)
    line, dots, counts, ring = figure.data
    assert np.array_equal(line.x, curve[0].astype(np.float32)) and np.array_equal(line.y, curve[1].astype(np.float32))
    assert np.array_equal(dots.x, PRE.astype(np.float32)) and np.array_equal(dots.y, act.astype(np.float32))
    assert dots.customdata.tolist() == list(range(31)) and dots.customdata.dtype == np.uint16
    assert (ring.x[0], ring.y[0], ring.customdata[0]) == (np.float32(PRE[5]), np.float32(act[5]), 5)
    assert counts.y.sum() == 31 and len(counts.y) == 41
    low, high = counts.customdata[:, 0], counts.customdata[:, 1]
    inside = [(a - 1e-6 <= PRE) & (b - 1e-6 > PRE) for a, b in zip(low, high, strict=True)]
    assert counts.y[:-1].tolist() == [int(one.sum()) for one in inside[:-1]]
    assert figure.layout.xaxis.range[0] < PRE.min() and figure.layout.xaxis.range[1] > PRE.max()
    assert figure.layout.meta["caption"].endswith(f"{(act > 0).sum()} of 31.") and np.array_equal(PRE, before)
    assert figure.layout.annotations[0].text == "SiLU(z)" and not figure.layout.yaxis.title.text
    go.Figure(figure.to_dict())
    theme.to_dark(figure)


def test_of_very_many_neurons_the_largest_are_drawn_and_the_note_says_so() -> None:
    many = RNG.normal(size=MOST_DOTS + 904)
    act = ACTIVATIONS["gelu"](many)
    figure = activation_curve(curve_of("gelu", -4, 4), many, act, activation="gelu", chosen=0, language="zh")
    dots = figure.data[1]
    kept = set(np.argsort(-np.abs(act.astype(np.float32)), kind="stable")[:MOST_DOTS].tolist())
    assert set(dots.customdata.tolist()) == kept and len(dots.x) == MOST_DOTS
    assert "4,096" in figure.layout.meta["caption"] and "5,000" in figure.layout.meta["caption"]
    assert figure.data[2].y.sum() == 5000, "all are counted"
    assert len(figure.to_json()) < 150_000
    assert drawn_dots(np.array([1, -3, 2])).tolist() == [0, 1, 2]


def test_gate_times_value_colours_the_dot() -> None:
    gate, value = np.array([0.5, -0.2, 2, 1]), np.array([2, 3, -1.5, 0])
    figure = gate_map(gate, value, activation="silu", chosen=2)
    dots, line, ring = figure.data
    assert np.array_equal(dots.x, gate.astype(np.float32)) and np.array_equal(dots.y, value.astype(np.float32))
    np.testing.assert_allclose(dots.marker.color, [1, -0.6, -3, 0], rtol=1e-6)
    assert (dots.marker.cmin, dots.marker.cmax) == (-3, 3)
    assert (ring.x[0], ring.y[0]) == (2, -1.5)
    np.testing.assert_allclose(line.x * line.y, -3, rtol=1e-5)
    assert line.y.min() >= -1.5 and (line.x > 0).all() and line.x.max() == 2
    assert "± 3" in figure.layout.meta["caption"] and figure.layout.xaxis.title.text == "SiLU(gate)"
    go.Figure(figure.to_dict())


def test_a_chosen_neuron_that_gives_nothing_has_no_hyperbola() -> None:
    gate, value = np.array([0.0, 1.0, 2.0]), np.array([4.0, 0.0, -3.0])
    for chosen in (0, 1):
        dots, ring = gate_map(gate, value, activation="relu", chosen=chosen).data
        assert len(dots.x) == 3 and (ring.x[0], ring.y[0]) == (gate[chosen], value[chosen])
    assert len(gate_map(gate, value, activation="relu").data) == 1


@pytest.mark.parametrize(("x", "y"), [(np.ones(3), np.ones(4)), (np.ones((2, 2)), np.ones((2, 2))), ([], [])])
def test_shapes_that_do_not_fit_are_refused(x: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        activation_curve((np.zeros(2), np.zeros(2)), x, y, activation="relu")
    with pytest.raises(ValueError, match="do not fit"):
        gate_map(x, y, activation="relu")
