"""From q and k to attention weights, in NumPy, for one head: the formula a second time (see `attention.py`).

weights = softmax(softcap(q · kᵀ · scale) + bias, −∞ where looking is forbidden)
"""

from dataclasses import dataclass

import numpy as np

from transformer.parts import Array


@dataclass(frozen=True, eq=False)
class Attention:
    """How one attention computed: what is needed beside q, k and v to get its weights."""

    scale: float
    heads: int
    kv_heads: int
    causal: bool = False  # the kernel was told "causal"; then `allowed` is the lower triangle
    allowed: Array | None = None  # (query, key) or (head, query, key) bool; None: nothing was masked
    bias: Array | None = None  # (head or 1, query, key)
    softcap: float | None = None
    sinks: Array | None = None  # (head,): one more logit in the softmax's denominator
    weights: Array | None = None  # (head, query, key): only for families that give nothing but their weights

    def kv_head(self, head: int) -> int:
        """The key-value head that a head looks at; neighbouring heads share one."""
        return head * self.kv_heads // self.heads

    def may_look(self, head: int, rows: slice, n_query: int, n_key: int) -> Array:
        """(query, key) bool of some rows, True = may look."""
        if self.allowed is not None:
            return (self.allowed if self.allowed.ndim == 2 else self.allowed[head])[rows]
        if self.causal:
            return np.arange(n_key)[None, :] <= np.arange(n_query)[rows, None]
        return np.ones((n_query, n_key), dtype=bool)[rows]

    def hides_the_future(self, head: int) -> bool:
        """Whether the mask is the causal one and nothing else: query t may look at keys 0…t."""
        if self.allowed is None:
            return self.causal
        allowed = self.allowed if self.allowed.ndim == 2 else self.allowed[head]
        return bool((allowed == np.tri(*allowed.shape).astype(bool)).all())

    def scores(self, q: Array, k: Array) -> Array:
        """(query, key): scaled, and soft-capped where the model does so; before bias and mask."""
        scores = q.astype(np.float64) @ k.astype(np.float64).T * self.scale
        return scores if self.softcap is None else self.softcap * np.tanh(scores / self.softcap)

    def masked(self, scores: Array, may_look: Array, head: int, rows: slice) -> Array:
        """Scores with bias, and −∞ where looking is forbidden."""
        if self.bias is not None:
            scores = scores + self.bias[head if len(self.bias) > 1 else 0, rows]
        return np.where(may_look, scores, -np.inf)

    def softmax(self, masked: Array, head: int) -> Array:
        return softmax(masked, None if self.sinks is None else float(self.sinks[head]))


def softmax(masked: Array, sink: float | None = None) -> Array:
    """Row-wise softmax of scores that hold −∞ where looking is forbidden; `sink` is one more logit in the denominator.

    A row without any allowed key becomes even weights, as in the pass itself (see `attention.attend`), or leaves all to
    the sink.
    """
    if sink is None:
        masked = np.where(np.isneginf(masked).all(-1, keepdims=True), 0.0, masked)
    top = masked.max(-1, keepdims=True)
    top = top if sink is None else np.maximum(top, sink)
    exp = np.exp(masked - top)
    total: Array = exp / (exp.sum(-1, keepdims=True) + (0.0 if sink is None else np.exp(sink - top)))
    return total
