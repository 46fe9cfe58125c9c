"""From ids to vectors: where the residual stream begins."""

from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.norm import make_norm
from transformer.positions import added_positions


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


class SegmentEmbedding(nn.Embedding):
    """One vector per text of a pair (Devlin et al. 2019, BERT, section 3): (batch, position) of 0 or 1 to vectors."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.n_segments, config.d_model)


class TextEmbedding(nn.Module):
    """token vector + position vector (+ segment vector), then a norm where the config has one (BERT).

    `positions`, `segments` and `norm` are None where the model has none. Dropout is the last thing: Vaswani et al.
    2017, section 5.4, take it from the sum.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.tokens = TokenEmbedding(config)
        self.positions = added_positions(config)
        self.segments = SegmentEmbedding(config) if config.n_segments else None
        self.norm = make_norm(config) if config.embedding_norm else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, input_ids: Tensor, position_ids: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        """(batch, position) whole numbers each to (batch, position, d_model)."""
        x = self.tokens(input_ids)
        if self.positions is not None:
            x = x + self.positions(position_ids)
        if self.segments is not None:
            x = x + self.segments(input_ids.new_zeros(input_ids.shape) if segment_ids is None else segment_ids)
        return self.dropout(x if self.norm is None else self.norm(x))
