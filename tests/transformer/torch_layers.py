"""Weights of torch's own Transformer layers under our names, for the tests that hold ours against them."""

import torch
from torch import Tensor, nn

_ENCODER = {
    "self_attn.out_proj": "attention.output",
    "linear1": "feedforward.up",
    "linear2": "feedforward.down",
    "norm1": "norm1",
    "norm2": "norm2",
}
_DECODER = _ENCODER | {"multihead_attn.out_proj": "cross.output", "norm3": "norm3"}


def from_torch(layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> dict[str, Tensor]:
    """The state of our `Block`, or of `CrossBlock` for a decoder's layer. torch keeps query, key and value in one."""
    crosses = isinstance(layer, nn.TransformerDecoderLayer)
    theirs, ours = layer.state_dict(), {}
    for kind in ("weight", "bias"):
        for place, mine in (("self_attn", "attention"), ("multihead_attn", "cross"))[: 1 + crosses]:
            for part, third in zip(("query", "key", "value"), theirs[f"{place}.in_proj_{kind}"].chunk(3), strict=True):
                ours[f"{mine}.{part}.{kind}"] = third
        names = _DECODER if crosses else _ENCODER
        ours |= {f"{mine}.{kind}": theirs[f"{name}.{kind}"] for name, mine in names.items()}
    return ours


def random_layer(layer: nn.Module, seed: int = 7) -> nn.Module:
    """Spread weights, the norms' scales around 1. Left in training mode: in evaluation torch takes a fused path."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            around = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            parameter.normal_(around, 0.1, generator=generator)
    return layer
