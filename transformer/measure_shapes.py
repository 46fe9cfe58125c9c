"""The shape at every step of one forward pass, of any module: what the tutorials print by hand, as data.

Heard by hooks on every module and, where attention is ours or grafted, by a listener: heads are split inside it, where
no hook can see them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass

from torch import Tensor, nn

from transformer.listening import AttentionCall, current_listener, listening

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ShapeStep:
    """One call, in the order in which the calls began."""

    name: str  # "blocks.0.attention.query"; "" is the module as a whole; "blocks.0.attention.attend" is no module
    kind: str  # the class, or "attend" where the heads look: query, key and value in, context out
    depth: int  # 0 for the module as a whole, 1 for what it calls, and so on
    inputs: tuple[Shape, ...]  # of every tensor that was handed in
    outputs: tuple[Shape, ...]


class _Ear:
    """Writes down the calls of its own thread; a step gets its output when the call is over."""

    def __init__(self, module: nn.Module) -> None:
        self.names = {one: name for name, one in module.named_modules()}
        self.steps: list[ShapeStep] = []
        self.open: list[int] = []

    def begin(self, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        if current_listener() is not self:  # another thread runs the same module
            return
        inputs = tuple(shapes_in((args, kwargs)))
        self.open.append(len(self.steps))
        self.steps.append(ShapeStep(self.names[module], type(module).__name__, len(self.open) - 1, inputs, ()))

    def end(self, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object], output: object) -> None:
        if current_listener() is not self:
            return
        place = self.open.pop()
        step = self.steps[place]
        self.steps[place] = ShapeStep(step.name, step.kind, step.depth, step.inputs, tuple(shapes_in(output)))

    def attention(self, module: nn.Module, call: AttentionCall) -> None:
        name = f"{self.names[module]}.attend".lstrip(".")
        inputs = tuple(shapes_in((call.query, call.key, call.value)))
        self.steps.append(ShapeStep(name, "attend", len(self.open), inputs, tuple(shapes_in(call.context))))

    def entering(self, module: nn.Module, tensor: Tensor, mask: Tensor | None) -> None: ...

    def leaving(self, module: nn.Module, tensor: Tensor) -> None: ...


def shape_steps(module: nn.Module, *args: object, **kwargs: object) -> tuple[ShapeStep, ...]:
    """Call `module` once, as if for evaluation and without gradients, and tell what went in and out of every part.

    The module is left as it was, also where its pass raises.
    """
    ear = _Ear(module)
    with ExitStack() as stack:
        stack.enter_context(_evaluating(module))
        for one in module.modules():
            stack.callback(one.register_forward_pre_hook(ear.begin, with_kwargs=True).remove)
            stack.callback(one.register_forward_hook(ear.end, with_kwargs=True).remove)
        stack.enter_context(listening(ear))
        module(*args, **kwargs)
    return tuple(ear.steps)


def shapes_in(value: object) -> Iterator[Shape]:
    """The shapes of all tensors in `value`, which may hold them in tuples, lists, mappings and dataclasses."""
    if isinstance(value, Tensor):
        yield tuple(value.shape)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from shapes_in(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from shapes_in(getattr(value, field.name))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for part in value:
            yield from shapes_in(part)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """In evaluation mode, then each part back in its own: BatchNorm would learn from a pass in training mode."""
    modes = {one: one.training for one in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for one, training in modes.items():
            one.training = training
