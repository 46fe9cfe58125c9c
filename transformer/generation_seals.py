"""The seals of a generation: what its steps show, by a second road.

A probability follows from its logit and a log-sum-exp; the first step from the recorded run of the same text; any step
from a pass of all its tokens that keeps nothing; a beam's score from the log p along its way.
"""

from collections.abc import Sequence

import numpy as np

from transformer.beam import TreeNode, rescored
from transformer.distribution import Distribution
from transformer.generate import Step
from transformer.replay import Seal, compare
from transformer.trace import Trace


def seal_shares(chosen: Distribution, temperature: float) -> Seal:
    """p, at the temperature, and behind the cut: each from the candidate's own logit."""
    return compare("generate.shares", chosen.recomputed(temperature), chosen.shares)


def seal_by_run(trace: Trace, read: Sequence[int], ids: Sequence[int], p: Sequence[float]) -> Seal | None:
    """`p` of the next tokens `ids` after the tokens `read`, against the recorded run; None where that read other tokens
    or kept none of these."""
    if trace.top is None or list(trace.encodings.values())[-1].ids != tuple(read):
        return None
    kept = dict(zip(*(part.tolist() for part in trace.probabilities(-1)), strict=True))
    pairs = [(kept[one], share) for one, share in zip(ids, p, strict=True) if one in kept]
    if not pairs:
        return None
    recorded, found = np.array(pairs, np.float64).T
    return compare("generate.run", found, recorded)


def seal_by_pass(step: Step, again: Step) -> Seal:
    """The candidates' p, against a pass of all tokens without a cache (`Engine.without_cache`); a candidate that this
    does not list never holds."""
    listed = dict(zip(again.distribution.ids.tolist(), again.distribution.p.tolist(), strict=True))
    found = np.array([listed.get(one, np.nan) for one in step.distribution.ids.tolist()])
    return compare("generate.pass", found, step.distribution.p)


def seal_scores(nodes: Sequence[TreeNode]) -> Seal:
    """Σ log p of every node."""
    return compare("generate.beams", rescored(nodes), np.array([node.score for node in nodes]))
