"""One neuron at one token: the formula with its numbers in it, and the same as NumPy code."""

from dataclasses import dataclass
from html import escape

import numpy as np

from transformer.messages import message
from viz.figures.activations import FORMULAS, NAMES, NUMPY
from viz.figures.arithmetic import AGREES, number

LARGEST = 4  # terms of a sum that are written out


@dataclass(frozen=True)
class Row:
    """One row of a matrix with its bias: the number that it makes of x is weight · x + bias."""

    weight: np.ndarray  # (d_model,)
    bias: float | None = None

    def of(self, x: np.ndarray) -> float:
        total = float(x.astype(np.float64) @ self.weight.astype(np.float64))
        return total if self.bias is None else total + self.bias


def neuron_arithmetic(
    x: np.ndarray,
    entering: Row,
    *,
    activation: str,
    activated: float,
    hidden: float,
    reach: float,
    value: Row | None = None,
    neuron: int = 0,
    language: str = "en",
) -> str:
    """HTML: from the vector `x` (d_model,) that enters the part to the hidden number of one neuron, and what it adds.

    `entering` leads into the activation (of a gated part: the row of its gate), which makes `activated` of it; `value`
    is what that is multiplied by (None: no gate). `hidden` is the number to arrive at, `reach` the length of the
    neuron's column of the last matrix.
    """
    pre = entering.of(x)
    name, act = NAMES[activation], number(activated)
    lines = [*_sum("z", neuron, x, entering, language), f"{name}(z) = {FORMULAS[activation]}"]
    result = activated
    if value is None:
        lines.append(f"h<sub>{neuron}</sub> = {name}({number(pre)}) = <b class='stt-result'>{act}</b>")
    else:
        lines += [f"{name}({number(pre)}) = <b>{act}</b>", *_sum("v", neuron, x, value, language)]
        result = activated * value.of(x)
        product = f"{act} · {number(value.of(x))} = <b class='stt-result'>{number(result)}</b>"
        lines.append(f"h<sub>{neuron}</sub> = {name}(z) · v = {product}")
    if abs(result - hidden) > AGREES * max(1.0, abs(hidden)):
        differs = message("figure.arithmetic.differs", language, recomputed=number(result), recorded=number(hidden))
        lines.append(f'<span class="stt-bad">{escape(differs)}</span>')
    adds = message("figure.neurons.card.adds", language)
    length = f"|{number(hidden)}| · {number(reach)} = <b>{number(abs(hidden) * reach)}</b>"
    lines.append(f'<span class="stt-residual">{escape(adds)}</span> {length}')
    return f'<div class="stt-arithmetic">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _sum(letter: str, neuron: int, x: np.ndarray, row: Row, language: str) -> list[str]:
    """ "z_7 = Σ of 28 products + b", the largest of them, and the rest."""
    products = x.astype(np.float64) * row.weight.astype(np.float64)
    order = np.argsort(-np.abs(products), kind="stable")[:LARGEST]
    terms = [
        f'<span class="stt-term">{number(float(x[one]), 2)} · {number(float(row.weight[one]), 2)}'
        f" = {number(float(products[one]), 2)} (d{one})</span>"
        for one in order.tolist()
    ]
    rest = float(products.sum() - products[order].sum())
    said = message("figure.neurons.card.rest", language, count=len(products) - len(order), sum=number(rest))
    bias = "" if row.bias is None else f" + b {number(row.bias)}"
    count = escape(message("figure.arithmetic.products", language, count=len(products)))
    more = f" · {escape(said)}" if len(products) > len(order) else ""
    return [
        f"{letter}<sub>{neuron}</sub> = {count}{bias} = <b>{number(row.of(x))}</b>",
        f'<span class="stt-muted">{" · ".join(terms)}{more}</span>',
    ]


def neuron_as_numpy(x: np.ndarray, entering: Row, *, activation: str, value: Row | None = None, neuron: int = 0) -> str:
    """Runnable code that prints the hidden number of one neuron at one token."""
    lines = ["import math\n"] if "math." in NUMPY[activation] else []
    lines += ["import numpy as np", "", f"x = np.array({_numbers(x)})"]
    lines += [f"w = np.array({_numbers(entering.weight)})  # neuron {neuron}", f"z = w @ x{_bias(entering)}"]
    lines.append(f"hidden = {NUMPY[activation]}  # {NAMES[activation]}")
    if value is not None:
        lines += [f"v = np.array({_numbers(value.weight)})", f"hidden = hidden * (v @ x{_bias(value)})"]
    return "\n".join([*lines, "print(hidden)"]) + "\n"


def _bias(row: Row) -> str:
    return "" if row.bias is None else f" + {row.bias!r}"


def _numbers(values: np.ndarray) -> str:
    """float32 numbers in the fewest digits that keep each exact, to be worked with in float64."""
    listed = ", ".join(str(value) for value in np.asarray(values, np.float32))
    return f"[{listed}], np.float32).astype(float"
