"""Encoder: blocks in which every token looks at every other one; text in, one vector per token out.

Vaswani et al. 2017, section 3.1 (post-norm); Devlin et al. 2019 (BERT). On its own it is a sentence encoder's body.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.block import Block
from transformer.config import ModelConfig
from transformer.embedding import TextEmbedding
from transformer.initial_weights import initialize
from transformer.looking import Looking
from transformer.norm import make_norm
from transformer.text_input import check_ids, check_segments, count_positions


@dataclass(frozen=True, eq=False)
class EncoderOutput:
    """Named as Hugging Face names it: `last_hidden_state` (batch, position, d_model)."""

    last_hidden_state: Tensor


class Encoder(nn.Module):
    """Called as Hugging Face models are: `encoder(input_ids, attention_mask=...).last_hidden_state`.

    ids ─▶ embedding (+ positions) ─▶ blocks[0] … blocks[n_layers − 1] ─▶ norm (pre only) ─▶ one vector per token
    """

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.embedding = TextEmbedding(config)
        self.looking = Looking(config, causal=False)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = make_norm(config) if config.norm == "pre" else None
        initialize(self, config, generator)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
    ) -> EncoderOutput:
        """(batch, position) ids to (batch, position, d_model).

        `attention_mask`: 1 = real token, 0 = padding, which nobody looks at. `token_type_ids`: which text of a pair,
        for a config with `n_segments`. Positions are counted over the real tokens. Raises what `check_ids` and
        `check_segments` raise.
        """
        counted = count_positions(input_ids, attention_mask)
        position_ids = counted if position_ids is None else position_ids
        check_ids(self.config, input_ids, position_ids, type(self).__name__)
        check_segments(self.config, input_ids, token_type_ids)
        look = self.looking(position_ids, position_ids, attention_mask)

        x = self.embedding(input_ids, position_ids, token_type_ids)  # (batch, position, d_model)
        for block in self.blocks:
            x = block(x, look.allowed, bias=look.bias, rotary=look.rotary)
        return EncoderOutput(x if self.norm is None else self.norm(x))
