"""How a model knows where a token stands, told from a run: never from the family's name.

Added to the vectors ("sinusoidal", "learned"), turned into queries and keys ("rotary"), or added to the scores
("alibi", "relative"). A model may have several, or, in one layer, none (Kazemnejad et al. 2023, NoPE).
"""

from dataclasses import dataclass

from transformer.parts import ProjectionPart
from transformer.position_bias import bias_by_distance, has_bias
from transformer.position_rows import position_rows
from transformer.trace import Trace

KINDS = ("sinusoidal", "learned", "rotary", "alibi", "relative")


@dataclass(frozen=True)
class PositionKinds:
    """What one attention has. `names` are those of KINDS that were verified, in this order; `unknown` are the message
    keys of what could not be seen, each by the place where it would be. With neither, there are no positions at all."""

    stack: str
    site: str
    names: tuple[str, ...]
    unknown: tuple[tuple[str, str], ...]  # ("rotary" | "bias" | "added", message key)

    @property
    def has_none(self) -> bool:
        """No positions, and that is certain."""
        return not self.names and not self.unknown


def position_kinds(trace: Trace, site: str) -> PositionKinds:
    """The kinds of an attention ("decoder.3.self") and of the stack that it stands in."""
    stack = site.split(".")[0]
    found = {"added": _added(trace, stack), "rotary": _turned(trace, site), "bias": _bias(trace, site)}
    names = tuple(name for name, _ in found.values() if name)
    unknown = tuple((place, reason) for place, (_, reason) in found.items() if reason)
    return PositionKinds(stack, site, names, unknown)


_Found = tuple[str | None, str | None]  # the kind, or the message key of why nobody knows; neither: there is none


def _added(trace: Trace, stack: str) -> _Found:
    """Vectors that are added to the token vectors."""
    if (rows := position_rows(trace, stack)) is not None:
        return ("learned" if rows.layout is None else "sinusoidal"), None
    if f"{stack}.embed.token" not in trace.arrays:
        return None, trace.lacks.get("embedding", "lack.no_token_vectors")
    unexplained = trace.lacks.get(f"{stack}.embed.sum.sum") == "lack.sum_unexplained"
    return None, "lack.sum_unexplained" if unexplained else None


def _turned(trace: Trace, site: str) -> _Found:
    """Whether queries and keys are turned."""
    part = trace.parts.get(f"{site}.q_projection")
    if isinstance(part, ProjectionPart):
        return ("rotary" if part.pairing is not None else None), None
    if trace.attention[site].weights is not None:
        return None, "lack.weights_only"
    return None, trace.lacks.get(f"{site}.q_projection", "lack.projection_unknown")


def _bias(trace: Trace, site: str) -> _Found:
    """Whether something is added to the scores, and by distance alone."""
    if trace.attention[site].weights is not None:
        return None, "lack.weights_only"
    if not has_bias(trace, site):
        return None, None
    found = bias_by_distance(trace, site)
    return (None, "lack.bias_unknown") if found is None else (found.kind, None)
