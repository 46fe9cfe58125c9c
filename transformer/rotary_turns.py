"""Rotary positions of one attention, measured from a run: how far each pair of dimensions was turned at each position.

Queries and keys before the turn are W · x + b (`projections.py`), after it they are recorded. Their ratio is the angle,
and the angle grows evenly with the position: angle(position, pair) = position · frequency(pair). So q·k depends only on
how far apart both tokens are, and can be worked out for any other distance (Su et al. 2021, RoFormer, section 3.2.2):

    q · k = Σ over pairs Re(z_q · z_k* · e^{i · frequency · distance}) + Σ over dimensions that do not turn
"""

from dataclasses import dataclass, replace

import numpy as np

from transformer.parts import Array, ProjectionPart
from transformer.positions_of import countings, real_tokens
from transformer.replay import TOLERANCE, Seal, compare
from transformer.rotation import Pairing, angles_between, base_of, frequencies_of
from transformer.trace import Trace

ROUNDING = 1.2e-7  # of position · frequency, which models themselves work out in float32


@dataclass(frozen=True, eq=False)
class Turns:
    """What was measured of one attention. Distances count from the query back to the key: 3 = three tokens before."""

    site: str
    pairing: Pairing
    positions: Array  # (position,) whole numbers
    angles: Array  # (position, pair) radians 0 … 2π, as measured
    frequencies: Array  # (pair,) radians per position
    regular: bool  # every angle is position · frequency
    base: float | None  # of the frequencies, where they follow the usual formula
    query: Array  # (head, position, d_head) before the turn
    key: Array  # (kv_head, position, d_head) before the turn
    seal: Seal  # turned W · x + b against the recorded queries and keys

    @property
    def slowest(self) -> float:
        """After how many positions the slowest pair has turned once; infinite where it does not turn."""
        slow = float(np.abs(self.frequencies).min())
        return 2 * np.pi / slow if slow > 0 else float("inf")

    def turned_by(self, distances: Array) -> Array:
        """(distance, pair) radians: of `distances` that the frequencies reach, or of the measured ones alone."""
        if self.regular:
            return np.asarray(distances[:, None] * self.frequencies)
        back = np.sign(distances)[:, None]
        return np.asarray(back * (self.angles[np.abs(distances)] - self.angles[0]))

    def products(self, query: tuple[int, int], key: tuple[int, int], distances: Array) -> Array:
        """(distance,) float64: q·k of (head, position) and (kv_head, position), were they `distances` apart."""
        q, k = self.query[query], self.key[key]
        pairs = self.pairing.complex_of(q) * self.pairing.complex_of(k).conj()  # (pair,)
        stay = float(self.pairing.rest(q) @ self.pairing.rest(k))
        return np.asarray((pairs * np.exp(1j * self.turned_by(distances))).real.sum(-1) + stay)


def has_turns(trace: Trace, site: str) -> bool:
    """Whether queries and keys are turned, and can be recomputed as they were before: `measure_turns` has an answer."""
    query, key = (trace.parts.get(f"{site}.{name}_projection") for name in ("q", "k"))
    turned = isinstance(query, ProjectionPart) and query.pairing is not None and isinstance(key, ProjectionPart)
    return turned and {f"{site}.input", f"{site}.q"} <= set(trace.sites) and not trace.weights_changed()


def measure_turns(trace: Trace, site: str) -> Turns | None:
    """The turns of an attention whose queries and keys are known before and after; None where they are not, or where
    nothing turns."""
    if not has_turns(trace, site):
        return None
    query, key = (trace.parts[f"{site}.{name}_projection"] for name in ("q", "k"))
    assert isinstance(query, ProjectionPart) and isinstance(key, ProjectionPart) and query.pairing is not None
    x, real = trace[f"{site}.input"], real_tokens(trace, site.split(".")[0])
    given = (query(x), trace[f"{site}.q"]), (key(x), trace[f"{site}.k"])
    angles = angles_between(query.pairing, *given)
    found = [_explained(site, query.pairing, one, angles, given, real) for one in countings(trace, site.split(".")[0])]
    regular = next((one for one in found if one.regular), None)
    return regular or _as_measured(found[0], given, real)


_Given = tuple[tuple[Array, Array], tuple[Array, Array]]  # queries and keys, each before and after


def _explained(site: str, pairing: Pairing, positions: Array, angles: Array, given: _Given, real: Array) -> Turns:
    """The turns, if tokens stand at `positions`; regular where one frequency per pair explains all of q and k."""
    frequencies = frequencies_of(angles[real], positions[real])
    seal = _sealed(site, pairing, positions[:, None] * frequencies, given, real)
    seal = replace(seal, tolerance=max(TOLERANCE, ROUNDING * float(positions.max())))
    (query, _), (key, _) = given
    regular = seal.holds and real.sum() > 1
    base = base_of(pairing, frequencies, int(positions.max()), query.shape[-1]) if regular else None
    whole = 2 * np.pi
    # What rounding leaves below 0 is 0, and not nearly a whole turn.
    measured = np.where(np.abs(angles) < 1e-6, 0.0, angles % whole)
    return Turns(site, pairing, positions, measured, frequencies, bool(regular), base, query, key, seal)


def _as_measured(turns: Turns, given: _Given, real: Array) -> Turns:
    return replace(turns, seal=_sealed(turns.site, turns.pairing, turns.angles, given, real))


def _sealed(site: str, pairing: Pairing, angles: Array, given: _Given, real: Array) -> Seal:
    """Turned by `angles`, W · x + b must be what was recorded, in every head."""
    seals = [
        compare(f"{site}.{name}", pairing.turn(before, angles)[:, real], after[:, real])
        for name, (before, after) in zip(("q", "k"), given, strict=True)
    ]
    worst = float(np.max([one.difference for one in seals]))  # NaN stays NaN
    return replace(seals[0], difference=worst, compared=sum(one.compared for one in seals))


@dataclass(frozen=True, eq=False)
class ScoreByDistance:
    """q·k · scale of one query and one key, were they any other distance apart; before soft-cap, bias and mask."""

    distances: Array  # (distance,) whole numbers
    scores: Array  # (distance,) float64
    current: int  # how far apart they are in this run
    reach: int  # the largest distance that this run holds
    seal: Seal  # the score at the current distance against the recorded q and k


def score_by_distance(
    trace: Trace, turns: Turns, head: int, query: int, key: int, *, least: int = 64
) -> ScoreByDistance:
    """For all distances of the run, and up to `least` where the frequencies are known to reach on."""
    how, q, k = trace.attention[turns.site], trace[f"{turns.site}.q"], trace[f"{turns.site}.k"]
    kv_head, reach = how.kv_head(head), int(turns.positions.max())
    far = max(reach, least) if turns.regular else len(turns.positions) - 1
    current = int(turns.positions[query] - turns.positions[key])
    # A key that the causal mask forbids can be chosen too; its q·k is there, and only its weight is not.
    least_shown = min(current, 0) if how.hides_the_future(head) else -far
    distances = np.arange(least_shown, far + 1)
    scores = how.scale * turns.products((head, query), (kv_head, key), distances)
    here = how.scale * turns.products((head, query), (kv_head, key), np.array([current]))
    recorded = np.array([float(q[head, query].astype(np.float64) @ k[kv_head, key].astype(np.float64)) * how.scale])
    return ScoreByDistance(distances, scores, current, reach, compare(f"{turns.site}.scores", here, recorded))
