"""Reads a model's wiring off a probe pass: which norm stands where, and what is added to what.

No family has code of its own here. A residual add is no module, so it is *found*: whatever enters a norm or leaves a
block must be a tensor that was there before, or a sum of two or three of them; the sum that gives exactly those numbers
is the wiring. Pre-norm, post-norm, sandwich norms (Gemma 2) and parallel branches (GPT-J) come out as they are in the
model that ran. What cannot be explained stays unexplained, and the diagram says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from torch import Tensor

from transformer.parts import Array
from transformer.probe import Heard
from transformer.recognise import is_linear, looks_like_norm, same, to_numpy

_UNNAMED = "other"  # a stream whose place in the block is not known yet


@dataclass(eq=False)
class Term:
    """A tensor of a block that others may be sums of."""

    site: str  # within the block: "resid.before", "norm1.output", "self.output", "ffn.output"
    value: Array  # (position, d_model)
    left: int  # when it was there
    heard: Heard


@dataclass(eq=False)
class Event:
    """A norm, an attention or a feed-forward of a block, with what entered it as a sum of terms (None: unexplained)."""

    place: str  # "norm1", "self", "cross", "ffn"
    heard: Heard
    entered: int
    enters_from: tuple[Term, ...] | None = None
    ups: list[Heard] = field(default_factory=list)  # the matrices before `heard`, for a feed-forward


@dataclass(eq=False)
class BlockWiring:
    """One block as it ran: its events in order, and the sum that leaves it."""

    call: Heard
    events: list[Event]
    leaves_from: tuple[Term, ...] | None
    output_projections: dict[str, Heard]  # "self" -> the linear map after its context, where there is one


def explain(target: Array, terms: Sequence[Term], largest: int = 3) -> tuple[Term, ...] | None:
    """The fewest terms whose sum is `target`, or None. Rounding is judged cell by cell, so small terms count too."""
    usable = [term for term in terms if term.value.shape == target.shape]
    corner = (slice(-1, None), slice(0, 16))  # most sums are ruled out on a few numbers
    for size in range(1, largest + 1):
        for chosen in combinations(usable, size):
            if _is_sum(target[corner], [t.value[corner] for t in chosen]) and _is_sum(
                target, [t.value for t in chosen]
            ):
                return chosen
    return None


def _is_sum(target: Array, values: list[Array]) -> bool:
    magnitude = np.abs(target) + sum(np.abs(value) for value in values)
    return bool((np.abs(sum(values) - target) <= 2e-6 * magnitude + 1e-12).all())


def block_of(name: str) -> str:
    """The block that holds a module: its outermost numbered ancestor ("model.layers.3" of "model.layers.3.mlp.2")."""
    parts = name.split(".")
    numbered = next((i for i, part in enumerate(parts) if part.isdigit()), None)
    return name if numbered is None else ".".join(parts[: numbered + 1])


def read_block(call: Heard, heard: list[Heard], places: dict[int, str]) -> BlockWiring:
    """The wiring of one block call. `places` names the attention calls in it by when they entered: self or cross."""
    inside = [one for one in heard if call.holds(one)]
    attentions = [one for one in inside if one.entered in places]
    projections = {places[one.entered]: found for one in attentions if (found := _output_projection(one, inside))}
    outside = [
        one for one in inside if not any(_is_within(one, a, projections.get(places[a.entered])) for a in attentions)
    ]
    norms = [one for one in outside if looks_like_norm(one) and _fits(one, call)]
    terms = _terms(call, norms, attentions, places, projections, outside)
    events = [_event(f"norm{n}", one, terms) for n, one in enumerate(norms, 1)]
    events += [_event(places[one.entered], one, terms) for one in attentions]
    leaves_from = explain(_stream(call.output), terms)
    used = [term for event in events for term in event.enters_from or ()] + list(leaves_from or ())
    for one in attentions:
        if one.attention is None:
            projections |= _unseen_projection(one, places[one.entered], used)
    events += _feed_forwards(used, terms, outside, projections)
    for event in events:
        event.enters_from = _named_only(event.enters_from)
    leaves_from = _named_only(leaves_from)
    return BlockWiring(call, sorted(events, key=lambda event: event.entered), leaves_from, projections)


def _named_only(terms: tuple[Term, ...] | None) -> tuple[Term, ...] | None:
    """A sum of which one part has no place of its own in the block is not understood."""
    return None if terms is None or any(term.site.startswith(_UNNAMED) for term in terms) else terms


def _stream(tensor: Tensor | None) -> Array:
    """(position, d_model): the probe's only row; some families flatten batch and position themselves."""
    assert tensor is not None
    return to_numpy(tensor).reshape(-1, tensor.shape[-1])


def _fits(one: Heard, call: Heard) -> bool:
    """Whether a module gave a stream of the block's shape."""
    if one.output is None or call.output is None:
        return False
    return one.output.numel() == call.output.numel() and one.output.shape[-1] == call.output.shape[-1]


def _is_within(one: Heard, attention: Heard, projection: Heard | None) -> bool:
    """Whether a module belongs to the attention itself. What comes after its output projection does not (ALBERT's
    norm), and where the attention does not show its context, its linear maps may be that projection."""
    if attention.attention is None:
        return one is attention
    after = projection is not None and one.entered > projection.left
    return one is attention or one is projection or (attention.holds(one) and not after)


def _output_projection(attention: Heard, inside: list[Heard]) -> Heard | None:
    """W_O: the linear map that was given the concatenated heads, in the attention module or after it (BERT)."""
    if attention.attention is None:
        return None
    merged = to_numpy(attention.attention.context.transpose(1, 2).flatten(2))
    later = [(one, one.input) for one in inside if one.entered > attention.entered]
    fitting = (one for one, given in later if given is not None and same(to_numpy(given), merged, 1e-7))
    return next((one for one in fitting if is_linear(one)), None)


def _unseen_projection(attention: Heard, place: str, used: list[Term]) -> dict[str, Heard]:
    """Where a family keeps its context to itself: the first linear map after it that is added to the stream."""
    for term in sorted(used, key=lambda term: term.left):
        if term.site.startswith(_UNNAMED) and term.left > attention.entered and is_linear(term.heard):
            term.site = f"{place}.output"
            return {place: term.heard}
    return {}


def _terms(
    call: Heard,
    norms: list[Heard],
    attentions: list[Heard],
    places: dict[int, str],
    projections: dict[str, Heard],
    outside: list[Heard],
) -> list[Term]:
    """All streams of a block in the order in which they were there, each number once."""
    names = {one.entered: f"norm{n}.output" for n, one in enumerate(norms, 1)}
    for one in (one for one in attentions if one.attention is not None):
        names[projections.get(places[one.entered], one).entered] = f"{places[one.entered]}.output"
    named = [projections.get(places[one.entered], one) for one in attentions if one.attention is not None]
    terms = [Term("resid.before", _stream(call.input), call.entered, call)]
    for one in sorted({id(x): x for x in [*outside, *named]}.values(), key=lambda x: x.left):
        if _fits(one, call) and (one.entered in names or not _is_made_of(one, terms, outside)):
            name = names.get(one.entered, f"{_UNNAMED}{len(terms)}.output")
            terms.append(Term(name, _stream(one.output), one.left, one))
    return terms


def _is_made_of(one: Heard, terms: list[Term], outside: list[Heard]) -> bool:
    """Whether a module only passes on (dropout) or adds up (T5's sub-layers) what is there already."""
    value = _stream(one.output)
    if any(np.array_equal(value, term.value) for term in terms):
        return True
    return any(one.holds(other) for other in outside) and explain(value, terms, largest=4) is not None


def _event(place: str, one: Heard, terms: list[Term]) -> Event:
    """An event; the sum that enters it, once found, is a stream of its own that later sums may start from."""
    if one.input is None:
        return Event(place, one, one.entered)
    entering = explain(_stream(one.input), [term for term in terms if term.left < one.entered])
    if entering is not None and len(entering) > 1:
        terms.append(Term(f"{place}.input", _stream(one.input), one.entered, one))
        terms.sort(key=lambda term: (term.left, term.site.endswith("output")))
    return Event(place, one, one.entered, entering)


def _feed_forwards(
    used: list[Term], terms: list[Term], outside: list[Heard], projections: dict[str, Heard]
) -> list[Event]:
    """Whatever else is added to the stream is a feed-forward: matrices, or a module unknown to us (experts)."""
    found: dict[int, Event] = {}
    taken = {one.entered for one in projections.values()}
    for term in used:
        if term.site.startswith(_UNNAMED) and term.heard.entered not in found:
            place = f"ffn{len(found) + 1}" if found else "ffn"  # a mixture with shared experts adds two
            ups = _matrices_before(term.heard, outside, taken) if is_linear(term.heard) else []
            first = ups[0] if ups else term.heard
            event = _event(place, first, terms)
            term.site = f"{place}.output"
            found[term.heard.entered] = Event(place, term.heard, first.entered, event.enters_from, ups)
    return list(found.values())


def _matrices_before(down: Heard, outside: list[Heard], taken: set[int]) -> list[Heard]:
    """The linear maps before `down` that were given one input: up, and the gate where there is one."""
    before = [one for one in outside if one.left < down.entered and one.entered not in taken and is_linear(one)]
    if not before or before[-1].input is None:
        return []
    enters = before[-1].input
    return [
        one
        for one in before
        if one.input is not None and one.input.shape == enters.shape and bool((one.input == enters).all())
    ]
