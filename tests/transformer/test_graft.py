"""graft.py: our attention inside Hugging Face models: the mask comes with it, gradients go through it."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AttentionInterface, AttentionMaskInterface

from tests.transformer.families import SOURCES, build, family
from transformer import graft, run, wrap
from transformer.graft import grafted_attention, split_mask
from transformer.replay import replay

LOWEST = torch.finfo(torch.float32).min


def test_the_mask_is_registered_under_the_same_name():
    """A custom attention without a mask of its name gets none, and a causal model would look ahead in silence."""
    assert graft.NAME in AttentionInterface().valid_keys() and graft.NAME in AttentionMaskInterface().valid_keys()


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "mistral", "gptj", "gpt_oss", "opt"])
@pytest.mark.parametrize("mask", [None, [1] * 7, [0, 1, 1, 1, 1, 1, 1]], ids=["no mask", "all real", "padded"])
def test_later_tokens_never_change_earlier_logits(name, mask):
    model = family(name).model.module
    masks = {} if mask is None else {"attention_mask": torch.tensor([mask])}
    with torch.no_grad():
        one = model(torch.tensor([[5, 7, 9, 7, 3, 11, 2]]), use_cache=False, **masks).logits
        other = model(torch.tensor([[5, 7, 9, 7, 50, 1, 33]]), use_cache=False, **masks).logits
    real = slice(mask.index(1) if mask else 0, 4)  # padding that sees nothing spreads its attention over all
    torch.testing.assert_close(one[:, real], other[:, real], atol=1e-5, rtol=1e-5)
    assert (one[:, 4:] - other[:, 4:]).abs().max() > 0.1


def test_a_cached_continuation_equals_the_whole_pass():
    """With a cache one query looks at many keys; "causal" must then not mean the first key only."""
    model, ids = family("gpt2").model.module, torch.tensor(SOURCES[:1])
    with torch.no_grad():
        whole = model(ids).logits
        first = model(ids[:, :4], use_cache=True)
        rest = [first.logits]
        rest += [model(one, cache=first.cache, use_cache=True).logits for one in ids[:, 4:].split(1, dim=1)]
    torch.testing.assert_close(torch.cat(rest, 1), whole, atol=1e-5, rtol=1e-5)


def test_a_soft_cap_that_bites_is_obeyed():
    """Gemma 2's cap of 50 does nothing to small scores; a cap of 0.5 does."""
    capped, loose = ({"attn_logit_softcapping": cap} for cap in (0.5, 50.0))
    eager = build("gemma2", "eager", **capped)
    with torch.no_grad():
        theirs = eager(torch.tensor(SOURCES[:1]), output_attentions=True)
        other = build("gemma2", "eager", **loose)(torch.tensor(SOURCES[:1])).logits
    trace = run(wrap(build("gemma2", **capped)), ids=SOURCES[0])
    assert not trace.lacks and trace.attention["decoder.1.self"].softcap == 0.5
    for layer, maps in enumerate(theirs.attentions):
        np.testing.assert_allclose(trace[f"decoder.{layer}.self.weights"], maps[0], atol=1e-6)
    assert (theirs.logits - other).abs().max() > 1e-2 and all(seal.holds for seal in replay(trace))


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bert"])
def test_gradients_through_a_grafted_model_equal_its_twins(name):
    twins = []
    for module in (deepcopy(family(name).model.module), deepcopy(family(name).untouched)):
        module.zero_grad()
        module(torch.tensor(SOURCES[:1])).logits.square().mean().backward()
        twins.append({key: parameter.grad for key, parameter in module.named_parameters()})
    ours, theirs = twins
    assert ours.keys() == theirs.keys() and any(grad is not None for grad in theirs.values())
    for key, grad in theirs.items():
        torch.testing.assert_close(ours[key], grad, atol=1e-5, rtol=1e-4, msg=lambda text, key=key: f"{key}: {text}")


def test_a_grafted_model_can_be_saved_and_loaded(tmp_path):
    module = wrap(build("gpt2")).module
    module.save_pretrained(tmp_path)
    again = type(module).from_pretrained(tmp_path).eval()
    with torch.no_grad():
        assert torch.equal(again(torch.tensor(SOURCES[:1])).logits, module(torch.tensor(SOURCES[:1])).logits)


# --- masks -----------------------------------------------------------------------------------------------------------


def test_no_mask_and_boolean_masks_stay_as_they_are():
    assert split_mask(None) == (None, None)
    mask = torch.tensor([[True, False]])
    assert split_mask(mask)[0] is mask and split_mask(mask)[1] is None


def test_an_additive_mask_is_taken_apart():
    allowed, bias = split_mask(torch.tensor([[0.0, LOWEST, -torch.inf, -2.5]]))
    assert allowed.tolist() == [[True, False, False, True]] and bias.tolist() == [[0, 0, 0, -2.5]]
    allowed, bias = split_mask(torch.tensor([[0.0, LOWEST, 0.0]]))
    assert allowed.tolist() == [[True, False, True]] and bias is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_lowest_number_of_each_kind_forbids(dtype):
    allowed, bias = split_mask(torch.tensor([0.0, torch.finfo(dtype).min, -3.0], dtype=dtype))
    assert allowed.tolist() == [True, False, True] and bias.tolist() == [0, 0, -3]


@given(st.lists(st.floats(-50, 50, width=32) | st.sampled_from([-torch.inf, LOWEST]), min_size=1, max_size=9))
def test_allowed_and_bias_together_say_what_the_mask_said(values):
    mask = torch.tensor(values)
    allowed, bias = split_mask(mask)
    again = torch.where(allowed, 0.0 if bias is None else bias, LOWEST)
    assert torch.equal(again, mask.clamp(min=LOWEST))


def test_a_relative_position_bias_and_a_mask_are_added():
    """T5 passes both; the answer is softmax(q·k + bias + mask) · v."""
    random = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, 2, 3, 4, generator=random) for _ in range(3))
    position, mask = torch.randn(1, 2, 3, 3, generator=random), torch.tensor([0.0, 0.5, LOWEST]).expand(1, 1, 3, 3)
    found, weights = grafted_attention(torch.nn.Identity(), q, k, v, mask, scaling=1.0, position_bias=position)
    wanted = torch.softmax(q @ k.transpose(-1, -2) + position + mask, -1) @ v
    torch.testing.assert_close(found, wanted.transpose(1, 2), atol=1e-6, rtol=1e-5)
    assert weights is None and found.is_contiguous()


def test_causal_is_asked_of_the_module_only_without_a_mask():
    random = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(1, 2, 3, 4, generator=random) for _ in range(3))
    module = torch.nn.Identity()
    module.is_causal = True
    causal, _ = grafted_attention(module, q, k, v, None)
    told, _ = grafted_attention(module, q, k, v, None, is_causal=False)
    masked, _ = grafted_attention(module, q, k, v, torch.ones(1, 1, 3, 3, dtype=torch.bool))
    assert torch.equal(causal[:, 0, :], v[:, :, 0]) and not torch.equal(told, causal)
    torch.testing.assert_close(told, masked)
