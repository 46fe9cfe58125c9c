"""What stands in a box of the diagram: its name, and the facts below it."""

from collections.abc import Mapping
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


def box_name(box: Box, language: str) -> str:
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


def box_facts(box: Box, language: str) -> list[str]:
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
