"""The neurons of a feed-forward part: what enters each, what its activation makes of it, what it adds to the output.

    pre = gate · x + b     value = up · x + b     hidden = act(pre) ⊙ value     output = Σ hidden_i · down_i + b
    (without a gate: pre = up · x + b and hidden = act(pre); Vaswani et al. 2017, 3.3; gated: Shazeer 2020)

All of it is computed from the part's weights and the recorded input, for one token or one neuron at a time.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from transformer.errors import NoSuchSite, TraceError, WeightsChanged
from transformer.kept_by_trace import KeptByTrace
from transformer.parts import ACTIVATIONS, Array, FeedForwardPart, LinearPart
from transformer.replay import Seal, seal
from transformer.trace import NOT_SAVED, Trace

By = Literal["hidden", "output"]  # |hidden|, or the length of the vector that a neuron adds to the output


class UnknownNeurons(TraceError):
    """The formula of a feed-forward part is not known (experts), or what enters it was not recorded."""


def feed_forwards(trace: Trace, block: str) -> tuple[str, ...]:
    """The feed-forward parts of a block ("decoder.3"), "decoder.3.ffn", in the order of the run; also those whose
    formula is not known."""
    known = [
        *trace.parts,
        *trace.lacks,
        *(site.removesuffix(".input") for site in trace.sites if site.endswith(".input")),
    ]
    mine = [name for name in dict.fromkeys(known) if name.rpartition(".")[0] == block]
    return tuple(name for name in mine if name.rpartition(".")[2].rstrip("0123456789") == "ffn")


@dataclass(frozen=True, eq=False)
class Neurons:
    """The neurons of one feed-forward part in one run. `x` (position, d_model) is what entered it."""

    trace: Trace
    place: str  # "decoder.3.ffn"
    part: FeedForwardPart
    x: Array

    @classmethod
    def of(cls, trace: Trace, place: str) -> "Neurons":
        """Raises UnknownNeurons where the part is not known, NoSuchSite for a place that is none, WeightsChanged."""
        part = trace.parts.get(place)
        if trace.lacks.get(place) == NOT_SAVED:
            raise trace.missing(place)
        if not isinstance(part, FeedForwardPart) or f"{place}.input" not in trace.sites:
            if part is None and place not in trace.lacks and f"{place}.input" not in trace.sites:
                raise NoSuchSite(site=place, sites=", ".join(trace.parts))
            raise UnknownNeurons(site=place)
        if trace.weights_changed():
            raise WeightsChanged(site=place, model=trace.model)
        return cls(trace, place, part, trace[f"{place}.input"])

    @property
    def count(self) -> int:
        """d_ff."""
        return len(self.part.up.weight)

    @property
    def entering(self) -> LinearPart:
        """What leads into the activation: the gate, or `up` where there is none."""
        return self.part.up if self.part.gate is None else self.part.gate

    # --- one token, all neurons --------------------------------------------------------------------------------------

    def pre_activation(self, position: int) -> Array:
        """(d_ff,): what enters the activation."""
        return self.entering(self.x[position])

    def value(self, position: int) -> Array | None:
        """(d_ff,): what the activated gate is multiplied by; None without a gate."""
        return None if self.part.gate is None else self.part.up(self.x[position])

    def row(self, neuron: int) -> tuple[Array, float | None]:
        """(d_model,) weights and the bias that make the pre-activation of one neuron."""
        return _row(self.entering, neuron)

    def value_row(self, neuron: int) -> tuple[Array, float | None]:
        """The same for the value that a gate is multiplied by; without a gate there is none, and this is `row`."""
        return _row(self.part.up, neuron)

    def activated(self, pre: Array) -> Array:
        """act(pre), element by element."""
        found: Array = ACTIVATIONS[self.part.activation](np.asarray(pre, np.float64))
        return found

    def hidden(self, position: int) -> Array:
        """(d_ff,): what goes into `down`."""
        found: Array = self.part.hidden(self.x[position])
        return found

    @cached_property
    def reach(self) -> Array:
        """(d_ff,): ‖down_i‖, the length of what a neuron adds to the output where it is 1."""
        weight = self.part.down.weight
        found: Array = np.sqrt(np.einsum("di,di->i", weight, weight, dtype=np.float64))
        return found

    def strength(self, position: int, by: By = "hidden") -> Array:
        """(d_ff,), signed: hidden, or hidden · ‖down_i‖."""
        hidden = self.hidden(position)
        return hidden if by == "hidden" else hidden * self.reach

    def strongest(self, position: int, count: int = 20, by: By = "hidden") -> Array:
        """(count,) int64: the neurons with the largest |strength|, largest first; of equals the first."""
        order: Array = np.argsort(-np.abs(self.strength(position, by)), kind="stable")[:count]
        return order

    # --- one or some neurons, all tokens -----------------------------------------------------------------------------

    def over_tokens(self, neurons: Array | list[int], by: By = "hidden") -> Array:
        """(position, neuron): the strength of some neurons at every token."""
        picked = np.asarray(neurons, np.int64)
        pre = _rows(self.entering, picked)(self.x)
        hidden = self.activated(pre)
        if self.part.gate is not None:
            hidden = hidden * _rows(self.part.up, picked)(self.x)
        return hidden if by == "hidden" else hidden * self.reach[picked]

    def strongest_anywhere(self, rows: slice, count: int = 20, by: By = "hidden") -> Array:
        """(count,) int64: the neurons with the largest |strength| at any token of `rows`, largest first."""
        hidden = np.abs(self.part.hidden(self.x[rows]))
        top = hidden.max(0) if by == "hidden" else hidden.max(0) * self.reach
        order: Array = np.argsort(-top, kind="stable")[:count]
        return order


def _row(linear: LinearPart, neuron: int) -> tuple[Array, float | None]:
    return linear.weight[neuron], None if linear.bias is None else float(linear.bias[neuron])


def _rows(linear: LinearPart, neurons: Array) -> LinearPart:
    return LinearPart(linear.weight[neurons], None if linear.bias is None else linear.bias[neurons])


def activation_curve(activation: str, low: float, high: float, count: int = 161) -> tuple[Array, Array]:
    """(x, y) of an activation from `low` to `high`, a bend at 0 included. The names are those of `ACTIVATIONS`."""
    x = np.unique(np.append(np.linspace(low, high, count), 0.0 if low < 0 < high else low))
    return x, ACTIVATIONS[activation](x)


_SEALS = KeptByTrace[str, Seal](8)


def sealed(trace: Trace, place: str) -> Seal:
    """The whole part for all tokens, recomputed: once per run, not with every neuron that is looked at."""
    return _SEALS.get_or_make(trace, place, lambda: seal(trace, place))
