"""One vector for a whole text or image: its first position, or the mean over the real ones."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from transformer.errors import ShapesDoNotFit

SummaryKind = Literal["first", "mean"]


class Summary(nn.Module):
    """(batch, position, d_model) to (batch, d_model).

        first:  x at position 0, where a [CLS] stands (Devlin et al. 2019, BERT, section 3)
        mean:   the mean over the real tokens (Reimers & Gurevych 2019, section 3)

    With `pooler`, a learned map and tanh follow, as in BERT.
    """

    def __init__(self, d_model: int, kind: SummaryKind = "first", *, pooler: bool = False) -> None:
        super().__init__()
        if kind not in get_args(SummaryKind):
            raise ShapesDoNotFit(what="summary", expected=f"{{{', '.join(get_args(SummaryKind))}}}", got=repr(kind))
        self.kind = kind
        self.pooler = nn.Linear(d_model, d_model) if pooler else None

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """`attention_mask` (batch, position): 1 = real token, 0 = padding, which the mean leaves out.

        Raises ShapesDoNotFit where position 0 is padding: the text must be padded on its right.
        """
        summary = _first(x, attention_mask) if self.kind == "first" else _mean(x, attention_mask)
        return summary if self.pooler is None else torch.tanh(self.pooler(summary))


def _first(x: Tensor, attention_mask: Tensor | None) -> Tensor:
    if attention_mask is not None and not bool(attention_mask[:, 0].all()):
        raise ShapesDoNotFit(what="attention_mask[:, 0]", expected=1, got=0)
    return x[:, 0]


def _mean(x: Tensor, attention_mask: Tensor | None) -> Tensor:
    if attention_mask is None:
        return x.mean(dim=1)
    real = attention_mask[:, :, None].to(x.dtype)  # (batch, position, 1)
    return (x * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)  # of nothing but padding: 0, not NaN
