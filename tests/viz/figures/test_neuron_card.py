"""One neuron in numbers: every sum is whole, and the copied code gives the same number."""

import io
import re
from contextlib import redirect_stdout
from html import unescape

import numpy as np
import pytest

from transformer.parts import ACTIVATIONS
from viz.figures import neuron_arithmetic, neuron_as_numpy
from viz.figures.activations import NAMES
from viz.figures.neuron_card import Row

RNG = np.random.default_rng(11)
X, W, V = (RNG.normal(size=29).astype(np.float32) for _ in range(3))


def plain(html: str) -> str:
    return unescape(re.sub("<[^>]*>", "", html.replace("</div><div>", "\n")))


def test_plain_by_hand() -> None:
    x, row = np.array([2, -1, 0.5], np.float32), Row(np.array([1, 3, -2], np.float32), 0.25)
    said = plain(neuron_arithmetic(x, row, activation="relu", activated=0.0, hidden=0.0, reach=2.5, neuron=7))
    lines = said.split("\n")
    assert lines[0] == "z7 = Σ of 3 products + b 0.250 = −1.750"
    assert lines[1] == "−1.00 · 3.00 = −3.00 (d1) · 2.00 · 1.00 = 2.00 (d0) · 0.50 · −2.00 = −1.00 (d2)"
    assert lines[2] == "ReLU(z) = max(0, z)" and lines[3] == "h7 = ReLU(−1.750) = 0.000"
    assert lines[4] == "It adds a vector of length |h| · ‖w‖: |0.000| · 2.500 = 0.000"


def test_gated_by_hand_with_the_rest_of_the_sum() -> None:
    x = np.array([1, 1, 1, 1, 1, 0.5], np.float32)
    gate, value = Row(np.array([4, 3, -2, 1, 0.5, -0.5], np.float32)), Row(np.full(6, 2, np.float32), 1.0)
    said = plain(
        neuron_arithmetic(
            x, gate, activation="identity", activated=6.25, hidden=75.0, reach=0.5, value=value, neuron=3, language="en"
        )
    )
    assert "z3 = Σ of 6 products = 6.250" in said and "the other 2 together 0.250" in said
    assert "v3 = Σ of 6 products + b 1.000 = 12.000" in said
    assert "h3 = z(z) · v = 6.250 · 12.000 = 75.000" in said and "|75.000| · 0.500 = 37.500" in said
    assert "do not agree" not in said
    wrong = neuron_arithmetic(x, gate, activation="identity", activated=6.25, hidden=74.0, reach=0.5, value=value)
    assert "do not agree" in wrong and "stt-bad" in wrong


@pytest.mark.parametrize("activation", NAMES)
@pytest.mark.parametrize("gated", [False, True])
def test_the_code_gives_the_same_number(activation: str, gated: bool) -> None:
    entering, value = Row(W, 0.1), Row(V) if gated else None
    said = io.StringIO()
    with redirect_stdout(said):
        exec(neuron_as_numpy(X, entering, activation=activation, value=value, neuron=5), {})
    expected = float(ACTIVATIONS[activation](np.array([entering.of(X)]))[0]) * (1 if value is None else value.of(X))
    assert float(said.getvalue()) == pytest.approx(expected, abs=1e-9)
    code = neuron_as_numpy(X, entering, activation=activation, value=value)
    assert len(code) < (3 if gated else 2) * 29 * 16 + 400 and ("import math" in code) == (activation == "gelu")


def test_chinese_and_no_markup_of_its_own() -> None:
    html = neuron_arithmetic(X, Row(W), activation="gelu", activated=1.0, hidden=1.0, reach=1.0, language="zh")
    assert html.startswith('<div class="stt-arithmetic">') and "{" not in html
