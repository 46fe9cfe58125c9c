"""Rules read off masks: every kind and every combination is found again, and what is none of them stays unexplained."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.transformer.families import family
from transformer import masks, run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.errors import NoSuchSite
from transformer.looking import Looking
from transformer.mask_rules import (
    CAUSAL,
    FORBIDS,
    OTHER,
    PADDING,
    PREFIX,
    RULES,
    SPARED,
    WINDOW,
    layer_rules,
    mask_rules,
    rule_groups,
    rules_of,
)
from transformer.trace import Trace

IDS = [5, 7, 9, 7, 3, 11, 2]


def two_sided(count: int, width: int) -> torch.Tensor:
    behind = masks.sliding_window(count, width)
    return behind | behind.T


def test_each_mask_by_hand() -> None:
    none = [False] * 4
    causal = rules_of(masks.causal(4).numpy(), none)
    assert (causal.causal, causal.window, causal.prefix, causal.names) == (True, None, 0, ("causal",))
    assert causal.codes.tolist() == [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    window = rules_of(masks.sliding_window(4, 2).numpy(), none)
    assert (window.causal, window.window, window.two_sided, window.names) == (True, 2, False, ("causal", "window"))
    assert window.codes.tolist() == [[0, 1, 1, 1], [0, 0, 1, 1], [4, 0, 0, 1], [4, 4, 0, 0]]
    prefix = rules_of(masks.prefix(4, 3).numpy(), none)
    assert (prefix.causal, prefix.prefix, prefix.names) == (True, 3, ("causal", "prefix"))
    assert prefix.codes.tolist() == [[0, 16, 16, 1], [0, 0, 16, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    both = rules_of(two_sided(4, 2).numpy(), none)
    assert (both.causal, both.window, both.two_sided) == (False, 2, True)
    assert both.codes.tolist() == [[0, 0, 4, 4], [0, 0, 0, 4], [4, 0, 0, 0], [4, 4, 0, 0]]
    padded = rules_of(masks.combined(masks.causal(3), torch.tensor([True, True, False])).numpy(), [False, False, True])
    assert padded.codes.tolist() == [[0, CAUSAL, CAUSAL | PADDING], [0, 0, CAUSAL | PADDING], [0, 0, PADDING]]
    everything = rules_of(np.ones((3, 5), bool), [False] * 5, same_tokens=False)
    assert everything.names == () and everything.unexplained == 0 and not everything.codes.any()
    assert rules_of(np.ones((1, 1), bool), [False]).names == ()


def test_the_bits_are_numbered_as_the_rules_are_named() -> None:
    bits = {"causal": CAUSAL, "padding": PADDING, "window": WINDOW, "other": OTHER, "prefix": PREFIX, "spared": SPARED}
    assert {name: 1 << number for number, name in enumerate(RULES)} == bits
    assert FORBIDS == CAUSAL | PADDING | WINDOW | OTHER


def test_what_is_no_rule_is_told_cell_by_cell() -> None:
    """A chunked mask, a hole, and a row of padding that was let off."""
    chunks = np.kron(np.eye(2, dtype=bool), np.ones((3, 3), bool)) & masks.causal(6).numpy()
    found = rules_of(chunks, [False] * 6)
    assert found.causal and found.window is None and found.unexplained == 9
    assert (found.codes[3:, :3] == OTHER).all() and (found.codes == OTHER).sum() == 9
    hole = masks.causal(5).numpy().copy()
    hole[4, 2] = False
    found = rules_of(hole, [False] * 5)
    assert found.causal and found.unexplained == 1 and found.codes[4, 2] == OTHER
    assert found.seal("x").difference == 1 and not found.seal("x").holds
    left = masks.combined(masks.causal(4), torch.tensor([False, False, True, True])).numpy().copy()
    left[:2] = True  # what sdpa makes of rows that may look at nothing
    found = rules_of(left, [True, True, False, False])
    assert found.causal and found.unexplained == 8 and (found.codes[:2] == SPARED).all()
    assert found.names == ("causal", "padding", "spared")


def test_a_rule_never_forbids_what_a_real_token_saw() -> None:
    """Rows that all may look, and one that may not: no window of width 1 with exceptions."""
    odd = np.ones((5, 5), bool)
    odd[2] = False
    found = rules_of(odd, [False] * 5)
    assert found.names == ("other",) and found.blind.tolist() == [False, False, True, False, False]
    assert (found.n_forbidden, found.n_blind, found.n_padding, found.unexplained) == (5, 1, 0, 5)


@given(data=st.data(), count=st.integers(1, 11), side=st.sampled_from(("left", "right")), kind=st.sampled_from("cwtn"))
def test_any_combination_is_found_again(data: st.DataObject, count: int, side: str, kind: str) -> None:
    """The model's own code makes the mask (`looking.py`, which counts the prefix over real tokens); nothing is lost."""
    pads = data.draw(st.integers(0, count - 1))
    mask = torch.ones(1, count, dtype=torch.long)
    mask[0, :pads] = 0
    mask = mask if side == "left" else mask.flip(-1)
    if kind in "cw":
        window = data.draw(st.integers(1, count + 2)) if kind == "w" else None
        config = ModelConfig(7, 20, 4, 1, 1, window=window, prefix=data.draw(st.integers(0, count)))
        looking = Looking(config, causal=True)._earlier(count, count, mask, torch.device("cpu"))
        allowed = masks.combined(looking, masks.padding(mask)).expand(1, 1, count, count)[0, 0]
    else:
        whole = torch.ones(count, count, dtype=torch.bool)
        base = two_sided(count, data.draw(st.integers(1, count + 2))) if kind == "t" else whole
        allowed = masks.combined(base, masks.padding(mask)[0, 0])
    before = allowed.numpy().copy()
    found = rules_of(allowed.numpy(), (mask[0] == 0).tolist())
    assert np.array_equal(found.rebuilt, before) and found.unexplained == 0 and found.seal("site").holds
    assert np.array_equal((found.codes & FORBIDS) > 0, ~before)
    assert not set(found.names) & {"other", "spared"}
    assert ("padding" in found.names) == bool(pads)
    assert found.window is None or kind in "wt"


@given(seed=st.integers(0, 99), count=st.integers(1, 9))
def test_codes_say_what_any_mask_said(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    allowed, padding = rng.random((count, count)) > 0.4, (rng.random(count) > 0.7).tolist()
    found = rules_of(allowed, padding)
    assert np.array_equal((found.codes & FORBIDS) == 0, allowed)
    differs = found.rebuilt != allowed
    assert np.array_equal((found.codes & (OTHER | SPARED)) > 0, differs) and found.unexplained == differs.sum()


def traces(name: str) -> list[Trace]:
    one = family(name)
    more = {"target_ids": [5, 6, 7, 8]} if one.seq2seq else {}
    alone = run(one.model, ids=IDS, **more)
    rows = [run(one.model, **one.padded(side)) for side in ("left", "right")]
    return [alone, *rows[0], *rows[1]]  # type: ignore[list-item, misc]


@pytest.mark.parametrize("name", ["gpt2", "mistral", "gemma2", "modernbert", "t5", "bart", "bloom", "mpt"])
def test_every_family_is_explained_whole(name: str) -> None:
    """Alone and padded on either side; in models that hand out only their weights as well."""
    for trace in traces(name):
        for site, found in layer_rules(trace).items():
            assert found is not None and found.unexplained == 0, site
            assert np.array_equal(found.rebuilt, trace.allowed(site, 0))
            stack = trace.encodings[trace.stack_along(site, "key")]
            assert ("padding" in found.names) == any(stack.padding)


def test_gemma_alternates() -> None:
    trace = traces("gemma2")[0]
    groups = [(found and (found.causal, found.window), sites) for found, sites in rule_groups(trace)]
    assert groups == [((True, 4), ["decoder.0.self"]), ((True, None), ["decoder.1.self"])]
    assert mask_rules(trace, "decoder.0.self", 1) is mask_rules(trace, "decoder.0.self", 0), "worked out once"


def test_modernbert_looks_both_ways() -> None:
    found = layer_rules(traces("modernbert")[0])
    assert [one and (one.window, one.two_sided, one.causal) for one in found.values()] == [
        (None, False, False), (3, True, False), (3, True, False), (None, False, False),
    ]  # fmt: skip


def test_window_and_prefix_of_our_own(tiny) -> None:
    model = wrap(DecoderLM(tiny(window=3, prefix=2), generator=torch.Generator().manual_seed(2)))
    found = mask_rules(run(model, ids=IDS), "encoder.1.self")  # it looks ahead, so its stack counts as an encoder
    assert (found.causal, found.window, found.prefix, found.unexplained) == (True, 3, 2, 0)
    assert found.codes[0].tolist() == [0, PREFIX, 1, 1, 1, 1, 1] and found.codes[6].tolist() == [16, 16, 4, 4, 0, 0, 0]
    padded = {"ids": [[0, 0, *IDS[:6]], [*IDS, 4]], "attention_mask": [[0, 0, 1, 1, 1, 1, 1, 1], [1] * 8]}
    row = run(model, **padded)[0]  # type: ignore[arg-type, index]
    found = mask_rules(row, "encoder.0.self")
    assert (found.window, found.prefix, found.n_padding, found.unexplained) == (3, 4, 2, 0)  # two pads, then two keys
    assert found.n_blind == 0


def test_a_hidden_mask_is_refused_and_told() -> None:
    trace = traces("gpt_neo")[0]
    assert layer_rules(trace)["decoder.1.self"] is None
    assert [found is None for found, _ in rule_groups(trace)] == [False, True]
    with pytest.raises(NoSuchSite):
        mask_rules(trace, "decoder.1.self")
    with pytest.raises(NoSuchSite):
        mask_rules(trace, "decoder.9.self")
