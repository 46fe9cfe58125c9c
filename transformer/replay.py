"""The seal: what a run recorded, computed a second time in NumPy from its own inputs.

Two independent roads lead to each number, torch's kernels during the pass and the formulas of `parts.py` and `trace.py`
afterwards; the largest difference between them is shown. A trace that was changed beyond rounding does not pass.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from transformer.errors import NoSuchSite
from transformer.parts import Array, HeadPart, ProjectionPart, SummaryPart
from transformer.trace import NOT_SAVED, Trace

TOLERANCE = 1e-4  # of a difference, after division by the largest value where that is above 1


@dataclass(frozen=True)
class Seal:
    """What was compared, how many numbers, and the largest difference found.

    `difference` is |recomputed − recorded|, divided by the largest recorded value of its row where that exceeds 1:
    streams of large models hold values in the thousands, whose float32 rounding alone is larger than 1e-4.
    """

    site: str
    difference: float
    compared: int
    tolerance: float = TOLERANCE

    @property
    def holds(self) -> bool:
        return self.difference <= self.tolerance  # NaN does not hold


def compare(site: str, recomputed: Array, recorded: Array) -> Seal:
    """The seal of rows of numbers; arrays of different shape never hold."""
    if recomputed.shape != recorded.shape:
        return Seal(site, float("inf"), recorded.size)
    # Row by row: one token's huge values must not excuse another's.
    largest = np.maximum(1.0, np.abs(recorded).max(-1, keepdims=True, initial=0.0))
    return Seal(site, float((np.abs(recomputed - recorded) / largest).max(initial=0.0)), recorded.size)


def compare_checks(site: str, vectors: Array, checks: Array) -> Seal:
    """The seal of recomputed vectors (…, d) whose check numbers (…) were recorded, on the scale of each vector."""
    if vectors.shape[:-1] != checks.shape:
        return Seal(site, float("inf"), checks.size)
    largest = np.maximum(1.0, np.abs(vectors).max(-1, initial=0.0))
    return Seal(site, float((np.abs(check_numbers(vectors) - checks) / largest).max(initial=0.0)), checks.size)


def replay(trace: Trace) -> tuple[Seal, ...]:
    """Every site that can be recomputed, in the order of the run."""
    return tuple(seals(trace))


def seal(trace: Trace, site: str, head: int | None = None) -> Seal:
    """The seal of one view: an attention ("decoder.3.self", one head or all), a part ("decoder.3.ffn"), a sum
    ("decoder.3.resid.after") or "logits". Raises NoSuchSite where nothing of that name can be recomputed.
    """
    if site in trace.attention:
        return seal_attention(trace, site, head)
    if site == "logits":
        site = next((name for name, (_, leaves) in trace.part_inputs.items() if leaves == "logits"), site)
    if site in trace.parts:
        return _seal_part(trace, site)
    if site in trace.sums:
        return _seal_sum(trace, site)
    if trace.lacks.get(site) == NOT_SAVED:
        raise trace.missing(site)
    raise NoSuchSite(site=site, sites=", ".join([*trace.attention, *trace.parts, *trace.sums]))


def seal_attention(trace: Trace, site: str, head: int | None = None, rows: slice = slice(None)) -> Seal:
    """softmax(q·k) · v from the recorded q, k, v against the check number of the context that torch's kernel gave, and
    these against theirs; `rows`: only of these queries."""
    how = trace.attention[site]
    heads = range(how.heads) if head is None else [head]
    if how.weights is not None:  # nothing but weights was handed out: rows must sum to 1
        sums = np.stack([how.weights[h, rows].sum(-1) for h in heads])
        return compare(f"{site}.weights", np.ones_like(sums), sums)
    contexts = np.stack([trace.context(site, h, rows) for h in heads])
    context = compare_checks(f"{site}.check", contexts, trace[f"{site}.check"][list(heads), rows])
    shared = sorted({how.kv_head(h) for h in heads})
    given = [_seal_given(trace, f"{site}.{name}", rows) for name, rows in (("q", heads), ("k", shared), ("v", shared))]
    return replace(context, difference=float(np.max([context.difference, *given])))  # NaN stays NaN


def _seal_given(trace: Trace, site: str, heads: Iterable[int]) -> float:
    """The largest difference of q, k or v from the check numbers of what the pass was given."""
    rows = list(heads)
    return compare_checks(site, trace[site][rows], trace[f"{site}_check"][rows]).difference


def check_numbers(vectors: Array) -> Array:
    """Σ (1 + i/d) · v_i over the last axis, as `capture.check_numbers` took it from the pass."""
    size = vectors.shape[-1]
    return vectors.astype(np.float64) @ (1 + np.arange(size) / size)


def seals(trace: Trace) -> Iterator[Seal]:
    """The same, one after the other: a long text's take seconds."""
    yield from (seal_tokens(trace, stack) for stack in trace.encodings)
    yield from (seal_attention(trace, site) for site in trace.attention)
    yield from (_seal_part(trace, name) for name in trace.parts if has_ends(trace, name))
    yield from (_seal_sum(trace, site) for site, terms in trace.sums.items() if _has(trace, site, *terms))
    if any(leaves == "logits" and has_ends(trace, name) for name, (_, leaves) in trace.part_inputs.items()):
        yield seal_probabilities(trace, -1)  # the log-sum-exp, where it matters most


def seal_tokens(trace: Trace, stack: str) -> Seal:
    """Whether the tokens' bytes, with the gaps that no token stands for, spell the text; 0 or infinite."""
    encoding, site = trace.encodings[stack], f"{stack}.tokens"
    if encoding.text is None:
        return Seal(site, 0.0, 0)
    gaps = {start: encoding.text[start:end].encode() for start, end in encoding.gaps}
    pieces = {span[0]: b"" for span in encoding.spans if span is not None} | gaps
    for span, data in zip(encoding.spans, encoding.bytes, strict=True):
        if span is not None:
            pieces[span[0]] += data
    spelled = b"".join(pieces[start] for start in sorted(pieces))
    return Seal(site, 0.0 if spelled == encoding.text.encode() else float("inf"), len(spelled))


def _has(trace: Trace, *sites: str) -> bool:
    return all(site in trace.sites for site in sites)


def has_ends(trace: Trace, name: str) -> bool:
    """Whether a part is there, and what enters and what leaves it were recorded: then it can be sealed."""
    enters, leaves = trace.part_inputs[name]
    if name not in trace.parts:
        return False  # of a run that was saved without weights
    if leaves == "logits":
        return _has(trace, enters) and trace.top is not None
    if isinstance(trace.parts[name], SummaryPart | ProjectionPart):
        return _has(trace, enters, leaves)
    return _has(trace, enters) and f"{name}.output_check" in trace.arrays


def _seal_part(trace: Trace, name: str) -> Seal:
    enters, _ = trace.part_inputs[name]
    part = trace.parts[name]
    if isinstance(part, SummaryPart):
        real = ~np.array(trace.encodings[name.split(".")[0]].padding)
        return compare(f"{name}.vector", part(trace[enters], real), trace[f"{name}.vector"])
    if isinstance(part, ProjectionPart):
        return _seal_projection(trace, name, part)
    if isinstance(part, HeadPart):
        assert trace.top is not None
        return compare("logits", part(trace[enters], trace.top.ids), trace.top.values)
    return compare_checks(f"{name}.output", part(trace[enters]), trace[f"{name}.output_check"])


def _seal_projection(trace: Trace, name: str, part: ProjectionPart) -> Seal:
    """W · x + b against the recorded queries, keys or values; where positions turn these, what no turn changes."""
    enters, leaves = trace.part_inputs[name]
    given, recorded = part(trace[enters]), trace[leaves]
    if part.pairing is not None:
        given, recorded = part.pairing.lengths(given), part.pairing.lengths(recorded)
    return compare(leaves, given, recorded)


def seal_probabilities(trace: Trace, position: int) -> Seal:
    """The probabilities after one position from the last hidden state: all logits, and their softmax."""
    name = next((name for name, (_, leaves) in trace.part_inputs.items() if leaves == "logits"), None)
    if name is None or trace.top is None:
        raise NoSuchSite(site="logits", sites=", ".join(trace.parts))
    if name not in trace.parts:
        raise trace.missing(name)
    hidden = trace[trace.part_inputs[name][0]][position]
    logits = trace.parts[name](hidden[None])[0]
    exp = np.exp(logits - logits.max(), dtype=np.float64)
    ids, recorded = trace.top.probabilities(position)
    return compare("logits", (exp / exp.sum())[ids], recorded)


def _seal_sum(trace: Trace, site: str) -> Seal:
    total = np.sum([trace[term] for term in trace.sums[site]], axis=0, dtype=np.float64)
    return compare(site, np.asarray(total), trace[site])
