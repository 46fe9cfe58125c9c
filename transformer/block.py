"""One layer of a Transformer: attention, then feed-forward, each with a residual connection and a norm."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from transformer.attention import MultiHeadAttention, Rotary
from transformer.cache import LayerCache
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
        bias: Tensor | None = None,
        rotary: Rotary | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """(batch, position, d_model) to (batch, position, d_model).

        `allowed` broadcasts to (batch, head, query, key), True = may look; `causal` forbids later keys without a mask;
        `bias` is added to the scores (ALiBi); `rotary` turns query and key; `cache` keeps what earlier calls computed.
        """
        attention = partial(self.attention, allowed=allowed, causal=causal, bias=bias, rotary=rotary, cache=cache)
        x = self._add(x, attention, self.norm1)
        return self._add(x, self.feedforward, self.norm2)

    def _add(self, x: Tensor, part: Callable[[Tensor], Tensor], norm: nn.Module) -> Tensor:
        """One part added to the residual stream, its norm before (pre) or after (post)."""
        if self.pre:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))


class CrossBlock(Block):
    """A layer of an encoder–decoder's decoder (Vaswani et al. 2017, section 3.1): between the two parts of `Block`, a
    third looks across to the encoder's output.

        pre    x = x + attention(norm1(x))              post   x = norm1(x + attention(x))
               x = x + cross(norm2(x), memory)                 x = norm2(x + cross(x, memory))
               x = x + feedforward(norm3(x))                   x = norm3(x + feedforward(x))
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.cross = MultiHeadAttention(config)
        self.norm3 = make_norm(config)

    def forward(
        self,
        x: Tensor,
        allowed: Tensor | None = None,
        *,
        memory: Tensor | None = None,
        memory_allowed: Tensor | None = None,
        causal: bool = False,
        bias: Tensor | None = None,
        rotary: Rotary | None = None,
        cache: LayerCache | None = None,
        memory_cache: LayerCache | None = None,
    ) -> Tensor:
        """As `Block`; `memory` (batch, source position, d_model) is the encoder's output and `memory_allowed` which of
        it may be looked at (its padding may not)."""
        assert memory is not None, "a CrossBlock looks at the encoder's output"
        attention = partial(self.attention, allowed=allowed, causal=causal, bias=bias, rotary=rotary, cache=cache)
        cross = partial(self.cross, allowed=memory_allowed, context=memory, cache=memory_cache)
        x = self._add(x, attention, self.norm1)
        x = self._add(x, cross, self.norm2)
        return self._add(x, self.feedforward, self.norm3)
