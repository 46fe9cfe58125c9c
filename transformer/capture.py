"""The recorder: what a forward pass is heard to say, kept as copies.

Hooks are installed once, when a model is wrapped. They ask who is listening (`listening.py`) and do nothing when nobody
is, so a bare pass costs nothing and visitors in different threads never hear each other.
"""

from collections import Counter
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn

from transformer.errors import SiteHeardTwice
from transformer.listening import AttentionCall, current_listener
from transformer.probe import entering_tensor, first_tensor
from transformer.structure import Plan

EVERYTHING = frozenset({"attention", "stream", "embedding", "logits"})


def kind_of(site: str) -> str:
    """Which part of `record=` a hooked site belongs to."""
    of_logits = site.endswith(("head.input", "summary.vector"))
    return "embedding" if ".embed." in site else "logits" if of_logits else "stream"


_SMALLEST, _LARGEST = 1 << 18, 4_000_000  # floats of a block


class Arena:
    """Room for a run's copies, in few large blocks.

    Single copies, kept between the pass's own short-lived tensors, would pin the heap in its spread-out state and cost
    more than themselves; untouched pages of a block cost nothing. Blocks are small enough (16 MB) that the allocator
    keeps and reuses those of a trace that is gone: fresh memory, which the system must clear first, costs as much time
    as all the copying.
    """

    def __init__(self) -> None:
        self._block, self._used, self._next = torch.empty(0), 0, _SMALLEST

    def copy(self, tensor: Tensor) -> Tensor:
        """A contiguous float32 copy of its own: the model may go on to change the tensor in place."""
        if self._used + tensor.numel() > len(self._block):
            size = max(self._next, tensor.numel())
            self._block, self._used = torch.empty(size), 0
            self._next = min(2 * self._next, _LARGEST)
        room = self._block[self._used : self._used + tensor.numel()].view(tensor.shape)
        self._used += tensor.numel()
        return room.copy_(tensor.detach())


def check_numbers(vectors: Tensor) -> Tensor:
    """(…, d) → (…): Σ (1 + i/d) · v_i, one number that tells whether a whole vector is right.

    What follows from kept arrays by a known formula (contexts, norms, what a sub-layer adds) is not kept itself: that
    would double the recording. These numbers of the pass are, and the seal compares them; no two cells can be swapped
    unnoticed. q, k and v have them too, since a query that sees one key gives its value whatever the query was.
    """
    return vectors.detach().float() @ _check_weights(vectors.shape[-1], vectors.device)


@cache
def _check_weights(size: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # it outlives the pass that asks for it first
        return 1 + torch.arange(size, device=device) / size


class Recorder:
    """Listens to one pass of one model. `arrays` are batch tensors by site, `calls` the attention calls by site."""

    def __init__(self, plan: Plan, wanted: frozenset[str] = EVERYTHING) -> None:
        self.plan, self.wanted = plan, wanted
        self.arrays: dict[str, Tensor] = {}
        self.calls: dict[str, AttentionCall] = {}
        self.checks: dict[str, dict[str, Tensor]] = {}  # check numbers of q, k, v and the context by site
        self.masks: dict[str, Tensor] = {}  # given to attentions that we only see from outside
        self._arena = Arena()
        self._counts: Counter[tuple[nn.Module, str]] = Counter()

    def attention(self, module: nn.Module, call: AttentionCall) -> None:
        site = self._site(module, "attention", self.plan.attention)
        if site is None and (known := self.plan.attention.get((module, 0))) is not None:
            raise SiteHeardTwice(site=known)  # once more than in the probe: it has no name, and must not be lost
        if site is None or "attention" not in self.wanted:
            return
        if site in self.calls:
            raise SiteHeardTwice(site=site)
        # The context is not kept: it follows from q, k and v. Masks and biases are made once per pass, shared by its
        # layers and never written to.
        query, key, value = (self._copy_heads(tensor) for tensor in (call.query, call.key, call.value))
        # Taken from the copies, which lie close together and are still at hand.
        given = {"q_check": query, "k_check": key, "v_check": value, "check": call.context}
        self.checks[site] = {name: self._check_heads(tensor) for name, tensor in given.items()}
        # The context itself is let go: its check numbers stand in its place.
        self.calls[site] = replace(call, query=query, key=key, value=value, context=self.checks[site]["check"])

    def entering(self, module: nn.Module, tensor: Tensor, mask: Tensor | None) -> None:
        nth = self._counts[module, "input"]
        if mask is not None and (site := self.plan.masks.get((module, nth))) is not None:
            self.masks[site] = mask
        self._keep(self._site(module, "input", self.plan.inputs), tensor)

    def leaving(self, module: nn.Module, tensor: Tensor) -> None:
        nth = self._counts[module, "output"]
        if (site := self.plan.checks.get((module, nth))) is not None and kind_of(site) in self.wanted:
            self.arrays[site] = self._arena.copy(check_numbers(tensor))
        self._keep(self._site(module, "output", self.plan.outputs), tensor)

    def _copy_heads(self, tensor: Tensor) -> Tensor:
        """(batch, head, position, d) in the order in which it lies in memory, mostly position by position: that is a
        third faster to copy."""
        if tensor.is_contiguous():
            return self._arena.copy(tensor)
        return self._arena.copy(tensor.transpose(1, 2)).transpose(1, 2)

    def _check_heads(self, tensor: Tensor) -> Tensor:
        """(batch, head, position, d) → (batch, head, position)."""
        return self._arena.copy(check_numbers(tensor.transpose(1, 2))).transpose(1, 2)

    def _site(self, module: nn.Module, event: str, sites: dict[tuple[nn.Module, int], str]) -> str | None:
        nth = self._counts[module, event]
        self._counts[module, event] += 1
        return sites.get((module, nth))

    def _keep(self, site: str | None, tensor: Tensor) -> None:
        if site is None or kind_of(site) not in self.wanted:
            return
        if site in self.arrays:
            raise SiteHeardTwice(site=site)
        self.arrays[site] = self._arena.copy(tensor)


def _mask_among(values: tuple[object, ...]) -> Tensor | None:
    """The (batch, 1, query, key) mask that a module was given, by name or by place."""
    return next((one for one in values if isinstance(one, Tensor) and one.ndim == 4), None)


def _hear_entering(module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    listener = current_listener()
    if listener is not None and (tensor := entering_tensor(args, kwargs)) is not None:
        listener.entering(module, tensor, _mask_among((kwargs.get("attention_mask"), *args)))


def _hear_leaving(module: nn.Module, _args: object, _kwargs: object, output: object) -> None:
    listener = current_listener()
    if listener is not None and (tensor := first_tensor(output)) is not None:
        listener.leaving(module, tensor)


def install_hooks(plan: Plan) -> None:
    """Let the planned modules be heard; a module that has its hooks already (wrapped twice, or copied) keeps them."""
    for module, _ in (*plan.inputs, *plan.masks):
        if _hear_entering not in module._forward_pre_hooks.values():
            module.register_forward_pre_hook(_hear_entering, with_kwargs=True)
    for module, _ in (*plan.outputs, *plan.checks):
        if _hear_leaving not in module._forward_hooks.values():
            module.register_forward_hook(_hear_leaving, with_kwargs=True)
