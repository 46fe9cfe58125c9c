"""What comes out of a run: the recorder's batch tensors become one `Trace` per row."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from transformer.capture import EVERYTHING, Recorder
from transformer.listening import AttentionCall
from transformer.maps import Attention
from transformer.parts import Array
from transformer.trace import TopLogits

TOP = 50  # logits kept per position
_KEPT = {"q": "query", "k": "key", "v": "value"}


def top_logits(logits: Tensor) -> TopLogits:
    """The largest logits of (batch, position, vocabulary) in float32, some rows at a time: nothing is copied whole."""
    flat, k = logits.flatten(0, 1), min(TOP, logits.shape[-1])
    ids, values, logsumexp = [], [], []
    for rows in flat.split(16):  # as many as stay in the processor's cache
        top = _largest(rows.float(), k)
        ids.append(top.indices)
        values.append(top.values)
        shifted = (rows.float() - top.values[:, :1]).exp_()  # ≤ 1, so the sum cannot overflow
        # In float64: beside logits of 30, float32 would round every probability by a hundred-thousandth.
        logsumexp.append(top.values[:, 0].double() + shifted.sum(-1).double().log())
    shape = logits.shape[:2]
    return TopLogits(
        ids=torch.cat(ids).view(*shape, k).numpy(),
        values=torch.cat(values).view(*shape, k).numpy(),
        logsumexp=torch.cat(logsumexp).view(shape).numpy(),
        vocabulary=logits.shape[-1],
    )


class _Top(NamedTuple):
    values: Tensor
    indices: Tensor


def _largest(rows: Tensor, k: int, group: int = 64) -> _Top:
    """The k largest of each row, largest first. Those of a large vocabulary lie in the k groups with the largest
    members, so the rest need not be sorted."""
    whole = rows.shape[1] // group
    if whole <= 2 * k:
        return _Top(*rows.topk(k, dim=-1))
    groups = rows[:, : whole * group].unflatten(1, (whole, group))
    best = groups.amax(-1).topk(k, dim=-1).indices  # (position, k)
    members = (best[..., None] * group + torch.arange(group)).flatten(1)  # (position, k · group)
    rest = torch.arange(whole * group, rows.shape[1]).expand(len(rows), -1)
    candidates = torch.cat([members, rest], dim=1)
    top = rows.gather(1, candidates).topk(k, dim=-1)
    return _Top(top.values, candidates.gather(1, top.indices))


def stream_arrays(recorder: Recorder, row: int, lengths: Mapping[str, int]) -> dict[str, Array]:
    """The kept streams and check numbers of one row. `lengths`: positions of each stack."""
    arrays = {}
    for site, tensor in recorder.arrays.items():
        if site.endswith("summary.vector"):
            arrays[site] = tensor.numpy()[row : row + 1]
            continue
        width = () if site.endswith("_check") else tuple(tensor.shape[-1:])
        # Tables that are the same for all rows (positions) have no batch, and experts see it flattened.
        rows = tensor.numpy().reshape(-1, lengths[site.split(".")[0]], *width)
        arrays[site] = rows[row if len(rows) > 1 else 0]
    return arrays


def attention_arrays(site: str, recorder: Recorder, row: int) -> dict[str, Array]:
    """q, k, v and the check numbers of one row."""
    kept = {name: getattr(recorder.calls[site], given) for name, given in _KEPT.items()} | recorder.checks[site]
    return {f"{site}.{name}": tensor[row].numpy() for name, tensor in kept.items()}


def attention_of(call: AttentionCall, row: int) -> Attention:
    """How one attention computed, for one row."""
    n_heads, shape = call.query.shape[1], (call.query.shape[2], call.key.shape[2])
    allowed = None if call.allowed is None else _of_row(call.allowed, row)  # (head or 1, query or 1, key)
    if allowed is not None:
        allowed = np.broadcast_to(allowed, (len(allowed), *shape))
        allowed = allowed[0] if len(allowed) == 1 else np.broadcast_to(allowed, (n_heads, *shape))
    return Attention(
        scale=call.scale,
        heads=n_heads,
        kv_heads=call.key.shape[1],
        causal=call.causal,
        allowed=allowed,
        bias=None
        if call.bias is None
        else np.broadcast_to(bias := _of_row(call.bias.float(), row), (len(bias), *shape)),
        softcap=call.softcap,
        sinks=None if call.sinks is None else call.sinks.detach().float().numpy(),
    )


def attention_from_outside(weights: Array, mask: Tensor | None, row: int) -> Attention:
    """Weights that the model handed out, with the mask that its attention was given, if it explains every zero."""
    allowed = None
    if mask is not None and mask.ndim == 4 and mask.shape[-2:] == weights.shape[-2:]:
        given = mask[row if mask.shape[0] > 1 else 0]
        found = ((given > torch.finfo(given.dtype).min / 2) if given.is_floating_point() else given != 0).any(0).numpy()
        # Some families hand in "forbidden" instead of "allowed" (MPT); what was looked at decides.
        allowed = next((one for one in (found, ~found) if _explains_zeros(one, weights)), None)
    return Attention(scale=1.0, heads=len(weights), kv_heads=len(weights), allowed=allowed, weights=weights)


def reasons_from_outside(site: str, how: Attention) -> dict[str, str]:
    """What such a family does not give."""
    hidden = {f"{site}.{part}": "lack.weights_only" for part in ("q", "k", "v", "scores", "masked", "context")}
    return hidden if how.allowed is not None else hidden | {f"{site}.allowed": "lack.mask_unseen"}


def reasons_not_recorded(wanted: frozenset[str]) -> dict[str, str]:
    return dict.fromkeys(sorted(EVERYTHING - wanted), "lack.not_recorded")


def _of_row(tensor: Tensor, row: int) -> Array:
    array: Array = tensor[row if tensor.shape[0] > 1 else 0].numpy()
    return array


def _explains_zeros(allowed: Array, weights: Array) -> bool:
    """Whether exactly the allowed keys were looked at, in every row that may look at something."""
    seeing = allowed.any(-1)
    return bool(seeing.any()) and bool(((weights.max(0) > 0) == allowed)[seeing].all())
