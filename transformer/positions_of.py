"""Which position each token of a run has: its place in the row, or, beside padding, counted over the real tokens."""

from collections.abc import Iterator

import numpy as np

from transformer.parts import Array
from transformer.trace import Trace


def countings(trace: Trace, stack: str) -> Iterator[Array]:
    """(position,) whole numbers, as models count: the place in the row first, then over the real tokens only."""
    real = ~np.array(trace.encodings[stack].padding, dtype=bool)
    yield np.arange(len(real))
    if not real.all():
        yield np.maximum(real.cumsum() - 1, 0)


def real_tokens(trace: Trace, stack: str) -> Array:
    """(position,) bool: False = padding, of whose position nothing is asked."""
    return ~np.array(trace.encodings[stack].padding, dtype=bool)
