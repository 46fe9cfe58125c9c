"""trace_checks.py: what a recorded run is, and each way in which a made-up one is none."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.transformer.families import SOURCES, TARGETS, family
from transformer import Trace, load_model, run
from transformer.errors import BadTrace
from transformer.parts import LinearPart
from transformer.structure import Stack, Structure
from transformer.trace_checks import check_trace

SITE = "decoder.1.self"
NAMES = ("gpt2", "t5", "bloom", "gemma2", "gpt_oss", "deepseek_v3", "albert", "modernbert", "opt", "gptj")


@cache
def trace_of(name: str) -> Trace:
    return run(family(name).model, ids=SOURCES[0], **({"target_ids": TARGETS[0]} if family(name).seq2seq else {}))


@cache
def image() -> Trace:
    model = load_model("digit-vit")
    assert model.image is not None
    return run(model, image=np.zeros(model.image.shape, np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_what_was_recorded_passes(name: str) -> None:
    check_trace(trace_of(name))


def test_images_and_classes_pass() -> None:
    check_trace(image())
    check_trace(run(load_model("rule-classifier"), "the cat\n the"))


def how(trace: Trace, **changes: object) -> Trace:
    return replace(trace, attention={**trace.attention, SITE: replace(trace.attention[SITE], **changes)})


def part(trace: Trace, name: str, **changes: object) -> Trace:
    return replace(trace, parts={**trace.parts, name: replace(trace.parts[name], **changes)})


def encoded(trace: Trace, **changes: object) -> Trace:
    return replace(trace, encodings={name: replace(one, **changes) for name, one in trace.encodings.items()})


def top(trace: Trace, **changes: object) -> Trace:
    assert trace.top is not None
    return replace(trace, top=replace(trace.top, **changes))


def without(trace: Trace, site: str) -> Trace:
    return replace(trace, arrays={name: array for name, array in trace.arrays.items() if name != site})


F = np.float32
BAD: dict[str, Callable[[Trace], Trace]] = {
    "no queries": lambda t: without(t, f"{SITE}.q"),
    "whole numbers": lambda t: replace(t, arrays={**t.arrays, f"{SITE}.q": np.zeros((7, 7, 4), int)}),
    "stretched": lambda t: replace(t, arrays={**t.arrays, f"{SITE}.v": np.broadcast_to(F(1), (7, 7, 10**12))}),
    "fewer heads": lambda t: how(t, heads=5),
    "shared unevenly": lambda t: how(t, kv_heads=3),
    "no head": lambda t: how(t, heads=0, kv_heads=0),
    "no scale": lambda t: how(t, scale=float("nan")),
    "a cap of nothing": lambda t: how(t, softcap=0.0),
    "a mask of numbers": lambda t: how(t, allowed=np.ones((7, 7), F)),
    "a mask of other tokens": lambda t: how(t, allowed=np.ones((7, 5), bool)),
    "a bias of other heads": lambda t: how(t, bias=np.zeros((3, 7, 7), F)),
    "weights of other tokens": lambda t: how(t, weights=np.zeros((7, 5, 7), F)),
    "other sinks": lambda t: how(t, sinks=np.zeros(3, F)),
    "keys of other size": lambda t: replace(t, arrays={**t.arrays, f"{SITE}.k": np.zeros((7, 7, 3), F)}),
    "another site": lambda t: replace(t, attention={**t.attention, "decoder.x.self": t.attention[SITE]}),
    "across to nothing": lambda t: replace(t, attention={**t.attention, "decoder.1.cross": t.attention[SITE]}),
    "another stack": lambda t: replace(t, structure=Structure((Stack("middle", (), (), ()),))),
    "an alias across": lambda t: replace(t, aliases={**t.aliases, "encoder.a": "decoder.0.resid.before"}),
    "a sum across": lambda t: replace(t, sums={**t.sums, "decoder.0.resid.after": ("encoder.a", "decoder.b")}),
    "a sum of other widths": lambda t: replace(t, sums={"decoder.0.resid.after": ("decoder.0.self.v",)}),
    "a span outside": lambda t: encoded(t, spans=((0, 3),) * 7),
    "a negative id": lambda t: encoded(t, ids=(-1,) * 7),
    "logits of fewer tokens": lambda t: top(t, **{n: getattr(t.top, n)[:3] for n in ("ids", "values", "logsumexp")}),
    "logits outside": lambda t: top(t, vocabulary=5),
    "a part without ends": lambda t: replace(t, part_inputs={}),
    "a bias too short": lambda t: part(t, f"{SITE}.projection", bias=np.zeros(3, F)),
    "a narrow projection": lambda t: part(t, f"{SITE}.projection", weight=np.zeros((28, 5), F)),
    "weights of whole numbers": lambda t: part(t, f"{SITE}.projection", weight=np.zeros((28, 28), int)),
    "a row outside": lambda t: part(t, f"{SITE}.q_projection", rows=np.full((7, 4), 99)),
    "another norm": lambda t: part(t, "decoder.1.norm1", kind="mean"),
    "a norm too wide": lambda t: part(t, "decoder.1.norm1", weight=np.zeros(5, F), bias=None),
    "another activation": lambda t: part(t, "decoder.1.ffn", activation="import os"),
    "a hidden layer too wide": lambda t: part(t, "decoder.1.ffn", down=LinearPart(np.zeros((28, 3), F), None)),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_what_does_not_fit_is_named(kind: str) -> None:
    with pytest.raises(BadTrace):
        check_trace(BAD[kind](trace_of("gpt2")))


def test_pixels_fill_their_image() -> None:
    one = image().encodings["encoder"]
    with pytest.raises(BadTrace):
        check_trace(replace(image(), encodings={"encoder": replace(one, pixels=one.pixels[1:])}))
    with pytest.raises(BadTrace):
        check_trace(replace(image(), encodings={"encoder": replace(one, shape=replace(one.shape, patch_size=4))}))
