"""How a model knows where a token stands: added to its vector (sinusoidal, learned), turned into q and k (rotary), or
taken off the scores by distance (ALiBi).

Attention by itself sees a set: without positions "you like me" and "me like you" are the same three vectors.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.errors import ShapesDoNotFit


def sinusoidal_table(n_positions: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Vaswani et al. 2017, section 3.5: even dimensions are sines, odd ones cosines, ever slower to the right.

        PE(position, 2i)     = sin(position / base^(2i / d_model))
        PE(position, 2i + 1) = cos(position / base^(2i / d_model))

    Returns (position, d_model) float32. Raises `ShapesDoNotFit` if d_model is odd: the last sine would lack a cosine.
    """
    if d_model % 2:
        raise ShapesDoNotFit(what="d_model", expected="{2, 4, 6, …}", got=d_model)
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]  # (position, 1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # (pair,), the 2i of the formula
    angle = position / base ** (even / d_model)  # (position, pair)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()  # (position, d_model)


class SinusoidalPositions(nn.Module):
    """The fixed table of section 3.5: nothing is learned, so nothing is saved with the weights."""

    def __init__(self, n_positions: int, d_model: int, base: float = 10000.0) -> None:
        super().__init__()
        self.table: Tensor
        self.register_buffer("table", sinusoidal_table(n_positions, d_model, base), persistent=False)

    def forward(self, position_ids: Tensor) -> Tensor:
        """(batch, position) whole numbers to (batch, position, d_model)."""
        return self.table[position_ids]  # (batch, position, d_model)


class LearnedPositions(nn.Embedding):
    """One learned vector per position (GPT-2, BERT): (batch, position) whole numbers to (batch, position, d_model)."""

    def __init__(self, n_positions: int, d_model: int) -> None:
        super().__init__(n_positions, d_model)


@dataclass(frozen=True, eq=False)
class Rotation:
    """The turn of every position, for `MultiHeadAttention`: `cos` and `sin` are (batch, 1, position, d_head)."""

    cos: Tensor
    sin: Tensor

    def __call__(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Turn query and key, (batch, head, position, d_head) each; their lengths stay as they are."""
        return self.turn(query), self.turn(key)

    def turn(self, vector: Tensor) -> Tensor:
        """(x₁, x₂) to (x₁ cos − x₂ sin, x₂ cos + x₁ sin) for every pair: x₁ in the first half, x₂ in the second."""
        first, second = vector.chunk(2, dim=-1)  # (batch, head, position, d_head / 2) each
        quarter_turn = torch.cat((-second, first), dim=-1)  # (batch, head, position, d_head)
        return vector * self.cos + quarter_turn * self.sin


class Rotary(nn.Module):
    """Su et al. 2021 (RoFormer), section 3.2.2: q·k then depends only on how far apart the two tokens are.

        angle(position, i) = position / base^(2i / d_head),    i = 0 … d_head/2 − 1

    Dimension i is paired with i + d_head/2 (GPT-NeoX, and Llama as Hugging Face stores it). The paper pairs neighbours,
    2i with 2i + 1: the same but for the order of the dimensions, yet weights made for one order are wrong in the other.
    """

    def __init__(self, d_head: int, base: float = 10000.0) -> None:
        super().__init__()
        if d_head % 2:
            raise ShapesDoNotFit(what="d_head", expected="{2, 4, 6, …}", got=d_head)
        self.frequency: Tensor
        even = torch.arange(0, d_head, 2, dtype=torch.float32)  # (pair,)
        self.register_buffer("frequency", 1.0 / base ** (even / d_head), persistent=False)

    def forward(self, position_ids: Tensor) -> Rotation:
        """(batch, position) whole numbers to the `Rotation` of these positions."""
        angle = position_ids[:, None, :, None] * self.frequency  # (batch, 1, position, pair)
        angle = torch.cat((angle, angle), dim=-1)  # (batch, 1, position, d_head)
        return Rotation(angle.cos(), angle.sin())


class Alibi(nn.Module):
    """Press et al. 2022 (Train Short, Test Long), section 3: far keys score less, each head by a slope of its own.

        bias(head, query, key) = −slope(head) · |position of query − position of key|
        slope(head) = 2^(−8 · head / n_heads),    head = 1 … n_heads

    A number of heads that is no power of two takes the slopes of the power below it, then every second one of twice
    that power: the order of the authors' code and of Hugging Face.
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.slopes: Tensor
        self.register_buffer("slopes", torch.tensor(alibi_slopes(n_heads)), persistent=False)

    def forward(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """(batch, query) and (batch, key) whole numbers to the bias (batch, head, query, key)."""
        distance = (query_positions[:, None, :, None] - key_positions[:, None, None, :]).abs()
        return -self.slopes[:, None, None] * distance  # (batch, head, query, key)


def alibi_slopes(n_heads: int) -> list[float]:
    """The slope of each head, see `Alibi`."""
    power = 1 << (n_heads.bit_length() - 1)  # the largest power of two that is not above
    slopes = [2.0 ** (-8 * head / power) for head in range(1, power + 1)]
    between = [2.0 ** (-8 * head / (2 * power)) for head in range(1, 2 * power + 1, 2)]
    return (slopes + between)[:n_heads]


def added_positions(config: ModelConfig) -> SinusoidalPositions | LearnedPositions | None:
    """The positions that are added to the token vectors; None where a model knows them otherwise, or not at all."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.max_positions, config.d_model)
    return LearnedPositions(config.max_positions, config.d_model) if config.positions == "learned" else None
