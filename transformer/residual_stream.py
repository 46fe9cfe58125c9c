"""The residual stream of a run, layer by layer: how long its vectors are, what each part added, which way they point.

    x ← x + part(…)         "residual stream": Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"

What was added is the recorded sum minus the recorded stream it was added to, so that no feed-forward has to be computed
again to look at all layers at once; the seal recomputes the parts themselves (see `replay.py`). Only where two parts
are added at once (GPT-J) one of them is computed from its formula.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from transformer.norm_placement import Branch, Placement, Sum, norm_placement
from transformer.parts import Array
from transformer.some_rows import some_rows
from transformer.trace import Trace


@dataclass(frozen=True)
class Added:
    """One part of one layer and the + where its vector joined the stream. Names are whole sites."""

    layer: int
    part: str  # "self" | "cross" | "ffn" | "ffn2"
    term: str  # what was added: "decoder.3.self.output"
    stream: str  # to what: "decoder.3.resid.before"; "" where it replaced it
    total: str  # the sum: "decoder.3.norm2.input"


@dataclass(frozen=True)
class Step:
    """One + for one token, in lengths; NaN where the part replaces the stream or the sum is not known."""

    part: str
    stream: float  # ‖x‖ before
    added: float
    cosine: float  # of what was added with the stream
    total: float  # ‖x‖ after


@dataclass(frozen=True, eq=False)
class Spread:
    """Over tokens: the mean and how far they lie apart."""

    mean: Array  # (…,)
    low: Array  # (…,) one token in ten lies below
    high: Array  # (…,) one token in ten lies above


class ResidualStream:
    """All layers of one stack; `tokens` is which of them, the whole text or a window of it.

    Arrays are float64. What the wiring does not tell is NaN, and `unread` says in which layers.
    """

    def __init__(self, trace: Trace, stack: str, tokens: slice = slice(None)) -> None:
        self.trace, self.stack, self.tokens = trace, stack, tokens
        found = trace.structure.stack(stack).blocks
        known = f"{stack}.0.resid.before" in trace.sites and f"{stack}.{len(found) - 1}.resid.after" in trace.sites
        self.layers = len(found) if known else 0

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        return tuple(norm_placement(self.trace, f"{self.stack}.{layer}") for layer in range(self.layers))

    @cached_property
    def unread(self) -> tuple[int, ...]:
        """Layers of which not every sum could be read off the model."""
        return tuple(layer for layer, one in enumerate(self.placements) if one.unread)

    @property
    def is_normalised(self) -> bool:
        """Whether a norm stands on the stream itself (post-norm): then its length is what γ and β make it."""
        return any(one.norms_on_line for one in self.placements)

    # --- the stream --------------------------------------------------------------------------------------------------

    @cached_property
    def points(self) -> Array:
        """(layer + 1, position, d_model): what enters layer 0, then what leaves each layer."""
        sites = [f"{self.stack}.0.resid.before", *(f"{self.stack}.{n}.resid.after" for n in range(self.layers))]
        return np.stack([self._array(site) for site in sites])

    @cached_property
    def lengths(self) -> Array:
        """(layer + 1, position): ‖x‖ of `points`."""
        return length(self.points)

    @cached_property
    def between(self) -> Array:
        """(layer, position): the cosine of what enters a layer and what leaves it."""
        return cosine(self.points[:-1], self.points[1:])

    def similarity(self, position: int) -> Array:
        """(layer + 1, layer + 1): the cosine of one token's stream at all points; `position` counts within `tokens`."""
        points = self.points[:, position]
        sizes = np.maximum(length(points), np.finfo(float).tiny)
        found: Array = np.clip((points @ points.T) / np.outer(sizes, sizes), -1, 1)
        return found

    # --- what was added ----------------------------------------------------------------------------------------------

    @cached_property
    def additions(self) -> tuple[Added, ...]:
        """In the order of the run."""
        return tuple(
            Added(layer, branch.part, *(f"{one.place}.{site}" if site else "" for site in _sites(total, branch)))
            for layer, one in enumerate(self.placements)
            for total in one.sums
            for branch in total.branches
        )

    @property
    def parts(self) -> tuple[str, ...]:
        """("self", "cross", "ffn"): which parts add something, in the order of a block."""
        return tuple(dict.fromkeys(one.part for one in self.additions))

    def of_layer(self, layer: int) -> tuple[Added, ...]:
        return tuple(one for one in self.additions if one.layer == layer)

    def steps(self, layer: int, position: int) -> tuple[Step, ...]:
        """The sums of one layer for one token; `position` counts within `tokens`."""
        found = []
        for one in self.of_layer(layer):
            added, cosines = self._measured(one)
            before = float(length(self._array(one.stream)[position])) if one.stream else np.nan
            after = float(length(self._array(one.total)[position]))
            found.append(Step(one.part, before, float(added[position]), float(cosines[position]), after))
        return tuple(found)

    def of_token(self, values: Mapping[str, Array], position: int) -> dict[str, Array]:
        """part → (layer,) of one token, from `added` or `directions`."""
        return {part: of_all[:, position] for part, of_all in values.items()}

    def table(self, which: str, position: int) -> Array:
        """(layer, part) of one token: "added", or "directions" with `between` as the last column."""
        values = list(self.of_token(self.added if which == "added" else self.directions, position).values())
        return np.stack([*values, *([self.between[:, position]] if which == "directions" else [])], -1)

    def vector(self, one: Added) -> Array:
        """(position, d_model): what was added."""
        abreast = [other for other in self.of_layer(one.layer) if other.total == one.total]
        by_difference = self._cheapest_left_out(abreast)
        if one is not by_difference:
            return self._array(one.term)
        others = [self._array(other.term) for other in abreast if other is not one]
        taken = [self._array(one.stream)] if one.stream else []
        found: Array = self._array(one.total) - sum([*others, *taken], np.zeros(1))
        return found

    @cached_property
    def added(self) -> Mapping[str, Array]:
        """part → (layer, position): ‖what it added‖; NaN where a layer has no such part or it is not known."""
        return self._by_part(0)

    @cached_property
    def directions(self) -> Mapping[str, Array]:
        """part → (layer, position): the cosine of what it added with the stream it was added to."""
        return self._by_part(1)

    @cached_property
    def _known(self) -> dict[Added, tuple[Array, Array]]:
        return {}

    def _measured(self, one: Added) -> tuple[Array, Array]:
        """(position,) twice: length, and cosine with the stream; made once."""
        if one not in self._known:
            vector = self.vector(one)
            cosines = cosine(vector, self._array(one.stream)) if one.stream else np.full(len(vector), np.nan)
            self._known[one] = length(vector), cosines
        return self._known[one]

    def _by_part(self, which: int) -> Mapping[str, Array]:
        found = {part: np.full((self.layers, self.points.shape[1]), np.nan) for part in self.parts}
        for one in self.additions:
            found[one.part][one.layer] = self._measured(one)[which]
        return found

    def _cheapest_left_out(self, abreast: list[Added]) -> Added:
        """Of the parts that are added at once, the one to be told by difference: one that would have to be computed,
        and rather a feed-forward than an attention."""
        computed = [one for one in abreast if self.trace.resolve(one.term) not in self.trace.arrays]
        return max(computed or abreast, key=lambda one: (one.part.startswith("ffn"), one.part))

    def _array(self, site: str) -> Array:
        if site not in self._arrays:
            self._arrays[site] = some_rows(self.trace, site, self.tokens).astype(np.float64)
        return self._arrays[site]

    @cached_property
    def _arrays(self) -> dict[str, Array]:
        return {}

    # --- beside the chosen token -------------------------------------------------------------------------------------

    def first(self, position: int) -> Array | None:
        """(layer + 1,): ‖x‖ of the text's first token, which many models make far longer than any other (a resting
        place of attention); None where it is not among `tokens`, or is the one at `position`."""
        return self.lengths[:, 0] if self._has_first and position != 0 else None

    def others(self, position: int) -> Spread | None:
        """‖x‖ of all tokens but the one at `position` and the first; None where there are no others."""
        places = range(1 if self._has_first else 0, self.lengths.shape[1])
        found = [place for place in places if place != position]
        return spread(self.lengths[:, found]) if found else None

    @property
    def _has_first(self) -> bool:
        return not self.tokens.start


def _sites(total: Sum, branch: Branch) -> tuple[str, str, str]:
    return branch.term, total.stream, total.site


def widths(trace: Trace) -> dict[str, int]:
    """stack → d_model, of the stacks whose stream was recorded."""
    entering = {stack.name: f"{stack.name}.0.resid.before" for stack in trace.structure.stacks}
    return {stack: trace.arrays[site].shape[-1] for stack, site in entering.items() if site in trace.arrays}


def length(vectors: Array) -> Array:
    """(…, d) → (…): ‖x‖."""
    found: Array = np.sqrt(np.einsum("...d,...d->...", vectors, vectors))
    return found


def cosine(one: Array, other: Array) -> Array:
    """(…, d), (…, d) → (…): 1 the same direction, 0 at right angles, −1 opposite; 0 for a vector without length."""
    sizes = np.maximum(length(one) * length(other), np.finfo(float).tiny)
    found: Array = np.clip(np.einsum("...d,...d->...", one, other) / sizes, -1, 1)
    return found


def spread(values: Array) -> Spread:
    """Over the last axis, the tokens. NaN stays NaN."""
    low, high = np.quantile(values, (0.1, 0.9), axis=-1)
    return Spread(values.mean(-1), low, high)
