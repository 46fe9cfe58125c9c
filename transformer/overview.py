"""All attention maps of a run, small enough for one picture.

A text of 1,024 tokens on 270 heads has 283 million weights; nobody can look at them at once, and they must never stand
in memory together. Each head's map is made, shrunk (the largest weight of each block of tokens) and dropped.
"""

import numpy as np

from transformer.parts import Array
from transformer.trace import Trace


def shrunken_maps(trace: Trace, block: int) -> list[Array]:
    """One (head, query block, key block) uint8 array per attention, holding 255·√weight: the root keeps small weights
    visible. `block` tokens per side share a cell."""
    return [
        np.stack([_shrunken(trace.weights(site, head), block) for head in range(how.heads)])
        for site, how in trace.attention.items()
    ]


def _shrunken(weights: Array, block: int) -> Array:
    if block > 1:
        rows, columns = (range(0, size, block) for size in weights.shape)
        weights = np.maximum.reduceat(np.maximum.reduceat(weights, rows, axis=0), columns, axis=1)
    return (np.sqrt(np.clip(weights, 0, 1)) * 255 + 0.5).astype(np.uint8)
