"""The diagram of a model, drawn from its own module order: the residual line runs through, each part adds to it.

A `structure` has `stacks`; a stack has `name`, `before`, `blocks` and `after`; a box has `kind`, `name` (its site) and
`label_values`, facts for its label. Nothing is drawn that the structure does not say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from transformer.messages import message
from viz.figures.box_label import Box, box_facts, box_name


class Stack(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def before(self) -> Sequence[Box]: ...
    @property
    def blocks(self) -> Sequence[Sequence[Box]]: ...
    @property
    def after(self) -> Sequence[Box]: ...


class Structure(Protocol):
    @property
    def stacks(self) -> Sequence[Stack]: ...


@dataclass(frozen=True)
class _Look:
    """What is drawn of a structure, and with which words."""

    layer: int
    selected: str | None
    stack: str | None  # the stack that is looked at
    tokens: Mapping[str, int]  # by stack
    d_model: Mapping[str, int]  # by stack
    language: str

    def size(self, stack: str, count: int | None = None) -> str:
        """ "8 × 576": the vectors of a stack's stream; "" where it is not known."""
        count = self.tokens.get(stack) if count is None else count
        return f"{count:,} × {self.d_model[stack]:,}" if count is not None and stack in self.d_model else ""


def architecture_diagram(
    structure: Structure,
    *,
    layer: int,
    selected: str | None = None,
    stack: str | None = None,
    tokens: Mapping[str, int] | None = None,
    d_model: Mapping[str, int] | None = None,
    language: str = "en",
) -> str:
    """HTML of `structure` with block `layer` (counted from 0).

    Each box is a button with its site in `data-site`, each block a small square with `data-layer` and `data-stack`.
    `selected` is the site of the box to mark, `stack` the name of the stack that is looked at (default: all). Where a
    stack has fewer blocks, its last one is shown. `tokens` and `d_model`, by the names of stacks, write the sizes of
    the streams on the arrows.
    """
    look = _Look(layer, selected, stack, tokens or {}, d_model or {}, language)
    rows = []
    for number, one in enumerate(structure.stacks):
        feeder = structure.stacks[number - 1] if number and _has_cross(one) else None
        feeds = number + 1 < len(structure.stacks) and _has_cross(structure.stacks[number + 1])
        rows.append(_stack(one, look, named=len(structure.stacks) > 1, feeder=feeder, feeds=feeds))
    label = _say("figure.diagram.label", language)
    return f'<div class="stt-diagram" role="group" aria-label="{label}">{"".join(rows)}</div>'


def _say(key: str, language: str, **values: object) -> str:
    return escape(message(key, language, **values))


def _has_cross(stack: Stack) -> bool:
    return any(box.kind == "cross" for block in stack.blocks for box in block)


def _stack(stack: Stack, look: _Look, *, named: bool, feeder: Stack | None, feeds: bool) -> str:
    """A row of boxes. `feeder` is the stack that its cross-attention looks at; `feeds`: the next one looks at this."""
    language = look.language
    head = f'<span class="stt-stack-name">{_say(f"figure.diagram.{stack.name}", language)}</span>' if named else ""
    head += _rail(stack, look) + _note(stack, look, explained=not (named and feeder))
    if feeder is not None:
        size = look.size(feeder.name)
        words = _say("figure.diagram.bridge", language)
        head += f'<span class="stt-bridge-note">{words}{f" · {size}" if size else ""}</span>'
    row = _boxes(stack.before, stack.name, look)
    if stack.blocks:
        row += _flow(look.size(stack.name)) if stack.before else ""
        row += _block(stack, look)
        row += _flow(look.size(stack.name)) if stack.after else ""
    row += _boxes(stack.after, stack.name, look)
    row += '<span class="stt-tail" aria-hidden="true"></span>' if feeds else ""
    bridged = " stt-bridged" if feeder is not None else ""
    head = f'<div class="stt-stack-head{bridged}">{head}</div>' if head else ""
    return f'<div class="stt-stack">{head}<div class="stt-stack-row{bridged}">{row}</div></div>'


def _shown(stack: Stack, look: _Look) -> int:
    return max(0, min(look.layer, len(stack.blocks) - 1))


def _rail(stack: Stack, look: _Look) -> str:
    """All blocks as small squares with their numbers; of a single one there is nothing to choose."""
    if len(stack.blocks) < 2:
        return ""
    shown, count = _shown(stack, look), len(stack.blocks)
    squares = []
    for layer in range(count):
        here = " stt-rail-shown" if layer == shown else ""
        looked_at = "true" if layer == shown and look.stack in (None, stack.name) else "false"
        title = _say("figure.diagram.block", look.language, block=layer, count=count)
        told = f'data-layer="{layer}" data-stack="{escape(stack.name)}" title="{title}" aria-label="{title}"'
        squares.append(
            f'<button type="button" class="stt-rail-block{here}" {told} aria-current="{looked_at}">{layer}</button>'
        )
    label = _say("figure.diagram.blocks", look.language)
    name = f'<span class="stt-rail-name" aria-hidden="true">{label}</span>'
    return f'<span class="stt-rail" role="group" aria-label="{label}">{name}{"".join(squares)}</span>'


def _caption(stack: Stack, look: _Look) -> str:
    return _say("figure.diagram.block", look.language, block=_shown(stack, look), count=len(stack.blocks))


def _note(stack: Stack, look: _Look, *, explained: bool) -> str:
    """Which block is opened, and `explained`, what the violet line is."""
    residual = f" · {_say('figure.diagram.residual', look.language)}" if explained else ""
    return f'<span class="stt-block-note">{_caption(stack, look)}{residual}</span>' if stack.blocks else ""


def _block(stack: Stack, look: _Look) -> str:
    boxes = _boxes(stack.blocks[_shown(stack, look)], stack.name, look)
    return f'<span class="stt-block stt-block-row" role="group" aria-label="{_caption(stack, look)}">{boxes}</span>'


def _flow(size: str) -> str:
    """The stream between two parts of the diagram, with its size above the line."""
    return f'<span class="stt-flow"><small class="stt-size">{size}</small></span>' if size else ""


def _boxes(boxes: Sequence[Box], stack: str, look: _Look) -> str:
    drawn = []
    for number, box in enumerate(boxes):
        drawn.append(_box(box, stack, look))
        if box.kind == "summary" and number + 1 < len(boxes):
            drawn.append(_flow(look.size(stack, 1)))  # one vector for the whole input
    return "".join(drawn)


def _box(box: Box, stack: str, look: _Look) -> str:
    if box.kind == "parallel":
        branches = "".join(
            f'<span class="stt-branch">{_boxes(branch, stack, look)}</span>'
            for branch in box.label_values.get("branches", ())
        )
        return f'<span class="stt-parallel">{branches}</span>'
    is_add, language = box.kind == "add", look.language
    added = message("figure.diagram.add", language)
    name = added if is_add else box_name(box, language)
    facts = [] if is_add else box_facts(box, language)
    if box.kind == "tokens" and "count" not in box.label_values and stack in look.tokens:
        facts.insert(0, message("figure.diagram.count", language, count=look.tokens[stack]))
    small = f"<small>{escape(' · '.join(facts))}</small>" if facts else ""
    said = f' aria-label="{escape(added)}"' if is_add else ""
    pressed = "true" if look.selected == box.name else "false"
    kind, title = escape(box.kind), escape(f"{name} ({box.name})")
    told = f'data-site="{escape(box.name)}" title="{title}" aria-pressed="{pressed}"{said}'
    inside = f"<b>{'+' if is_add else escape(name)}</b>{small}{_shape(box, stack, look)}"
    # The residual stream runs from box to box as the border of `::before`; see `components.css`.
    button = f'<button type="button" class="stt-box stt-box-{kind}" {told}>{inside}</button>'
    return f'<span class="stt-step stt-step-{kind}">{button}</span>'


def _shape(box: Box, stack: str, look: _Look) -> str:
    """ "9 × 8 × 64": heads, their queries, and the length of each."""
    heads, d_head, count = box.label_values.get("heads"), box.label_values.get("d_head"), look.tokens.get(stack)
    if heads is None or d_head is None or count is None:
        return ""
    words = _say("figure.diagram.shape", look.language)
    return f'<small class="stt-size" title="{words}">{heads} × {count:,} × {d_head}</small>'
