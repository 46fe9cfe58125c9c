"""What the trainer does with the parts of a model: how long each one's gradient is, and which ones decay."""

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn

from transformer.parameter_counts import part_of


def gradient_norms(model: nn.Module) -> dict[str, float]:
    """Part -> length of its gradient, for the parts that have one, and "total"; a shared matrix counts once."""
    gradients: dict[str, list[Tensor]] = defaultdict(list)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            gradients[part_of(name)].append(parameter.grad)
    norms = {part: nn.utils.get_total_norm(gradients[part]).item() for part in sorted(gradients)}
    return {**norms, "total": torch.tensor(list(norms.values()), dtype=torch.float64).norm().item()}


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Groups for the optimizer: matrices of the blocks and the head decay; biases, norms and embeddings do not.

    As in nanoGPT's and BERT's optimizers; decay of an embedding would also pull at tokens that a batch does not hold.
    """
    decays: list[Tensor] = []
    stays: list[Tensor] = []
    for name, parameter in model.named_parameters():
        matrix = parameter.dim() >= 2 and part_of(name) not in ("embedding", "positions", "norm")
        (decays if matrix else stays).append(parameter)
    return [{"params": decays, "weight_decay": weight_decay}, {"params": stays, "weight_decay": 0.0}]
