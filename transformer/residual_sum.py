"""The last stream as the sum that it is: what the embedding and every attention and feed-forward added to it.

    stream_L = embedding + Σ_l (attention_l + cross_l + feed-forward_l)        (Elhage et al. 2021, "Residual stream")

Nothing is assumed of a family: the sums are those that `wiring.py` found in the pass. Where a norm stands on the stream
itself (post-norm) there is no such sum, because each norm scales all that came before.
"""

from dataclasses import dataclass

import numpy as np

from transformer.parts import Array, NormPart
from transformer.readout import CannotReadOut, row
from transformer.trace import Trace


@dataclass(frozen=True)
class Addend:
    """Something that was added to the stream."""

    site: str  # "decoder.3.ffn.output", "decoder.embed.token"; "decoder.0.resid.before" where the start is one piece
    kind: str  # "token" | "position" | "segment" | "start" | "self" | "cross" | "ffn" | "other"
    layer: int | None  # None: it was there before the first block
    minus: tuple[str, ...] | None  # (sum, other terms …): recorded streams whose difference it is; None: by its formula

    def vector(self, trace: Trace, position: int) -> Array:
        """(d_model,) float64: what it added at one position."""
        if self.minus is None:
            return term(trace, self.site, position)
        total, *others = (row(trace, site, position)[0].astype(np.float64) for site in self.minus)
        difference: Array = total - sum(others)
        return difference


def addends(trace: Trace, stack: str, layers: int) -> tuple[Addend, ...]:
    """All of them in the order of the pass. Raises CannotReadOut where the last stream is no sum."""
    found = list(_start(trace, stack))
    for layer in range(layers):
        found += _of_block(trace, f"{stack}.{layer}", layer)
    return tuple(found)


def _start(trace: Trace, stack: str) -> list[Addend]:
    """The embedding, in its parts where the first block is given their bare sum."""
    first, whole = f"{stack}.0.resid.before", f"{stack}.embed.sum"
    parts = trace.sums.get(whole, ()) if trace.resolve(whole) == trace.resolve(first) else ()
    if parts and all(trace.resolve(site) in trace.arrays for site in parts):
        return [Addend(site, site.rpartition(".")[2], None, None) for site in parts]
    if first not in trace.sites:
        raise CannotReadOut(why=trace.lacks.get(first, "lack.not_recorded"))
    return [Addend(first, "start", None, None)]


def _of_block(trace: Trace, block: str, layer: int) -> list[Addend]:
    """What one block added: its sums, from its end back to its beginning."""
    begin, end = f"{block}.resid.before", f"{block}.resid.after"
    sums, open_sites, found, reached = trace.sums, [end], list[Addend](), False
    while open_sites:
        total = open_sites.pop()
        if total not in sums:
            raise CannotReadOut(why=_why_no_sum(trace, end))
        streams = [site for site in sums[total] if site == begin or site in sums]
        leaves = [site for site in sums[total] if site not in streams]
        reached |= begin in streams
        open_sites += [site for site in streams if site != begin]
        minus = (total, *streams) if len(leaves) == 1 and _recorded(trace, total, *streams) else None
        found += [Addend(site, _kind(trace, site), layer, minus) for site in reversed(leaves)]
    if not reached:
        raise CannotReadOut(why="lack.norm_on_stream")
    return found[::-1]


def _recorded(trace: Trace, *sites: str) -> bool:
    return all(trace.resolve(site) in trace.arrays for site in sites)


def _why_no_sum(trace: Trace, end: str) -> str:
    """A block that ends with a norm, or a sum that could not be read off the model."""
    place = trace.resolve(end).rpartition(".")[0]
    if isinstance(trace.parts.get(place), NormPart):
        return "lack.norm_on_stream"
    return trace.lacks.get(end, trace.lacks.get(f"{end}.sum", "lack.sum_unexplained"))


def _kind(trace: Trace, site: str) -> str:
    """Which part it comes from; a norm behind a part (sandwich norms) belongs to the part."""
    place = site.rpartition(".")[0]
    while isinstance(trace.parts.get(place), NormPart):
        before = trace.resolve(f"{place}.input").rpartition(".")[0]
        if before == place:
            break
        place = before
    name = place.rpartition(".")[2]
    return name if name in ("self", "cross", "ffn") else "other"


def attention_behind(trace: Trace, addend: Addend) -> tuple[str, tuple[NormPart, ...]]:
    """The attention that an addend of kind "self" or "cross" comes from, and the norms that stood between the two, the
    first one first."""
    place, norms = addend.site.rpartition(".")[0], list[NormPart]()
    while isinstance(part := trace.parts.get(place), NormPart):
        norms.append(part)
        place = trace.resolve(f"{place}.input").rpartition(".")[0]
    return place, tuple(reversed(norms))


def term(trace: Trace, site: str, position: int) -> Array:
    """(d_model,) float64 of a site at one position, by its formula where it was not recorded. Raises CannotReadOut."""
    resolved = trace.resolve(site)
    place = resolved.rpartition(".")[0]
    if resolved in trace.arrays:
        return np.asarray(trace.arrays[resolved][position], dtype=np.float64)
    rows = slice(position, position + 1)
    if f"{place}.projection" in trace.parts and f"{place}.v" in trace.arrays:
        merged = trace.context(place, rows=rows).transpose(1, 0, 2).reshape(1, -1)
        return np.asarray(trace.parts[f"{place}.projection"](merged)[0], dtype=np.float64)
    if place in trace.parts and resolved.endswith(".output"):
        return np.asarray(trace.parts[place](term(trace, f"{place}.input", position)[None])[0], dtype=np.float64)
    raise CannotReadOut(why=trace.lacks.get(resolved, "lack.formula_unknown"))
