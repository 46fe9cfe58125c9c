"""All attention maps of a run, small enough for one picture.

A text of 1,024 tokens on 270 heads has 283 million weights; nobody can look at them at once, and they must never stand
in memory together. A few heads' maps at a time are made in float32, shrunk (the largest weight of each block of tokens)
and dropped; exact weights come from `Trace.weights`, one head at a time.
"""

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.maps import Attention
from transformer.parts import Array
from transformer.trace import Trace
from transformer.words import Words, by_words, words_of

CELLS_AT_ONCE = 4_000_000  # weights in memory together


def shrunken_maps(trace: Trace, block: int, *, words: bool = False) -> list[Array]:
    """One (head, query block, key block) uint8 array per attention, holding 255·√weight: the root keeps small weights
    visible. `block` tokens (with `words`: words) per side share a cell."""
    return [_of_attention(trace, site, block, words) for site in trace.attention]


def _of_attention(trace: Trace, site: str, block: int, words: bool) -> Array:
    sides = [words_of(trace.encoding(site, axis)) for axis in ("query", "key")] if words else []
    with torch.inference_mode():
        maps = (weights for _, weights in some_heads_at_a_time(trace, site))
        return np.concatenate([_shrunken(_joined(weights, sides), block) for weights in maps])


def _joined(weights: Tensor, sides: list[Words]) -> Tensor:
    return torch.from_numpy(by_words(weights.numpy(), *sides)) if sides else weights


def some_heads_at_a_time(trace: Trace, site: str) -> Iterator[tuple[range, Tensor]]:
    """(heads, their weights (head, query, key) float32), until all heads of an attention had their turn."""
    how = trace.attention[site]
    n_query, n_key = len(trace.tokens(site, "query")), len(trace.tokens(site, "key"))
    step = max(1, CELLS_AT_ONCE // (n_query * n_key))
    for first in range(0, how.heads, step):
        heads = range(first, min(first + step, how.heads))
        with torch.inference_mode():
            weights = weights_of_heads(trace, site, heads)
        yield heads, weights


def weights_of_heads(trace: Trace, site: str, heads: range, rows: slice = slice(None)) -> Tensor:
    """(head, query, key) float32 of some heads and rows: the formula of `maps.py`, for many heads at once."""
    how = trace.attention[site]
    if how.weights is not None:
        return torch.tensor(how.weights[heads.start : heads.stop, rows])
    shared = [how.kv_head(head) for head in heads]
    query = torch.tensor(trace[f"{site}.q"][heads.start : heads.stop, rows])
    scores = query @ torch.tensor(trace[f"{site}.k"][shared]).transpose(1, 2) * how.scale
    if how.softcap is not None:
        scores = how.softcap * torch.tanh(scores / how.softcap)
    if how.bias is not None:
        bias = how.bias[heads.start : heads.stop] if len(how.bias) > 1 else how.bias
        scores += torch.tensor(bias[:, rows])
    forbidden = np.stack([~trace.allowed(site, head, rows) for head in (heads if _differs(how) else heads[:1])])
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


def shown_weights(maps: list[Array]) -> list[Array]:
    """The weights that shrunken maps show, (head, query block, key block) each, rounded by their 255 shades."""
    return [(one.astype(np.float32) / 255) ** 2 for one in maps]


def stacked(maps: list[Array], n_keys: int) -> Array:
    """All maps below each other, (head and query block, key block); NaN where a map has fewer keys than `n_keys`."""
    rows = [np.pad(one, ((0, 0), (0, 0), (0, n_keys - one.shape[-1])), constant_values=np.nan) for one in maps]
    return np.concatenate([one.reshape(-1, n_keys) for one in rows])
