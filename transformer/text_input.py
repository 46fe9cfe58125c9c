"""The ids that a text model is called with: counted, and checked before torch complains in words about kernels."""

import torch
from torch import Tensor

from transformer.config import ModelConfig
from transformer.errors import ShapesDoNotFit, TooManyTokens, UnknownToken


def count_positions(input_ids: Tensor, attention_mask: Tensor | None = None, past: int = 0) -> Tensor:
    """0, 1, 2, … over the real tokens: (batch, past + position). Padding on the left counts 0 and moves nobody.

    `past`: how many tokens were read before these; the mask covers them too.

    Raises:
        ShapesDoNotFit: `input_ids` is not (batch, position) of whole numbers, or the mask has another shape.
    """
    shape = tuple(input_ids.shape)
    if len(shape) != 2 or 0 in shape or input_ids.is_floating_point():
        raise ShapesDoNotFit(what="input_ids", expected="(batch, position) ∈ ℤ", got=f"{shape} {input_ids.dtype}")
    whole = (shape[0], past + shape[1])
    if attention_mask is None:
        return torch.arange(whole[1], device=input_ids.device).expand(whole)
    if attention_mask.shape != whole:
        raise ShapesDoNotFit(what="attention_mask", expected=whole, got=tuple(attention_mask.shape))
    return (attention_mask.long().cumsum(-1) - 1).clamp(min=0)


def check_ids(config: ModelConfig, input_ids: Tensor, position_ids: Tensor, model: str) -> None:
    """Raise ShapesDoNotFit, TooManyTokens or UnknownToken for what the tables of a model do not have."""
    shape, got = tuple(input_ids.shape), tuple(position_ids.shape)
    if got not in (shape, (1, shape[1])):
        raise ShapesDoNotFit(what="position_ids", expected=shape, got=got)
    if int(position_ids.min()) < 0:  # a table would count it from its end, without a word
        raise ShapesDoNotFit(what="position_ids", expected="≥ 0", got=int(position_ids.min()))
    needed = int(position_ids.max()) + 1
    if needed > config.max_positions:
        raise TooManyTokens(got=needed, limit=config.max_positions, model=model)
    outside = input_ids[(input_ids < 0) | (input_ids >= config.vocab_size)]
    if outside.numel():
        raise UnknownToken(token=int(outside[0]), last=config.vocab_size - 1)


def check_segments(config: ModelConfig, input_ids: Tensor, segment_ids: Tensor | None) -> None:
    """Raise ShapesDoNotFit for which-text-of-a-pair ids that the model has no vector for."""
    if segment_ids is None:
        return
    if segment_ids.shape != input_ids.shape:
        raise ShapesDoNotFit(what="token_type_ids", expected=tuple(input_ids.shape), got=tuple(segment_ids.shape))
    last = max(config.n_segments - 1, 0)  # 0 is the first text, which a model without segments reads as well
    outside = segment_ids[(segment_ids < 0) | (segment_ids > last)]
    if outside.numel():
        raise ShapesDoNotFit(what="token_type_ids", expected=f"0 … {last}", got=int(outside[0]))
