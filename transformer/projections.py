"""Finds the linear maps that give an attention its queries, keys and values, on the numbers of a probe pass.

A map counts only if its own output is what the attention was given: number for number, up to a factor (OPT), or up to a
turn of pairs of dimensions (rotary positions). Families that keep all three in one matrix have them one after the other
(GPT-2) or head by head (GPT-NeoX). A norm in between (Qwen3) or a detour over fewer dimensions (DeepSeek) is not
recognised: then there is no part, and the trace says so.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor

from transformer.parts import Array, LinearPart, ProjectionPart
from transformer.probe import Heard
from transformer.recognise import is_linear, linear_part, same, to_numpy
from transformer.rotation import Pairing, factor_between, find_pairing

_Rows = tuple[slice, Array]  # of a matrix, and of what that leaves: (head, d_head)
NAMES = ("q", "k", "v")


def read_projections(attention: Heard, before: Sequence[Heard], looked_at: Tensor) -> dict[str, ProjectionPart]:
    """The parts that were found among the modules `before`, by "q", "k", "v".

    `looked_at` is the stream that keys and values are made from: what enters the attention, or in cross-attention what
    the encoder gave.
    """
    call, entering = attention.attention, attention.input
    if call is None or entering is None:
        return {}
    given = {"q": entering, "k": looked_at, "v": looked_at}
    wanted = {"q": call.query, "k": call.key, "v": call.value}
    counts = call.query.shape[1], call.key.shape[1]
    maps = [one for one in before if is_linear(one)]
    found = {name: _find(name, to_numpy(wanted[name])[0], given[name], maps, counts) for name in NAMES}
    parts = {name: part for name, part in found.items() if part is not None}
    turns = {part.pairing for name, part in parts.items() if name != "v"}
    # Queries that turn beside keys that do not would be no rotation of both by position.
    return parts if len(turns) < 2 else {name: part for name, part in parts.items() if name == "v"}


def _find(
    name: str, wanted: Array, given: Tensor, maps: Sequence[Heard], counts: tuple[int, int]
) -> ProjectionPart | None:
    """The first map that was given `given` and gave `wanted` (head, position, d_head)."""
    for one in maps:
        if one.input is None or one.output is None or not _is_same_stream(one.input, given):
            continue
        part, out = linear_part(one.module), to_numpy(one.output).reshape(wanted.shape[1], -1)
        assert part is not None
        for rows, inner in _layouts(name, out.shape[-1], wanted.shape[-1], counts):
            heads = out[:, rows][:, inner].transpose(1, 0, 2)  # (head, position, d_head)
            if heads.shape == wanted.shape and (how := _relation(name, heads, wanted)) is not None:
                inner.flags.writeable = False
                return ProjectionPart(_rows_of(part, rows), inner, *how)
    return None


def _is_same_stream(one: Tensor, other: Tensor) -> bool:
    """Some families flatten batch and position before a linear map."""
    return one.numel() == other.numel() and one.shape[-1] == other.shape[-1] and one.flatten().equal(other.flatten())


def _layouts(name: str, size: int, d_head: int, counts: tuple[int, int]) -> Iterator[_Rows]:
    """Which rows of a map may be the heads' queries, keys or values, `d_head` numbers each."""
    heads, kv_heads = counts
    own = heads if name == "q" else kv_heads
    if size == own * d_head:
        yield slice(0, size), _in_order(own, d_head)
    if size == (heads + 2 * kv_heads) * d_head:
        first = {"q": 0, "k": heads, "v": heads + kv_heads}[name] * d_head
        yield slice(first, first + own * d_head), _in_order(own, d_head)
        share = heads // kv_heads  # queries of one group, then its key, then its value
        groups = np.arange(size).reshape(kv_heads, share + 2, d_head)
        part = {"q": slice(0, share), "k": slice(share, share + 1), "v": slice(share + 1, None)}[name]
        yield slice(0, size), groups[:, part].reshape(own, d_head)


def _in_order(heads: int, d_head: int) -> Array:
    return np.arange(heads * d_head).reshape(heads, d_head)


def _rows_of(part: LinearPart, rows: slice) -> LinearPart:
    """A view: nothing of the model is copied."""
    return LinearPart(part.weight[rows], None if part.bias is None else part.bias[rows])


def _relation(name: str, before: Array, after: Array) -> tuple[float, Pairing | None] | None:
    """The factor and the turn that lead from one to the other; None where nothing known does."""
    if same(before, after):
        return 1.0, None
    if name == "v":
        return None
    factor = factor_between(before, after)
    if same(np.float32(factor) * before, after):
        return factor, None
    pairing = find_pairing(factor * before, after)
    return None if pairing is None else (factor, pairing)
