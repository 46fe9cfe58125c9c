"""Recognises what a module computes by trying the known formulas on what was heard of it.

A module's class name proves nothing (Gemma's RMSNorm multiplies by 1 + γ, T5's LayerNorm takes no mean away), so each
formula is tried on the numbers of the probe; where none gives them, there is no part, and the page says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from torch import Tensor, nn

from transformer.parts import ACTIVATIONS, Array, FeedForwardPart, HeadPart, LinearPart, NormPart, SummaryPart
from transformer.probe import Heard


def to_numpy(tensor: Tensor) -> Array:
    """A float32 NumPy view where the tensor is float32 already, otherwise a float32 copy; not to be written to."""
    array: Array = tensor.detach().float().cpu().numpy()
    array.flags.writeable = False
    return array


def same(found: Array, wanted: Array, tolerance: float = 2e-5) -> bool:
    """Equal up to rounding, measured against the largest value."""
    if found.shape != wanted.shape or not np.isfinite(wanted).all():
        return False
    return bool(np.abs(found - wanted).max(initial=0.0) <= tolerance * max(np.abs(wanted).max(initial=0.0), 1e-3))


def linear_part(module: nn.Module) -> LinearPart | None:
    """nn.Linear keeps (out, in); GPT-2's Conv1D keeps (in, out)."""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor) or weight.ndim != 2 or isinstance(module, nn.Embedding):
        return None
    matrix, bias = to_numpy(weight), getattr(module, "bias", None)
    matrix = matrix.T if type(module).__name__ == "Conv1D" else matrix
    return LinearPart(matrix, to_numpy(bias) if isinstance(bias, Tensor) else None)


def is_linear(one: Heard) -> bool:
    """Whether W · x + b with the module's weight is what it gave. torch's own linear layer, and
    GPT-2's, are taken at their word."""
    part = linear_part(one.module)
    if part is None or one.input is None or one.output is None or one.input.shape[-1] != part.weight.shape[1]:
        return False
    if type(one.module) is nn.Linear or type(one.module).__name__ == "Conv1D":
        return True
    return one.output.shape[-1] == part.weight.shape[0] and same(part(to_numpy(one.input)), to_numpy(one.output))


def looks_like_norm(one: Heard) -> bool:
    return "norm" in type(one.module).__name__.lower() and one.input is not None and one.output is not None


def norm_part(one: Heard) -> NormPart | None:
    """LayerNorm or RMSNorm, with γ stored as γ or as γ − 1, whichever gives what was heard."""
    if one.input is None or one.output is None:
        return None
    x, y = to_numpy(one.input), to_numpy(one.output)
    return _closest(((part, part(x)) for part in _norm_candidates(one.module)), y)


def _norm_candidates(module: nn.Module) -> Iterator[NormPart]:
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    gamma = to_numpy(weight) if isinstance(weight, Tensor) else None
    beta = to_numpy(bias) if isinstance(bias, Tensor) else None
    eps = next((v for k, v in vars(module).items() if "eps" in k and isinstance(v, float)), 0.0)
    for kind in ("layernorm", "rmsnorm"):
        yield NormPart(kind, gamma, beta, eps)
        if gamma is not None:
            raised = gamma + 1
            raised.flags.writeable = False
            yield NormPart(kind, raised, beta, eps)


def feed_forward_part(ups: Sequence[Heard], down: Heard) -> FeedForwardPart | None:
    """Which activation, and whether gated, told from what the one or two matrices before `down` gave."""
    assert down.input is not None
    wanted, down_part = to_numpy(down.input), linear_part(down.module)
    if down_part is None:
        return None
    candidates = (
        (FeedForwardPart(up, down_part, name, gate), act(up_out) if gate is None else act(gate_out) * up_out)
        for (gate, gate_out), (up, up_out) in _gates_and_ups(ups, wanted.shape[-1])
        for name, act in ACTIVATIONS.items()
    )
    return _closest(candidates, wanted)


_Half = tuple[LinearPart | None, Array]
_P = TypeVar("_P", NormPart, FeedForwardPart)


def _closest(candidates: Iterable[tuple[_P, Array]], wanted: Array) -> _P | None:
    """The part that gave what was heard. Beside large values GELU and its approximation both do: the nearer one."""
    fitting = [(float(np.abs(found - wanted).max()), part) for part, found in candidates if same(found, wanted)]
    return min(fitting, key=lambda one: one[0])[1] if fitting else None


def _gates_and_ups(ups: Sequence[Heard], d_ff: int) -> Iterator[tuple[_Half, tuple[LinearPart, Array]]]:
    """The matrices that may be gate and up, each with what it gave."""
    halves = [
        (part, to_numpy(one.output).astype(np.float64))
        for one in ups
        if one.output is not None and (part := linear_part(one.module)) is not None
    ]
    if len(halves) == 1 and halves[0][1].shape[-1] == 2 * d_ff:  # gate and up in one matrix
        (part, out), cut = halves[0], (slice(0, d_ff), slice(d_ff, None))
        halves = [(_rows(part, rows), out[..., rows]) for rows in cut]
    if len(halves) == 1:
        yield (None, halves[0][1]), halves[0]
    elif len(halves) == 2 and halves[0][1].shape == halves[1][1].shape:
        yield from ((halves[0], halves[1]), (halves[1], halves[0]))


def _rows(part: LinearPart, rows: slice) -> LinearPart:
    return LinearPart(part.weight[rows], None if part.bias is None else part.bias[rows])


def head_part(one: Heard, logits: Tensor, softcap: float | None) -> HeadPart | None:
    """The last linear map, with the scale or soft-cap that stands between it and the logits."""
    linear = linear_part(one.module)
    if linear is None or one.output is None or one.output.shape != logits.shape:
        return None
    out, wanted = to_numpy(one.output), to_numpy(logits)
    largest = np.unravel_index(np.abs(out).argmax(), out.shape)
    scales = (1.0, float(wanted[largest] / out[largest]) if out[largest] else 1.0)
    # The soft-cap first: on small logits it changes next to nothing, and 1 · logits would seem to do.
    candidates = [HeadPart(linear, 1.0, softcap)] if softcap else []
    candidates += [HeadPart(linear, scale) for scale in scales]
    return next((part for part in candidates if same(part.finish(out), wanted)), None)


def summary_part(hidden: Tensor, entering: Tensor, between: Iterable[Heard]) -> SummaryPart | None:
    """How the stack's output (1, position, d_model) became what enters the head of a classifier (1, d_model), given the
    modules that ran between the two."""
    x, wanted = to_numpy(hidden)[0], to_numpy(entering)
    poolers = [None, *(linear_part(one.module) for one in between if is_linear(one))]
    candidates = (SummaryPart(kind, pooler) for pooler in poolers for kind in ("first", "mean"))
    fitting = (part for part in candidates if part.pooler is None or part.pooler.weight.shape[1] == x.shape[-1])
    return next((part for part in fitting if same(part(x), wanted)), None)
