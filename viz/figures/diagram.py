"""The diagram of a model, drawn from its own module order: the residual line runs through, each part adds to it.

A `structure` has `stacks`; a stack has `name`, `before`, `blocks` and `after`; a box has `kind`, `name` (its site) and
`label_values`, facts for its label. Nothing is drawn that the structure does not say.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Protocol

from transformer.messages import message

NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
GATED = {"silu": "SwiGLU", "swish": "SwiGLU", "gelu": "GeGLU", "gelu_tanh": "GeGLU", "relu": "ReGLU", "sigmoid": "GLU"}
ACTIVATIONS = {"silu": "SiLU", "swish": "SiLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)", "relu": "ReLU"}
KINDS = ("tokens", "embedding", "positions", "norm", "attention", "cross", "ffn", "transform", "summary", "head")
SUMMARIES = ("first", "mean")


class Box(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def label_values(self) -> Mapping[str, Any]: ...


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


def architecture_diagram(structure: Structure, *, layer: int, selected: str | None = None, language: str = "en") -> str:
    """HTML of `structure` with block `layer` (counted from 0); each box is a button with its site in `data-site`.

    `selected` is the site of the box to mark. Where a stack has fewer blocks, its last one is shown.
    """
    stacks = "".join(
        _stack(stack, layer, selected, language, named=len(structure.stacks) > 1) for stack in structure.stacks
    )
    return f'<div class="stt-diagram" role="group" aria-label="{_say("figure.diagram.label", language)}">{stacks}</div>'


def _say(key: str, language: str, **values: object) -> str:
    return escape(message(key, language, **values))


def _stack(stack: Stack, layer: int, selected: str | None, language: str, *, named: bool) -> str:
    heading = f'<span class="stt-stack-name">{_say(f"figure.diagram.{stack.name}", language)}</span>' if named else ""
    row = _boxes(stack.before, selected, language)
    if stack.blocks:
        shown = max(0, min(layer, len(stack.blocks) - 1))
        caption = _say("figure.diagram.block", language, block=shown, count=len(stack.blocks))
        residual = _say("figure.diagram.residual", language)
        row += (
            f'<span class="stt-block" role="group" aria-label="{caption}"><span class="stt-block-note">{caption}</span>'
            f'<span class="stt-block-row">{_boxes(stack.blocks[shown], selected, language)}</span>'
            f'<span class="stt-block-note">{residual}</span></span>'
        )
    row += _boxes(stack.after, selected, language)
    return f'<div class="stt-stack">{heading}<div class="stt-stack-row">{row}</div></div>'


def _boxes(boxes: Iterable[Box], selected: str | None, language: str) -> str:
    return "".join(_box(box, selected, language) for box in boxes)


def _box(box: Box, selected: str | None, language: str) -> str:
    if box.kind == "parallel":
        branches = "".join(
            f'<span class="stt-branch">{_boxes(branch, selected, language)}</span>'
            for branch in box.label_values.get("branches", ())
        )
        return f'<span class="stt-parallel">{branches}</span>'
    title = "+" if box.kind == "add" else escape(_name(box, language))
    facts = "" if box.kind == "add" else escape(" · ".join(_facts(box, language)))
    said = f' aria-label="{_say("figure.diagram.add", language)}"' if box.kind == "add" else ""
    pressed = "true" if selected == box.name else "false"
    # The residual stream runs from box to box as the border of `::before`; see `components.css`.
    return (
        f'<span class="stt-step"><button type="button" class="stt-box stt-box-{escape(box.kind)}"'
        f' data-site="{escape(box.name)}" title="{escape(box.name)}" aria-pressed="{pressed}"{said}>'
        f"<b>{title}</b>{f'<small>{facts}</small>' if facts else ''}</button></span>"
    )


def _name(box: Box, language: str) -> str:
    kind = str(box.label_values.get("kind", ""))
    if box.kind == "norm" and kind.lower() in NORMS:
        return NORMS[kind.lower()]
    if box.label_values.get("table") == "segment":
        return message("figure.diagram.segments", language)
    if box.label_values.get("table") == "patches":
        return message("figure.diagram.patches", language)
    if "classes" in box.label_values:
        return message("figure.diagram.classes", language)
    if box.kind in KINDS:
        return message(f"figure.diagram.{box.kind}", language)
    return str(box.label_values.get("class") or kind or message("figure.diagram.unknown", language))


def _facts(box: Box, language: str) -> list[str]:
    """What the label says below the name, in this order; facts that are not given are not shown."""
    facts, values = [], box.label_values
    if "count" in values:
        facts.append(message("figure.diagram.count", language, count=values["count"]))
    if values.get("heads") is not None:
        facts += _head_facts(values, language)
    if box.kind == "ffn":
        facts.append(_feedforward(values))
    if box.kind == "positions" and "kind" in values:
        facts.append(_kind_of_positions(str(values["kind"]), language))
    if "place" in values:
        facts.append(message(f"figure.diagram.place.{values['place']}", language))
    if "shape" in values:
        facts.append(" × ".join(f"{size:,}" for size in values["shape"]))
    facts += [f"{values[name]:,}" for name in ("vocabulary", "classes") if name in values]
    if box.kind == "summary" and values.get("kind") in SUMMARIES:
        facts.append(message(f"figure.diagram.summary.{values['kind']}", language))
    return [fact for fact in facts if fact]


def _head_facts(values: Mapping[str, Any], language: str) -> list[str]:
    facts = [message("figure.diagram.heads", language, count=values["heads"])]
    if values.get("kv_heads", values["heads"]) != values["heads"]:
        facts.append(message("figure.diagram.kv_heads", language, count=values["kv_heads"]))
    facts += ["RoPE"] if values.get("rotary") else []
    return facts + ([message("figure.diagram.bias", language)] if values.get("bias") else [])


def _feedforward(values: Mapping[str, Any]) -> str:
    activation = str(values.get("activation", ""))
    plain = "gelu" if activation.lower().startswith(("gelu", "quick_gelu")) else activation.lower()
    name = GATED.get(plain, activation) if values.get("gated") else ACTIVATIONS.get(plain, activation)
    return f"{name} {values['d_ff']:,}" if "d_ff" in values else name


def _kind_of_positions(kind: str, language: str) -> str:
    known = ("learned", "sinusoidal", "rotary", "relative", "alibi")
    return message(f"figure.diagram.positions.{kind}", language) if kind in known else kind
