"""Which rule forbids each cell of an attention map: read off the mask that the pass had, not off the model's name.

    causal     key > query                     no query looks at a later key (Vaswani et al. 2017, 3.2.3)
    padding    the key is padding              it fills up the row of a batch
    window     query − key ≥ w                 only the last w keys, itself included (Jiang et al. 2023); two-sided,
                                               |query − key| ≥ w, in encoders (Beltagy et al. 2020)
    prefix     key < p                         allowed in spite of both: everybody sees the prefix (Raffel et al. 2020)

The rules are guessed from the mask, the mask is built again from the rules with `masks.py`, and the guess with fewest
wrong cells counts. A cell that no rule explains is "other" (forbidden) or "spared" (allowed, though a rule forbids it:
only rows of padding, which nobody reads), so that the codes say for every cell what the mask said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from transformer import masks
from transformer.errors import NoSuchSite
from transformer.kept_by_trace import KeptByTrace
from transformer.parts import Array
from transformer.replay import Seal, compare
from transformer.trace import Trace

RULES = ("causal", "padding", "window", "other", "prefix", "spared")  # rule number n is bit 1 << n of a code
CAUSAL, PADDING, WINDOW, OTHER, PREFIX, SPARED = (1 << number for number in range(len(RULES)))
FORBIDS = CAUSAL | PADDING | WINDOW | OTHER  # a cell is forbidden exactly if one of these bits is set


@dataclass(frozen=True, eq=False)
class MaskRules:
    """The rules of one mask. `window` and `prefix` count keys; None and 0 where the mask shows none.

    A window wider than the text forbids nothing and cannot be told from none; nor can a prefix as long as the text.
    """

    allowed: Array  # (query, key) bool, as the pass had it
    padding: Array  # (key,) bool, True = padding
    causal: bool = False
    window: int | None = None
    two_sided: bool = False  # the window reaches forward as well
    prefix: int = 0  # keys before this one are seen by all; real keys only

    @cached_property
    def rebuilt(self) -> Array:
        """(query, key) bool: the mask that the named rules give."""
        n_queries, n_keys = self.allowed.shape
        may_look = torch.ones(n_queries, n_keys, dtype=torch.bool)
        if self.causal:
            may_look = masks.combined(may_look, masks.causal(n_queries, n_keys))
        if self.window is not None:
            may_look = masks.combined(may_look, self._window(n_keys, self.window))
        if self.prefix:
            may_look = may_look | masks.prefix(n_keys, self.prefix)[0]  # the first row: what even token 0 may see
        real = torch.from_numpy(~self.padding)[None].long()
        whole: Array = masks.combined(may_look, masks.padding(real)[0, 0]).numpy()
        return whole

    def _window(self, n_keys: int, width: int) -> torch.Tensor:
        behind = masks.sliding_window(n_keys, width)
        ahead = behind.T if self.two_sided else ~masks.causal(n_keys)  # one-sided: it says nothing of later keys
        return behind | ahead

    @cached_property
    def codes(self) -> Array:
        """(query, key) uint8: the bits of all rules that forbid a cell; PREFIX or SPARED where one saves it."""
        n_queries, n_keys = self.allowed.shape
        query, key = np.arange(n_queries)[:, None], np.arange(n_keys)[None, :]
        forbidding = np.zeros(self.allowed.shape, np.uint8)
        if self.causal:
            forbidding |= np.where(key > query, np.uint8(CAUSAL), np.uint8(0))
        if self.window is not None:
            far = (abs(query - key) if self.two_sided else query - key) >= self.window
            forbidding |= np.where(far, np.uint8(WINDOW), np.uint8(0))
        seen_by_all = (forbidding > 0) & (key < self.prefix)
        forbidding[seen_by_all] = PREFIX
        forbidding[:, self.padding] &= FORBIDS  # the prefix counts real keys
        forbidding[:, self.padding] |= PADDING
        return _with_exceptions(forbidding, self.allowed)

    @property
    def unexplained(self) -> int:
        """Cells where the mask is not what the rules say."""
        return int((self.rebuilt != self.allowed).sum())

    @property
    def names(self) -> tuple[str, ...]:
        """The rules that this mask shows, in the order of RULES."""
        found = int(np.bitwise_or.reduce(self.codes, axis=None, initial=0))
        return tuple(name for number, name in enumerate(RULES) if found >> number & 1)

    @property
    def n_forbidden(self) -> int:
        return int((~self.allowed).sum())

    @property
    def n_padding(self) -> int:
        return int(self.padding.sum())

    @property
    def n_blind(self) -> int:
        return int(self.blind.sum())

    @property
    def blind(self) -> Array:
        """(query,) bool: True where a query may look at nothing."""
        return np.logical_not(self.allowed.any(-1))

    def seal(self, site: str) -> Seal:
        """The mask from the rules against the recorded one: 0 apart, or 1 where any cell differs."""
        return compare(f"{site}.allowed", self.rebuilt.astype(np.float32), self.allowed.astype(np.float32))


def _with_exceptions(codes: Array, allowed: Array) -> Array:
    """What the rules do not explain is OTHER or SPARED."""
    forbids = (codes & FORBIDS) > 0
    codes = np.where(~allowed & ~forbids, np.uint8(OTHER), codes)
    spared: Array = np.where(allowed & forbids, np.uint8(SPARED), codes)
    return spared


def rules_of(allowed: Array, padding: Sequence[bool], *, same_tokens: bool = True) -> MaskRules:
    """The rules that explain `allowed` (query, key) best; `padding` (key,). Only where a text looks at itself
    (`same_tokens`) do "later" and "further back" mean anything."""
    best = plain = MaskRules(np.asarray(allowed, bool), np.asarray(padding, bool))
    if not same_tokens or len(set(plain.allowed.shape)) > 1:
        return plain
    for guess in _guesses(plain):
        if not best.unexplained:
            break
        # A rule that forbids what a real token did look at is not the model's.
        if (guess.rebuilt | ~plain.allowed)[~plain.padding].all():
            best = min(best, guess, key=_wrong)
    return best


def _wrong(rules: MaskRules) -> tuple[int, int, int]:
    """How badly a mask is explained: wrong cells of real tokens, then how many rules it took, then all wrong cells.

    Rows of padding may be odd in many ways; they are no reason to believe in a rule that no real token obeys.
    """
    differs = rules.rebuilt != rules.allowed
    if not differs.any():
        return 0, 0, 0
    real = differs[~rules.padding] if len(differs) == len(rules.padding) else differs
    return int(real.sum()), rules.causal + (rules.window is not None) + (rules.prefix > 0), int(differs.sum())


def _guesses(plain: MaskRules) -> Iterator[MaskRules]:
    """From few rules to many. The rows of padding follow the same rules in most families, but not in all."""
    real = ~plain.padding
    for rows in (np.ones(len(real), bool), real):
        for prefix in (0, _seen_by_all(plain.allowed[rows], real)):
            fitted = _fitted(plain, rows, prefix)
            yield fitted
            yield replace(fitted, window=None, two_sided=False)


def _seen_by_all(allowed: Array, real: Array) -> int:
    """How many keys from the first on are seen by every query; padding in between does not count against it."""
    closed = np.flatnonzero(~allowed.all(0) & real)
    last = int(closed[0]) if len(closed) else len(real)
    return last if real[:last].any() else 0


def _fitted(plain: MaskRules, rows: Array, prefix: int) -> MaskRules:
    """Causal or not, and the window, from the real keys behind the prefix."""
    keys = ~plain.padding & (np.arange(len(plain.padding)) >= prefix)
    behind = np.flatnonzero(rows)[:, None] - np.flatnonzero(keys)[None, :]  # how far back a key lies
    may_look = plain.allowed[np.ix_(rows, keys)]
    back, ahead = (behind > 0) & ~may_look, (behind < 0) & ~may_look
    causal = bool(ahead.any()) and not bool(may_look[behind < 0].any())
    window = int(behind[back].min()) if back.any() else None
    two_sided = not causal and bool(ahead.any())
    if two_sided and window is None:
        window = int(-behind[ahead].max())
    return replace(plain, causal=causal, window=window, two_sided=two_sided, prefix=prefix)


_FOUND = KeptByTrace[tuple[object, ...], MaskRules](8)  # no family here has more kinds of masks


def mask_rules(trace: Trace, site: str, head: int = 0) -> MaskRules:
    """The rules of one head's mask in one run; layers that share a mask share the answer.

    Raises NoSuchSite where the family hides its mask (`f"{site}.allowed"` is then in `trace.lacks`).
    """
    if site not in trace.attention or f"{site}.allowed" in trace.lacks:
        known_sites = ", ".join(one for one in trace.sites if one.endswith(".allowed"))
        raise NoSuchSite(site=f"{site}.allowed", sites=known_sites)
    same = trace.stack_along(site, "query") == trace.stack_along(site, "key")

    def found() -> MaskRules:
        return rules_of(trace.allowed(site, head), trace.encoding(site, "key").padding, same_tokens=same)

    return _FOUND.get_or_make(trace, _identity(trace, site, head), found)


def _identity(trace: Trace, site: str, head: int) -> tuple[object, ...]:
    """Equal for masks that lie in the same memory, or in none."""
    how, stacks = trace.attention[site], tuple(trace.stack_along(site, axis) for axis in ("query", "key"))
    if how.allowed is None:
        return how.causal, *stacks
    mask = how.allowed if how.allowed.ndim == 2 else how.allowed[head]
    return mask.__array_interface__["data"][0], mask.strides, *stacks


def layer_rules(trace: Trace, head: int = 0) -> dict[str, MaskRules | None]:
    """The rules of every attention in the order of the run, of `head` or its last; None where the mask is hidden."""
    return {
        site: None if f"{site}.allowed" in trace.lacks else mask_rules(trace, site, min(head, how.heads - 1))
        for site, how in trace.attention.items()
    }


def rule_groups(trace: Trace, head: int = 0) -> list[tuple[MaskRules | None, list[str]]]:
    """The attentions of a run by their rules, in order of first appearance: Gemma's layers fall into two groups."""
    groups: dict[object, tuple[MaskRules | None, list[str]]] = {}
    for site, rules in layer_rules(trace, head).items():
        same = rules and (rules.names, rules.window, rules.two_sided, rules.prefix)
        groups.setdefault(same, (rules, []))[1].append(site)
    return list(groups.values())
