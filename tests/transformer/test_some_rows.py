"""some_rows.py: a window of a site holds the numbers of the whole, whatever they are computed from."""

import numpy as np
import pytest

from tests.transformer.families import SOURCES, TARGETS, family
from transformer import run
from transformer.errors import NoSuchSite
from transformer.some_rows import seal_sum, some_rows
from transformer.trace import Trace


def traced(name: str) -> Trace:
    targets = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    trace = run(family(name).model, ids=SOURCES[0], **targets)
    assert isinstance(trace, Trace)
    return trace


@pytest.mark.parametrize("name", ["gpt2", "bert", "gemma2", "t5", "gptj", "bloom"])
@pytest.mark.parametrize("rows", [slice(None), slice(1, 4), slice(2, 3)])
def test_a_window_holds_the_numbers_of_the_whole(name, rows):
    trace = traced(name)
    sites = [site for site in trace.sites if site.endswith((".output", ".input", ".before", ".middle", ".after"))]
    assert any(site.endswith("ffn.output") for site in sites)
    for site in sites:
        whole = trace[site]
        np.testing.assert_allclose(some_rows(trace, site, rows), whole[rows], atol=2e-5 * max(1, np.abs(whole).max()))


def test_other_rows_are_not_computed(monkeypatch):
    trace, seen = traced("gpt2"), []
    part = type(trace.parts["decoder.1.ffn"])
    once = part.__call__
    monkeypatch.setattr(part, "__call__", lambda self, x: seen.append(len(x)) or once(self, x))
    some_rows(trace, "decoder.1.ffn.output", slice(3, 5))
    assert seen == [2]


@pytest.mark.parametrize("name", ["gpt2", "bert", "gemma2", "olmo2", "gptj", "bart"])
def test_every_sum_holds_and_a_changed_one_does_not(name):
    trace = traced(name)
    stack = list(trace.encodings)[-1]
    for total in (site for site in trace.sums if site.startswith(f"{stack}.1.")):
        assert seal_sum(trace, total).holds and seal_sum(trace, total, slice(1, 3)).holds
        assert seal_sum(trace, total, slice(1, 3)).compared == 2 * trace[total].shape[-1]
    changed = {site: array.copy() for site, array in trace.arrays.items()}
    changed[trace.resolve(total)][2, 5] += 0.01
    false = Trace(
        **{name: getattr(trace, name) for name in ("key", "model", "encodings", "attention", "structure", "aliases")},
        **{name: getattr(trace, name) for name in ("sums", "parts", "part_inputs", "lacks", "top")},
        arrays=changed,
    )
    assert not seal_sum(false, total, slice(2, 3)).holds and seal_sum(false, total, slice(0, 2)).holds


def test_what_is_no_sum_is_refused():
    with pytest.raises(NoSuchSite):
        seal_sum(traced("gpt2"), "decoder.1.ffn.nothing")
