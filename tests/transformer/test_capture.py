"""capture.py: copies, not views; each place heard once; hooks installed once and silent when nobody listens."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from tests.transformer.families import SOURCES, build, family
from transformer import run, wrap
from transformer.attention import attend
from transformer.capture import EVERYTHING, Arena, Recorder, check_numbers, install_hooks, kind_of
from transformer.errors import SiteHeardTwice
from transformer.listening import listening
from transformer.structure import Plan

X = torch.arange(24, dtype=torch.float32).view(1, 2, 3, 4)  # (batch, head, position, d_head)


def hooks(module: nn.Module) -> int:
    return sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in module.modules())


# --- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 100, 300_000, 13_000_000])
def test_a_copy_stays_as_it_was(size):
    arena, tensor = Arena(), torch.arange(size, dtype=torch.float32)
    copies = [arena.copy(tensor), arena.copy(tensor.view(1, -1))]
    tensor.zero_()
    for copy in copies:
        assert copy.is_contiguous() and copy.dtype == torch.float32
        assert int(copy.flatten()[-1]) == size - 1
    copies[0].fill_(-1)
    assert int(copies[1].flatten()[-1]) == size - 1, "two copies share no room"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_kind_of_number_is_kept_as_float32(dtype):
    copy = Arena().copy(X.to(dtype).transpose(1, 2))
    assert copy.dtype == torch.float32 and torch.equal(copy, X.transpose(1, 2)) and copy.is_contiguous()
    assert check_numbers(X.to(dtype)).dtype == torch.float32


def test_check_numbers_by_hand():
    assert check_numbers(torch.tensor([1.0, 2.0])).item() == 1 + 1.5 * 2
    assert check_numbers(torch.tensor([2.0, 1.0])).item() != check_numbers(torch.tensor([1.0, 2.0])).item()
    assert check_numbers(X).shape == (1, 2, 3)


def test_a_later_add_in_place_does_not_reach_the_recording():
    layer = nn.Identity()
    before, after = "decoder.0.resid.before", "decoder.0.resid.after"
    recorder = Recorder(Plan(inputs={(layer, 0): before}, outputs={(layer, 0): after}))
    install_hooks(recorder.plan)
    x = torch.ones(1, 2, 3)
    with listening(recorder):
        layer(x).add_(1)
    assert (recorder.arrays[before] == 1).all() and (recorder.arrays[after] == 1).all()


# --- each place once -------------------------------------------------------------------------------------------------


def heard(recorder: Recorder, *modules: nn.Module) -> Recorder:
    with listening(recorder):
        for module in modules:
            attend(X, X, X, listener_module=module)
    return recorder


def test_a_place_heard_twice_is_an_error():
    """Two modules under one name: the second would overwrite the first without a word."""
    one, other = nn.Identity(), nn.Identity()
    plan = Plan(attention={(one, 0): "decoder.0.self", (other, 0): "decoder.0.self"})
    with pytest.raises(SiteHeardTwice, match=r"decoder\.0\.self"):
        heard(Recorder(plan), one, other)
    plan = Plan(inputs={(one, 0): "decoder.0.resid.before", (other, 0): "decoder.0.resid.before"})
    install_hooks(plan)
    with pytest.raises(SiteHeardTwice, match=r"decoder\.0\.resid\.before"), listening(Recorder(plan)):
        other(one(X))


def test_one_module_called_twice_has_two_places():
    module = nn.Identity()
    plan = Plan(attention={(module, 0): "decoder.0.self", (module, 1): "decoder.1.self"})
    assert set(heard(Recorder(plan), module, module).calls) == {"decoder.0.self", "decoder.1.self"}


def test_a_call_more_than_in_the_probe_is_an_error():
    """A place that has no name cannot be kept; silence would draw a model with a layer too few."""
    module = nn.Identity()
    with pytest.raises(SiteHeardTwice, match=r"decoder\.0\.self"):
        heard(Recorder(Plan(attention={(module, 0): "decoder.0.self"})), module, module)


def test_who_is_not_planned_is_not_heard():
    stranger = nn.Identity()
    recorder = heard(Recorder(Plan(attention={(nn.Identity(), 0): "decoder.0.self"})), stranger, stranger)
    assert not recorder.calls and not recorder.arrays


@pytest.mark.parametrize(
    ("site", "kind"),
    [
        ("decoder.embed.token", "embedding"), ("encoder.embed.norm.output_check", "embedding"),
        ("decoder.head.input", "logits"), ("decoder.0.resid.before", "stream"),
        ("decoder.3.norm1.output_check", "stream"),
    ],
)  # fmt: skip
def test_which_part_of_a_recording_a_site_belongs_to(site, kind):
    assert kind_of(site) == kind and kind in EVERYTHING


# --- hooks -----------------------------------------------------------------------------------------------------------


def test_wrapping_twice_installs_hooks_once():
    module = build("gpt2")
    assert hooks(module) == 0
    first = wrap(module)
    installed = hooks(module)
    second = wrap(module)
    assert hooks(module) == installed > 0 and first.fingerprint != second.fingerprint
    one, other = run(first, ids=SOURCES[0]), run(second, ids=SOURCES[0])
    assert all(np.array_equal(one.arrays[site], other.arrays[site]) for site in one.arrays)
    copied = deepcopy(module)  # hooks are copied along
    wrap(copied)
    assert hooks(copied) == installed


def test_the_probe_leaves_no_hooks_of_its_own():
    model = family("gpt2").model
    planned = {module for module, _ in (*model.plan.inputs, *model.plan.masks)}
    given = {module for module, _ in (*model.plan.outputs, *model.plan.checks)}
    assert hooks(model.module) == len(planned) + len(given)


def test_nothing_is_kept_when_nobody_listens():
    """Neither copies nor check numbers are made."""
    model = wrap(build("gpt2"))
    made = []
    watched = [Arena, Recorder]
    original = [one.__init__ for one in watched]
    for one, init in zip(watched, original, strict=True):
        one.__init__ = lambda *args, init=init: (made.append(1), init(*args))[1]
    try:
        with torch.no_grad():
            model.module(torch.tensor([SOURCES[0]]))
        assert not made
        run(model, ids=SOURCES[0])
        assert made
    finally:
        for one, init in zip(watched, original, strict=True):
            one.__init__ = init
