"""The order of one block: the residual stream runs down, each part leaves it, and comes back at a +.

Drawn from a `Placement` (see `transformer/norm_placement.py`), which was read off the model that ran.
"""

from collections.abc import Sequence
from html import escape
from typing import Any, Protocol

from transformer.messages import message
from viz.figures.stream_norms import part_name

KINDS = ("pre", "post", "sandwich", "behind", "parallel", "none", "mixed", "unknown")


class Branch(Protocol):
    @property
    def parts(self) -> Sequence[str]: ...
    @property
    def part(self) -> str: ...


class Placement(Protocol):
    """Steps are sums (`site`, `stream`, `branches`, `text`) and parts on the line (`part`, `enters`)."""

    @property
    def place(self) -> str: ...
    @property
    def steps(self) -> Sequence[Any]: ...
    @property
    def unread(self) -> str: ...
    @property
    def kind(self) -> str: ...


def norm_order(placement: Placement, *, selected: str | None = None, language: str = "en") -> str:
    """HTML of the block; each norm is a button with its name in `data-norm`, `selected` the marked one ("norm2").

    Under it stands the wiring in the names of sites, "resid.before + self.output → norm2".
    """
    rows = [_step(step, selected, language) for step in placement.steps]
    if placement.unread:
        rows.insert(0, f'<li class="stt-wire stt-wire-unread">{_say("unread", language)}</li>')
    label = _say("label", language)
    ends = (f'<li class="stt-wire-end">{_say(end, language)}</li>' for end in ("enters", "leaves"))
    first, last = ends
    drawn = f'<ol class="stt-wires" aria-label="{label}">{first}{"".join(rows)}{last}</ol>'
    formulas = "".join(f"<code>{escape(_text(step))}</code>" for step in placement.steps)
    kind = placement.kind if placement.kind in KINDS else "unknown"
    words = f'<p class="stt-order-said">{escape(message(f"norm.placement.{kind}", language))}</p>'
    return f'<div class="stt-order">{words}{drawn}<p class="stt-order-sites">{formulas}</p></div>'


def norm_name(name: str, language: str = "en") -> str:
    """ "norm 2", "final norm", "norm behind the embedding": of "norm2", "final", "embed"."""
    if name in ("final", "embed"):
        return message(f"norm.name.{name}", language)
    return message("norm.name.number", language, number=name.removeprefix("norm"))


def _say(key: str, language: str) -> str:
    return escape(message(f"figure.norm_order.{key}", language))


def _text(step: Any) -> str:
    """The wiring in names of sites: of a sum its own text, of a part on the line what enters it and what leaves."""
    return str(step.text) if hasattr(step, "text") else f"{step.enters} → {step.part} → {step.part}.output"


def _step(step: Any, selected: str | None, language: str) -> str:
    if not hasattr(step, "branches"):
        return f'<li class="stt-wire">{_part(step.part, selected, language)}</li>'
    branches = [tuple(branch.parts) for branch in step.branches]
    shared = _shared(branches)
    first = "".join(_part(part, selected, language) for part in branches[0][:shared])
    rest = "".join(
        f'<span class="stt-wire-row">{"".join(_part(part, selected, language) for part in parts[shared:])}</span>'
        for parts in branches
    )
    both = f'<span class="stt-wire-rows">{rest}</span>' if len(branches) > 1 else rest
    plus = f'<span class="stt-wire-add" title="{escape(step.text)}">+</span>'
    return f'<li class="stt-wire"><span class="stt-wire-loop">{first}{both}</span>{plus}</li>'


def _shared(branches: Sequence[tuple[str, ...]]) -> int:
    """How many parts all branches begin with: GPT-J's one norm feeds both."""
    if len(branches) < 2:
        return 0
    count = 0
    while all(len(parts) > count and parts[count] == branches[0][count] for parts in branches):
        count += 1
    return count


def _part(part: str, selected: str | None, language: str) -> str:
    if not part.startswith("norm"):
        kind = part if part in ("self", "cross") else "ffn"
        return f'<span class="stt-wire-part stt-wire-{kind}">{escape(part_name(part, language))}</span>'
    pressed = "true" if part == selected else "false"
    words = escape(norm_name(part, language))
    told = f'data-norm="{escape(part)}" aria-pressed="{pressed}"'
    return f'<button type="button" class="stt-wire-part stt-wire-norm" {told}>{words}</button>'
