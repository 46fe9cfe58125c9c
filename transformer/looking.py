"""Who may look at whom in one pass through a stack, worked out once for all of its layers."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer import masks
from transformer.config import ModelConfig
from transformer.errors import ShapesDoNotFit
from transformer.positions import Alibi, Rotary, Rotation


@dataclass(frozen=True, eq=False)
class Look:
    """What every block of a stack is told. No `allowed` but `causal`: plain causal, which has a faster kernel."""

    allowed: Tensor | None  # broadcasts to (batch, head, query, key), True = may look
    causal: bool
    bias: Tensor | None  # (batch, head, query, key), added to the scores
    rotary: Rotation | None  # turns query and key


class Looking(nn.Module):
    """The rules of a stack. `rotary` and `alibi` are None where the model knows positions otherwise."""

    def __init__(self, config: ModelConfig, *, causal: bool) -> None:
        super().__init__()
        self.causal, self.window, self.prefix = causal, config.window, config.prefix
        self.rotary = Rotary(config.head_size, config.rotary_base) if config.positions == "rotary" else None
        self.alibi = Alibi(config.n_heads) if config.positions == "alibi" else None

    def forward(self, query_positions: Tensor, key_positions: Tensor, attention_mask: Tensor | None) -> Look:
        """`query_positions` (batch, query) are the last of `key_positions` (batch, key); earlier keys are cached.

        `attention_mask` (batch, key): 1 = real token, 0 = padding; None: all are real. Raises ShapesDoNotFit where only
        a part of the prefix is cached: it would have had to look at what was not there yet.
        """
        n_queries, n_keys = query_positions.shape[-1], key_positions.shape[-1]
        self._refuse_half_a_prefix(n_keys - n_queries, attention_mask)
        allowed = self._allowed(n_queries, n_keys, attention_mask, query_positions.device)
        return Look(
            allowed=allowed,
            causal=self.causal and allowed is None,
            bias=None if self.alibi is None else self.alibi(query_positions, key_positions),
            rotary=None if self.rotary is None else self.rotary(query_positions),
        )

    def _allowed(
        self, n_queries: int, n_keys: int, attention_mask: Tensor | None, device: torch.device
    ) -> Tensor | None:
        padded = attention_mask is not None and not bool(attention_mask.all())
        rules = [masks.padding(attention_mask)] if padded and attention_mask is not None else []
        plain = not padded and self.window is None and not self.prefix
        fits_the_kernel = plain and n_queries in (1, n_keys)  # a single query sees all that is cached
        if self.causal and not fits_the_kernel:
            rules.append(self._earlier(n_queries, n_keys, attention_mask, device))
        if not rules:
            return None
        allowed = masks.combined(*rules)
        return allowed if allowed.dim() == 4 else allowed[None, None]  # (batch, 1, query, key)

    def _earlier(self, n_queries: int, n_keys: int, attention_mask: Tensor | None, device: torch.device) -> Tensor:
        """(query, key), or (batch, 1, query, key) with a prefix: causal or a window, and what everybody sees."""
        if self.window is None:
            allowed = masks.causal(n_queries, n_keys, device=device)
        else:
            allowed = masks.sliding_window(n_queries, self.window, n_keys, device=device)
        if self.prefix:
            real = torch.ones(1, n_keys, device=device) if attention_mask is None else attention_mask
            first = real.long().cumsum(-1) <= self.prefix  # (batch, key): counted over the real tokens
            allowed = allowed | first[:, None, None, :]
        return allowed

    def _refuse_half_a_prefix(self, past: int, attention_mask: Tensor | None) -> None:
        if not (self.causal and self.prefix and past):
            return
        read = torch.tensor([past]) if attention_mask is None else attention_mask[:, :past].long().sum(-1)  # (batch,)
        half = read[(read > 0) & (read < self.prefix)]
        if half.numel():
            raise ShapesDoNotFit(what="cache", expected=f"≥ {self.prefix} (prefix)", got=int(half[0]))
