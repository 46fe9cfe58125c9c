"""`run`: a text (or ids) through a model, once, recorded. The door of the room: text → Encoding → pass → `Trace`."""

import hashlib
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from transformer import gather
from transformer.capture import EVERYTHING, Recorder, kind_of
from transformer.errors import CannotRecord, ShapesDoNotFit
from transformer.image import pixels_of
from transformer.listening import listening
from transformer.parts import Array
from transformer.rows import Ids, Rows, Texts, forward_inputs, image_rows, is_batch, source_rows, target_rows
from transformer.tokenizer import Encoding
from transformer.trace import TopLogits, Trace
from transformer.weights_watch import weights_watch
from transformer.wrapped import LoadedModel, as_it_is_now, own_weights


def run(
    model: LoadedModel,
    text: Texts | None = None,
    target: Texts | None = None,
    *,
    ids: Ids | None = None,
    target_ids: Ids | None = None,
    attention_mask: Ids | None = None,
    image: Array | None = None,
    record: Collection[str] = EVERYTHING,
    max_tokens: int | None = None,
) -> Trace | list[Trace]:
    """One recorded forward pass; a list of texts (or of id lists) runs as one padded batch and gives a trace per row.

    `text`, `target`: source and target text; `ids`, `target_ids` instead of them; `attention_mask`: 1 = real,
    0 = padding, shaped like `ids`; `image`: (height, width) or (channels, height, width) pixels as the model was
    trained on them, for a vision model, whose `text` is an image written down (`image_of`). `record`: which of
    {"attention", "stream", "embedding", "logits"} is kept; q, k, v and the mask belong to "attention". `max_tokens`:
    refuse more than this (default: what the model's positions reach). Raises EmptyText, BrokenText, TooManyTokens,
    UnknownToken, MissingTarget, NoTokenizer, NotAnImage, NotAVisionModel, ShapesDoNotFit, CannotRecord.
    """
    if not isinstance(model, LoadedModel):
        raise ShapesDoNotFit(what="model", expected="load_model(…) / wrap(…)", got=type(model).__name__)
    model = as_it_is_now(model)
    source = (
        image_rows(model, text, image)
        if model.image or image is not None
        else source_rows(model, text, ids, attention_mask, max_tokens)
    )
    targets = target_rows(model, target, target_ids, max_tokens, len(source))
    wanted = frozenset(record)
    if not wanted <= EVERYTHING:
        raise ShapesDoNotFit(
            what="record", expected=f"⊆ {{{', '.join(sorted(EVERYTHING))}}}", got=sorted(map(str, wanted))
        )
    try:
        heard = _pass(model, source, targets, wanted)
        traces = [heard.trace(model, source, targets, row) for row in range(len(source))]
    except (ValueError, RuntimeError, IndexError, TypeError) as problem:  # a family's own code, on this very input
        raise CannotRecord(model=model.name, reason=str(problem).strip().split("\n")[0][:200]) from problem
    return traces if is_batch(text, ids) and image is None else traces[0]


def trace_key(model: LoadedModel, encodings: Mapping[str, Encoding], wanted: Collection[str] = EVERYTHING) -> str:
    """The content address: equal for the same model, text, ids, padding and recording: equal runs are made once.

    The text too, for a trace shows it: tokenizers that change case or know no word read the same ids from other texts.
    """
    rows = [(name, one.text, one.ids, one.padding, pixels_of(one)) for name, one in sorted(encodings.items())]
    content = [model.fingerprint, sorted(wanted), rows]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:32]


def _pass(model: LoadedModel, source: Rows, targets: Rows | None, wanted: frozenset[str]) -> "_Heard":
    inputs, recorder = forward_inputs(model, source, targets), Recorder(model.plan, wanted)
    start = time.perf_counter()
    with listening(recorder), without_dropout(model.module):
        answer = model.module(**inputs)
        seconds = time.perf_counter() - start
        logits = getattr(answer, "logits", None) if "logits" in wanted else None
        top = None
        if isinstance(logits, Tensor) and logits.ndim in (2, 3):  # a classifier gives one row for the whole text
            top = gather.top_logits(logits if logits.ndim == 3 else logits[:, None])
    # A family that hides its attention hands out its weights in the order in which it ran.
    weights = dict(zip(model.plan.masks.values(), own_weights(answer), strict=True)) if model.weights_only else {}
    return _Heard(recorder, weights, top, wanted, seconds)


_quiet: WeakKeyDictionary[nn.Module, tuple[int, list[nn.Module]]] = WeakKeyDictionary()
_changing = Lock()


@contextmanager
def without_dropout(module: nn.Module) -> Iterator[None]:
    """A model that is being trained is looked at as it would answer, and goes on training afterwards.

    Several visitors may look at once: the first one in switches its parts to evaluation, the last one out switches the
    same parts back.
    """
    with _changing:
        visitors, training = _quiet.get(module) or (0, [one for one in module.modules() if one.training])
        _quiet[module] = (visitors + 1, training)
        for one in training:
            one.training = False
    try:
        yield
    finally:
        with _changing:
            visitors, training = _quiet.pop(module)
            if visitors > 1:
                _quiet[module] = (visitors - 1, training)
            else:
                for one in training:
                    one.training = True


@dataclass(frozen=True, eq=False)
class _Heard:
    """One pass of a whole batch."""

    recorder: Recorder
    weights: dict[str, Tensor]
    top: TopLogits | None
    wanted: frozenset[str]
    seconds: float

    def trace(self, model: LoadedModel, source: Rows, targets: Rows | None, row: int) -> Trace:
        encodings = {model.structure.stacks[0].name: source[row]}
        encodings |= {} if targets is None else {"decoder": targets[row]}
        arrays = gather.stream_arrays(self.recorder, row, {name: len(one) for name, one in encodings.items()})
        attention, lacks = {}, {**model.plan.lacks, **gather.reasons_not_recorded(self.wanted)}
        for site, call in self.recorder.calls.items():
            arrays |= gather.attention_arrays(site, self.recorder, row)
            attention[site] = gather.attention_of(call, row)
        for site, weights in self.weights.items():
            attention[site] = gather.attention_from_outside(weights[row].numpy(), self.recorder.masks.get(site), row)
            lacks |= gather.reasons_from_outside(site, attention[site])
        return Trace(
            key=trace_key(model, encodings, self.wanted),
            model=model.name,
            encodings=encodings,
            arrays=arrays,
            attention=attention,
            structure=model.structure,
            aliases={alias: site for alias, site in model.plan.aliases.items() if kind_of(site) in self.wanted},
            sums=model.plan.sums,
            parts=model.plan.parts,
            part_inputs=model.plan.part_inputs,
            lacks=lacks,
            top=None if self.top is None else self.top.of_row(row),
            seconds=self.seconds,
            weights_changed=weights_watch(model.module, model.weights),
        )
