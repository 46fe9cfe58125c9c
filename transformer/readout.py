"""The way from the stream to the logits: final norm ─▶ (summary of a classifier ─▶) head, as far as each is known.

logits = finish(norm(stream) · W_Uᵀ + b)        finish: the head's scale and soft-cap, where there are any
"""

from dataclasses import dataclass

import numpy as np

from transformer.errors import TraceError, WeightsChanged
from transformer.parts import Array, HeadPart, NormPart, SummaryPart
from transformer.trace import Trace

SAME = 1e-5  # of the largest value: no more than rounding


class CannotReadOut(TraceError):
    """A piece of the way is missing; `why` is the key of the message that says which."""

    @property
    def key(self) -> str:
        return str(self.values.get("why", "error.cannot_read_out"))


@dataclass(frozen=True, eq=False)
class Readout:
    """What lies between the stream behind a block and the logits of a run."""

    stack: str
    streams: tuple[str, ...]  # "decoder.0.resid.after", …: the site behind each block
    norm: NormPart | None  # None: the last block ends with one already, or there is none
    summary: SummaryPart | None  # of a classifier: one vector for all positions
    head: HeadPart
    scale: float = 1.0  # a plain number between the norm and the head: T5's d_model^−½

    def hidden(self, trace: Trace, site: str, position: int) -> Array:
        """(1, d_model): what the head would be given if the stream at `site` were the last one, the norm's mean and
        deviation taken from that very stream. A classifier has one answer, whatever `position`."""
        rows = row(trace, site, position) if self.summary is None else trace[site]
        rows = rows if self.norm is None else self.norm(rows)
        rows = rows if self.scale == 1.0 else rows * self.scale
        return rows if self.summary is None else self.summary(rows, real_positions(trace, self.stack))


def head_of(trace: Trace) -> tuple[HeadPart, str]:
    """The head, and the site of what it is given. Raises CannotReadOut where there is none, or none that is known."""
    if trace.top is None:
        raise CannotReadOut(why=trace.lacks.get("logits", "lack.not_recorded"))
    name = next((name for name, (_, leaves) in trace.part_inputs.items() if leaves == "logits"), None)
    part = trace.parts.get(name or "")
    if name is None or not isinstance(part, HeadPart):
        raise CannotReadOut(why=trace.lacks.get(name or "", "lack.formula_unknown"))
    enters = trace.part_inputs[name][0]
    if enters not in trace.sites:
        raise CannotReadOut(why=trace.lacks.get(enters, "lack.not_recorded"))
    return part, enters


def readout_of(trace: Trace) -> Readout:
    """The whole way. Raises CannotReadOut where a piece is unknown, WeightsChanged where the model was trained."""
    head, enters = head_of(trace)
    stack = next(name for name in trace.part_inputs if trace.parts.get(name) is head).split(".")[0]
    summary = trace.parts.get(f"{stack}.summary") if enters == f"{stack}.summary.vector" else None
    if enters == f"{stack}.summary.vector" and not isinstance(summary, SummaryPart):
        raise CannotReadOut(why="lack.formula_unknown")
    scale = 1.0 if summary is not None else _plain_scale(trace, enters, f"{stack}.output")
    layers = range(len(trace.structure.stack(stack).blocks))
    streams = tuple(f"{stack}.{layer}.resid.after" for layer in layers)
    lost = next((site for site in streams if site not in trace.sites), None)
    if not streams or lost is not None:
        raise CannotReadOut(why=trace.lacks.get(str(lost), "lack.not_recorded"))
    if trace.weights_changed():
        raise WeightsChanged(site="logits", model=trace.model)
    one_vector = summary if isinstance(summary, SummaryPart) else None
    return Readout(stack, streams, _final_norm(trace, stack, streams[-1]), one_vector, head, scale)


def _plain_scale(trace: Trace, enters: str, output: str) -> float:
    """The number by which what enters the head is the stack's output; anything else between the two is a transform
    whose formula is not known. Raises CannotReadOut."""
    if trace.resolve(enters) == trace.resolve(output):
        return 1.0
    given, x = (trace[site].astype(np.float64) for site in (enters, output))
    scale = float((given * x).sum() / (x * x).sum()) if given.shape == x.shape and x.any() else 0.0
    if not scale or np.abs(given - scale * x).max() > SAME * np.abs(given).max():
        raise CannotReadOut(why="lack.transform")
    return scale


def _final_norm(trace: Trace, stack: str, last: str) -> NormPart | None:
    if trace.resolve(f"{stack}.output") == trace.resolve(last):
        return None
    norm = trace.parts.get(f"{stack}.final.norm")
    if not isinstance(norm, NormPart):
        raise CannotReadOut(why="lack.formula_unknown")
    return norm


def row(trace: Trace, site: str, position: int) -> Array:
    """(1, d_model) of a site: one position alone, also where a norm has to be computed for it."""
    resolved = trace.resolve(site)
    place, _, name = resolved.rpartition(".")
    part = trace.parts.get(place)
    if resolved not in trace.arrays and name == "output" and isinstance(part, NormPart):
        if trace.weights_changed():
            raise WeightsChanged(site=resolved, model=trace.model)
        return part(row(trace, f"{place}.input", position))
    return np.asarray(trace[site][position : position + 1])


def real_positions(trace: Trace, stack: str) -> Array:
    """(position,) bool: False = padding."""
    return ~np.array(trace.encodings[stack].padding, dtype=bool)
