"""How the weights of a new model begin."""

import torch
from torch import nn

from transformer.config import ModelConfig

INIT_STD = 0.02  # Radford et al. 2018, section 4.1; GPT-2 and BERT's initializer_range


def initialize(module: nn.Module, config: ModelConfig, generator: torch.Generator | None) -> None:
    """Every bias 0, and every matrix (or larger) as `config.init` says; norms keep scale 1 and shift 0.

    normal:  N(0, 0.02)                                                     Radford et al. 2018 (GPT), section 4.1
    xavier:  uniform in ±√(6 / (inputs + outputs))                          Glorot & Bengio 2010, equation 16
    """
    for part in module.modules():
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
    for parameter in module.parameters():
        if parameter.dim() >= 2 and config.init == "normal":
            nn.init.normal_(parameter, std=INIT_STD, generator=generator)
        elif parameter.dim() >= 2:
            nn.init.xavier_uniform_(parameter, generator=generator)
