"""How much each part of the pass added to one token's logit, directly, without what later parts made of it.

    logit = Σ_parts part · a + constant        a = γ ⊙ w / σ − its mean (LayerNorm)  or  γ ⊙ w / σ (RMSNorm)

where w is the token's row of the head and σ the final norm's own deviation in this run: at fixed statistics the norm is
linear, so the logit is a sum. "Direct logit attribution" (Elhage et al. 2021; nostalgebraist 2020).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from transformer.full_logits import full_logits
from transformer.kept_by_trace import KeptByTrace
from transformer.parts import Array, NormPart
from transformer.readout import CannotReadOut, Readout, readout_of, real_positions, row
from transformer.replay import Seal, compare
from transformer.residual_sum import Addend, addends, attention_behind, term
from transformer.trace import Trace

MEAN = "mean"  # against the mean logit of the whole vocabulary
Against = int | str | None  # another token, MEAN, or nothing
_means = KeptByTrace[str, tuple[Array, float]](1)
_Key = tuple[int, int, Against]  # position, token, against


@dataclass(frozen=True, eq=False)
class Direction:
    """A position's stream enters the logit as `vector` · stream. A classifier's mean has one for each position."""

    position: int
    vector: Array  # (d_model,) float64


@dataclass(frozen=True, eq=False)
class Contributions:
    """The parts of one logit (or of the difference of two), before a soft-cap; they and `constant` sum to `total`."""

    position: int
    token: int
    against: Against
    addends: tuple[Addend, ...]
    values: Array  # (addend,) float64
    constant: float  # the final norm's β and the head's bias, the same whatever the text
    directions: tuple[Direction, ...]

    @property
    def total(self) -> float:
        return float(self.values.sum() + self.constant)

    @cached_property
    def running(self) -> Array:
        """(addend,): the sum so far, from the embedding on, `constant` not yet in it."""
        return np.cumsum(self.values)


@dataclass(frozen=True, eq=False)
class HeadShares:
    """What each head of each attention contributed; an attention without q, k, v or W_O has none and is left out."""

    sites: tuple[str, ...]  # "decoder.0.self", …
    values: Array  # (site, head) float64; NaN where an attention has fewer heads
    biases: Array  # (site,): of W_O and of a norm behind it, which belong to no head
    wholes: Array  # (site,): the same attention's addend, from the recorded streams


_kept = KeptByTrace[_Key, Contributions](16)
_shares = KeptByTrace[_Key, HeadShares](16)


def direct_contributions(trace: Trace, position: int, token: int, against: Against = None) -> Contributions:
    """The parts of `token`'s logit after `position` (a classifier's class: position 0).

    `against` another token: of the difference of the two logits; MEAN: of the difference from the mean logit. A part
    that lifts all logits alike changes no probability; these differences do not show it. Raises CannotReadOut where the
    logit is no sum of parts or a piece is unknown, WeightsChanged.
    """
    key = (position, token, against)
    return _kept.get_or_make(trace, key, lambda: _computed(trace, position, token, against))


def parts_of_logits(trace: Trace, against: Against = None) -> tuple[Readout, tuple[Addend, ...]]:
    """What a logit is the sum of, before any number of it is known. Raises as `direct_contributions` does."""
    readout = readout_of(trace)
    if readout.summary is not None and readout.summary.pooler is not None:
        raise CannotReadOut(why="lack.pooler_bends")
    if against is not None and readout.head.softcap is not None:
        raise CannotReadOut(why="lack.softcap_bends")
    return readout, addends(trace, readout.stack, len(readout.streams))


def _computed(trace: Trace, position: int, token: int, against: Against) -> Contributions:
    readout, parts = parts_of_logits(trace, against)
    wanted, constant = _wanted(trace, readout, token, against)
    directions, beta = _directions(trace, readout, position, wanted)
    values = [sum(float(one.vector @ part.vector(trace, one.position)) for one in directions) for part in parts]
    return Contributions(position, token, against, parts, np.array(values), constant + beta, directions)


def _wanted(trace: Trace, readout: Readout, token: int, against: Against) -> tuple[Array, float]:
    """(d_model,): the row of the head, scaled, less the one it is compared with; and the same of its bias."""
    linear, scale = readout.head.linear, readout.head.scale  # of the logits; readout.scale is of the hidden states

    def of(one: int) -> tuple[Array, float]:
        return linear.weight[one].astype(np.float64), 0.0 if linear.bias is None else float(linear.bias[one])

    def mean() -> tuple[Array, float]:
        bias = 0.0 if linear.bias is None else float(linear.bias.mean(dtype=np.float64))
        return linear.weight.mean(0, dtype=np.float64), bias

    nothing = np.zeros(linear.weight.shape[1]), 0.0
    other = nothing if against is None else of(against) if isinstance(against, int) else None
    other = other or _means.get_or_make(trace, MEAN, mean)
    vector, bias = of(token)
    return scale * readout.scale * (vector - other[0]), scale * (bias - other[1])


def _directions(trace: Trace, readout: Readout, position: int, wanted: Array) -> tuple[tuple[Direction, ...], float]:
    """Through which direction each position's last stream enters, and what the norm's β adds."""
    positions = [position]
    if readout.summary is not None:
        every = np.flatnonzero(real_positions(trace, readout.stack)).tolist()
        positions = [0] if readout.summary.kind == "first" else every
    share = wanted / len(positions)
    if readout.norm is None:
        return tuple(Direction(one, share) for one in positions), 0.0
    found = [through(readout.norm, row(trace, readout.streams[-1], one), share) for one in positions]
    directions = tuple(Direction(one, vector) for one, (vector, _) in zip(positions, found, strict=True))
    return directions, sum(beta for _, beta in found)


def through(norm: NormPart, x: Array, wanted: Array) -> tuple[Array, float]:
    """`wanted` · norm(x) = vector · x + constant, at the mean and deviation of this very `x` (1, d_model)."""
    vector = wanted / norm.std(x)[0]
    vector = vector if norm.weight is None else vector * norm.weight
    vector = vector - vector.mean() if norm.kind == "layernorm" else vector
    return vector, 0.0 if norm.bias is None else float(norm.bias @ wanted)


def addend_products(trace: Trace, contributions: Contributions, place: int) -> Array:
    """(d_model,): the products whose sum is one addend's contribution, dimension by dimension."""
    part = contributions.addends[place]
    products = [one.vector * part.vector(trace, one.position) for one in contributions.directions]
    return np.sum(products, axis=0)


def head_shares(trace: Trace, contributions: Contributions) -> HeadShares:
    """Each attention's addend, head by head: context_h · W_O,hᵀ · a."""
    key = (contributions.position, contributions.token, contributions.against)
    return _shares.get_or_make(trace, key, lambda: _share_among_heads(trace, contributions))


def _share_among_heads(trace: Trace, contributions: Contributions) -> HeadShares:
    sites, values, biases, wholes = [], [], [], []
    for part, whole in zip(contributions.addends, contributions.values.tolist(), strict=True):
        if part.kind not in ("self", "cross"):
            continue
        site, norms = attention_behind(trace, part)
        if f"{site}.v" not in trace.arrays or f"{site}.projection" not in trace.parts:
            continue
        shares = [_of_heads(trace, site, norms, one) for one in contributions.directions]
        sites.append(site)
        values.append(np.sum([heads for heads, _ in shares], axis=0))
        biases.append(sum(bias for _, bias in shares))
        wholes.append(whole)
    width = max(map(len, values), default=0)
    padded = [np.pad(one, (0, width - len(one)), constant_values=np.nan) for one in values]
    return HeadShares(tuple(sites), np.array(padded).reshape(len(sites), width), np.array(biases), np.array(wholes))


def _of_heads(trace: Trace, site: str, norms: tuple[NormPart, ...], to: Direction) -> tuple[Array, float]:
    """(head,) of one attention at one position, and what its biases add."""
    vector, constant = to.vector, 0.0
    if norms:  # norms between W_O and the stream (Gemma 2) are linear too at the statistics of this run
        entering = [term(trace, f"{site}.output", to.position)[None]]
        for norm in norms[:-1]:
            entering.append(norm(entering[-1]))
        for norm, x in zip(reversed(norms), reversed(entering), strict=True):
            vector, added = through(norm, x, vector)
            constant += added
    projection = trace.parts[f"{site}.projection"]
    context = trace.context(site, rows=slice(to.position, to.position + 1))[:, 0].astype(np.float64)  # (head, d_value)
    back = (vector @ projection.weight.astype(np.float64)).reshape(context.shape)  # type: ignore[union-attr]
    bias = projection.bias  # type: ignore[union-attr]
    return (context * back).sum(-1), constant + (0.0 if bias is None else float(bias @ vector))


def seal_contributions(trace: Trace, contributions: Contributions) -> Seal:
    """Their sum, soft-capped where the head does so, against the recorded logit; one that was not among the largest is
    taken from all logits of the position."""
    head = readout_of(trace).head
    total = contributions.total
    found = total if head.softcap is None else head.softcap * float(np.tanh(total / head.softcap))
    other, position = contributions.against, contributions.position
    recorded = _logit(trace, position, contributions.token)
    if isinstance(other, int):
        recorded -= _logit(trace, position, other)
    elif other is not None:
        recorded -= float(full_logits(trace, position).mean(dtype=np.float64))
    return compare("logits", np.array([found]), np.array([recorded]))


def _logit(trace: Trace, position: int, token: int) -> float:
    assert trace.top is not None
    known = np.flatnonzero(trace.top.ids[position] == token)
    return float(trace.top.values[position][known[0]] if len(known) else full_logits(trace, position)[token])


def seal_heads(shares: HeadShares) -> Seal:
    """The heads of each attention with its biases against what the recorded streams say it added."""
    return compare("heads", np.nansum(shares.values, axis=-1) + shares.biases, shares.wholes)
