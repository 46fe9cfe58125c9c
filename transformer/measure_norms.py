"""BatchNorm against LayerNorm on a padded batch: whose statistics does the padding move?

BatchNorm (Ioffe & Szegedy 2015) takes one mean and variance per feature, over the whole batch and all its positions:
padding is counted with the rest, and one text's numbers depend on its neighbours. LayerNorm (Ba et al. 2016) takes them
per token, over its features: it cannot see another token. Both divide by √(variance + eps), the variance biased.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.errors import ShapesDoNotFit


@dataclass(frozen=True, eq=False)
class Statistics:
    """One mean and standard deviation (biased, without eps) per feature or per token."""

    mean: np.ndarray
    std: np.ndarray


@dataclass(frozen=True, eq=False)
class NormStatistics:
    """Both norms with the padding in the batch and without it. A token is a real one; they go text by text."""

    batch_padded: Statistics  # (d_model,) over all positions, padding counted, as nn.BatchNorm1d does
    batch_real: Statistics  # (d_model,) over the real tokens alone
    layer_padded: Statistics  # (token,) of each token within the padded batch
    layer_real: Statistics  # (token,) of each token in its text alone, cut to its length
    batch_moved: float  # root mean square change of a normalised real token when padding is counted
    layer_moved: float
    batch_normalized: np.ndarray  # (batch, position, d_model) by the statistics with padding
    layer_normalized: np.ndarray  # (batch, position, d_model)
    texts: np.ndarray  # (token,) which text a token stands in
    padding: float  # 0 … 1, the share of positions that are padding


def norm_statistics(x: Tensor, attention_mask: Tensor, eps: float = 1e-5) -> NormStatistics:
    """`x` (batch, position, d_model); `attention_mask` (batch, position), 1 = real token, 0 = padding on either side.

    Raises ShapesDoNotFit where the two do not fit or no token is real.
    """
    if x.dim() != 3 or tuple(attention_mask.shape) != tuple(x.shape[:2]):
        raise ShapesDoNotFit(what="attention_mask", expected=tuple(x.shape[:2]), got=tuple(attention_mask.shape))
    values, real = x.detach().double().numpy(), attention_mask.bool().numpy()
    if not real.any():
        raise ShapesDoNotFit(what="attention_mask", expected="Σ ≥ 1", got=0)
    tokens = values[real]  # (token, d_model)
    alone = np.concatenate([text[mask] for text, mask in zip(values, real, strict=True)])  # text by text
    batch_padded, batch_real = _statistics(values, (0, 1)), _statistics(tokens, 0)
    whole, layer_real = _statistics(values, -1), _statistics(alone, -1)  # whole: (batch, position)
    layer_padded = Statistics(whole.mean[real], whole.std[real])
    return NormStatistics(
        batch_padded=batch_padded,
        batch_real=batch_real,
        layer_padded=layer_padded,
        layer_real=layer_real,
        batch_moved=_moved(_normalized(tokens, batch_padded, eps), _normalized(tokens, batch_real, eps)),
        layer_moved=_moved(_per_token(tokens, layer_padded, eps), _per_token(alone, layer_real, eps)),
        batch_normalized=_normalized(values, batch_padded, eps),
        layer_normalized=_per_token(values, whole, eps),
        texts=np.nonzero(real)[0],
        padding=float(1 - real.mean()),
    )


def padded_batch(
    lengths: tuple[int, ...], d_model: int, *, generator: torch.Generator, pad: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Texts of random vectors, padded on the right: x (batch, position, d_model) and its attention_mask.

    Each feature has a mean and a spread of its own, as in real streams. `pad` (d_model,) stands at every padded place;
    by default zeros, as `nn.Embedding` with a `padding_idx` has them.
    """
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]  # (batch, position)
    mean, spread = torch.randn(2, d_model, generator=generator)
    x = mean + (0.5 + spread.abs()) * torch.randn(*mask.shape, d_model, generator=generator)
    blank = torch.zeros(d_model) if pad is None else pad
    return torch.where(mask[..., None], x, blank), mask.long()


def _statistics(values: np.ndarray, axis: int | tuple[int, ...]) -> Statistics:
    return Statistics(values.mean(axis), values.std(axis))


def _normalized(values: np.ndarray, statistics: Statistics, eps: float) -> np.ndarray:
    """(…, d_model) by statistics (d_model,)."""
    return (values - statistics.mean) / np.sqrt(statistics.std**2 + eps)


def _per_token(values: np.ndarray, statistics: Statistics, eps: float) -> np.ndarray:
    """(…, d_model) by statistics (…,)."""
    return (values - statistics.mean[..., None]) / np.sqrt(statistics.std**2 + eps)[..., None]


def _moved(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.sqrt(((one - other) ** 2).mean()))
