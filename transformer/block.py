"""One layer of a Transformer: attention, then feed-forward, each with a residual connection and a norm."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.feedforward import FeedForward
from transformer.norm import make_norm


class Block(nn.Module):
    """Attention and feed-forward around a residual stream; `config.norm` says where the norms stand.

        pre  (GPT-2, Llama; Xiong et al. 2020)        post  (Vaswani et al. 2017, section 3.1)

            x ──────────────┐                             x ──────────────┐
            │             norm1                           │           attention
            │           attention                         │               │
            + ◀─────────────┘                             + ◀─────────────┘
            │                                           norm1
            ├───────────────┐                             ├───────────────┐
            │             norm2                           │          feedforward
            │          feedforward                        │               │
            + ◀─────────────┘                             + ◀─────────────┘
            │                                           norm2
            ▼                                             ▼

        x = x + attention(norm1(x))                   x = norm1(x + attention(x))
        x = x + feedforward(norm2(x))                 x = norm2(x + feedforward(x))

    In the pre form nothing stands on the left line, so the last block's sum needs a norm of its own (`DecoderLM.norm`).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm1 = make_norm(config)
        self.attention = MultiHeadAttention(config)
        self.norm2 = make_norm(config)
        self.feedforward = FeedForward(config)
        self.dropout = nn.Dropout(config.dropout)  # of what each part adds, Vaswani et al. 2017, section 5.4

    def forward(
        self,
        x: Tensor,
        allowed: Tensor | None = None,
        *,
        causal: bool = False,
        rotary: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None,
    ) -> Tensor:
        """(batch, position, d_model) to (batch, position, d_model).

        `allowed` broadcasts to (batch, head, query, key), True = may look; `causal` forbids later keys without a mask.
        """
        attention = partial(self.attention, allowed=allowed, causal=causal, rotary=rotary)
        x = self._add(x, attention, self.norm1)
        return self._add(x, self.feedforward, self.norm2)

    def _add(self, x: Tensor, part: Callable[[Tensor], Tensor], norm: nn.Module) -> Tensor:
        """One part added to the residual stream, its norm before (pre) or after (post)."""
        if self.pre:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))
