"""A bias on the scores that depends on distance alone: ALiBi's straight lines, T5's table, read off a recorded run.

score(query, key) = q·k · scale + bias(head, distance)        distance = position of query − position of key
"""

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from transformer.parts import Array
from transformer.positions_of import countings, real_tokens
from transformer.replay import Seal, compare
from transformer.trace import Trace

CLOSE = 1e-5  # of the largest bias


@dataclass(frozen=True, eq=False)
class BiasByDistance:
    """What each head adds to the score of a key that lies so far back; negative distances lie ahead."""

    site: str
    distances: Array  # (distance,) whole numbers, those that were looked over in this run
    bias: Array  # (head, distance) float64
    slopes: Array | None  # (head,): −bias / |distance|, where every head's bias is a straight line (ALiBi)
    seal: Seal  # the bias by distance, or slope · distance, against every recorded cell

    def within(self, far: int) -> "BiasByDistance":
        """Only the distances that are at most `far`: of a long text, what fits a picture."""
        near = np.abs(self.distances) <= far
        return replace(self, distances=self.distances[near], bias=self.bias[:, near])

    @property
    def kind(self) -> str:
        """ "alibi" (Press et al. 2022) or "relative" (Raffel et al. 2020)."""
        return "relative" if self.slopes is None else "alibi"


_found: WeakKeyDictionary[Trace, dict[str, BiasByDistance | None]] = WeakKeyDictionary()


def bias_by_distance(trace: Trace, site: str) -> BiasByDistance | None:
    """The bias of an attention; None where there is none, or where it depends on more than distance.

    It is small, but every cell of every head must be looked at: it is kept as long as the run is.
    """
    known = _found.setdefault(trace, {})
    if site not in known:
        known[site] = _read(trace, site)
    return known[site]


def _read(trace: Trace, site: str) -> BiasByDistance | None:
    how = trace.attention[site]
    if how.bias is None or ".cross" in site:
        return None
    bias, real = np.asarray(trace[f"{site}.bias"], np.float64), real_tokens(trace, site.split(".")[0])
    if not has_bias(trace, site):
        return None
    allowed = np.stack([trace.allowed(site, head) for head in range(how.heads)]) if _per_head(how.allowed) else None
    seen = trace.allowed(site)[None] if allowed is None else allowed  # (1 or head, query, key)
    seen = np.broadcast_to(seen & real[:, None] & real[None, :], bias.shape)
    for positions in countings(trace, site.split(".")[0]):
        if (found := _of_distance(site, bias, seen, positions[:, None] - positions[None, :])) is not None:
            return found
    return None


def has_bias(trace: Trace, site: str) -> bool:
    """Whether anything is added to the scores; T5 hands its cross-attention zeros."""
    bias = trace.attention[site].bias
    return bias is not None and bool(np.any(bias))


def _per_head(allowed: Array | None) -> bool:
    return allowed is not None and allowed.ndim == 3


def _of_distance(site: str, bias: Array, seen: Array, distance: Array) -> BiasByDistance | None:
    """One number per head and distance, if that says all; `seen` (head, query, key) are the cells that count."""
    least, count = int(distance.min()), int(np.ptp(distance)) + 1
    place = (distance - least).ravel()
    sums, counts = (
        np.stack([np.bincount(place, weights=one.ravel(), minlength=count) for one in arrays])
        for arrays in (np.where(seen, bias, 0.0), seen.astype(np.float64))
    )
    known = counts.min(axis=0) > 0  # (distance,) looked over by every head
    means = sums / np.maximum(counts, 1)
    differs = np.where(seen, np.abs(means[:, place].reshape(bias.shape) - bias), 0.0)
    if not known.any() or differs.max() > CLOSE * max(1.0, float(np.abs(bias[seen]).max())):
        return None
    distances = (np.arange(count) + least)[known]
    slopes = _slopes(distances, means[:, known])
    line = means if slopes is None else -slopes[:, None] * np.abs(np.arange(count) + least)
    again = np.where(seen, line[:, place].reshape(bias.shape), 0.0)
    seal = compare(f"{site}.bias", again, np.where(seen, bias, 0.0))
    return BiasByDistance(site, distances, means[:, known], slopes, seal)


def _slopes(distances: Array, bias: Array) -> Array | None:
    """(head,) where bias = −slope · |distance| for every head; two distances beside 0 are needed to see a line."""
    far = np.abs(distances)
    if len(np.unique(far[far > 0])) < 2:
        return None
    slopes = -(bias * far).sum(axis=1) / (far**2).sum()
    apart = np.abs(bias + slopes[:, None] * far).max()
    return slopes if apart <= CLOSE * np.abs(bias).max() and bool(slopes.any()) else None
