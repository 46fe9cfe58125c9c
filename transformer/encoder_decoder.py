"""EncoderDecoder: the Transformer of Vaswani et al. 2017, section 3: one text is read, another one is written."""

import torch
from torch import Tensor, nn

from transformer.block import CrossBlock
from transformer.cache import KeyValueCache
from transformer.config import ModelConfig
from transformer.decoder_lm import ModelOutput
from transformer.embedding import TextEmbedding
from transformer.encoder import Encoder
from transformer.errors import ShapesDoNotFit
from transformer.initial_weights import initialize
from transformer.looking import Looking
from transformer.masks import padding
from transformer.norm import make_norm
from transformer.text_input import check_ids, count_positions


class Decoder(nn.Module):
    """The writing half: each token looks at earlier target tokens, then across to the source.

    ids ─▶ embedding (+ positions) ─▶ blocks[0] … blocks[n_layers − 1] ─▶ norm (pre only) ─▶ one vector per token
                                         ▲ memory, the encoder's output
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TextEmbedding(config)
        self.looking = Looking(config, causal=True)
        self.blocks = nn.ModuleList(CrossBlock(config) for _ in range(config.n_layers))
        self.norm = make_norm(config) if config.norm == "pre" else None

    def forward(
        self,
        input_ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """(batch, target position) ids and (batch, source position, d_model) to (batch, target position, d_model).

        Raises what `count_positions` and `check_ids` raise, and ShapesDoNotFit for a mask that is not of the memory.
        """
        if memory_mask is not None and memory_mask.shape != memory.shape[:2]:
            raise ShapesDoNotFit(what="memory_mask", expected=tuple(memory.shape[:2]), got=tuple(memory_mask.shape))
        past = 0 if cache is None else cache.length
        keys = count_positions(input_ids, attention_mask, past)
        position_ids = keys[:, past:]
        check_ids(self.config, input_ids, position_ids, type(self).__name__)
        look = self.looking(position_ids, keys, attention_mask)
        memory_allowed = None if memory_mask is None or bool(memory_mask.all()) else padding(memory_mask)

        x = self.embedding(input_ids, position_ids)  # (batch, target position, d_model)
        for layer, block in enumerate(self.blocks):
            x = block(
                x,
                look.allowed,
                memory=memory,
                memory_allowed=memory_allowed,
                causal=look.causal,
                bias=look.bias,
                rotary=look.rotary,
                cache=None if cache is None else cache.own[layer],
                memory_cache=None if cache is None else cache.across[layer],
            )
        return x if self.norm is None else self.norm(x)


class EncoderDecoder(nn.Module):
    """Called as Hugging Face models are: `model(input_ids, decoder_input_ids=...).logits`.

        source ids ─▶ encoder ─▶ memory ─┐
        target ids ─▶ decoder ◀──────────┘ ─▶ head ─▶ logits

    Two tutorials in one class: norm "post", `scale_embeddings` and `init="xavier"` give The Annotated Transformer, norm
    "pre" and N(0, 0.02) the Happy-LLM course. `share_embeddings`: source and target use one table. If tied, the head
    uses the target's table too.
    """

    is_encoder_decoder = True

    def __init__(
        self, config: ModelConfig, *, share_embeddings: bool = True, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if share_embeddings:
            self.decoder.embedding.tokens.weight = self.encoder.embedding.tokens.weight
        if config.tied_embeddings:
            self.head.weight = self.decoder.embedding.tokens.weight
        initialize(self, config, generator)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
    ) -> ModelOutput:
        """Score every token of the vocabulary as the next one of the target, after each target position.

        Args:
            input_ids: (batch, source position) whole numbers below vocab_size.
            attention_mask: (batch, source position), 1 = real token, 0 = padding.
            decoder_input_ids: (batch, target position). None: the same ids on both sides, as the continuation of the
                Happy-LLM course does; right for going on with a text, wrong for translating it.
            decoder_attention_mask: (batch, target position), 1 = real token, 0 = padding.

        Raises what `count_positions` and `check_ids` raise.
        """
        if decoder_input_ids is None:
            decoder_input_ids, decoder_attention_mask = input_ids, attention_mask
        memory = self.encode(input_ids, attention_mask)
        return self.decode(decoder_input_ids, memory, attention_mask, decoder_attention_mask)

    def encode(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """The source, read once: (batch, source position, d_model)."""
        memory: Tensor = self.encoder(input_ids, attention_mask).last_hidden_state
        return memory

    def decode(
        self,
        decoder_input_ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> ModelOutput:
        """Logits of the target given the encoder's output; `cache` keeps what was decoded before these ids."""
        x = self.decoder(decoder_input_ids, memory, memory_mask, attention_mask, cache)
        return ModelOutput(self.head(x))  # (batch, target position, vocab_size)

    def new_cache(self) -> KeyValueCache:
        """An empty cache for `decode`."""
        return KeyValueCache(self.config.n_layers)
