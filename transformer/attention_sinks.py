"""Attention sinks: keys on which heads rest.

Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks".

Softmax must put its weight somewhere. A head that finds nothing to fetch puts it on one key, mostly the first token or
a separator, whose value vector the model has made short: much weight there adds little. It is a resting place, and
says nothing about what that token means.

A key is called a sink of a layer where all of this holds, over the queries that may look elsewhere too:
its weight, averaged over the layer's heads, is over 0.3; that is over twice what even looking would give it; and its
value vectors are at most half as long as the median of the others'.
"""

from dataclasses import dataclass

import numpy as np

from transformer.head_maps import HeadSummary
from transformer.parts import Array
from transformer.trace import Trace

LEAST = 0.3  # of the weight, averaged over heads
OVER_EVEN = 2.0  # times what even looking gives: in a text of three tokens every key gets a third
SHORT = 0.5  # of the median length of the other keys' value vectors
NOTHING_LEFT = 1e-6  # a row that has no more beside the sink cannot be rescaled


@dataclass(frozen=True)
class RestingPlace:
    """A key that gets much of the weight."""

    key: int
    received: float  # mean over heads and over the rows that may look elsewhere
    even: float  # what even looking would give it
    heads: int  # of the layer, that give it more than 0.3 each
    length: float | None  # of its value vectors, mean over the heads; None where they are not known
    usual: float | None  # the median of the other keys'

    @property
    def short(self) -> bool | None:
        """Whether little is fetched here; None where value vectors are not known."""
        return None if self.length is None or self.usual is None else self.length <= SHORT * self.usual

    @property
    def is_sink(self) -> bool:
        """A family that keeps its value vectors to itself is judged by its weights alone."""
        return self.short is not False


def resting_places(trace: Trace, site: str, summary: HeadSummary) -> tuple[RestingPlace, ...]:
    """Keys that get over 0.3 of the layer's weight and over twice their even share, the most first; sinks are those
    with `is_sink`. Nothing where the mask is not known: then nobody knows which rows could look elsewhere."""
    received, even = summary.received.mean(0), summary.even.mean(0)
    lengths = value_lengths(trace, site)
    wanted = np.flatnonzero((received > LEAST) & (received > OVER_EVEN * even))  # False where NaN
    return tuple(
        RestingPlace(
            key=int(key),
            received=float(received[key]),
            even=float(even[key]),
            heads=int((summary.received[:, key] > LEAST).sum()),
            length=None if lengths is None else float(lengths[key]),
            usual=None if lengths is None else _usual(trace, site, lengths, int(key)),
        )
        for key in sorted(wanted.tolist(), key=lambda one: -received[one])
    )


def sinks(trace: Trace, site: str, summary: HeadSummary) -> tuple[RestingPlace, ...]:
    """Those of `resting_places` where little is fetched."""
    return tuple(one for one in resting_places(trace, site, summary) if one.is_sink)


def value_lengths(trace: Trace, site: str) -> Array | None:
    """(key,) length of each key's value vector, mean over the key-value heads; None where they are not known."""
    if f"{site}.v" not in trace.arrays:
        return None
    return np.asarray(np.linalg.norm(trace[f"{site}.v"].astype(np.float64), axis=-1).mean(0))


def _usual(trace: Trace, site: str, lengths: Array, key: int) -> float | None:
    padding = trace.encoding(site, "key").padding
    others = [length for place, length in enumerate(lengths.tolist()) if place != key and not padding[place]]
    return float(np.median(others)) if others else None


def without_keys(weights: Array, keys: tuple[int, ...]) -> Array:
    """`weights` (…, query, key) with some keys' columns 0 and every row rescaled to sum to 1 again.

    Not the model's weights. A row that had everything on these keys cannot be rescaled and is NaN.
    """
    left = np.array(weights, dtype=np.float64)
    left[..., list(keys)] = 0.0
    sums = left.sum(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sums > NOTHING_LEFT, left / sums, np.nan).astype(np.float32)
