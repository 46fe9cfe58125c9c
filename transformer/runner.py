"""`run`: a text (or ids) through a model, once, recorded. The door of the room: text → Encoding → pass → `Trace`."""

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from transformer.capture import EVERYTHING, Recorder, kind_of
from transformer.errors import EmptyText, MissingTarget, NoTokenizer, ShapesDoNotFit, TooManyTokens, UnknownToken
from transformer.listening import AttentionCall, listening
from transformer.parts import Array
from transformer.tokenizer import Encoding
from transformer.trace import Attention, TopLogits, Trace
from transformer.wrapped import LoadedModel, own_weights, quiet_inputs

TOP = 50  # logits kept per position
Rows = list[Encoding]


def run(
    model: LoadedModel,
    text: str | Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    *,
    ids: Sequence[int] | Sequence[Sequence[int]] | None = None,
    target_ids: Sequence[int] | Sequence[Sequence[int]] | None = None,
    attention_mask: Sequence[int] | Sequence[Sequence[int]] | None = None,
    record: Collection[str] = EVERYTHING,
    max_tokens: int | None = None,
) -> Trace | list[Trace]:
    """One recorded forward pass; a list of texts (or of ids) runs as one padded batch and gives one trace per row.

    `text`, `target`: source and target text; `ids`, `target_ids` instead of them; `attention_mask`: 1 = real, 0 = padding,
    one row or as many as ids. `record`: which of {"attention", "stream", "embedding", "logits"} is kept; q, k, v, context
    and mask belong to "attention". `max_tokens`: refuse more than this (default: what the model's positions reach).
    Raises EmptyText, BrokenText, TooManyTokens, UnknownToken, MissingTarget, NoTokenizer, ShapesDoNotFit.
    """
    source = _rows(model, text, ids, attention_mask, max_tokens)
    targets = _target_rows(model, target, target_ids, max_tokens)
    wanted = frozenset(record) & EVERYTHING
    inputs = _inputs(model, source, targets)
    recorder, start = Recorder(model.plan, wanted), time.perf_counter()
    with listening(recorder):
        answer = model.module(**inputs)
        logits = getattr(answer, "logits", None) if "logits" in wanted else None
        seconds = time.perf_counter() - start
        calls = _own_calls(model, answer, recorder) if model.weights_only else recorder.calls
        top = None if logits is None else _top(logits)
    traces = [_trace(model, recorder, calls, top, source, targets, row, wanted, seconds) for row in range(len(source))]
    is_batch = not isinstance(text if ids is None else ids[0], str | int | np.integer)
    return traces if is_batch else traces[0]


# --- what goes in ----------------------------------------------------------------------------------------------------


def encode(model: LoadedModel, text: str, max_tokens: int | None = None) -> Encoding:
    """The tokens of one text as this model reads them, checked for length."""
    if model.tokenizer is None:
        raise NoTokenizer(name=model.name)
    encoding = model.tokenizer.encode(text)
    _check_length(model, encoding, max_tokens)
    return encoding


def _check_length(model: LoadedModel, encoding: Encoding, max_tokens: int | None) -> None:
    limit = min(model.max_tokens, max_tokens or model.max_tokens)
    if not encoding.ids or (encoding.text is not None and not any(encoding.spans)):
        raise EmptyText()  # nothing, or nothing but special tokens: BERT drops white space
    if len(encoding.ids) > limit:
        raise TooManyTokens(got=len(encoding.ids), limit=limit, model=model.name)


def _rows(
    model: LoadedModel, text: object, ids: object, mask: object = None, max_tokens: int | None = None
) -> Rows:
    """Encodings of equal length, one per row of the batch: padded where rows are unequal."""
    if ids is None:
        texts = [text] if isinstance(text, str) or text is None else list(text)  # type: ignore[call-overload]
        if not texts or any(one is None for one in texts):
            raise EmptyText()
        rows = [encode(model, one, max_tokens) for one in texts]
        return _padded(model, [row.ids for row in rows], None, max_tokens, rows)
    lists = [list(ids)] if _is_flat(ids) else [list(row) for row in ids]  # type: ignore[call-overload, attr-defined]
    masks = None if mask is None else [list(mask)] if _is_flat(mask) else [list(row) for row in mask]  # type: ignore[call-overload, attr-defined]
    return _padded(model, lists, masks, max_tokens)


def _is_flat(values: object) -> bool:
    return not len(values) or isinstance(values[0], int | np.integer)  # type: ignore[arg-type, index]


def _padded(
    model: LoadedModel,
    lists: Sequence[Sequence[int]],
    masks: list[list[int]] | None,
    max_tokens: int | None,
    encodings: Rows | None = None,
) -> Rows:
    longest = max((len(row) for row in lists), default=0)
    left = getattr(model.tokenizer, "padding_side", "right") == "left"
    pad = getattr(model.tokenizer, "pad_id", None) or 0
    rows = []
    for number, row in enumerate(lists):
        missing = longest - len(row)
        mask = masks[number] if masks is not None and number < len(masks) else [1] * len(row)
        if len(mask) != len(row):
            raise ShapesDoNotFit(what="attention_mask", expected=len(row), got=len(mask))
        if encodings is not None and not missing:
            rows.append(encodings[number])
            continue
        side = ([pad] * missing + list(row), [0] * missing + mask) if left else (list(row) + [pad] * missing, mask + [0] * missing)
        rows.append(_encoding_of_ids(model, side[0], [not real for real in side[1]]))
        _check_length(model, rows[-1], max_tokens)
    return rows


def _encoding_of_ids(model: LoadedModel, ids: Sequence[int], padding: list[bool]) -> Encoding:
    wrong = next((one for one in ids if not 0 <= one < model.vocab_size), None)
    if wrong is not None:
        raise UnknownToken(token=wrong, last=model.vocab_size - 1)
    if model.tokenizer is None:
        return Encoding.from_ids(ids, padding=padding)
    return model.tokenizer.encoding_of_ids(ids, padding)


def _target_rows(model: LoadedModel, target: object, target_ids: object, max_tokens: int | None) -> Rows | None:
    if not model.encoder_decoder:
        return None
    if target is None and target_ids is None:
        raise MissingTarget(model=model.name)
    return _rows(model, target, target_ids, None, max_tokens)


def _inputs(model: LoadedModel, source: Rows, targets: Rows | None) -> dict[str, Tensor]:
    mask = torch.tensor([[0 if pad else 1 for pad in row.padding] for row in source])
    inputs = {"input_ids": torch.tensor([row.ids for row in source]), "attention_mask": mask}
    if model.is_causal and not bool(mask.all()):
        # Without these, a left-padded causal model counts its padding and gives plausible, wrong numbers.
        inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    if targets is not None:
        inputs["decoder_input_ids"] = torch.tensor([row.ids for row in targets])
        inputs["decoder_attention_mask"] = torch.tensor([[0 if pad else 1 for pad in row.padding] for row in targets])
        if all(not any(row.padding) for row in targets):
            del inputs["decoder_attention_mask"]
    inputs = quiet_inputs(inputs, model.accepts)
    return {**inputs, "output_attentions": True} if model.weights_only else inputs  # type: ignore[dict-item]


# --- what comes out --------------------------------------------------------------------------------------------------


def _top(logits: Tensor) -> TopLogits:
    """The largest logits of (batch, position, vocabulary) in float32, some rows at a time so that nothing is copied whole."""
    flat, k = logits.flatten(0, 1), min(TOP, logits.shape[-1])
    ids, values, logsumexp = [], [], []
    for rows in flat.split(32):
        top = rows.float().topk(k, dim=-1)
        ids.append(top.indices)
        values.append(top.values)
        shifted = (rows.float() - top.values[:, :1]).exp_()  # ≤ 1, so the sum cannot overflow
        logsumexp.append(top.values[:, 0] + shifted.sum(-1).log_())
    shape = logits.shape[:2]
    return TopLogits(
        ids=torch.cat(ids).view(*shape, k).numpy(),
        values=torch.cat(values).view(*shape, k).numpy(),
        logsumexp=torch.cat(logsumexp).view(shape).numpy(),
        vocabulary=logits.shape[-1],
    )


def _own_calls(model: LoadedModel, answer: object, recorder: Recorder) -> dict[str, Tensor]:
    """For families that hand out only their weights: site -> (batch, head, query, key)."""
    del recorder
    return dict(zip(model.plan.masks.values(), own_weights(answer), strict=True))


def _trace(
    model: LoadedModel,
    recorder: Recorder,
    calls: Mapping[str, AttentionCall] | Mapping[str, Tensor],
    top: TopLogits | None,
    source: Rows,
    targets: Rows | None,
    row: int,
    wanted: frozenset[str],
    seconds: float,
) -> Trace:
    encodings = {model.structure.stacks[0].name: source[row]}
    if targets is not None:
        encodings["decoder"] = targets[row]
    arrays = {}
    for site, tensor in recorder.arrays.items():
        width = () if site.endswith("_check") else tuple(tensor.shape[-1:])
        arrays[site] = _row(tensor, row, len(encodings[site.split(".")[0]].ids), width)
    attention: dict[str, Attention] = {}
    lacks = dict(model.plan.lacks)
    for site, call in calls.items():
        if isinstance(call, Tensor):
            attention[site] = _seen_from_outside(call[row].numpy(), recorder.masks.get(site), row)
            lacks |= {f"{site}.{part}": "lack.weights_only" for part in ("q", "k", "v", "scores", "masked", "context")}
            lacks |= {} if attention[site].allowed is not None else {f"{site}.allowed": "lack.mask_unseen"}
            continue
        arrays |= {f"{site}.{name}": getattr(call, full)[row].numpy() for name, full in _KEPT.items()}
        attention[site] = _how(call, row)
    lacks |= dict.fromkeys(EVERYTHING - wanted, "lack.not_recorded")
    return Trace(
        key=trace_key(model, encodings, wanted),
        model=model.name,
        encodings=encodings,
        arrays=arrays,
        attention=attention,
        structure=model.structure,
        aliases={alias: site for alias, site in model.plan.aliases.items() if kind_of(site) in wanted},
        sums=model.plan.sums,
        parts=model.plan.parts,
        part_inputs=model.plan.part_inputs,
        lacks=lacks,
        top=None if top is None else TopLogits(top.ids[row], top.values[row], top.logsumexp[row], top.vocabulary),
        seconds=seconds,
    )


_KEPT = {"q": "query", "k": "key", "v": "value", "check": "context"}


def _row(tensor: Tensor, row: int, length: int, width: tuple[int, ...]) -> Array:
    """One row of the batch. Tables that are the same for all rows (positions) have no batch; experts see it flattened."""
    array = tensor.numpy().reshape(-1, length, *width)
    return array[row if len(array) > 1 else 0]


def _how(call: AttentionCall, row: int) -> Attention:
    n_heads = call.query.shape[1]

    def of_row(tensor: Tensor) -> Array:
        return tensor[row if tensor.shape[0] > 1 else 0].numpy()

    allowed = None if call.allowed is None else of_row(call.allowed)  # (head or 1, query or 1, key)
    if allowed is not None:
        shape = (call.query.shape[2], call.key.shape[2])
        allowed = np.broadcast_to(allowed[0], shape) if len(allowed) == 1 else np.broadcast_to(allowed, (n_heads, *shape))
    return Attention(
        scale=call.scale,
        heads=n_heads,
        kv_heads=call.key.shape[1],
        causal=call.causal,
        allowed=allowed,
        bias=None if call.bias is None else of_row(call.bias.float()),
        softcap=call.softcap,
        sinks=None if call.sinks is None else call.sinks.detach().float().numpy(),
    )


def _seen_from_outside(weights: Array, mask: Tensor | None, row: int) -> Attention:
    """Weights that the model handed out, with the mask that its attention was given, if it explains every zero."""
    allowed = None
    if mask is not None and mask.ndim == 4 and mask.shape[-2:] == weights.shape[-2:]:
        given = mask[row if mask.shape[0] > 1 else 0]
        found = ((given > torch.finfo(given.dtype).min / 2) if given.is_floating_point() else given != 0).any(0).numpy()
        # Some families hand in "forbidden" instead of "allowed" (MPT); what was looked at decides.
        allowed = next((one for one in (found, ~found) if _explains_zeros(one, weights)), None)
    return Attention(scale=1.0, heads=len(weights), kv_heads=len(weights), allowed=allowed, weights=weights)


def _explains_zeros(allowed: Array, weights: Array) -> bool:
    """Whether exactly the allowed keys were looked at, in every row that may look at something."""
    seeing = allowed.any(-1)
    return bool(seeing.any()) and bool(((weights.max(0) > 0) == allowed)[seeing].all())


def trace_key(model: LoadedModel, encodings: Mapping[str, Encoding], wanted: Collection[str] = EVERYTHING) -> str:
    """The content address: equal for the same model, ids, padding and recording, so that equal runs are made once."""
    content = [model.fingerprint, sorted(wanted), [(name, e.ids, e.padding) for name, e in sorted(encodings.items())]]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:32]
