"""DecoderLM: a language model of the GPT kind, blocks with a causal mask and a head that scores the next token.

Radford et al. 2018 and 2019 (GPT, GPT-2); with RMSNorm, rotary positions and SwiGLU: Touvron et al. 2023 (Llama).
"""

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer import masks
from transformer.block import Block
from transformer.config import ModelConfig
from transformer.errors import ShapesDoNotFit, TooManyTokens, UnknownToken
from transformer.norm import make_norm
from transformer.positions import LearnedPositions, Rotary, SinusoidalPositions

INIT_STD = 0.02  # Radford et al. 2018, section 4.1; GPT-2 and BERT's initializer_range


@dataclass(frozen=True, eq=False)
class LanguageModelOutput:
    """What a run gives back, named as Hugging Face names it: `logits` (batch, position, vocab_size)."""

    logits: Tensor


class TokenEmbedding(nn.Embedding):
    """One vector per id, times √d_model where the config scales (Vaswani et al. 2017, 3.4).

    The factor stands here and not after it, so that token vector + position vector always is what enters block 0.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.vocab_size, config.d_model)
        self.scale = config.d_model**0.5 if config.scale_embeddings else 1.0

    def forward(self, input: Tensor) -> Tensor:
        """(batch, position) ids to (batch, position, d_model)."""
        return super().forward(input) * self.scale  # (batch, position, d_model)


class DecoderLM(nn.Module):
    """Called as Hugging Face models are: `model(input_ids, attention_mask=...).logits`.

        ids ─▶ embedding (+ positions) ─▶ blocks[0] … blocks[n_layers − 1] ─▶ norm (pre only) ─▶ head ─▶ logits

    `positions` is what is added to the embedding and `rotary` what turns query and key, each None if unused; `norm` is
    None in the post form, whose last block already ends with one. If tied, `head` and `embedding` share one matrix.
    """

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config)
        self.positions = _added_positions(config)
        self.rotary = Rotary(config.head_size, config.rotary_base) if config.positions == "rotary" else None
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = make_norm(config) if config.norm == "pre" else None
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tied_embeddings:
            self.head.weight = self.embedding.weight
        self._initialize(generator)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> LanguageModelOutput:
        """Score every token of the vocabulary as the next one, after each position.

        Args:
            input_ids: (batch, position) whole numbers below vocab_size.
            attention_mask: (batch, position), 1 = real token, 0 = padding on either side. None: all are real.
            position_ids: (batch, position). None: counted over the real tokens, so padding on the left moves nobody.

        Raises:
            ShapesDoNotFit: a tensor is not of the shape above.
            TooManyTokens: a position is beyond `max_positions`.
            UnknownToken: an id is outside the vocabulary.
        """
        counted = count_positions(input_ids, attention_mask)
        position_ids = counted if position_ids is None else position_ids
        self._check_input(input_ids, position_ids)
        allowed = allowed_keys(attention_mask)
        rotary = None if self.rotary is None else self.rotary(position_ids)

        x = self._embed(input_ids, position_ids)  # (batch, position, d_model)
        for block in self.blocks:
            x = block(x, allowed, causal=allowed is None, rotary=rotary)
        x = x if self.norm is None else self.norm(x)
        return LanguageModelOutput(self.head(x))  # (batch, position, vocab_size)

    def parameter_counts(self) -> dict[str, int]:
        """How many numbers were learned in each part, over all blocks together; they add up to the whole model.

        Parts: embedding, positions (learned only), attention, feedforward, norm, head (0 where tied to the embedding).
        """
        counts = Counter({"embedding": 0, "attention": 0, "feedforward": 0, "norm": 0, "head": 0})
        for name, parameter in self.named_parameters():  # names a shared matrix once
            counts[_part(name)] += parameter.numel()
        return dict(counts)

    def _embed(self, input_ids: Tensor, position_ids: Tensor) -> Tensor:
        """Where the residual stream begins: (batch, position) ids to (batch, position, d_model)."""
        x = self.embedding(input_ids)
        if self.positions is not None:
            x = x + self.positions(position_ids)
        return self.dropout(x)

    def _initialize(self, generator: torch.Generator | None) -> None:
        """Every matrix from N(0, 0.02), every bias 0; the norms begin as they were made, scale 1 and shift 0."""
        for module in self.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=INIT_STD, generator=generator)

    def _check_input(self, input_ids: Tensor, position_ids: Tensor) -> None:
        """Say what does not fit before torch does in words about index kernels."""
        shape, got = tuple(input_ids.shape), tuple(position_ids.shape)
        if got not in (shape, (1, shape[1])):
            raise ShapesDoNotFit(what="position_ids", expected=shape, got=got)
        if int(position_ids.min()) < 0:  # a table would count it from its end, without a word
            raise ShapesDoNotFit(what="position_ids", expected="≥ 0", got=int(position_ids.min()))
        needed = int(position_ids.max()) + 1
        if needed > self.config.max_positions:
            raise TooManyTokens(got=needed, limit=self.config.max_positions, model=type(self).__name__)
        outside = input_ids[(input_ids < 0) | (input_ids >= self.config.vocab_size)]
        if outside.numel():
            raise UnknownToken(token=int(outside[0]), last=self.config.vocab_size - 1)


def count_positions(input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
    """0, 1, 2, … over the real tokens: (batch, position). Padding on the left counts 0 and moves nobody.

    Raises:
        ShapesDoNotFit: `input_ids` is not (batch, position) of whole numbers, or the mask has another shape.
    """
    shape = tuple(input_ids.shape)
    if len(shape) != 2 or 0 in shape or input_ids.is_floating_point():
        raise ShapesDoNotFit(what="input_ids", expected="(batch, position) ∈ ℤ", got=f"{shape} {input_ids.dtype}")
    if attention_mask is not None and attention_mask.shape != shape:
        raise ShapesDoNotFit(what="attention_mask", expected=shape, got=tuple(attention_mask.shape))
    real = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
    return (real.cumsum(-1) - 1).clamp(min=0)  # (batch, position)


def allowed_keys(attention_mask: Tensor | None) -> Tensor | None:
    """Causal and no padding, (batch, 1, query, key); None where nothing is padded: plain causal has a faster kernel."""
    if attention_mask is None or bool(attention_mask.all()):
        return None
    causal = masks.causal(attention_mask.shape[-1], device=attention_mask.device)
    return masks.combined(causal, masks.padding(attention_mask))  # (batch, 1, query, key)


def _added_positions(config: ModelConfig) -> SinusoidalPositions | LearnedPositions | None:
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.max_positions, config.d_model)
    return LearnedPositions(config.max_positions, config.d_model) if config.positions == "learned" else None


def _part(name: str) -> str:
    """The part that a parameter belongs to: "blocks.2.norm1.weight" -> "norm", "head.weight" -> "head"."""
    parts = name.split(".")
    return parts[2].rstrip("12") if parts[0] == "blocks" else parts[0]
