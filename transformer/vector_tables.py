"""The table that vectors of a run were looked up in, if they were: which row each token took, and times what.

vector of token t = factor · table[row of t]        factor = √d_model where a model scales (Vaswani et al. 2017, 3.4)
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from transformer.parts import Array
from transformer.positions_of import countings, real_tokens
from transformer.recognise import same, to_numpy
from transformer.replay import Seal, compare
from transformer.trace import Trace
from transformer.wrapped import LoadedModel


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of the model's own weights (a view), found on the numbers of a run."""

    rows: Array  # (row, d_model)
    taken: Array  # (position,) whole numbers: the row of each token
    factor: float
    learned: bool  # it is a parameter, not a fixed table
    seal: Seal  # factor · rows[taken] against the recorded vectors


def table_of(model: LoadedModel, trace: Trace, site: str) -> Table | None:
    """The table behind "<stack>.embed.token", ".position" or ".segment"; None where the vectors are no rows of one, or
    the model's weights have changed since the run."""
    module = next((module for (module, _), name in model.plan.outputs.items() if name == site), None)
    weight = getattr(module, "weight", None)
    if site not in trace.arrays or not isinstance(weight, Tensor) or weight.ndim != 2 or trace.weights_changed():
        return None
    stack, _, kind = site.split(".")
    rows, vectors = to_numpy(weight), trace[site]
    if rows.shape[1] != vectors.shape[1]:
        return None
    real = real_tokens(trace, stack)
    for taken in _candidates(trace, stack, kind, rows, vectors):
        if taken.max() >= len(rows):
            continue
        factor = _factor(rows[taken], vectors)
        if same(factor * rows[taken][real], vectors[real], 1e-6):
            seal = compare(site, factor * rows[taken][real].astype(np.float64), vectors[real])
            return Table(rows, taken, factor, isinstance(weight, nn.Parameter) and weight.requires_grad, seal)
    return None


def is_learned(model: LoadedModel, site: str) -> bool:
    """Whether the module that gives the vectors of a site holds numbers that training changes."""
    module = next((module for (module, _), name in model.plan.outputs.items() if name == site), None)
    return module is not None and any(one.requires_grad for one in module.parameters())


def _candidates(trace: Trace, stack: str, kind: str, rows: Array, vectors: Array) -> list[Array]:
    """Which rows may have been taken: ids of the tokens, or positions counted from some first row (BART's is 2)."""
    if kind == "token":
        return [np.array(trace.encodings[stack].ids)]
    if kind == "segment":
        return [np.full(len(vectors), int(np.abs(rows - vectors[0]).max(axis=1).argmin()))]
    start = int(real_tokens(trace, stack).argmax())
    first = int(np.abs(rows - vectors[start]).max(axis=1).argmin())
    return [np.maximum(counted - counted[start] + first, 0) for counted in countings(trace, stack)]


def _factor(rows: Array, vectors: Array) -> float:
    """Exactly 1 where they are the same but for rounding."""
    long = float(np.linalg.norm(rows.astype(np.float64)))
    factor = float(np.linalg.norm(vectors.astype(np.float64))) / long if long else 1.0
    return 1.0 if abs(factor - 1) < 1e-6 else factor
