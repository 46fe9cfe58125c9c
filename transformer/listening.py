"""Who is listening to the current forward pass.

A `ContextVar`, not a global: each visitor's thread has its own, so two runs never hear each other and need no lock, and
a pass that nobody listens to pays one look-up.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """What one attention was given and gave. H heads look, G ≤ H key-value heads are looked at (grouped-query)."""

    query: Tensor  # (batch, head, query, d_head)
    key: Tensor  # (batch, kv_head, key, d_head)
    value: Tensor  # (batch, kv_head, key, d_value)
    context: Tensor  # (batch, head, query, d_value): softmax(scores) · V as the kernel gave it
    allowed: Tensor | None  # bool, broadcastable to (batch, head, query, key); None: no mask tensor was used
    causal: bool  # the kernel was told "causal" instead of being given a mask
    bias: Tensor | None  # added to the scaled scores, broadcastable to (batch, head, query, key)
    scale: float
    softcap: float | None
    sinks: Tensor | None  # (head,): one more logit per head in the softmax's denominator


class Listener(Protocol):
    """Hears attention calls and the tensors that pass the hooked modules."""

    def attention(self, module: nn.Module, call: AttentionCall) -> None: ...
    def entering(self, module: nn.Module, tensor: Tensor, mask: Tensor | None) -> None: ...
    def leaving(self, module: nn.Module, tensor: Tensor) -> None: ...


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def current_listener() -> Listener | None:
    return _listener.get()


@contextmanager
def listening(listener: Listener, *, gradients: bool = False) -> Iterator[None]:
    """Let `listener` hear every forward pass of this thread (or task) inside the `with`; only a training that learns
    from what it hears keeps gradients."""
    token = _listener.set(listener)
    try:
        with nullcontext() if gradients else torch.inference_mode():
            yield
    finally:
        _listener.reset(token)
