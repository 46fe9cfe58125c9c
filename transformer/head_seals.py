"""The seal of numbers that are made of several heads' maps: computed once more in NumPy, in float64, head by head.

What is shown was made in torch, in float32, many heads at a time (`overview.py`); the second road is `Trace.weights`.
"""

from collections.abc import Sequence

import numpy as np

from transformer.head_maps import HeadSummary, layers_below, mixed
from transformer.parts import Array
from transformer.replay import Seal, compare, seal_attention
from transformer.trace import Trace


def seal_mean(trace: Trace, site: str, drawn: Array) -> Seal:
    """Of `head_maps.mean_map`."""
    return compare(f"{site}.mean", _mean(trace, site), drawn)


def seal_largest(trace: Trace, site: str, drawn: Array) -> Seal:
    """Of `head_maps.largest_map`."""
    return compare(f"{site}.max", np.max([trace.weights(site, head) for head in _heads(trace, site)], axis=0), drawn)


def seal_rollout(trace: Trace, site: str, drawn: Array) -> Seal:
    """Of `head_maps.rollout`, its last row: pushed down through the layers, instead of multiplying whole maps up."""
    row = np.eye(len(drawn))[-1:]
    for below in reversed(layers_below(trace, site)):
        row = row @ mixed(_mean(trace, below))
    return compare(f"{site}.rollout", row, drawn[-1:])


def seal_summary(trace: Trace, site: str, head: int, summary: HeadSummary) -> Seal:
    """Of `head_maps.summary`, one head: its entropy, and the weight that each key gets."""
    weights, allowed = trace.weights(site, head).astype(np.float64), trace.allowed(site, head)
    counted = (allowed.sum(-1) > 1) & ~np.array(trace.encoding(site).padding)
    if not counted.any():
        return Seal(f"{site}.summary", 0.0, 0)
    weights, shares = weights[counted], weights[counted] / weights[counted].sum(-1, keepdims=True)
    nats = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(-1).mean()
    recomputed = np.array([nats, *weights.mean(0)])
    return compare(f"{site}.summary", recomputed, np.array([summary.nats[head], *summary.received[head]]))


def _mean(trace: Trace, site: str) -> Array:
    return np.asarray(np.mean([trace.weights(site, head) for head in _heads(trace, site)], axis=0, dtype=np.float64))


def _heads(trace: Trace, site: str) -> range:
    return range(trace.attention[site].heads)


def seal_heads(trace: Trace, site: str, heads: Sequence[int]) -> Seal:
    """Of some heads' weights: the worst of their seals."""
    found = [seal_attention(trace, site, head) for head in heads]
    worst = max(found, key=lambda one: (not one.holds, one.difference))
    return Seal(worst.site, worst.difference, sum(one.compared for one in found))
