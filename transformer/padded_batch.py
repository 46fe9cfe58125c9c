"""Two texts in one padded batch: whether a row's real tokens get the numbers that they get alone.

Padding only fills up the shorter row. Where the padding mask keeps everybody from looking at it and positions are
counted over the real tokens, nothing that is real may change but by rounding; here that is measured.
"""

import numpy as np

from transformer.errors import NoSuchSite
from transformer.parts import Array
from transformer.replay import Seal, compare
from transformer.trace import Trace


def shorter_text(text: str) -> str:
    """The first half of a text by words, or by characters where it has no second word; "" of a single character."""
    words = text.split()
    return " ".join(words[: len(words) // 2]) if len(words) > 1 else text.strip()[: len(text.strip()) // 2]


def real_positions(trace: Trace) -> Array:
    """(position,) bool of the first text: True where a token is none of the padding."""
    encoding = next(iter(trace.encodings.values()))
    return np.logical_not(np.array(encoding.padding, bool))


def moved_by_padding(alone: Trace, row: Trace) -> Seal:
    """The largest difference between a text alone and as a `row` of a batch: of its logits (the largest of each
    position, and the log-sum-exp over all), or of the last stream of a model without a head.

    Raises NoSuchSite where the two are not the same text, or the model shows neither.
    """
    real = real_positions(row)
    ids, in_batch = (np.array(next(iter(one.encodings.values())).ids) for one in (alone, row))
    if not np.array_equal(ids, in_batch[real]):
        raise NoSuchSite(site=repr(in_batch[real].tolist()), sites=repr(ids.tolist()))
    if alone.top is not None and row.top is not None:
        rows = np.ones(len(row.top.values), bool) if len(row.top.values) != len(real) else real
        pairs = [np.column_stack([one.values, one.logsumexp]) for one in (alone.top, row.top)]
        return compare("logits", pairs[0], pairs[1][rows])
    site = last_stream(alone)
    return compare(site, alone[site], row[site][real])


def last_stream(trace: Trace) -> str:
    """ "encoder.5.resid.after", what the last block leaves. Raises NoSuchSite where the blocks are not known."""
    ends = [site for site in trace.sites if site.endswith(".resid.after")]
    if not ends:
        raise NoSuchSite(site="resid.after", sites=", ".join(trace.sites[-5:]))
    return max(ends, key=lambda site: int(site.split(".")[1]))
