"""Rotary positions as they are found in numbers: which dimensions of a head turn together, and how far.

A pair of dimensions, read as one complex number z = x₁ + i·x₂, is turned by z' = z · e^{iθ} (Su et al. 2021, section
3.4.2). Which two dimensions are a pair differs from family to family, and some families turn only a part of a head; no
name is believed here, the numbers before and after tell.
"""

from dataclasses import dataclass

import numpy as np

KINDS = ("halves", "neighbours")
TOLERANCE = 2e-5  # of the largest value


@dataclass(frozen=True)
class Pairing:
    """Which dimensions of a head turn together: of the first `turned` ones, i with i + turned/2 ("halves": GPT-NeoX,
    Llama) or 2i with 2i + 1 ("neighbours": GPT-J, the paper). The others stay as they are."""

    kind: str  # one of KINDS
    turned: int  # even

    @property
    def pairs(self) -> np.ndarray:
        """(pair, 2): the dimensions of each pair."""
        half = self.turned // 2
        first = np.arange(half) if self.kind == "halves" else 2 * np.arange(half)
        return np.stack([first, first + (half if self.kind == "halves" else 1)], axis=1)

    def complex_of(self, vectors: np.ndarray) -> np.ndarray:
        """(…, d_head) → (…, pair) complex128."""
        first, second = self.pairs.T
        vectors = vectors.astype(np.float64)
        return np.asarray(vectors[..., first] + 1j * vectors[..., second])

    def rest(self, vectors: np.ndarray) -> np.ndarray:
        """The dimensions that do not turn: (…, d_head − turned)."""
        return vectors[..., self.turned :].astype(np.float64)

    def lengths(self, vectors: np.ndarray) -> np.ndarray:
        """What no turn changes: the length of each pair, and the dimensions that stay; (…, pair + rest)."""
        return np.concatenate([np.abs(self.complex_of(vectors)), self.rest(vectors)], axis=-1)

    def turn(self, vectors: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """(…, position, d_head) turned by `angles` (position, pair) radians; float64."""
        turned = self.complex_of(vectors) * np.exp(1j * angles)
        out = vectors.astype(np.float64)
        first, second = self.pairs.T
        out[..., first], out[..., second] = turned.real, turned.imag
        return out


def factor_between(before: np.ndarray, after: np.ndarray) -> float:
    """How many times as long `after` is as `before`; exactly 1 where they differ by rounding only."""
    long = float(np.linalg.norm(before.astype(np.float64)))
    factor = float(np.linalg.norm(after.astype(np.float64))) / long if long else 1.0
    return 1.0 if abs(factor - 1) < 1e-5 else factor


def near(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Equal up to rounding, measured against the largest value."""
    largest = max(float(np.abs(wanted).max(initial=0.0)), 1e-6)
    return found.shape == wanted.shape and bool(np.abs(found - wanted).max(initial=0.0) <= TOLERANCE * largest)


def find_pairing(before: np.ndarray, after: np.ndarray) -> Pairing | None:
    """The pairing whose turns lead from `before` to `after`, (head, position, d_head) each; None: no turn does.

    Only pairs that turn are counted: neighbours behind the last one that did are taken to stay.
    """
    d_head = before.shape[-1]
    candidates = [Pairing("halves", turned) for turned in range(d_head - d_head % 2, 1, -2)]
    candidates.insert(1, Pairing("neighbours", d_head - d_head % 2))
    found = next((one for one in candidates if near(one.lengths(before), one.lengths(after))), None)
    if found is None or found.kind == "halves":
        return found
    apart = np.abs(found.complex_of(after) - found.complex_of(before)).max(axis=tuple(range(before.ndim - 1)))
    turning = np.flatnonzero(apart > TOLERANCE * float(np.abs(after).max()))
    return Pairing("neighbours", 2 * (int(turning.max()) + 1)) if len(turning) else None


def angles_between(pairing: Pairing, *given: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(position, pair): the turn in radians, −π … π, that leads best from before to after.

    `given` are (before, after) of queries and of keys, (head, position, d_head) each: all their heads turn alike, and
    long pairs, whose rounding is smallest, count most.
    """
    product = 0j
    for before, after in given:
        product = product + (pairing.complex_of(after) * pairing.complex_of(before).conj()).sum(axis=0)
    return np.asarray(np.angle(product))


def frequencies_of(angles: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """(pair,) radians per position, from `angles` (position, pair) that are known up to whole turns: angle = position ·
    frequency.

    First from neighbour to neighbour, then again over all positions with the whole turns counted, which is as many
    times more exact. Zeros where no two neighbours are there.
    """
    next_to = np.diff(positions) == 1
    steps = np.exp(1j * np.diff(angles, axis=0))[next_to]  # (step, pair)
    coarse = np.angle(steps.sum(axis=0)) if next_to.any() else np.zeros(angles.shape[-1])
    left = np.angle(np.exp(1j * (angles - positions[:, None] * coarse)))  # (position, pair): what it leaves over
    return np.asarray(coarse + (positions[:, None] * left).sum(axis=0) / max(float((positions**2).sum()), 1.0))


def base_of(pairing: Pairing, frequencies: np.ndarray, reach: int, d_head: int) -> float | None:
    """The base of frequency(i) = base^(−2i / turned) (Su et al. 2021), where all pairs follow it; else None.

    `reach`: the last position, at which no angle may be off by more than 1e-4. Where neighbours turn in a part of the
    head, slow pairs at its end may have been missed, and with a large base the part would be thought too small.
    """
    count = len(frequencies)
    if count < 2 or reach < 1 or abs(frequencies[0] - 1) * reach > 1e-4 or (frequencies <= 0).any():
        return None
    pair = np.arange(1, count)
    exact = int((pair * frequencies[1:]).argmax())  # where rounding moves the base least
    base = float(frequencies[1 + exact] ** (-pairing.turned / (2 * pair[exact])))
    expected = base ** (-2 * np.arange(count) / pairing.turned)
    sure = pairing.kind == "halves" or pairing.turned == d_head or base < 20_000
    return base if sure and (np.abs(frequencies - expected) * reach <= 1e-4).all() else None
