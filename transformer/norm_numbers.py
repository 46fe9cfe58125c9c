"""One norm on one token, number by number: what came in, its mean and spread, what γ and β made of it.

LayerNorm   (x − μ) ÷ √(σ² + ε) · γ + β     Ba et al. 2016
RMSNorm     x ÷ √(mean of x² + ε) · γ       Zhang & Sennrich 2019: no mean is taken away, nothing is added
"""

from dataclasses import dataclass

import numpy as np

from transformer.errors import NoSuchSite
from transformer.parts import Array, NormPart
from transformer.some_rows import some_rows
from transformer.trace import NOT_SAVED, Trace


@dataclass(frozen=True, eq=False)
class NormNumbers:
    """All vectors are (d_model,) float32; `gamma` and `beta` are None where the model has none."""

    site: str  # "decoder.3.norm2"
    part: NormPart
    before: Array
    normalized: Array
    after: Array
    mean: float  # what is taken away; 0 for RMSNorm
    std: float  # what is divided by: √(σ² + ε), or the root mean square with ε

    @property
    def kind(self) -> str:
        """ "layernorm" or "rmsnorm"."""
        return self.part.kind

    @property
    def eps(self) -> float:
        return self.part.eps

    @property
    def gamma(self) -> Array | None:
        return self.part.weight

    @property
    def beta(self) -> Array | None:
        return self.part.bias

    @property
    def normalized_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the normalized vector: 0 and 1 but for ε; of RMSNorm its own mean."""
        return moments(self.normalized)

    @property
    def after_moments(self) -> tuple[float, float]:
        return moments(self.after)


def moments(vector: Array) -> tuple[float, float]:
    """Mean and standard deviation (biased, without ε) of a vector's numbers."""
    return float(vector.mean(dtype=np.float64)), float(vector.std(dtype=np.float64))


def knows_norm(trace: Trace, site: str) -> bool:
    """Whether the formula of a norm and what enters it are known."""
    return isinstance(trace.parts.get(site), NormPart) and f"{site}.mean" in trace.sites


def token_moments(trace: Trace, site: str) -> Array:
    """(position, 2): mean and standard deviation before the norm; of RMSNorm (position, 1): the root mean square."""
    part = trace.parts[site]
    names = ("std",) if isinstance(part, NormPart) and part.kind == "rmsnorm" else ("mean", "std")
    return np.stack([trace[f"{site}.{name}"] for name in names], -1)


def norm_numbers(trace: Trace, site: str, token: int) -> NormNumbers:
    """The norm at `site` on `token`. Raises NoSuchSite where its formula or its input is not known."""
    part = trace.parts.get(site)
    if trace.lacks.get(site) == NOT_SAVED:
        raise trace.missing(site)
    if not isinstance(part, NormPart) or not knows_norm(trace, site):
        raise NoSuchSite(site=site, sites=", ".join(name for name in trace.parts if knows_norm(trace, name)))
    before = some_rows(trace, f"{site}.input", slice(token, token + 1))
    return NormNumbers(
        site=site,
        part=part,
        before=before[0],
        normalized=np.asarray(part.normalized(before)[0], np.float32),
        after=some_rows(trace, f"{site}.output", slice(token, token + 1))[0],
        mean=float(part.mean(before)[0]),
        std=float(part.std(before)[0]),
    )
