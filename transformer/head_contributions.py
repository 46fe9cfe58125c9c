"""What the heads of one attention give: weighted values, their sum, and each head's part of what joins the stream.

    context_h = Σ_key weight_h,key · v_key        output = Σ_h context_h · W_O[:, slice_h]ᵀ + b_O

(Vaswani et al. 2017, section 3.2.2. That concatenating and W_O are a sum over the heads: Elhage et al. 2021, A
Mathematical Framework for Transformer Circuits.)
"""

from typing import NamedTuple

import numpy as np

from transformer import replay
from transformer.errors import TraceError, WeightsChanged
from transformer.parts import Array, LinearPart
from transformer.trace import NOT_SAVED, Trace


class NoVectors(TraceError):
    """The family hands out its weights only, or this was not recorded: there is no q, k or v."""


class NoOutputProjection(TraceError):
    """Which matrix follows the heads was not found in this model."""


class MixedValues(NamedTuple):
    """How one context vector is mixed. Keys that the mask forbids have weight 0."""

    weights: Array  # (key,) float64
    values: Array  # (key, d_value)

    @property
    def weighted(self) -> Array:
        """(key, d_value): each key's part of the context."""
        parts: Array = self.weights[:, None] * self.values
        return parts

    @property
    def context(self) -> Array:
        """(d_value,)"""
        return self.weights @ self.values

    def above_its_sum(self, rows: Array) -> Array:
        """(row + 1, d_value): some keys' vectors, and the context below them."""
        return np.append(rows, self.context[None], axis=0)

    @property
    def sink(self) -> float:
        """The weight that no key got: with a sink in the softmax (gpt-oss) it goes there, otherwise 0."""
        return 1.0 - float(self.weights.sum())


class HeadOutputs(NamedTuple):
    """What each head adds, in float64, and the bias of W_O, which is added once and belongs to no head."""

    heads: Array  # (head, d_model) of one position, (head, position, d_model) of a slice
    bias: Array  # (d_model,), zeros where W_O has none

    @property
    def total(self) -> Array:
        """(d_model,) or (position, d_model): the attention's output."""
        return np.asarray(self.heads.sum(0) + self.bias)

    @property
    def length(self) -> float:
        """Of the output at one position."""
        return float(np.linalg.norm(self.total))

    @property
    def lengths(self) -> Array:
        """(head,) or (head, position): the length of what each head adds."""
        return np.asarray(np.linalg.norm(self.heads, axis=-1))

    @property
    def cosines(self) -> Array:
        """The cosine of each head's part with the whole output; 0 where one of them has no length."""
        return _cosines(self.heads, self.total)

    @property
    def of_bias(self) -> tuple[float, float] | None:
        """Length and cosine of the bias at one position; None where W_O has none."""
        if not self.bias.any():
            return None
        return float(np.linalg.norm(self.bias)), float(_cosines(self.bias, self.total))

    @property
    def table(self) -> Array:
        """(head, 3) at one position: length, cosine, and length · cosine, which add up to the output's length.

        One row more for the bias, where there is one.
        """
        rows = np.stack([self.lengths, self.cosines], axis=1)
        rows = rows if self.of_bias is None else np.append(rows, [self.of_bias], axis=0)
        return np.append(rows, rows.prod(1, keepdims=True), axis=1)


def _cosines(parts: Array, whole: Array) -> Array:
    lengths = np.linalg.norm(parts, axis=-1) * np.linalg.norm(whole, axis=-1)
    dots = (parts * whole).sum(-1)
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)


def mixed_values(trace: Trace, site: str, head: int, query: int) -> MixedValues:
    """The weights of one query's row and the v vectors that they mix. Raises NoVectors, NoSuchSite."""
    values = attention_array(trace, site, "v")  # (kv_head, key, d_value)
    weights = trace.weights(site, head, slice(query, query + 1))[0].astype(np.float64)
    return MixedValues(weights, values[trace.attention[site].kv_head(head)].astype(np.float64))


def head_outputs(trace: Trace, site: str, position: int | slice) -> HeadOutputs:
    """Each head's share of `<site>.output` at one query position or a slice of them.

    Raises NoVectors where there are no q, k, v, NoOutputProjection where W_O is unknown, WeightsChanged where the model
    was trained since, NoSuchSite where there is no such attention.
    """
    projection = output_projection(trace, site)
    rows = position if isinstance(position, slice) else slice(position, position + 1)
    context = trace.context(site, rows=rows).astype(np.float64)  # (head, position, d_value)
    heads = context @ head_matrices(projection, len(context))
    bias = np.zeros(len(projection.weight)) if projection.bias is None else projection.bias.astype(np.float64)
    return HeadOutputs(heads if isinstance(position, slice) else heads[:, 0], bias)


def head_matrices(projection: LinearPart, n_heads: int) -> Array:
    """(head, d_value, d_model) float64: the slice of W_Oᵀ that each head's context meets."""
    out, into = projection.weight.shape
    return projection.weight.reshape(out, n_heads, into // n_heads).transpose(1, 2, 0).astype(np.float64)


def output_projection(trace: Trace, site: str) -> LinearPart:
    """W_O and its bias, if this run's contexts can be given to it; raises as `head_outputs` does."""
    attention_array(trace, site, "v")
    part = trace.parts.get(f"{site}.projection")
    if trace.lacks.get(f"{site}.projection") == NOT_SAVED:
        raise trace.missing(f"{site}.projection")
    if not isinstance(part, LinearPart):
        raise NoOutputProjection(site=site)
    if trace.weights_changed():
        raise WeightsChanged(site=f"{site}.output", model=trace.model)
    return part


def attention_array(trace: Trace, site: str, part: str) -> Array:
    """ "q", "k" or "v" of an attention. Raises NoVectors, and NoSuchSite where there is no such attention."""
    if f"{site}.{part}" not in trace.arrays and site in trace.attention:
        raise NoVectors(site=site, what=part)
    return trace[f"{site}.{part}"]  # a site that there is not is answered with those there are


def joins_the_stream(trace: Trace, site: str) -> bool:
    """Whether the output is added to the residual stream as it is; in Gemma 2 a norm comes first."""
    return any(f"{site}.output" in terms for terms in trace.sums.values())


def seal_context(trace: Trace, site: str, head: int, query: int) -> replay.Seal:
    """The sum of the weighted values against the check number of the context that the pass computed."""
    context = mixed_values(trace, site, head, query).context
    return replay.compare_checks(f"{site}.context", context[None], trace[f"{site}.check"][head, query : query + 1])


def seal_output(trace: Trace, site: str, position: int) -> replay.Seal:
    """The sum over the heads, with the bias, against the check number of what the pass's own W_O gave."""
    total = head_outputs(trace, site, position).total
    checks = trace[f"{site}.projection.output_check"][position : position + 1]
    return replay.compare_checks(f"{site}.output", total[None], checks)
