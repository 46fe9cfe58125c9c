"""One query's row, step by step: from q and k over the products of their dimensions to the attention weights.

    products = q ⊙ k      q·k = Σ products      score = q·k · scale      weights = softmax(softcap(score) + bias, mask)

(Vaswani et al. 2017, section 3.2.1; the view of single products: Vig 2019, A Multiscale Visualization of Attention,
"neuron view".) q and k are those that met: where positions are rotary, they are turned in already.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from transformer.head_contributions import attention_array
from transformer.maps import softmax
from transformer.parts import Array
from transformer.trace import Trace


class Stage(NamedTuple):
    """What a step made of every key's number. `name`: "dot", "scaled", "capped", "biased", "masked" or "weights"."""

    name: str
    values: Array  # (key,) float64; −∞ where the mask forbids looking


@dataclass(frozen=True, eq=False)
class QueryScores:
    """One query of one head against all keys, in float64."""

    q: Array  # (d_head,)
    k: Array  # (key, d_head)
    scale: float
    allowed: Array  # (key,) bool
    bias: Array | None = None  # (key,)
    softcap: float | None = None
    sink: float | None = None  # one more logit in the softmax's denominator

    @cached_property
    def products(self) -> Array:
        """(key, d_head): q_d · k_d."""
        return self.q * self.k

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The steps in their order; those that this model does not take are not among them."""
        stages = [Stage("dot", self.products.sum(-1))]
        stages.append(Stage("scaled", stages[-1].values * self.scale))
        if self.softcap is not None:
            stages.append(Stage("capped", self.softcap * np.tanh(stages[-1].values / self.softcap)))
        if self.bias is not None:
            stages.append(Stage("biased", stages[-1].values + self.bias))
        stages.append(Stage("masked", np.where(self.allowed, stages[-1].values, -np.inf)))
        return *stages, Stage("weights", softmax(stages[-1].values, self.sink))

    def stage(self, name: str) -> Array:
        """(key,): the numbers of the step of that name."""
        return next(stage.values for stage in self.stages if stage.name == name)

    @property
    def table(self) -> Array:
        """(key, stage): the numbers of all steps side by side."""
        return np.stack([stage.values for stage in self.stages], axis=1)

    def beside(self, cells: Array) -> Array:
        """(key, d_head + 3): the products or the k vectors, then q · k, the scaled score and the weight."""
        ends = [self.stage("dot"), self.stage("scaled"), self.weights]
        return np.concatenate([cells, np.stack(ends, axis=1)], axis=1)

    @property
    def weights(self) -> Array:
        return self.stages[-1].values

    @property
    def sunk(self) -> float:
        """The share of this row that its sink takes; 0 where there is none."""
        return 0.0 if self.sink is None else max(0.0, 1 - float(self.weights.sum()))


def query_scores(trace: Trace, site: str, head: int, query: int) -> QueryScores:
    """The row of `query`. Raises NoVectors where the family keeps its q and k to itself, NoSuchSite where there is no
    such attention."""
    q, k = attention_array(trace, site, "q"), attention_array(trace, site, "k")
    how, row = trace.attention[site], slice(query, query + 1)
    bias = None if how.bias is None else how.bias[head if len(how.bias) > 1 else 0, query].astype(np.float64)
    return QueryScores(
        q=q[head, query].astype(np.float64),
        k=k[how.kv_head(head)].astype(np.float64),
        scale=how.scale,
        allowed=trace.allowed(site, head, row)[0],
        bias=bias,
        softcap=how.softcap,
        sink=None if how.sinks is None else float(how.sinks[head]),
    )


def products(trace: Trace, site: str, head: int, query: int) -> Array:
    """(key, d_head) float64: q_d · k_d of one query with every key; each row's sum is q · k. Raises as above."""
    return query_scores(trace, site, head, query).products
