"""One short pass in which every module of a model is heard: the evidence from which its wiring is read."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from transformer.errors import SiteHeardTwice
from transformer.listening import AttentionCall, listening


@dataclass(eq=False)
class Heard:
    """One call of one module. `entered` and `left` count events of the pass, so calls nest like brackets."""

    name: str
    module: nn.Module
    nth: int
    entered: int
    left: int = -1
    input: Tensor | None = None
    output: Tensor | None = None
    attention: AttentionCall | None = None
    weights: Tensor | None = None  # (1, head, query, key), from families that hand out nothing else

    def holds(self, other: "Heard") -> bool:
        return self.entered < other.entered and other.left < self.left


@dataclass(eq=False)
class Evidence:
    """All calls in the order in which they began, the inputs given, and what the model answered."""

    heard: list[Heard] = field(default_factory=list)
    inputs: dict[str, Tensor] = field(default_factory=dict)
    logits: Tensor | None = None  # (1, position, vocabulary), or (1, class)
    answer: object = None

    def of(self, module: nn.Module) -> list[Heard]:
        return [one for one in self.heard if one.module is module]


def first_tensor(value: object) -> Tensor | None:
    """The tensor that a module was given or gave: itself, or the first one of a tuple, dict or model output."""
    if isinstance(value, Tensor):
        return value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next((found for item in items if (found := first_tensor(item)) is not None), None)


def entering_tensor(args: tuple[object, ...], kwargs: dict[str, object]) -> Tensor | None:
    """The stream that enters a module: its first argument, by place or by name."""
    found = first_tensor(args)
    return found if found is not None else first_tensor(kwargs.get("hidden_states", kwargs))


def probe(module: nn.Module, inputs: dict[str, Tensor], *, loud: bool = False) -> Evidence:
    """Run `module(**inputs)` once and keep a copy of what entered and left every submodule.

    `loud`: let linear maps that gave nothing but zeros (a fresh, zero-initialised projection) give noise instead: what
    adds nothing cannot be found in a sum.
    """
    evidence = Evidence(inputs=inputs)
    with _all_heard(module, evidence, loud), listening(_AttentionEar(evidence)):
        answer = module(**inputs)
    evidence.answer, logits = answer, getattr(answer, "logits", None)
    evidence.logits = logits if isinstance(logits, Tensor) and logits.ndim in (2, 3) else None
    return evidence


class _AttentionEar:
    """Puts each attention call beside the call of the module that made it."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence

    def attention(self, module: nn.Module, call: AttentionCall) -> None:
        one = self.evidence.of(module)[-1]
        if one.attention is not None:  # DiffLlama attends twice in one call; which of the two would be shown?
            raise SiteHeardTwice(site=one.name)
        one.attention = call

    def entering(self, module: nn.Module, tensor: Tensor, mask: Tensor | None = None) -> None: ...
    def leaving(self, module: nn.Module, tensor: Tensor) -> None: ...


@contextmanager
def _all_heard(root: nn.Module, evidence: Evidence, loud: bool) -> Iterator[None]:
    names = {module: name for name, module in root.named_modules()}
    clock, calls, open_calls = iter(range(10**9)), Counter[nn.Module](), []

    def enter(module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        one = Heard(names[module], module, calls[module], next(clock), input=_copy(entering_tensor(args, kwargs)))
        calls[module] += 1
        open_calls.append(one)
        evidence.heard.append(one)

    def leave(module: nn.Module, _args: object, _kwargs: object, output: object) -> object:
        one = open_calls.pop()
        replaced = _noise(output) if loud and is_silent(module, output) else None
        one.left, one.output = next(clock), _copy(first_tensor(output if replaced is None else replaced))
        return replaced

    hooks = [module.register_forward_pre_hook(enter, with_kwargs=True) for module in names]
    hooks += [module.register_forward_hook(leave, with_kwargs=True) for module in names]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def is_silent(module: nn.Module, output: object) -> bool:
    """Whether a linear map gave nothing but zeros."""
    is_linear = getattr(getattr(module, "weight", None), "ndim", 0) == 2 and not isinstance(module, nn.Embedding)
    return is_linear and isinstance(output, Tensor) and output.is_floating_point() and not bool(output.any())


def _noise(output: object) -> Tensor:
    assert isinstance(output, Tensor)
    generator = torch.Generator().manual_seed(output.numel())
    return 0.1 * torch.randn(output.shape, generator=generator).to(output)


def _copy(tensor: Tensor | None) -> Tensor | None:
    """A copy, since a later in-place add would change what we kept."""
    return None if tensor is None else tensor.detach().clone()


def probe_ids(vocab_size: int, length: int, avoid: set[int]) -> Tensor:
    """(1, length): different ids of the vocabulary, none of them special."""
    usable = [i for i in range(vocab_size) if i not in avoid] or list(range(vocab_size))
    return torch.tensor([[usable[(3 + 7 * i) % len(usable)] for i in range(length)]])
