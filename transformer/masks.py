"""Who may look at whom, as boolean `allowed`: True = this query may look at this key.

Every mask broadcasts to (batch, head, query, key), so `combined` can join any of them.

    causal(4)       sliding_window(4, 2)   prefix(4, 2)      padding([[0, 1, 1, 1]])
    ■ · · ·         ■ · · ·                ■ ■ · ·           · ■ ■ ■   (one row, for every query)
    ■ ■ · ·         ■ ■ · ·                ■ ■ · ·
    ■ ■ ■ ·         · ■ ■ ·                ■ ■ ■ ·
    ■ ■ ■ ■         · · ■ ■                ■ ■ ■ ■
"""

import torch
from torch import Tensor

from transformer.errors import ShapesDoNotFit


def causal(n_queries: int, n_keys: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """No query looks at a later key (Vaswani et al. 2017, 3.2.3). Returns (query, key).

    With more keys than queries the queries are the *last* positions, as they are when earlier keys are cached.
    """
    query, key = _grid(n_queries, n_keys, device)
    return key <= query  # (query, key)


def sliding_window(
    n_queries: int, width: int, n_keys: int | None = None, *, device: torch.device | None = None
) -> Tensor:
    """Causal, and only the last `width` keys, itself included (Jiang et al. 2023, Mistral 7B). Returns (query, key)."""
    if width < 1:
        raise ShapesDoNotFit(what="width", expected="≥ 1", got=width)
    query, key = _grid(n_queries, n_keys, device)
    return (key <= query) & (key > query - width)  # (query, key)


def prefix(n_tokens: int, length: int, *, device: torch.device | None = None) -> Tensor:
    """The first `length` tokens are seen by all, the rest is causal (Raffel et al. 2020). Returns (query, key)."""
    if not 0 <= length <= n_tokens:
        raise ShapesDoNotFit(what="length", expected=f"0 … {n_tokens}", got=length)
    query, key = _grid(n_tokens, None, device)
    return (key <= query) | (key < length)  # (query, key)


def padding(attention_mask: Tensor) -> Tensor:
    """Nobody looks at padding. Takes (batch, key) with 1 = real token, returns (batch, 1, 1, key)."""
    if attention_mask.dim() != 2:
        raise ShapesDoNotFit(what="attention_mask", expected="(batch, key)", got=tuple(attention_mask.shape))
    return attention_mask.bool()[:, None, None, :]  # (batch, 1, 1, key)


def combined(allowed: Tensor, *others: Tensor) -> Tensor:
    """Allowed where every mask allows it. Takes boolean masks of any broadcastable shapes."""
    assert all(mask.dtype == torch.bool for mask in (allowed, *others)), "masks are boolean, True = may look"
    for mask in others:
        allowed = allowed & mask
    return allowed


def _grid(n_queries: int, n_keys: int | None, device: torch.device | None) -> tuple[Tensor, Tensor]:
    """The position of every query, as a column, and of every key, as a row."""
    n_keys = n_queries if n_keys is None else n_keys
    if n_keys < n_queries:
        raise ShapesDoNotFit(what="n_keys", expected=f"≥ {n_queries} (n_queries = {n_queries})", got=n_keys)
    query = torch.arange(n_keys - n_queries, n_keys, device=device)[:, None]  # (query, 1)
    key = torch.arange(n_keys, device=device)[None, :]  # (1, key)
    return query, key
