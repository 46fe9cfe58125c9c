"""All attention maps of a run, small enough for one picture.

A text of 1,024 tokens on 270 heads has 283 million weights; nobody can look at them at once, and they must never stand
in memory together. A few heads' maps at a time are made in float32, shrunk (the largest weight of each block of tokens)
and dropped; exact weights come from `Trace.weights`, one head at a time.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.maps import Attention
from transformer.parts import Array
from transformer.trace import Trace

CELLS_AT_ONCE = 4_000_000  # weights in memory together


def shrunken_maps(trace: Trace, block: int) -> list[Array]:
    """One (head, query block, key block) uint8 array per attention, holding 255·√weight: the root keeps small weights
    visible. `block` tokens per side share a cell."""
    return [_of_attention(trace, site, how, block) for site, how in trace.attention.items()]


def _of_attention(trace: Trace, site: str, how: Attention, block: int) -> Array:
    n_query, n_key = len(trace.tokens(site, "query")), len(trace.tokens(site, "key"))
    step = max(1, CELLS_AT_ONCE // (n_query * n_key))
    parts = [range(first, min(first + step, how.heads)) for first in range(0, how.heads, step)]
    with torch.inference_mode():
        return np.concatenate([_shrunken(_weights(trace, site, how, heads), block) for heads in parts])


def _weights(trace: Trace, site: str, how: Attention, heads: range) -> Tensor:
    """(head, query, key) of some heads: the formula of `maps.py`, for many heads at once."""
    if how.weights is not None:
        return torch.tensor(how.weights[heads.start : heads.stop])
    shared = [how.kv_head(head) for head in heads]
    query = torch.tensor(trace[f"{site}.q"][heads.start : heads.stop])
    scores = query @ torch.tensor(trace[f"{site}.k"][shared]).transpose(1, 2) * how.scale
    if how.softcap is not None:
        scores = how.softcap * torch.tanh(scores / how.softcap)
    if how.bias is not None:
        scores += torch.tensor(how.bias[heads.start : heads.stop] if len(how.bias) > 1 else how.bias)
    forbidden = np.stack([~trace.allowed(site, head) for head in (heads if _differs(how) else heads[:1])])
    scores.masked_fill_(torch.from_numpy(forbidden), torch.finfo(torch.float32).min)
    if how.sinks is None:
        return torch.softmax(scores, dim=-1)
    sinks = torch.tensor(how.sinks[heads.start : heads.stop]).view(-1, 1, 1).expand(-1, scores.shape[1], 1)
    return torch.softmax(torch.cat([scores, sinks], dim=-1), dim=-1)[..., :-1]


def _differs(how: Attention) -> bool:
    """Whether heads have masks of their own."""
    return how.allowed is not None and how.allowed.ndim == 3


def _shrunken(weights: Tensor, block: int) -> Array:
    pooled = weights if block == 1 else F.max_pool2d(weights[None], block, ceil_mode=True)[0]
    shades: Array = (pooled.clamp(0, 1).sqrt() * 255 + 0.5).to(torch.uint8).numpy()
    return shades
