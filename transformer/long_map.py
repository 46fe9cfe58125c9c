"""One head of a long text, small enough for a picture: the largest weight of every block of tokens.

A map of 4,096 tokens has 17 million weights. It is made some rows at a time, shrunk and dropped; exact weights come
from `Trace.weights` with `rows`, as many as a window shows.
"""

import numpy as np
import torch
import torch.nn.functional as F

from transformer.overview import weights_of_heads
from transformer.parts import Array
from transformer.trace import Trace

ROWS_AT_ONCE = 256  # about, times the keys of the text: 4 MB at 4,096


def long_map(trace: Trace, site: str, head: int, block: int) -> Array:
    """(query block, key block) float32: the largest weight of `block` × `block` tokens, NaN where the mask forbids all
    of them."""
    n_query = len(trace.tokens(site, "query"))
    step = max(block, ROWS_AT_ONCE // block * block)
    parts = [slice(first, min(first + step, n_query)) for first in range(0, n_query, step)]
    return np.concatenate([_shrunken(trace, site, head, rows, block) for rows in parts])


def _shrunken(trace: Trace, site: str, head: int, rows: slice, block: int) -> Array:
    with torch.inference_mode():
        weights = weights_of_heads(trace, site, range(head, head + 1), rows)  # (1, query, key)
        if f"{site}.allowed" not in trace.lacks:
            weights = weights.masked_fill(torch.from_numpy(~trace.allowed(site, head, rows)), -torch.inf)
        pooled: Array = F.max_pool2d(weights[None], block, ceil_mode=True)[0, 0].numpy()
    return np.where(np.isneginf(pooled), np.float32(np.nan), pooled)
