"""Normalization over one token's vector: LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019)."""

import torch
from torch import Tensor, nn

from transformer.config import ModelConfig


class LayerNorm(nn.Module):
    """Mean 0 and variance 1 over the last axis, then a learned scale and shift (Ba et al. 2016, section 3).

        normalized = (x − mean) / √(variance + eps)
        output     = normalized · weight + bias

    The variance is the *biased* one (divided by d_model, not d_model − 1) and eps stands *inside* the root. Writing
    (x − mean) / (std + eps) with the unbiased std instead is 3 % off at d_model 16.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(…, d_model) to (…, d_model)."""
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)  # (…, 1)
        normalized = centred / torch.sqrt(variance + self.eps)
        return normalized * self.weight + self.bias

    def extra_repr(self) -> str:
        return f"{self.weight.numel()}, eps={self.eps}"


class RMSNorm(nn.Module):
    """Root mean square 1 over the last axis, then a learned scale (Zhang & Sennrich 2019, equation 4).

        normalized = x / √(mean(x²) + eps)
        output     = normalized · weight

    The mean is not taken away, and nothing is shifted: one pass over the vector instead of two.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(…, d_model) to (…, d_model)."""
        normalized = x / torch.sqrt(x.square().mean(-1, keepdim=True) + self.eps)
        return normalized * self.weight

    def extra_repr(self) -> str:
        return f"{self.weight.numel()}, eps={self.eps}"


def make_norm(config: ModelConfig) -> LayerNorm | RMSNorm:
    """The norm that a config asks for."""
    kind = LayerNorm if config.norm_kind == "layernorm" else RMSNorm
    return kind(config.d_model, config.norm_eps)
