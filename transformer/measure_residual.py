"""The residual connection on and off: what reaches each layer of a stack of our blocks, and what is left of the tokens.

Without `x +` the stream is replaced in every part instead of added to. The norms still keep its scale, so the gradient
as a whole need not vanish; what goes is the difference between tokens: attention averages them, layer by layer, until
all are one vector (Dong et al. 2021, "Attention is not all you need"), and a query that sees equal keys learns nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from transformer.block import Block
from transformer.config import ModelConfig, NormPlace
from transformer.errors import ShapesDoNotFit

NORMS: tuple[NormPlace, ...] = ("pre", "post")


class BlockWithoutResidual(Block):
    """The same parts in the same order, but nothing stands on the left line of the diagram in `block.py`."""

    def _add(self, x: Tensor, part: Callable[[Tensor], Tensor], norm: nn.Module) -> Tensor:
        if self.pre:
            return self.dropout(part(norm(x)))
        return norm(self.dropout(part(x)))


@dataclass(frozen=True)
class ResidualSettings:
    n_layers: int = 12
    d_model: int = 64
    n_heads: int = 4
    batch: int = 8
    length: int = 16

    def __post_init__(self) -> None:
        if min(self.batch, self.length - 1) < 1:
            raise ShapesDoNotFit(what="batch, length", expected="≥ 1, ≥ 2", got=(self.batch, self.length))


@dataclass(frozen=True, eq=False)
class ResidualGradients:
    """The four stacks, as (norm, residual, …): norms in the order of `norms`; residual 0 = with, 1 = without.

    All have the same weights and the same input, and the same gradient, of norm 1, arrives at each one's output.
    """

    norms: tuple[str, ...]
    weights: np.ndarray  # (norm, residual, layer) gradient norm of all weights of a layer
    query_key: np.ndarray  # (norm, residual, layer) of the query and key matrices: who looks at whom
    stream: np.ndarray  # (norm, residual, layer + 1) gradient norm at the input of each layer and behind the last
    difference: np.ndarray  # (norm, residual, layer + 1) 0 … 1: the part of the stream in which a text's tokens differ
    settings: ResidualSettings


def residual_gradients(settings: ResidualSettings, *, generator: torch.Generator) -> ResidualGradients:
    """One forward and backward pass through each of the four stacks, weights as in Vaswani et al. 2017 (Xavier)."""
    shape = settings.batch, settings.length, settings.d_model
    x, arriving = torch.randn(2, *shape, generator=generator, dtype=torch.float64)
    arriving = arriving / arriving.norm()
    weights = [_xavier(block, generator).state_dict() for block in _stack(Block, "pre", settings)]
    found = []
    for norm in NORMS:
        for kind in (Block, BlockWithoutResidual):
            blocks = _stack(kind, norm, settings)
            for block, its in zip(blocks, weights, strict=True):
                block.load_state_dict(its)
            found.append(_measure(blocks, norm, x, arriving))
    measured = (np.array(values).reshape(len(NORMS), 2, -1) for values in zip(*found, strict=True))
    whole, query_key, stream, difference = measured
    return ResidualGradients(NORMS, whole, query_key, stream, difference, settings)


def _stack(kind: type[Block], norm: NormPlace, settings: ResidualSettings) -> list[Block]:
    n_layers, n_heads = settings.n_layers, settings.n_heads
    config = ModelConfig(1, settings.length, settings.d_model, n_layers, n_heads, norm=norm)
    # Double precision: rounding of float32 would hold the vanishing differences up at 1e-7.
    return [kind(config).double() for _ in range(n_layers)]


def _xavier(block: Block, generator: torch.Generator) -> Block:
    """Matrices that keep the size of what passes (Glorot & Bengio 2010), biases 0."""
    for module in block.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, generator=generator)
            nn.init.zeros_(module.bias)
    return block


def _measure(blocks: list[Block], norm: NormPlace, x: Tensor, arriving: Tensor) -> tuple[list[float], ...]:
    """weights, query_key, stream and difference of one stack."""
    stream = [x.clone().requires_grad_()]
    for block in blocks:
        stream.append(block(stream[-1]))
    for one in stream[1:]:
        one.retain_grad()
    # The pre form ends with a norm of its own, as in DecoderLM; the post form has it already.
    out = nn.functional.layer_norm(stream[-1], x.shape[-1:]) if norm == "pre" else stream[-1]
    out.backward(arriving)
    looking = [(block.attention.query.weight, block.attention.key.weight) for block in blocks]
    return (
        [_gradient_norm(block.parameters()) for block in blocks],
        [_gradient_norm(pair) for pair in looking],
        [_gradient_norm([one]) for one in stream],
        [_difference(one.detach()) for one in stream],
    )


def _gradient_norm(tensors: Iterable[Tensor]) -> float:
    return nn.utils.get_total_norm([tensor.grad for tensor in tensors if tensor.grad is not None]).item()


def _difference(stream: Tensor) -> float:
    """‖x − mean over the text's tokens‖ / ‖x‖, for x (batch, position, d_model)."""
    return ((stream - stream.mean(1, keepdim=True)).norm() / stream.norm()).item()
