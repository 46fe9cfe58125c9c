"""The tiny model that the tests of this room share: no two of its sizes are alike, so no axis can be mistaken."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import settings
from torch import nn

from transformer.config import ModelConfig

settings.register_profile("patient", deadline=None)  # a busy machine is slow, not wrong
settings.load_profile("patient")

SIZES = {"vocab_size": 53, "max_positions": 11, "d_model": 28, "n_layers": 3, "n_heads": 7}


@pytest.fixture(scope="session")
def tiny() -> Callable[..., ModelConfig]:
    """`tiny(norm="post")`: the tiny config with some fields changed."""
    return lambda **changes: ModelConfig(**(SIZES | changes))


@pytest.fixture(scope="session")
def scramble() -> Callable[..., nn.Module]:
    """`scramble(module)`: every parameter random, norms and biases too, so that none can be left out or swapped."""

    def scrambled(module: nn.Module, seed: int = 7) -> nn.Module:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_(0.0, 0.3, generator=generator)
        return module.eval()

    return scrambled
