"""wrapped.py: wrapping changes nothing but what is seen; twins, copies and odd models."""

import gc
import math
import weakref
from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from tests.transformer.families import SOURCES, build, family
from transformer import run, wrap
from transformer.decoder_lm import DecoderLM
from transformer.errors import NoAttentionSeen, NotATextModel, SlowTokenizer, WeightsChanged
from transformer.replay import replay
from transformer.wrapped import LoadedModel, longest_input, own_weights, vocabulary_size

IDS = torch.tensor(SOURCES[:1])


def logits(module: nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return module(IDS).logits


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5", "bloom", "mpt"])
def test_a_twin_that_shares_the_configuration_is_not_changed(name):
    """`Model(config)` twice gives two models with one config; only the wrapped one may change its attention."""
    untouched = build(name)
    twin = type(untouched)(untouched.config).eval()
    assert twin.config is untouched.config
    before = [part.config._attn_implementation for part in untouched.modules() if hasattr(part, "config")]
    wrap(twin)
    after = [part.config._attn_implementation for part in untouched.modules() if hasattr(part, "config")]
    assert after == before and twin.config is not untouched.config
    assert all(getattr(part, "config", twin.config) is not untouched.config for part in twin.modules())


@pytest.mark.parametrize("name", ["gpt2", "gemma2", "bert", "bloom"])
def test_wrapping_changes_no_number(name):
    module = build(name)
    before, state = logits(module), deepcopy(module.state_dict())
    wrap(module)
    torch.testing.assert_close(logits(module), before, atol=1e-5, rtol=1e-5)
    assert all(torch.equal(tensor, state[key]) for key, tensor in module.state_dict().items())


def test_wrapping_twice_and_wrapping_a_copy():
    module = build("gpt2")
    first, second = wrap(module), wrap(module, name="again")
    copied = wrap(deepcopy(module))
    traces = [run(model, ids=SOURCES[0]) for model in (first, second, copied)]
    assert len({trace.key for trace in traces}) == 3 and traces[1].model == "again"
    for trace in traces[1:]:
        assert trace.sites == traces[0].sites
        assert all(np.array_equal(array, traces[0].arrays[site]) for site, array in trace.arrays.items())


def test_a_copy_and_its_original_go_their_own_ways():
    first = wrap(build("gpt2"))
    before = run(first, ids=SOURCES[0])
    copied = wrap(deepcopy(first.module))
    with torch.no_grad():
        copied.module.transformer.h[0].ln_1.weight.zero_()
    assert np.array_equal(run(first, ids=SOURCES[0])["logits"], before["logits"])
    assert all(seal.holds for seal in replay(run(copied, ids=SOURCES[0])))
    assert not np.array_equal(run(copied, ids=SOURCES[0])["logits"], before["logits"])


def test_dropout_is_off():
    module = build("gpt2", resid_pdrop=0.9, attn_pdrop=0.9, embd_pdrop=0.9).train()
    model = wrap(module)
    assert not module.training
    one, other = run(model, ids=SOURCES[0]), run(model, ids=SOURCES[0])
    assert np.array_equal(one["logits"], other["logits"]) and all(seal.holds for seal in replay(one))


def test_a_model_put_back_to_training_is_still_read_without_dropout():
    model = wrap(build("gpt2", resid_pdrop=0.9, attn_pdrop=0.9, embd_pdrop=0.9))
    before = run(model, ids=SOURCES[0])
    model.module.train()
    assert np.array_equal(run(model, ids=SOURCES[0])["logits"], before["logits"])
    assert model.module.training and model.module.transformer.h[0].attn.training


def test_weights_that_are_trained_further_are_the_ones_that_are_seen():
    model = wrap(build("llama"))
    before = run(model, ids=SOURCES[0])
    kept = {site: before[site].copy() for site in before.arrays}
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter.mul_(1.1)
    after = run(model, ids=SOURCES[0])
    assert all(seal.holds for seal in replay(after)) and not np.array_equal(after["logits"], before["logits"])
    assert all(np.array_equal(before[site], array) for site, array in kept.items())
    with pytest.raises(WeightsChanged, match=r"decoder\.1\.ffn\.output"):
        before["decoder.1.ffn.output"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
def test_half_precision_is_recorded_as_float32_and_is_what_the_model_computed(name, dtype):
    module = build(name).to(dtype)
    wanted = logits(module)[0].float().topk(50, dim=-1).values
    trace = run(wrap(module), ids=SOURCES[0])
    assert all(array.dtype == np.float32 for array in trace.arrays.values())
    np.testing.assert_allclose(trace["logits"], wanted, atol=0.1)
    for site in trace.attention_sites():
        weights = trace[f"{site}.weights"]
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-2)
        twin = run(family(name).model, ids=SOURCES[0])[f"{site}.weights"]
        assert np.abs(weights - twin).max() < 0.1
    assert np.isfinite(trace["logits"]).all() and len(trace.structure.stacks[0].blocks) == 3


def test_a_model_without_a_head_says_so():
    model = wrap(build("bert").bert)
    trace = run(model, ids=SOURCES[0])
    assert trace.top is None and trace.lacks["logits"] == "lack.no_head"
    with torch.no_grad():
        hidden = family("bert").untouched.bert(IDS).last_hidden_state[0]
    np.testing.assert_allclose(trace["encoder.output"], hidden, atol=1e-5)


def test_our_own_model_is_wrapped_as_it_is(tiny, scramble):
    module = scramble(DecoderLM(tiny(positions="rotary", n_kv_heads=1, norm_kind="rmsnorm", activation="swiglu")))
    before = logits(module)
    model = wrap(module)
    trace = run(model, ids=SOURCES[0])
    assert torch.equal(logits(module), before) and not model.weights_only and model.is_causal
    np.testing.assert_allclose(trace["logits"], before[0].topk(50, dim=-1).values, atol=1e-5)
    assert trace["decoder.2.self.k"].shape == (1, 7, 4) and all(seal.holds for seal in replay(trace))


def test_sizes_are_read_off_the_configuration():
    assert vocabulary_size(family("gpt2").untouched) == 53 and longest_input(family("gpt2").untouched) == 1024
    assert longest_input(family("roberta").untouched) <= 64 and longest_input(family("t5").untouched) == 1_000_000
    assert longest_input(family("mpt").untouched) >= 2048
    assert vocabulary_size(nn.Linear(2, 2)) == 0


def test_the_longest_text_fits():
    """RoBERTa counts positions from padding_idx + 1, so two fewer tokens fit than its table has rows."""
    for name in ("roberta", "xlm-roberta", "gpt2", "bert"):
        limit = {"max_position_embeddings": 13} if name != "gpt2" else {"n_positions": 13}
        model = wrap(build(name, **limit))
        trace = run(model, ids=[5 + n for n in range(model.max_tokens)])
        assert trace.encodings[model.structure.stacks[0].name].ids[-1] == 4 + model.max_tokens


def test_what_cannot_be_seen_through_is_refused():
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(53, 28)

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return self.table(input_ids).cumsum(1)

    module = Sum()
    module.config = build("gpt2").config  # it has a vocabulary, and no attention
    with pytest.raises(NoAttentionSeen, match="Sum"):
        wrap(module)

    class Ears(nn.Module):
        main_input_name = "input_features"

    with pytest.raises(NotATextModel, match="input_features"):
        wrap(Ears())
    with pytest.raises(NotATextModel, match="input"):
        wrap(nn.Linear(2, 2))
    with pytest.raises(SlowTokenizer):
        wrap(family("gpt2").model.module, tokenizer=object())


def test_weights_of_an_answer_in_the_order_in_which_they_ran():
    class Answer:
        encoder_attentions = (torch.zeros(1, 2, 3, 3), torch.ones(1, 2, 3, 3))
        decoder_attentions = (torch.full((1, 2, 2, 2), 2.0), torch.full((1, 2, 2, 2), 4.0))
        cross_attentions = (torch.full((1, 2, 2, 3), 3.0), torch.full((1, 2, 2, 3), 5.0))

    assert [float(one.flatten()[0]) for one in own_weights(Answer())] == [0, 1, 2, 3, 4, 5]
    assert own_weights(object()) == []


@pytest.mark.parametrize("name", ["gpt2", "t5", "bloom", "albert"])
def test_a_model_that_nobody_uses_any_more_is_given_back(name):
    """Neither hooks nor what was read off a model keep it in memory."""
    model = wrap(build(name))
    run(model, ids=SOURCES[0], **({"target_ids": [5, 6]} if name == "t5" else {}))
    module = weakref.ref(model.module)
    del model
    gc.collect()
    assert module() is None


def test_a_loaded_model_is_frozen():
    model = family("gpt2").model
    assert isinstance(model, LoadedModel) and math.isfinite(model.max_tokens)
    with pytest.raises(AttributeError):
        model.name = "other"
