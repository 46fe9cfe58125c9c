"""How close two texts are: one vector per text, and the cosine of the two (Reimers & Gurevych 2019, section 3).

    u = mean over all real tokens of the last hidden states      cosine(u, v) = u · v ÷ (|u| · |v|)

The mean counts special tokens such as [CLS] and [SEP] and leaves out padding, as sentence-transformers does it for
all-MiniLM.
"""

import numpy as np

from transformer.errors import NoSuchSite
from transformer.parts import Array
from transformer.readout import real_positions
from transformer.trace import Trace


def token_vectors(trace: Trace) -> Array:
    """(real token, d_model) float64: the last hidden states of the first stack. Raises NoSuchSite."""
    stack = next(iter(trace.encodings))
    vectors = trace[f"{stack}.output"].astype(np.float64)
    return np.asarray(vectors[real_positions(trace, stack)])


def sentence_vector(trace: Trace) -> Array:
    """(d_model,) float64 of length 1: the mean of `token_vectors`, divided by its length."""
    mean = token_vectors(trace).mean(0)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length) if length else mean


def similarity(one: Trace, other: Trace) -> float:
    """The cosine of the two texts' vectors, −1 … 1. Raises NoSuchSite where two models do not share a width."""
    u, v = sentence_vector(one), sentence_vector(other)
    if u.shape != v.shape:
        raise NoSuchSite(site=f"({len(v)},)", sites=f"({len(u)},)")
    return float(u @ v)


def token_cosines(one: Trace, other: Trace) -> Array:
    """(token of one, token of the other) float64: the cosine of each pair of last hidden states."""
    u, v = (_unit(token_vectors(trace)) for trace in (one, other))
    return np.asarray(u @ v.T)


def token_pair(one: Trace, other: Trace, row: int, column: int) -> tuple[Array, Array]:
    """The two vectors of length 1 whose product is one cell of `token_cosines`."""
    return _unit(token_vectors(one)[row]), _unit(token_vectors(other)[column])


def _unit(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))
