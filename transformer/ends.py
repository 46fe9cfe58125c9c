"""What stands before the first block of a stack and after its last: embeddings, their sum, the final norm, the head."""

import numpy as np
from torch import Tensor

from transformer.parts import Array, HeadPart
from transformer.planner import Planner
from transformer.probe import Evidence, Heard
from transformer.recognise import head_part, is_linear, looks_like_norm, norm_part, same, summary_part, to_numpy
from transformer.structure import Box
from transformer.wiring import Term, explain


def read_embedding(planner: Planner, evidence: Evidence, stack: str, first: Heard, after: int) -> tuple[Box, ...]:
    """Everything between `after`, when the stack before ended, and the first block."""
    early = [one for one in evidence.heard if after <= one.entered and one.left < first.entered]
    boxes = [Box("tokens", f"{stack}.tokens")]
    terms: list[Term] = []
    for one in early:
        kind = _table_kind(evidence, one)
        if kind is not None and all(term.site != f"embed.{kind}" for term in terms):
            terms.append(Term(f"embed.{kind}", _rows(one), one.left, one))
            planner.keep_output(one, f"{stack}.embed.{kind}")
            drawn = "positions" if kind == "position" else "embedding"
            table = "patches" if kind == "token" and "pixel_values" in evidence.inputs else kind
            boxes.append(Box(drawn, f"{stack}.embed.{kind}", {"table": table}))
    norm = next((one for one in early if terms and one.entered > terms[0].left and looks_like_norm(one)), None)
    _plan_sum(planner, stack, norm or first, terms)
    boxes += [Box("add", f"{stack}.embed.sum")] if len(terms) > 1 else []
    if norm is None:
        planner.alias(f"{stack}.embed.sum", f"{stack}.0.resid.before")
        return tuple(boxes)
    site = f"{stack}.embed.norm"
    planner.keep_input(norm, f"{stack}.embed.sum")
    planner.alias(f"{site}.input", f"{stack}.embed.sum")
    return (*boxes, _plan_norm(planner, norm, site))


def read_final_norm(planner: Planner, evidence: Evidence, stack: str, last: Heard, layers: int) -> tuple[Box, ...]:
    """The norm after the last block, where the model has one; its output (or the last block's) is the stack's."""
    site, output = f"{stack}.final.norm", f"{stack}.{layers - 1}.resid.after"
    norm = final_norm(evidence, last)
    planner.alias(f"{stack}.output", output if norm is None else f"{site}.output")
    if norm is None:
        return ()
    planner.alias(f"{site}.input", output)
    return (_plan_norm(planner, norm, site),)


def final_norm(evidence: Evidence, last: Heard) -> Heard | None:
    """The norm that is given exactly what the last block gave."""
    assert last.output is not None
    following = (one for one in evidence.heard if one.entered > last.left and looks_like_norm(one))
    return next((one for one in following if one.input is not None and one.input.equal(last.output)), None)


def read_head(planner: Planner, evidence: Evidence, stack: str, last: Heard, softcap: float | None) -> tuple[Box, ...]:
    """The linear map that gives the logits; what lies between the last norm and it (BERT) is a "transform", or the
    "summary" of all positions where one answer is given for the whole text."""
    logits = evidence.logits
    if logits is None:
        planner.lack("logits", "no_head")
        return ()
    counts = {"vocabulary" if logits.ndim == 3 else "classes": logits.shape[-1]}
    box, norm = Box("head", "logits", counts), final_norm(evidence, last)
    found = (
        (one, part)
        for one in reversed(evidence.heard)
        if is_linear(one) and (part := head_part(one, logits, softcap)) is not None
    )
    one, part = next(found, (None, None))
    if one is None or one.input is None:
        planner.lack(f"{stack}.head", "formula_unknown")
        return (Box("unknown", f"{stack}.head"), box)
    hidden = last.output if norm is None else norm.output
    if logits.ndim == 2:
        return (_plan_summary(planner, evidence, stack, hidden, last, one, part), box)
    planner.part(f"{stack}.head", part, f"{stack}.head.input", "logits", None)
    if hidden is not None and one.input.shape == hidden.shape and one.input.equal(hidden):
        planner.alias(f"{stack}.head.input", f"{stack}.output")
        return (box,)
    planner.keep_input(one, f"{stack}.head.input")
    return (Box("transform", f"{stack}.head.input"), box)


def _plan_summary(
    planner: Planner,
    evidence: Evidence,
    stack: str,
    hidden: Tensor | None,
    last: Heard,
    head: Heard,
    part: HeadPart | None,
) -> Box:
    """From one vector per position to one for all of them, which the head of a classifier is given."""
    site = f"{stack}.summary"
    planner.keep_input(head, f"{site}.vector")
    planner.part(f"{stack}.head", part, f"{site}.vector", "logits", None)
    between = [one for one in evidence.heard if last.left < one.entered and one.left < head.entered]
    found = None
    if hidden is not None and head.input is not None and hidden.ndim == 3:
        found = summary_part(hidden, head.input, between)
    planner.part(site, found, f"{stack}.output", f"{site}.vector", None)
    return Box("summary", site, {"kind": "unknown" if found is None else found.kind})


def norm_box(planner: Planner, site: str) -> Box:
    return Box("norm", site, {"kind": getattr(planner.plan.parts.get(site), "kind", "unknown")})


def _plan_norm(planner: Planner, norm: Heard, site: str) -> Box:
    planner.part(site, norm_part(norm), f"{site}.input", f"{site}.output", norm)
    return norm_box(planner, site)


def _plan_sum(planner: Planner, stack: str, enters: Heard, terms: list[Term]) -> None:
    """Token + position (+ segment) vectors must give what enters the first norm or block."""
    assert enters.input is not None
    total = to_numpy(enters.input)[0]
    fitting = [term for term in terms if term.value.shape[-1] == total.shape[-1]]
    fitting = [term for term in fitting if len(term.value) in (1, len(total))]
    spread = [Term(term.site, np.broadcast_to(term.value, total.shape), term.left, term.heard) for term in fitting]
    found = explain(total, spread)
    if found is None and spread and same(spread[0].value * np.sqrt(total.shape[-1]), total):
        planner.lack(f"{stack}.embed.sum.sum", "embedding_scaled")
    else:
        planner.total(f"{stack}.embed.sum", stack, found)
        if found is not None and len(found) == 1:  # nothing is added, and the seal holds that against the stream
            planner.plan.sums[f"{stack}.embed.sum"] = (f"{stack}.{found[0].site}",)


def _table_kind(evidence: Evidence, one: Heard) -> str | None:
    """token, position or segment, told from what the table was asked for; None: it is no table of embeddings."""
    name = type(one.module).__name__.lower()
    is_table = ("embedding" in name or "position" in name) and "rotary" not in name
    if "pixel_values" in evidence.inputs:
        return _image_table_kind(evidence, one, name) if is_table else None
    ids = [tensor for key, tensor in evidence.inputs.items() if key.endswith("input_ids")]
    if not is_table or any(True for _ in one.module.children()) or one.output is None:
        return None
    if one.output.ndim not in (2, 3) or one.output.shape[-2] not in {tensor.shape[-1] for tensor in ids}:
        return None
    if "position" in name or one.input is None:
        return "position"
    if any(one.input.shape == tensor.shape and bool((one.input == tensor).all()) for tensor in ids):
        return "token"
    constant = not one.input.is_floating_point() and one.input.numel() and one.input.unique().numel() == 1
    return "segment" if constant else "position"


def _image_table_kind(evidence: Evidence, one: Heard, name: str) -> str | None:
    """token (the patches) or position, where the module gives one vector for each token that is attended to."""
    first = next((other.attention for other in evidence.heard if other.attention is not None), None)
    if one.output is None or first is None or one.output.shape[-2] != first.query.shape[2]:
        return None
    return "position" if "position" in name else "token" if "patch" in name else None


def _rows(one: Heard) -> Array:
    assert one.output is not None
    return to_numpy(one.output).reshape(-1, one.output.shape[-1])
