"""How undecided attention is, during training and with its gradient: a price on it makes heads look at few tokens.

H(query) = −Σ_key weight · log weight        in nats: 0 where one key has all the weight, log n where n share it
"""

import torch
from torch import Tensor, nn

from transformer.attention import added_to_scores
from transformer.listening import AttentionCall


class EntropyEar:
    """Hears every attention of a pass; `mean()` is the entropy of a query, over all heads and queries."""

    def __init__(self) -> None:
        self._means: list[Tensor] = []

    def attention(self, module: nn.Module, call: AttentionCall) -> None:
        shared = call.query.shape[1] // call.key.shape[1]
        key = call.key.repeat_interleave(shared, dim=1)
        scores = call.query @ key.transpose(-2, -1) * call.scale  # (batch, head, query, key)
        mask = added_to_scores(call.query, key, call.allowed, call.causal, call.bias)
        log_weights = torch.log_softmax(scores if mask is None else scores + mask, dim=-1)
        self._means.append(-(log_weights.exp() * log_weights).sum(-1).mean())

    def entering(self, module: nn.Module, tensor: Tensor, mask: Tensor | None) -> None: ...
    def leaving(self, module: nn.Module, tensor: Tensor) -> None: ...

    def mean(self) -> Tensor:
        """A scalar with its gradient, in nats; 0 where nothing attended."""
        return torch.stack(self._means).mean() if self._means else torch.zeros(())
