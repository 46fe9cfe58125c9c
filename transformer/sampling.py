"""From scores to one token: temperature, top-k, top-p, softmax. Each is a step to look at; the last is drawn from.

    logits ─▶ / temperature ─▶ the k largest ─▶ the fewest that hold p ─▶ softmax over what is left ─▶ one of them

Temperature: Ackley et al. 1985; top-k: Fan et al. 2018; top-p ("nucleus"): Holtzman et al. 2020, section 3.1.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from transformer.errors import ShapesDoNotFit
from transformer.parts import Array

TEMPERATURES = 0.001, 1000.0  # the ends; colder than this is greedy, hotter is even


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Dials:
    """How a distribution is sharpened and cut. As they stand they change nothing.

    Raises:
        ShapesDoNotFit: a dial is outside of its range.
    """

    temperature: float = 1.0  # below 1 sharpens, above 1 flattens
    top_k: int | None = None  # how many of the largest are kept; None: all
    top_p: float | None = None  # the fewest that hold at least this share are kept; None: all

    def __post_init__(self) -> None:
        coldest, hottest = TEMPERATURES
        if not (_is_number(self.temperature) and coldest <= self.temperature <= hottest):
            raise ShapesDoNotFit(what="temperature", expected=f"{coldest:g} … {hottest:g}", got=repr(self.temperature))
        if self.top_k is not None and (type(self.top_k) is not int or self.top_k < 1):
            raise ShapesDoNotFit(what="top_k", expected="{1, 2, 3, …}", got=repr(self.top_k))
        if self.top_p is not None and not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise ShapesDoNotFit(what="top_p", expected="(0, 1]", got=repr(self.top_p))


GREEDY = Dials(top_k=1)  # the largest score always: top-k with a single token, whatever the temperature


@dataclass(frozen=True, eq=False)
class SamplingStep:
    """What one dial left. Kept are always the first `n_kept` of `order`, so every cut is a line through it."""

    dial: str  # "temperature" | "top_k" | "top_p" | "softmax"
    logits: Array  # (vocabulary,) float64, −∞ where cut; of "softmax": log-probabilities
    order: Array  # (vocabulary,) ids, largest logit first, of equal ones the smallest id
    n_kept: int

    @property
    def kept(self) -> Array:
        """(n_kept,) ids, the most probable first."""
        return self.order[: self.n_kept]

    @property
    def probabilities(self) -> Array:
        """softmax(logits): (vocabulary,), 0 where cut."""
        return softmax(self.logits)


def sampling_steps(logits: Array, dials: Dials) -> Iterator[SamplingStep]:
    """Four steps, one per dial and the softmax; a dial that is off keeps all.

    `logits` (vocabulary,): the scores of the next token. Raises ShapesDoNotFit where they are no numbers.
    """
    scaled = np.asarray(logits, np.float64) / dials.temperature
    if scaled.ndim != 1 or np.isnan(scaled).any() or not np.isfinite(scaled.max(initial=-np.inf)):
        raise ShapesDoNotFit(what="logits", expected="(vocab_size,) ∈ ℝ", got=f"{scaled.shape} ∋ NaN, ∞")
    order = np.argsort(-scaled, kind="stable")
    count = int(np.isfinite(scaled).sum())  # some families forbid tokens with −∞
    yield SamplingStep("temperature", scaled, order, count)

    count = count if dials.top_k is None else min(count, dials.top_k)
    by_rank = cut_behind(scaled, order, count)
    yield SamplingStep("top_k", by_rank, order, count)

    count = count if dials.top_p is None else fewest_that_hold(softmax(by_rank)[order[:count]], dials.top_p)
    by_mass = cut_behind(by_rank, order, count)
    yield SamplingStep("top_p", by_mass, order, count)

    yield SamplingStep("softmax", by_mass - log_sum_exp(by_mass), order, count)


def cut_behind(logits: Array, order: Array, count: int) -> Array:
    """The logits with −∞ for all but the first `count` of `order`."""
    if count == len(order):
        return logits
    left = np.full_like(logits, -np.inf)
    left[order[:count]] = logits[order[:count]]
    return left


def fewest_that_hold(probabilities: Array, share: float) -> int:
    """How many of `probabilities`, largest first and summing to 1, it takes to hold `share`; 1 asks for all of them."""
    if share >= 1:
        return len(probabilities)  # their sum, rounded, may reach 1 before the last
    before = np.cumsum(probabilities) - probabilities  # (token,): what those in front of it hold
    return max(1, int((before < share).sum()))


def draw(step: SamplingStep, point: float) -> int:
    """The token whose stretch of the unit interval holds `point` (0 ≤ point < 1): the kept ones lie along it end to
    end, the most probable first, each as long as its probability."""
    ends = np.cumsum(np.exp(step.logits[step.kept]))
    place = int(np.searchsorted(ends, point * ends[-1], side="right"))
    return int(step.kept[min(place, step.n_kept - 1)])


def softmax(logits: Array) -> Array:
    """exp(logits) / Σ exp(logits), in float64."""
    parts = np.exp(logits - logits.max())
    return np.asarray(parts / parts.sum())


def log_sum_exp(logits: Array) -> float:
    """log Σ exp(logits), without overflow."""
    largest = logits.max()
    return float(largest + np.log(np.exp(logits - largest).sum()))


def entropy(probabilities: Array) -> float:
    """−Σ p log p in nats: 0 where one token has it all, log n where n share it evenly (Shannon 1948)."""
    some = probabilities[probabilities > 0]
    return float(-(some * np.log(some)).sum())
