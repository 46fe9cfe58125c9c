"""What a `Trace` that was read from a file must be before anybody looks at it: its parts fit each other.

The arrays against their tokens are checked by `Trace` itself.
"""

import math
from collections.abc import Iterator

from transformer.errors import BadTrace
from transformer.image import ImageEncoding
from transformer.maps import Attention
from transformer.parts import (
    ACTIVATIONS,
    Array,
    FeedForwardPart,
    HeadPart,
    LinearPart,
    NormPart,
    Part,
    ProjectionPart,
    SummaryPart,
)
from transformer.rotation import KINDS, Pairing
from transformer.tokenizer import Encoding
from transformer.trace import Trace

_NORMS, _SUMMARIES = ("layernorm", "rmsnorm"), ("first", "mean")


def check_trace(trace: Trace) -> None:
    """Raises BadTrace for the first thing that does not fit."""
    known = {"encoder", "decoder"} & trace.encodings.keys()
    _must(bool(known) and len(known) == len(trace.encodings), "tokens", "encoder, decoder", [*trace.encodings])
    for stack, encoding in trace.encodings.items():
        _must(len(encoding) > 0 and _is_whole(encoding), f"{stack}.tokens", "≥ 1", len(encoding))
    for site, array in trace.arrays.items():
        _must(_is_plain(array, "f"), site, "float32", array.dtype)
    for site, how in trace.attention.items():
        _check_attention(trace, site, how)
    for one in trace.structure.stacks:
        _must(one.name in trace.encodings, one.name, "encoder, decoder", one.name)
    if trace.top is not None:
        _check_top(trace)
    for name, others in {**{alias: (site,) for alias, site in trace.aliases.items()}, **trace.sums}.items():
        _must(all(_stack(one) == _stack(name) for one in others), name, f"{_stack(name)}.…", ", ".join(others))
    for name, part in trace.parts.items():
        _must(_fits(part) and name in trace.part_inputs, name, "weights that fit", type(part).__name__)
    for name in trace.parts:
        _check_width(trace, name)
    for site, terms in trace.sums.items():
        widths = {_width(trace, one) for one in (site, *terms)} - {None}
        _must(len(widths) < 2, site, "one width", sorted(map(str, widths)))


def _must(fits: bool, site: str, expected: object, came: object) -> None:
    if not fits:
        raise BadTrace(site=site, expected=str(expected), came=str(came))


def _stack(site: str) -> str:
    return site.partition(".")[0]


def _is_plain(array: Array, kinds: str) -> bool:
    """Numbers of one kind, each in memory: a stretched axis could stand for more than any computer has."""
    stretched = any(not stride and size > 1 for size, stride in zip(array.shape, array.strides, strict=True))
    return array.dtype.kind in kinds and not stretched


def _is_whole(encoding: Encoding) -> bool:
    """Whether spans lie in the text and ids are none below 0; and of an image, whether its pixels fill its shape."""
    long = len(encoding.text or "")
    inside = all(0 <= span[0] <= span[1] <= long for span in encoding.spans if span is not None)
    if not isinstance(encoding, ImageEncoding):
        return inside and min(encoding.ids) >= 0
    shape = encoding.shape
    if shape is None or min(*shape.shape, shape.patch_size) < 1 or shape.extra_tokens < 0:
        return False
    return inside and len(encoding) == shape.n_tokens and len(encoding.pixels) == math.prod(shape.shape)


def _check_attention(trace: Trace, site: str, how: Attention) -> None:
    stack, layer, kind, *rest = [*site.split("."), "", ""]
    known = stack in trace.encodings and layer.isdecimal() and bool(kind) and not any(rest)
    _must(known and ("encoder" in trace.encodings or kind != "cross"), site, "stack.layer.self", site)
    heads, shared = how.heads, how.kv_heads
    _must(0 < shared <= heads and heads % shared == 0, site, "heads", f"{heads}, {shared}")
    _must(math.isfinite(how.scale) and how.softcap != 0, site, "scale", how.scale)
    cell = len(trace.encoding(site, "query")), len(trace.encoding(site, "key"))
    for name, array, first in (("weights", how.weights, {heads}), ("bias", how.bias, {1, heads})):
        fits = array is None or (array.ndim == 3 and array.shape[1:] == cell and len(array) in first)
        _must(fits and (array is None or array.dtype.kind == "f"), f"{site}.{name}", (heads, *cell), array)
    if how.allowed is not None:
        shapes = (cell, (heads, *cell))
        _must(how.allowed.shape in shapes and how.allowed.dtype == bool, f"{site}.allowed", cell, how.allowed.shape)
    if how.sinks is not None:
        _must(how.sinks.shape == (heads,) and _is_plain(how.sinks, "f"), f"{site}.sinks", heads, how.sinks.shape)
    if how.weights is None:
        _check_heads(trace, site, how)


def _check_heads(trace: Trace, site: str, how: Attention) -> None:
    """Queries, keys, values and check numbers of one attention."""
    given = {name: trace.arrays.get(f"{site}.{name}") for name in ("q", "k", "v")}
    q, k, v = given["q"], given["k"], given["v"]
    if q is None or k is None or v is None:
        raise BadTrace(site=site, expected="q, k, v", came=", ".join(name for name in given if given[name] is not None))
    _must(q.shape[2] == k.shape[2], f"{site}.k", q.shape, k.shape)
    for name in ("q", "k", "v", "check", "q_check", "k_check", "v_check"):
        array, count = trace.arrays.get(f"{site}.{name}"), how.kv_heads if name[0] in "kv" else how.heads
        _must(array is None or len(array) == count, f"{site}.{name}", count, array is not None and array.shape)


def _check_top(trace: Trace) -> None:
    top = trace.top
    assert top is not None
    rows = 1 if trace.is_classified else len(trace.encodings[list(trace.encodings)[-1]])
    same = top.ids.ndim == 2 and top.ids.shape == top.values.shape and top.logsumexp.shape == top.ids.shape[:1]
    _must(same and len(top.ids) == rows, "logits", rows, (top.ids.shape, top.values.shape, top.logsumexp.shape))
    plain = _is_plain(top.ids, "iu") and _is_plain(top.values, "f") and _is_plain(top.logsumexp, "f")
    inside = top.ids.size > 0 and int(top.ids.min()) >= 0 and int(top.ids.max()) < top.vocabulary
    _must(plain and inside, "logits.ids", f"0 … {top.vocabulary - 1}", top.ids.dtype)


# --- weights ---------------------------------------------------------------------------------------------------------


def _fits(part: Part | None) -> bool:
    """Whether the arrays of a part fit each other."""
    if part is None:
        return True
    if not all(_is_plain(one, "f") for one in _numbers_of(part)):
        return False
    match part:
        case LinearPart(weight, bias):
            return weight.ndim == 2 and (bias is None or bias.shape == weight.shape[:1])
        case ProjectionPart(linear, rows, _, pairing):
            inside = _is_plain(rows, "iu") and rows.ndim == 2 and rows.size > 0 and int(rows.min()) >= 0
            return _fits(linear) and inside and int(rows.max()) < len(linear.weight) and _turns(pairing, rows.shape[1])
        case NormPart(kind, weight, bias, eps):
            same = weight is None or (weight.ndim == 1 and (bias is None or bias.shape == weight.shape))
            return kind in _NORMS and same and eps >= 0
        case FeedForwardPart(up, down, activation, gate):
            known = activation in ACTIVATIONS and _fits(up) and _fits(down) and _fits(gate)
            widths = known and down.weight.shape[1] == len(up.weight)
            return widths and (gate is None or gate.weight.shape == up.weight.shape)
        case HeadPart(linear):
            return _fits(linear)
        case SummaryPart(kind, pooler):
            return kind in _SUMMARIES and _fits(pooler)
    return False


def _check_width(trace: Trace, name: str) -> None:
    """Whether what enters a part has as many numbers as its weights take."""
    taken, came = _taken(trace.parts[name]), _width(trace, trace.part_inputs[name][0])
    _must(None in (came, taken) or came == taken, name, f"{taken} numbers", came)


def _taken(part: Part) -> int | None:
    match part:
        case LinearPart(weight) | FeedForwardPart(LinearPart(weight)) | HeadPart(LinearPart(weight)):
            return int(weight.shape[1])
        case ProjectionPart(LinearPart(weight)) | SummaryPart(_, LinearPart(weight)):
            return int(weight.shape[1])
        case NormPart(_, weight) if weight is not None:
            return len(weight)
    return None


def _width(trace: Trace, site: str) -> int | None:
    """How many numbers a site has for each position; None where nothing tells."""
    site = trace.resolve(site)
    place, _, part = site.rpartition(".")
    if site in trace.arrays:
        return int(trace.arrays[site].shape[-1])
    if part == "merged" and f"{place}.v" in trace.arrays:
        return (
            trace.attention[place].heads * int(trace.arrays[f"{place}.v"].shape[2])
            if place in trace.attention
            else None
        )
    giver = trace.parts.get(place, trace.parts.get(f"{place}.projection")) if part == "output" else None
    match giver:
        case LinearPart(weight) | FeedForwardPart(_, LinearPart(weight)):
            return len(weight)
        case NormPart(_, weight):
            return _width(trace, f"{place}.input") if weight is None else len(weight)
    return None


def _numbers_of(part: Part) -> Iterator[Array]:
    """Its own weights and biases."""
    yield from (one for name, one in vars(part).items() if isinstance(one, Array) and name != "rows")


def _turns(pairing: Pairing | None, d_head: int) -> bool:
    return pairing is None or (pairing.kind in KINDS and 0 < pairing.turned <= d_head and pairing.turned % 2 == 0)
