"""The parts of a block written a second time, in NumPy: what the seal recomputes with and what is computed on demand.

Each part holds read-only views of the model's own weights (nothing is copied) and works in float64, so that what
differs from the recording is the rounding of the pass itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from transformer.rotation import Pairing

Array = np.ndarray


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x) if x.size else x


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _sigmoid(x: Array) -> Array:
    return 0.5 * (1 + np.tanh(0.5 * x))  # the same function, and it cannot overflow


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": _gelu,  # Hendrycks & Gimpel 2016
    "gelu_tanh": _gelu_tanh,  # its tanh approximation, GPT-2's
    "silu": lambda x: x * _sigmoid(x),
    "quick_gelu": lambda x: x * _sigmoid(1.702 * x),
    "relu_squared": lambda x: np.maximum(x, 0) ** 2,
    "tanh": np.tanh,
    "identity": lambda x: x,
}


@dataclass(frozen=True, eq=False)
class LinearPart:
    """x · Wᵀ + b."""

    weight: Array  # (out, in)
    bias: Array | None

    def __call__(self, x: Array) -> Array:
        # A vocabulary-sized matrix is not copied to float64: that would cost more memory than the recording.
        precise = np.float64 if self.weight.size <= 4_000_000 else np.float32
        out = x.astype(precise) @ self.weight.T.astype(precise, copy=False)
        return out if self.bias is None else out + self.bias


@dataclass(frozen=True, eq=False)
class ProjectionPart:
    """factor · (W · x + b), cut into heads: queries, keys or values before any rotation (Vaswani et al. 2017, 3.2)."""

    linear: LinearPart  # may hold more than these heads, where a family keeps queries, keys and values in one matrix
    rows: Array  # (head, d_head) whole numbers: which row of `linear` gives each number
    factor: float = 1.0  # OPT divides its queries here and not in the attention
    pairing: Pairing | None = None  # the dimensions that are turned afterwards by position; None: nothing is

    def __call__(self, x: Array) -> Array:
        """(position, d_model) to (head, position, d_head)."""
        return np.asarray(self.factor * self.linear(x)[:, self.rows].transpose(1, 0, 2))

    def row(self, head: int, dimension: int) -> tuple[Array, float]:
        """(d_model,) the row of W, and the number of b, that give one number of one head, both times the factor."""
        row = int(self.rows[head, dimension])
        bias = 0.0 if self.linear.bias is None else float(self.linear.bias[row])
        return self.factor * self.linear.weight[row].astype(np.float64), self.factor * bias


@dataclass(frozen=True, eq=False)
class NormPart:
    """LayerNorm (x − μ)/√(σ² + ε)·γ + β (Ba et al. 2016) or RMSNorm x/√(mean x² + ε)·γ (Zhang & Sennrich 2019)."""

    kind: str  # "layernorm" | "rmsnorm"
    weight: Array | None  # (d_model,) γ, already 1 + w where a family stores γ − 1
    bias: Array | None
    eps: float

    def mean(self, x: Array) -> Array:
        """(position,): μ, the mean that is taken away; RMSNorm takes none away, so 0."""
        return x.mean(-1, dtype=np.float64) if self.kind == "layernorm" else np.zeros(x.shape[:-1])

    def std(self, x: Array) -> Array:
        """(position,): what is divided by, √(variance + ε) with the biased variance, or the root mean square."""
        centred = x.astype(np.float64) - self.mean(x)[..., None]
        return np.sqrt((centred**2).mean(-1) + self.eps)

    def normalized(self, x: Array) -> Array:
        return (x.astype(np.float64) - self.mean(x)[..., None]) / self.std(x)[..., None]

    def __call__(self, x: Array) -> Array:
        out = self.normalized(x)
        out = out if self.weight is None else out * self.weight
        return out if self.bias is None else out + self.bias


@dataclass(frozen=True, eq=False)
class FeedForwardPart:
    """down(act(up x)), or with a gate down(act(gate x) ⊙ up x) (Shazeer 2020)."""

    up: LinearPart
    down: LinearPart
    activation: str  # a name of ACTIVATIONS
    gate: LinearPart | None = None

    def hidden(self, x: Array) -> Array:
        """(position, d_ff): what goes into `down`."""
        act = ACTIVATIONS[self.activation]
        return act(self.up(x)) if self.gate is None else act(self.gate(x)) * self.up(x)

    def __call__(self, x: Array) -> Array:
        return self.down(self.hidden(x))


@dataclass(frozen=True, eq=False)
class HeadPart:
    """From the last hidden state to logits: scale · (h · Wᵀ + b), squashed to ±softcap where a family does."""

    linear: LinearPart
    scale: float = 1.0
    softcap: float | None = None

    def __call__(self, hidden: Array, tokens: Array | None = None) -> Array:
        """(position, vocabulary), or only the columns of `tokens` (position, k)."""
        if tokens is None:
            return self.finish(self.linear(hidden))
        # Row by row: the columns of all positions together would be larger than the recording.
        weight = self.linear.weight
        out = np.stack([weight[ids].astype(np.float64) @ row for ids, row in zip(tokens, hidden, strict=True)])
        return self.finish(out if self.linear.bias is None else out + self.linear.bias[tokens])

    def finish(self, logits: Array) -> Array:
        logits = logits * self.scale
        return logits if self.softcap is None else self.softcap * np.tanh(logits / self.softcap)


@dataclass(frozen=True, eq=False)
class SummaryPart:
    """One vector for all positions: the first one's, or the mean over the real ones; BERT's pooler maps it on."""

    kind: str  # "first" | "mean"
    pooler: LinearPart | None = None  # followed by tanh (Devlin et al. 2019)

    def __call__(self, x: Array, real: Array | None = None) -> Array:
        """(position, d_model) to (1, d_model). `real` (position,) bool: False = padding."""
        rows = x if self.kind == "mean" and real is None else x[:1] if self.kind == "first" else x[real]
        summary = rows.mean(0, dtype=np.float64, keepdims=True)
        return summary if self.pooler is None else np.tanh(self.pooler(summary))


Part = LinearPart | ProjectionPart | NormPart | FeedForwardPart | HeadPart | SummaryPart
