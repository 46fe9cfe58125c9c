"""What a model is made of, as data: the boxes of the diagram, and where a recording has to listen.

Nothing here is assumed from a family's name: `wiring.py` reads it off a probe pass of the model itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import nn

from transformer.parts import Part


@dataclass(frozen=True)
class Box:
    """One box of the diagram. `name` is a site ("decoder.3.norm1"), `label_values` are facts for its label."""

    # tokens | embedding | positions | norm | attention | cross | ffn | add | parallel | transform | summary | head |
    # unknown
    kind: str
    name: str
    label_values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Stack:
    """An encoder or a decoder: what comes before its blocks, each block in the order it ran, what comes after."""

    name: str  # "encoder" | "decoder"
    before: tuple[Box, ...]
    blocks: tuple[tuple[Box, ...], ...]
    after: tuple[Box, ...]


@dataclass(frozen=True)
class Structure:
    """The whole model, in the order in which it ran."""

    stacks: tuple[Stack, ...]

    def stack(self, name: str) -> Stack:
        return next(stack for stack in self.stacks if stack.name == name)


Call = tuple[nn.Module, int]  # a module and its how-manieth call in one pass (shared modules are called more than once)


@dataclass(frozen=True, eq=False)
class Plan:
    """Where to listen, and what can be recomputed."""

    attention: dict[Call, str] = field(default_factory=dict)  # -> "decoder.3.self"
    masks: dict[Call, str] = field(default_factory=dict)  # attentions that are only seen from outside -> their place
    inputs: dict[Call, str] = field(default_factory=dict)  # -> "decoder.3.norm1.input"
    outputs: dict[Call, str] = field(default_factory=dict)
    checks: dict[Call, str] = field(default_factory=dict)  # modules whose output follows from a known formula
    aliases: dict[str, str] = field(default_factory=dict)  # a site that holds the same array as another one
    sums: dict[str, tuple[str, ...]] = field(default_factory=dict)  # a site that is the sum of others: residual adds
    parts: dict[str, Part] = field(default_factory=dict)  # "decoder.3.norm1" -> its formula with the model's weights
    part_inputs: dict[str, tuple[str, str]] = field(default_factory=dict)  # part -> (input site, output site)
    lacks: dict[str, str] = field(default_factory=dict)  # what is not there -> message key of the reason
