"""What enters the first block: token vector (+ position vector) (+ segment vector), as this model adds it.

    sum = √d_model · token + position + segment        (Vaswani et al. 2017, 3.4 and 3.5; segment: Devlin et al. 2019)

The factor √d_model stands there only where the numbers say so; each of the other two only where the model has it.
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from transformer.parts import Array
from transformer.recognise import same
from transformer.replay import Seal, compare
from transformer.trace import Trace

NAMES = ("token", "position", "segment")


@dataclass(frozen=True, eq=False)
class EmbeddingSum:
    """The terms in the order token, position, segment; `normed` is what a norm makes of the sum, where there is one."""

    stack: str
    names: tuple[str, ...]
    factors: tuple[float, ...]  # 1, or √d_model for the token vector
    terms: Array  # (term, position, d_model) as recorded, before the factor
    total: Array  # (position, d_model) as recorded
    normed: Array | None  # (position, d_model)
    seal: Seal  # the terms added up again against the recorded sum

    def scaled(self, position: int) -> Array:
        """(term, d_model): what is added for one token, factors included."""
        return np.asarray(np.array(self.factors)[:, None] * self.terms[:, position])

    def rows(self, position: int) -> Array:
        """(term + 1 or 2, d_model): what is added for one token, their sum, and what a norm makes of it."""
        after = [] if self.normed is None else [self.normed[position]]
        return np.vstack([self.scaled(position), self.total[position], *after])

    def lengths(self, position: int) -> tuple[float, ...]:
        """Of each vector that is added for one token, and of their sum."""
        vectors = np.vstack([self.scaled(position), self.total[position]])
        return tuple(float(one) for one in np.linalg.norm(vectors, axis=1))

    def cosine(self, position: int) -> float | None:
        """Between the first two vectors that are added; None where there are no two, or one has no length."""
        first, second = self.scaled(position)[:2] if len(self.names) > 1 else (np.zeros(1), np.zeros(1))
        size = float(np.linalg.norm(first) * np.linalg.norm(second))
        return float(first @ second) / size if size else None


def embedding_sum(trace: Trace, stack: str) -> EmbeddingSum | None:
    """The sum of a stack; None where the vectors were not recorded or do not explain it (`why_no_sum`)."""
    site = f"{stack}.embed.sum"
    if site not in trace.sites or f"{stack}.embed.token" not in trace.arrays:
        return None
    total = trace[site]
    there = {name: trace[f"{stack}.embed.{name}"] for name in NAMES if f"{stack}.embed.{name}" in trace.arrays}
    names, factor = _terms(trace, stack, there, total)
    if not names:
        return None
    factors = tuple(factor if name == "token" else 1.0 for name in names)
    terms = np.stack([there[name] for name in names])
    again = sum(one * vectors.astype(np.float64) for one, vectors in zip(factors, terms, strict=True))
    normed = trace[f"{stack}.embed.norm.output"] if f"{stack}.embed.norm.output" in trace.sites else None
    return EmbeddingSum(stack, names, factors, terms, total, normed, compare(site, np.asarray(again), total))


def _terms(trace: Trace, stack: str, there: dict[str, Array], total: Array) -> tuple[tuple[str, ...], float]:
    """Which vectors are added, from the plan, or, where tokens are scaled on the way, by trying √d_model."""
    planned = trace.sums.get(f"{stack}.embed.sum", ())
    if planned:
        added = {site.rpartition(".")[2] for site in planned}
        return tuple(name for name in NAMES if name in added), 1.0
    root = math.sqrt(total.shape[-1])
    fitting = {name: vectors for name, vectors in there.items() if vectors.shape == total.shape}
    others = [name for name in fitting if name != "token"]
    for size in range(len(others) + 1):
        for chosen in combinations(others, size):
            summed = root * fitting["token"].astype(np.float64) if "token" in fitting else np.full(total.shape, np.nan)
            if same(np.asarray(summed + sum(fitting[name] for name in chosen)), total):
                return ("token", *chosen), root
    return (), 1.0


def why_no_sum(trace: Trace, stack: str) -> str:
    """The message key of the reason why `embedding_sum` has none."""
    if f"{stack}.embed.token" not in trace.arrays:
        return trace.lacks.get("embedding", "lack.no_token_vectors")
    return trace.lacks.get(f"{stack}.embed.sum.sum", "lack.sum_unexplained")
