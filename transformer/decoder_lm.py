"""DecoderLM: a language model of the GPT kind, blocks with a causal mask and a head that scores the next token.

Radford et al. 2018 and 2019 (GPT, GPT-2); with RMSNorm, rotary positions and SwiGLU: Touvron et al. 2023 (Llama).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.block import Block
from transformer.cache import KeyValueCache
from transformer.config import ModelConfig
from transformer.embedding import TextEmbedding
from transformer.initial_weights import initialize
from transformer.looking import Looking
from transformer.norm import make_norm
from transformer.parameter_counts import parameter_counts
from transformer.text_input import check_ids, count_positions


@dataclass(frozen=True, eq=False)
class ModelOutput:
    """What a run gives back, named as Hugging Face names it.

    `logits`: (batch, position, vocab_size) of a language model, (batch, n_classes) of a classifier.
    """

    logits: Tensor


class DecoderLM(nn.Module):
    """Called as Hugging Face models are: `model(input_ids, attention_mask=...).logits`.

        ids ─▶ embedding (+ positions) ─▶ blocks[0] … blocks[n_layers − 1] ─▶ norm (pre only) ─▶ head ─▶ logits

    `norm` is None in the post form, whose last block already ends with one. If tied, `head` and `embedding.tokens`
    share one matrix.
    """

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.embedding = TextEmbedding(config)
        self.looking = Looking(config, causal=True)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = make_norm(config) if config.norm == "pre" else None
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tied_embeddings:
            self.head.weight = self.embedding.tokens.weight
        initialize(self, config, generator)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> ModelOutput:
        """Score every token of the vocabulary as the next one, after each position.

        Args:
            input_ids: (batch, position) whole numbers below vocab_size.
            attention_mask: (batch, position), 1 = real token, 0 = padding on either side. None: all are real.
            position_ids: (batch, position). None: counted over the real tokens, so padding on the left moves nobody.
            cache: what earlier calls read; these ids come after it, and the mask covers both.

        Raises:
            ShapesDoNotFit: a tensor is not of the shape above.
            TooManyTokens: a position is beyond `max_positions`.
            UnknownToken: an id is outside the vocabulary.
        """
        past = 0 if cache is None else cache.length
        keys = count_positions(input_ids, attention_mask, past)  # (batch, key)
        position_ids = keys[:, past:] if position_ids is None else position_ids
        check_ids(self.config, input_ids, position_ids, type(self).__name__)
        look = self.looking(position_ids, keys if past else position_ids, attention_mask)

        x = self.embedding(input_ids, position_ids)  # (batch, position, d_model)
        for layer, block in enumerate(self.blocks):
            own = None if cache is None else cache.own[layer]
            x = block(x, look.allowed, causal=look.causal, bias=look.bias, rotary=look.rotary, cache=own)
        x = x if self.norm is None else self.norm(x)
        return ModelOutput(self.head(x))  # (batch, position, vocab_size)

    def new_cache(self) -> KeyValueCache:
        """An empty cache for `forward`."""
        return KeyValueCache(self.config.n_layers)

    def parameter_counts(self) -> dict[str, int]:
        """How many numbers were learned in each part, see `parameter_counts`."""
        return parameter_counts(self)
