"""Why scores are divided by √d_k (Vaswani et al. 2017, section 3.2.1 and its footnote 4), from samples.

    q, k with independent entries of mean 0 and variance 1:     Var(q · k) = d_k        Var(q · k / √d_k) = 1

Large scores drive softmax to where one weight is nearly 1 and its gradient nearly 0:

    p = softmax(s)      entropy = −Σ p ln p      Jacobian ∂p/∂s = diag(p) − p pᵀ
    ‖Jacobian‖² = Σᵢⱼ (δᵢⱼ pᵢ − pᵢ pⱼ)² = Σ p² − 2 Σ p³ + (Σ p²)²        (Frobenius norm)
"""

from dataclasses import dataclass

import numpy as np
import torch

from transformer.errors import ShapesDoNotFit


@dataclass(frozen=True, eq=False)
class ScoreVariance:
    """Variances over `samples` pairs of random vectors for each size; theory says `d_k` and 1."""

    d_k: np.ndarray  # (size,)
    plain: np.ndarray  # (size,) of q · k
    scaled: np.ndarray  # (size,) of q · k / √d_k
    samples: int


@dataclass(frozen=True, eq=False)
class SoftmaxSaturation:
    """Means over `samples` rows of `n_keys` normally distributed scores for each variance."""

    variance: np.ndarray  # (variance,) of the scores
    entropy: np.ndarray  # (variance,) nats; even weights would have ln n_keys
    jacobian: np.ndarray  # (variance,) Frobenius norm of diag(p) − p pᵀ
    largest: np.ndarray  # (variance,) the largest weight of the row
    n_keys: int
    samples: int


def score_variance(
    d_k: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256, 512), samples: int = 10_000, *, generator: torch.Generator
) -> ScoreVariance:
    """Draw `samples` queries and keys from N(0, 1) for each size and take the variance of their products."""
    if samples < 2 or min(d_k, default=0) < 1:
        raise ShapesDoNotFit(what="samples, d_k", expected="≥ 2, ≥ 1", got=(samples, d_k))
    plain, scaled = np.empty(len(d_k)), np.empty(len(d_k))
    for place, size in enumerate(d_k):
        query, key = torch.randn(2, samples, size, generator=generator).double().numpy()  # (sample, d_k) each
        products = (query * key).sum(-1)  # (sample,)
        plain[place] = products.var()
        scaled[place] = (products / np.sqrt(size)).var()
    return ScoreVariance(np.array(d_k), plain, scaled, samples)


def softmax_saturation(
    variances: tuple[float, ...] = (0.25, 1, 4, 16, 64, 256, 1024),
    n_keys: int = 16,
    samples: int = 2_000,
    *,
    generator: torch.Generator,
) -> SoftmaxSaturation:
    """The same random scores, stretched to each variance: what softmax and its gradient make of them."""
    if samples < 1 or n_keys < 2 or min(variances, default=0) <= 0:
        got = samples, n_keys, variances
        raise ShapesDoNotFit(what="samples, n_keys, variances", expected="≥ 1, ≥ 2, > 0", got=got)
    scores = torch.randn(samples, n_keys, generator=generator).double().numpy()  # (sample, key)
    weights = np.stack([softmax(np.sqrt(variance) * scores) for variance in variances])  # (variance, sample, key)
    return SoftmaxSaturation(
        variance=np.array(variances, dtype=np.float64),
        entropy=entropy(weights).mean(-1),
        jacobian=jacobian_norm(weights).mean(-1),
        largest=weights.max(-1).mean(-1),
        n_keys=n_keys,
        samples=samples,
    )


def softmax(scores: np.ndarray) -> np.ndarray:
    """(…, key) scores to (…, key) weights; the largest score is subtracted, which changes no weight."""
    parts = np.exp(scores - scores.max(-1, keepdims=True))
    return parts / parts.sum(-1, keepdims=True)


def entropy(weights: np.ndarray) -> np.ndarray:
    """(…, key) weights to (…,) nats; a weight of 0 adds nothing, the limit of p ln p."""
    return -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1)


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """(…, key) weights to (…,) Frobenius norms of diag(p) − p pᵀ, without making the (key, key) matrix."""
    squares = (weights**2).sum(-1)
    # The sum of squares is 0 for a weight of exactly 1, and rounding must not make it less.
    return np.sqrt(np.maximum(squares - 2 * (weights**3).sum(-1) + squares**2, 0))
