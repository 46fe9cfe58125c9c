"""What follows from many attention maps at once: the mean and the largest weight of a layer's heads, attention rollout
through the layers, and how undecided each head is.

    entropy(query) = −Σ_key weight · log weight                 in nats: 0 at one key, log n where n keys share evenly
    rollout_l = Â_l · rollout_{l−1},   Â = rows of (½ · mean over heads + ½ · I), divided by their sums

Rollout is of Abnar & Zuidema 2020, Quantifying Attention Flow in Transformers: a heuristic beside the model, no number
of the model's own. It takes every value vector for equally long and leaves the feed-forward parts out.

A few heads' maps at a time are made in float32, used and dropped, so that a long text never costs all maps at once.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.errors import TraceError
from transformer.overview import some_heads_at_a_time
from transformer.parts import Array
from transformer.trace import Trace

ROLLOUT_UP_TO = 256  # tokens: it needs the maps of all layers below


class NoRollout(TraceError): ...


@dataclass(frozen=True, eq=False)
class HeadSummary:
    """What is kept of one attention's maps. Only rows with a choice count: queries that may look at several keys."""

    nats: Array  # (head,) mean entropy of a row; NaN where no row has a choice
    relative: Array  # (head,) mean of entropy / log(number of allowed keys): 0 … 1; NaN where the mask is not known
    received: Array  # (head, key) mean weight that each key gets
    even: Array  # (head, key) what it would get if every row looked evenly; NaN where the mask is not known
    rows: Array  # (head,) rows with a choice


def mean_map(trace: Trace, site: str) -> Array:
    """(query, key) float32: the mean weight over all heads. Its rows sum to what the heads' rows sum to."""
    total = sum(weights.double().sum(0) for _, weights in some_heads_at_a_time(trace, site))
    assert isinstance(total, Tensor)
    return np.asarray((total / trace.attention[site].heads).float().numpy())


def largest_map(trace: Trace, site: str) -> Array:
    """(query, key) float32: the largest weight that any head has there. Its rows sum to 1 or more."""
    largest = [weights.amax(0) for _, weights in some_heads_at_a_time(trace, site)]
    return np.asarray(torch.stack(largest).amax(0).numpy())


def allowed_by_any(trace: Trace, site: str) -> Array | None:
    """(query, key) bool: where at least one head may look; None where the model hides its mask."""
    if f"{site}.allowed" in trace.lacks:
        return None
    how = trace.attention[site]
    own = how.allowed is not None and how.allowed.ndim == 3
    return np.logical_or.reduce([trace.allowed(site, head) for head in (range(how.heads) if own else [0])])


# --- rollout ----------------------------------------------------------------------------------------------------------


def why_no_rollout(trace: Trace, site: str) -> str | None:
    """The key of the message that says why this attention has no rollout; None where it has one."""
    stack, layer, kind = site.split(".")
    if kind != "self":
        return "lack.rollout_cross"
    if any(f"{stack}.{below}.self" not in trace.attention for below in range(int(layer))):
        return "lack.rollout_layers"
    return "lack.rollout_long" if len(trace.tokens(site, "query")) > ROLLOUT_UP_TO else None


def layers_below(trace: Trace, site: str) -> tuple[str, ...]:
    """The self-attentions of the same stack from the first layer to this one. Raises NoRollout."""
    if why_no_rollout(trace, site) is not None:
        raise NoRollout(site=site, got=len(trace.tokens(site, "query")), limit=ROLLOUT_UP_TO)
    stack, layer, _ = site.split(".")
    return tuple(f"{stack}.{below}.self" for below in range(int(layer) + 1))


def rollout(trace: Trace, site: str) -> Array:
    """(position, position) float32: attention multiplied through the layers up to `site`; rows sum to 1.

    Raises NoRollout for cross-attention, texts over 256 tokens, and stacks of which a layer's maps are missing.
    """
    flow = np.eye(len(trace.tokens(site, "query")))
    for below in layers_below(trace, site):
        flow = mixed(mean_map(trace, below)) @ flow
    return flow.astype(np.float32)


def mixed(mean: Array) -> Array:
    """Half attention, half the residual connection, which hands every vector on as it is; rows sum to 1 again."""
    both = 0.5 * mean.astype(np.float64) + 0.5 * np.eye(len(mean))
    return np.asarray(both / both.sum(-1, keepdims=True))


def reachable(trace: Trace, site: str) -> Array | None:
    """(position, position) bool: what can be reached through the layers up to `site`; None where a mask is hidden.

    Raises NoRollout.
    """
    own = np.eye(len(trace.tokens(site, "query")), dtype=bool)
    found = own
    for below in layers_below(trace, site):
        allowed = allowed_by_any(trace, below)
        if allowed is None:
            return None
        found = ((allowed | own).astype(np.float32) @ found.astype(np.float32)) > 0
    return found


# --- one attention, head by head --------------------------------------------------------------------------------------


def summary(trace: Trace, site: str) -> HeadSummary:
    """Entropy of every head, and the weight that every key gets."""
    known = f"{site}.allowed" not in trace.lacks
    real = torch.tensor([not padding for padding in trace.encoding(site).padding])
    parts = [
        _of_heads(weights, _masks(trace, site, heads), real, known)
        for heads, weights in some_heads_at_a_time(trace, site)
    ]
    columns = [torch.cat(column).numpy() for column in zip(*parts, strict=True)]
    return HeadSummary(*columns)


def _masks(trace: Trace, site: str, heads: range) -> Tensor:
    """(head or 1, query, key) bool of some heads: one for all where they share it."""
    allowed = trace.attention[site].allowed
    own = allowed is not None and allowed.ndim == 3
    return torch.from_numpy(np.stack([trace.allowed(site, head) for head in (heads if own else heads[:1])]))


def _of_heads(weights: Tensor, may_look: Tensor, real: Tensor, known: bool) -> tuple[Tensor, ...]:
    """The fields of `HeadSummary` for some heads' (head, query, key) weights."""
    choices = may_look.sum(-1)  # (head or 1, query)
    counts = ((choices > 1) & real).float().expand(weights.shape[:2])  # (head, query): 1 where the row counts
    rows = counts.sum(-1)
    nats = _entropy(weights)
    relative = nats / choices.clamp(min=2).float().log()
    even = may_look.float() / choices.clamp(min=1)[..., None]
    unknown = torch.full((), torch.nan)

    def mean(values: Tensor) -> Tensor:
        """Over the rows that count; NaN where none does."""
        return (counts * values).sum(-1) / rows

    received = torch.einsum("hq,hqk->hk", counts, weights) / rows[:, None]
    expected = torch.einsum("hq,hqk->hk", counts, even.expand_as(weights)) / rows[:, None]
    return (
        mean(nats),
        mean(relative) if known else unknown.expand(len(rows)),
        received,
        expected if known else unknown.expand_as(received),
        rows.int(),
    )


def _entropy(weights: Tensor) -> Tensor:
    """(head, query) nats of each row's shares: where a sink takes a part (gpt-oss), of what it leaves."""
    sums = weights.sum(-1).clamp(min=torch.finfo(weights.dtype).tiny)
    # H(w / s) = log s − Σ w log w / s
    return (sums.log() + torch.special.entr(weights).sum(-1) / sums).clamp(min=0)


def most_decided(summary: HeadSummary, first: int, count: int) -> tuple[int, ...]:
    """`first` and the heads with the lowest entropy, `count` in all, in the order of their numbers."""
    undecided = np.where(np.isnan(summary.relative), summary.nats, summary.relative)
    others = [int(head) for head in np.argsort(undecided, kind="stable") if head != first]
    return tuple(sorted([first, *others[: count - 1]]))
