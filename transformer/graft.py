"""The only border to Hugging Face's attention: their models are grafted onto our `attend`.

`transformers` lets a program register its own attention function and the mask that goes with it; without the mask a
causal model would silently look ahead, so both are registered together.
"""

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from transformer.attention import attend

NAME = "see_through"
FORBIDDEN = -9_000.0  # no bias that is learned or counted from distances comes near


def grafted_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    position_bias: Tensor | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """What `transformers` asks of an attention: (batch, query, head, d_value), and no weights.

    The other keywords (caches, sequence lengths, a sliding window that is in the mask already) change nothing here;
    that nothing else changes the numbers is checked when a model is wrapped.
    """
    allowed, added = split_mask(attention_mask)
    is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    context = attend(
        query,
        key,
        value,
        allowed=allowed,
        causal=bool(is_causal) and attention_mask is None and query.shape[2] > 1,
        bias=added if position_bias is None else position_bias if added is None else position_bias + added,
        scale=scaling,
        softcap=softcap,
        sinks=s_aux,
        dropout=dropout,
        listener_module=module,
    )
    return context.transpose(1, 2).contiguous(), None


def split_mask(mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """A mask as (allowed, bias). Additive masks hold the lowest float, −∞ or a number like −10,000 where looking is
    forbidden: whatever the softmax turns into exactly 0 beside any ordinary score."""
    if mask is None or mask.dtype == torch.bool:
        return mask, None
    allowed = mask > FORBIDDEN
    bias = torch.where(allowed, mask, 0)
    return allowed, bias if bool(bias.any()) else None


AttentionInterface.register(NAME, grafted_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
