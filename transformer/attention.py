"""Scaled dot-product attention: the one that runs inside every model (Vaswani et al. 2017, section 3.2).

    Attention(Q, K, V) = softmax(Q Kᵀ · scale + bias, over the allowed keys) V        scale = 1/√d_head

Our own blocks call `attend`, and Hugging Face models are grafted onto it (`graft.py`), so whatever is recorded or shown
of attention is written once. With fewer key-value heads than heads it is grouped-query attention (Ainslie et al. 2023),
with a single one multi-query attention (Shazeer 2019).
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.cache import LayerCache
from transformer.config import ModelConfig
from transformer.listening import AttentionCall, current_listener

Rotary = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def attend(
    query: Tensor,  # (batch, head, query, d_head)
    key: Tensor,  # (batch, kv_head, key, d_head); kv_head divides head
    value: Tensor,  # (batch, kv_head, key, d_value)
    *,
    allowed: Tensor | None = None,
    causal: bool = False,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout: float = 0.0,
    listener_module: nn.Module | None = None,
) -> Tensor:
    """The context of every head: (batch, head, query, d_value).

    `allowed` (bool, True = may look) and `bias` broadcast to (batch, head, query, key). `causal` says "query t sees
    keys 0…t" without a mask tensor and goes with equal lengths. `softcap` squashes scores to ±softcap (Gemma 2).
    `sinks` (head,) adds one logit per head to the softmax's denominator (gpt-oss), so that rows sum to less than 1.
    A query that may look at nothing spreads its attention evenly, as in Hugging Face's eager attention.
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    needs_formula = softcap is not None or sinks is not None
    mechanism = written_out if needs_formula else _kernel
    context = mechanism(query, key, value, allowed, causal, bias, scale, softcap, sinks, dropout)
    listener = current_listener()
    if listener is not None and listener_module is not None:
        call = AttentionCall(query, key, value, context, allowed, causal, bias, scale, softcap, sinks)
        listener.attention(listener_module, call)
    return context


def written_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor | None,
    causal: bool,
    bias: Tensor | None,
    scale: float,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """The formula, line by line; serves where torch's kernel cannot, and is tested to equal it where it can."""
    key, value = _for_each_head(key, query), _for_each_head(value, query)
    scores = query @ key.transpose(-2, -1) * scale  # (batch, head, query, key)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    mask = added_to_scores(query, key, allowed, causal, bias)
    scores = scores if mask is None else scores + mask
    if sinks is not None:
        column = sinks.view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, column.to(scores.dtype)], dim=-1)  # (batch, head, query, key + 1)
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)[..., : key.shape[2]]
    return F.dropout(weights, dropout, training=dropout > 0) @ value  # (batch, head, query, d_value)


def _kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor | None,
    causal: bool,
    bias: Tensor | None,
    scale: float,
    _softcap: float | None,
    _sinks: Tensor | None,
    dropout: float,
) -> Tensor:
    """torch's fused kernel: the same numbers without ever holding a map. It knows no soft-cap and no sinks."""
    by_flag = causal and allowed is None and bias is None and query.shape[2] > 1
    mask = None if by_flag else added_to_scores(query, key, allowed, causal, bias)
    # With a mask, torch shares key-value heads only on its slow path, so they are repeated instead.
    if mask is not None or key.shape[-1] != value.shape[-1]:
        key, value = _for_each_head(key, query), _for_each_head(value, query)
    shared = key.shape[1] != query.shape[1]
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=by_flag, scale=scale, enable_gqa=shared
    )


def _for_each_head(shared: Tensor, query: Tensor) -> Tensor:
    """(batch, kv_head, key, d) → (batch, head, key, d): neighbouring heads share one key-value head."""
    return shared.repeat_interleave(query.shape[1] // shared.shape[1], dim=1)


def added_to_scores(
    query: Tensor, key: Tensor, allowed: Tensor | None, causal: bool, bias: Tensor | None
) -> Tensor | None:
    """What is added to the scores: `bias` where looking is allowed and the lowest float where it is not.

    The lowest float and not −∞: a row without any allowed key then becomes even weights instead of NaN.
    """
    if causal and query.shape[2] > 1:
        lower = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device).tril()
        allowed = lower if allowed is None else allowed & lower
    if allowed is None:
        return bias
    zero = torch.zeros((), dtype=query.dtype, device=query.device)
    return torch.where(allowed, zero if bias is None else bias, torch.finfo(query.dtype).min)


class MultiHeadAttention(nn.Module):
    """Several heads side by side, each with its own projections of `d_head` (Vaswani et al. 2017, section 3.2.2)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads, self.d_head = config.n_heads, config.kv_heads, config.head_size
        self.dropout = config.dropout
        bias = config.attention_bias
        self.query = nn.Linear(config.d_model, self.n_heads * self.d_head, bias=bias)
        self.key = nn.Linear(config.d_model, self.n_kv_heads * self.d_head, bias=bias)
        self.value = nn.Linear(config.d_model, self.n_kv_heads * self.d_head, bias=bias)
        self.output = nn.Linear(self.n_heads * self.d_head, config.d_model, bias=bias)

    def forward(
        self,
        x: Tensor,  # (batch, query, d_model)
        allowed: Tensor | None = None,
        *,
        context: Tensor | None = None,
        causal: bool = False,
        bias: Tensor | None = None,
        rotary: Rotary | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """(batch, query, d_model). `context` (batch, key, d_model) is looked at instead of `x` in cross-attention.

        With a `cache`, the keys and values of earlier calls are looked at as well, and those of this one are kept.
        """
        query, key, value = self._projected(x, context, rotary, cache)
        dropout = self.dropout if self.training else 0.0
        mixed = attend(
            query, key, value, allowed=allowed, causal=causal, bias=bias, dropout=dropout, listener_module=self
        )
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _projected(
        self, x: Tensor, context: Tensor | None, rotary: Rotary | None, cache: LayerCache | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value of every head: (batch, head, position, d_head)."""
        query = self._heads(self.query(x))
        if context is not None and cache is not None and cache.filled:
            return query, *cache.kept()  # the text that is looked across to does not grow
        looked_at = x if context is None else context
        key, value = self._heads(self.key(looked_at)), self._heads(self.value(looked_at))
        if rotary is not None:
            query, key = rotary(query, key)
        return (query, key, value) if cache is None else (query, *cache.extended(key, value))

    def _heads(self, x: Tensor) -> Tensor:
        """(batch, position, head · d_head) → (batch, head, position, d_head)."""
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)
