"""The packs' weights in our own classes: SmolLM2 in `DecoderLM` and MiniLM in `Encoder` say what they always said."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from transformer import load_model, run
from transformer.catalog import choices
from transformer.decoder_lm import DecoderLM
from transformer.encoder import Encoder
from transformer.replay import TOLERANCE, replay, seal
from transformer.wrapped import LoadedModel

pytestmark = pytest.mark.weights

TWENTY = "The capital of France is Paris, and the capital of Japan is Tokyo.\nThe cat sat, and the cat slept there."
TEXTS = [TWENTY, "小明因为考试得了满分，所以非常开心。他笑了👨‍👩‍👧。", "I like you, you like  me"]
NAMED = pytest.mark.parametrize("text", TEXTS, ids=["English", "Chinese", "short"])


@pytest.fixture(scope="module")
def smollm2(smollm2_folder) -> LoadedModel:
    return load_model("smollm2", ours=True)


@pytest.fixture(scope="module")
def minilm(minilm_folder) -> LoadedModel:
    return load_model("minilm-ours")


@pytest.fixture(scope="module")
def plain_smollm2(smollm2_folder):
    """The same files in plain `transformers`, with its own eager attention."""
    return plain(AutoModelForCausalLM, smollm2_folder)


@pytest.fixture(scope="module")
def plain_minilm(minilm_folder):
    return plain(AutoModel, minilm_folder)


def plain(kind, folder: Path):
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True)
    return model.eval(), AutoTokenizer.from_pretrained(folder, local_files_only=True)


@NAMED
@torch.no_grad()
def test_smollm2_in_our_decoder_has_the_same_fifty_likeliest_tokens_in_order(smollm2, plain_smollm2, text):
    theirs, tokenizer = plain_smollm2
    inputs = tokenizer(text, return_tensors="pt")
    wanted = theirs(**inputs).logits
    found = smollm2.module(**inputs).logits
    assert type(smollm2.module) is DecoderLM
    assert (found - wanted).abs().max() <= 1e-3
    assert found.shape[1] >= 20 or text != TWENTY
    in_our_order = wanted[0].gather(-1, found[0].topk(50).indices)  # (position, rank)
    assert (in_our_order.diff(dim=-1) <= 2e-4).all()  # two may change places where float32 cannot tell them apart
    torch.testing.assert_close(in_our_order, wanted[0].topk(50).values, atol=2e-4, rtol=0)


@torch.no_grad()
def test_smollm2_goes_on_with_the_same_words_from_our_cache_and_theirs(smollm2, plain_smollm2):
    theirs, tokenizer = plain_smollm2
    ids = tokenizer("The capital of France is", return_tensors="pt").input_ids
    real = torch.ones_like(ids)
    wanted = theirs.generate(ids, attention_mask=real, max_new_tokens=12, do_sample=False, pad_token_id=0)
    cache, new, written = smollm2.module.new_cache(), ids, ids
    for _ in range(12):
        new = smollm2.module(new, cache=cache).logits[:, -1:].argmax(-1)
        written = torch.cat((written, new), dim=1)
    assert written.tolist() == wanted.tolist() and "Paris" in tokenizer.decode(written[0])


@torch.no_grad()
def test_a_batch_padded_on_the_left_is_plain_transformers_too(smollm2, plain_smollm2):
    theirs, tokenizer = plain_smollm2
    inputs = tokenizer(TEXTS, return_tensors="pt", padding=True, padding_side="left")
    mask = inputs.attention_mask
    wanted = theirs(**inputs, position_ids=(mask.cumsum(-1) - 1).clamp(min=0)).logits
    assert (smollm2.module(**inputs).logits - wanted)[mask.bool()].abs().max() <= 1e-3


@NAMED
@torch.no_grad()
def test_minilm_in_our_encoder_has_the_same_hidden_states(minilm, plain_minilm, text):
    theirs, tokenizer = plain_minilm
    inputs = tokenizer(text, return_tensors="pt")
    found = minilm.module(**inputs).last_hidden_state
    assert type(minilm.module) is Encoder
    assert (found - theirs(**inputs).last_hidden_state).abs().max() <= 1e-4


@torch.no_grad()
def test_a_batch_of_minilm_padded_on_the_right_has_the_same_hidden_states(minilm, plain_minilm):
    theirs, tokenizer = plain_minilm
    inputs = tokenizer(TEXTS, return_tensors="pt", padding=True)
    real = inputs.attention_mask.bool()
    assert not real.all()
    found, wanted = minilm.module(**inputs).last_hidden_state, theirs(**inputs).last_hidden_state
    assert (found - wanted)[real].abs().max() <= 1e-4


# --- seen through ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_ours_is_drawn_as_the_original(request, name):
    ours, theirs = request.getfixturevalue(name), load_model(name)
    (mine,), (their,) = ours.structure.stacks, theirs.structure.stacks
    assert (mine.name, mine.blocks, mine.after) == (their.name, their.blocks, their.after)
    # BERT sums token + segment + position, ours token + position + segment.
    assert sorted(str(box) for box in mine.before) == sorted(str(box) for box in their.before)
    assert ours.plan.lacks == theirs.plan.lacks and not ours.weights_only and ours.is_causal == theirs.is_causal
    assert (ours.max_tokens, ours.vocab_size) == (theirs.max_tokens, theirs.vocab_size)
    assert ours.tokenizer.encode(TWENTY) == theirs.tokenizer.encode(TWENTY)
    assert ours.name == f"{name}-ours" and ours.fingerprint != theirs.fingerprint


@NAMED
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_what_is_recorded_of_ours_is_recorded_of_the_original(request, name, text):
    ours, theirs = (run(one, text) for one in (request.getfixturevalue(name), load_model(name)))
    assert ours.arrays.keys() == theirs.arrays.keys() and ours.attention_sites() == theirs.attention_sites()
    for site in ours.attention_sites():
        assert np.abs(ours[f"{site}.weights"] - theirs[f"{site}.weights"]).max() <= 1e-4
    for site, array in ours.arrays.items():
        largest = max(float(np.abs(theirs.arrays[site]).max()), 1.0)
        assert np.abs(array - theirs.arrays[site]).max() <= 1e-4 * largest, site


@NAMED
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_every_panel_of_ours_is_sealed(request, name, text):
    trace = run(request.getfixturevalue(name), text)
    seals = replay(trace)
    assert len(seals) >= 7 * len(trace.attention_sites())
    assert [one for one in seals if not one.difference <= TOLERANCE] == []
    for site in trace.attention_sites():
        assert seal(trace, site, 0).holds


def test_the_page_offers_ours_as_soon_as_the_pack_is_here(smollm2, minilm):
    offered = {choice.name: choice for choice in choices()}
    for name, model in (("smollm2-ours", smollm2), ("minilm-ours", minilm)):
        assert offered[name].ready and load_model(name) is model
