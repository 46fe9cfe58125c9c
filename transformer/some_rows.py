"""A site's values for some tokens only: what a long text's window shows is not computed for the whole text."""

import numpy as np

from transformer import replay
from transformer.errors import WeightsChanged
from transformer.parts import Array, FeedForwardPart, LinearPart, NormPart
from transformer.trace import Trace


def some_rows(trace: Trace, site: str, rows: slice) -> Array:
    """`trace[site][rows]`, float32 (position, d_model): recorded, or from the parts' formulas for these rows alone.

    Raises NoSuchSite, WeightsChanged.
    """
    kept = trace.resolve(site)
    place, _, part = kept.rpartition(".")
    if kept in trace.arrays or part != "output" or site not in trace.sites:
        return trace[site][rows]
    if trace.weights_changed():
        raise WeightsChanged(site=site, model=trace.model)
    projection, formula = trace.parts.get(f"{place}.projection"), trace.parts.get(place)
    if isinstance(projection, LinearPart):
        heads = [trace.context(place, head, rows) for head in range(trace.attention[place].heads)]
        return np.asarray(projection(np.concatenate(heads, -1)), np.float32)
    assert isinstance(formula, NormPart | FeedForwardPart)
    return np.asarray(formula(some_rows(trace, f"{place}.input", rows)), np.float32)


def seal_sum(trace: Trace, total: str, rows: slice = slice(None)) -> replay.Seal:
    """The seal of a recorded sum, some tokens of it: its terms from the parts' own formulas, added up.

    Raises NoSuchSite where it is no sum, or a term is not known.
    """
    if total not in trace.sums:
        return replay.seal(trace, total)  # which names those that there are
    terms = [some_rows(trace, term, rows) for term in trace.sums[total]]
    return replay.compare(total, np.asarray(np.sum(terms, axis=0, dtype=np.float64)), some_rows(trace, total, rows))
