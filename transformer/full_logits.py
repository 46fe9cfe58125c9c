"""All logits of one position: the run keeps the largest fifty, the others follow from the last hidden state."""

from dataclasses import dataclass

import numpy as np

from transformer.errors import WeightsChanged
from transformer.kept_by_trace import KeptByTrace
from transformer.parts import Array, HeadPart
from transformer.readout import head_of, row
from transformer.replay import Seal, compare
from transformer.sampling import softmax
from transformer.trace import Trace

POSITIONS_KEPT = 8  # per run: 0.2 MB each for a vocabulary of 50,000
_kept = KeptByTrace[int, Array](POSITIONS_KEPT)


def full_logits(trace: Trace, position: int) -> Array:
    """(vocabulary,) of one position, or (class,) of a classifier, whose only position is 0; not to be written to.

    Raises CannotReadOut where there is no head or it is unknown, WeightsChanged where the model was trained since,
    IndexError where there is no such position.
    """
    return _kept.get_or_make(trace, position, lambda: _computed(trace, position))


@dataclass(frozen=True, eq=False)
class LogitParts:
    """What one logit is made of: finish(hidden · row + bias), finish being the head's scale and soft-cap."""

    hidden: Array  # (d_model,): what the head was given
    row: Array  # (d_model,): the token's own row of the head
    bias: float
    scale: float
    softcap: float | None
    logit: float

    @property
    def terms(self) -> Array:
        """(d_model,) or (d_model + 1,) float64: the products, and the bias where there is one, all scaled; their sum is
        the logit before a soft-cap."""
        products = self.hidden.astype(np.float64) * self.row
        return self.scale * (np.append(products, self.bias) if self.bias else products)


def logit_parts(trace: Trace, position: int, token: int) -> LogitParts:
    """One logit's ingredients. Raises as `full_logits` does."""
    logit = float(full_logits(trace, position)[token])
    head, enters = head_of(trace)
    return parts_of(head, row(trace, enters, position)[0], token, logit)


def parts_of(head: HeadPart, hidden: Array, token: int, logit: float) -> LogitParts:
    """The same from what the head is given, `hidden` (d_model,)."""
    linear = head.linear
    bias = 0.0 if linear.bias is None else float(linear.bias[token])
    return LogitParts(hidden, linear.weight[token], bias, head.scale, head.softcap, logit)


def _computed(trace: Trace, position: int) -> Array:
    head, enters = head_of(trace)
    if trace.weights_changed():
        raise WeightsChanged(site="logits", model=trace.model)
    hidden = row(trace, enters, position)
    if position < 0 or not len(hidden):
        raise IndexError(f"position {position}: {enters} has {len(trace[enters])}")
    logits: Array = head(hidden)[0]
    logits.flags.writeable = False
    return logits


def seal_full(trace: Trace, position: int) -> Seal:
    """Their softmax over the whole vocabulary against the probabilities that the run recorded."""
    assert trace.top is not None
    ids, recorded = trace.top.probabilities(position)
    return compare("logits", softmax(full_logits(trace, position).astype(np.float64))[ids], recorded)


def probability_of(trace: Trace, position: int, token: int) -> float:
    """The probability of one token over the whole vocabulary, with the log-sum-exp that the run recorded."""
    assert trace.top is not None
    return float(np.exp(float(full_logits(trace, position)[token]) - trace.top.logsumexp[position]))


def rank_of(logits: Array, token: int) -> int:
    """How many of `logits` (vocabulary,) stand before the token's, of equal ones those of smaller ids: 0 is first."""
    own = logits[token]
    return int((logits > own).sum() + (logits[:token] == own).sum())
