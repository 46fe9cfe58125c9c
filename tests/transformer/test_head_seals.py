"""head_seals.py: the second road gives the same numbers, and notices where they are others."""

import numpy as np
import pytest

from tests.transformer.families import SOURCES, TARGETS, family
from transformer import head_maps, run
from transformer.head_seals import seal_heads, seal_largest, seal_mean, seal_rollout, seal_summary


@pytest.mark.parametrize("name", ["gpt2", "t5", "bloom", "gpt_oss"])
def test_every_seal_holds(name):
    target = {"target_ids": TARGETS[0]} if name == "t5" else {}
    trace = run(family(name).model, ids=SOURCES[0], **target)
    for site in trace.attention_sites():
        assert seal_mean(trace, site, head_maps.mean_map(trace, site)).holds
        assert seal_largest(trace, site, head_maps.largest_map(trace, site)).holds
        assert seal_summary(trace, site, 2, head_maps.summary(trace, site)).compared > 1
        assert seal_summary(trace, site, 2, head_maps.summary(trace, site)).holds
        assert site.endswith("cross") or seal_rollout(trace, site, head_maps.rollout(trace, site)).holds


def test_a_changed_number_does_not_pass():
    trace = run(family("gpt2").model, ids=SOURCES[0])
    site = "decoder.1.self"
    for make, seal in ((head_maps.mean_map, seal_mean), (head_maps.largest_map, seal_largest)):
        drawn = make(trace, site).copy()
        drawn[5, 1] += 1e-3
        assert not seal(trace, site, drawn).holds
    drawn = head_maps.rollout(trace, site).copy()
    drawn[-1, 0] += 1e-3
    assert not seal_rollout(trace, site, drawn).holds
    found = head_maps.summary(trace, site)
    found.received[2, 0] += 1e-3
    assert seal_summary(trace, site, 1, found).holds and not seal_summary(trace, site, 2, found).holds


def test_of_several_heads_the_worst_counts():
    trace = run(family("gpt2").model, ids=SOURCES[0])
    both = seal_heads(trace, "decoder.0.self", (1, 4))
    alone = [seal_heads(trace, "decoder.0.self", (head,)) for head in (1, 4)]
    assert both.difference == max(one.difference for one in alone)
    assert both.compared == sum(one.compared for one in alone)


def test_one_token_has_nothing_to_compare():
    trace = run(family("gpt2").model, ids=[7])
    found = seal_summary(trace, "decoder.0.self", 0, head_maps.summary(trace, "decoder.0.self"))
    assert found.holds and found.compared == 0 and np.isfinite(found.difference)
