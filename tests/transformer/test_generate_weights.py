"""SmolLM2 writes: what is known of it, the same with and without a cache, and the same as plain transformers."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from transformer.beam import BeamSettings, beam_search
from transformer.generate import GenerationSettings, generate
from transformer.pretrained import load_folder
from transformer.wrapped import LoadedModel

pytestmark = pytest.mark.weights

CAPITAL = "The capital of France is"


@pytest.fixture(scope="module")
def smollm2(smollm2_folder) -> LoadedModel:
    return load_folder(smollm2_folder, "smollm2")


def test_paris_and_an_end_token(smollm2) -> None:
    steps = list(generate(smollm2, CAPITAL, settings=GenerationSettings(max_new_tokens=3)))
    assert smollm2.tokenizer.token(steps[0].token) == "·Paris"
    assert steps[0].distribution.p[0] == pytest.approx(0.77, abs=0.005) and steps[0].distribution.vocabulary == 49152
    assert smollm2.tokenizer.encoding_of_ids(steps[-1].ids).text.startswith("The capital of France is Paris.")


def test_a_cache_changes_nothing(smollm2) -> None:
    told = {"mode": "sample", "top_k": 50, "top_p": 0.9, "max_new_tokens": 7, "stop_ids": (), "seed": 11}
    kept, again = (
        list(generate(smollm2, CAPITAL, settings=GenerationSettings(**told, use_cache=use_cache)))
        for use_cache in (True, False)
    )
    for one, other in zip(kept, again, strict=True):
        assert one.ids == other.ids and one.distribution.n_kept == other.distribution.n_kept
        np.testing.assert_allclose(one.distribution.p, other.distribution.p, atol=1e-5)
    state = kept[-1].cache
    assert state.nbytes == state.formula.nbytes == 2 * 30 * 3 * 64 * state.tokens * 4


def test_greedy_and_beams_equal_plain_transformers(smollm2, smollm2_folder) -> None:
    plain = AutoModelForCausalLM.from_pretrained(smollm2_folder, dtype=torch.float32, local_files_only=True).eval()
    ids = torch.tensor([smollm2.tokenizer.encode(CAPITAL).ids])
    told = {"attention_mask": torch.ones_like(ids), "do_sample": False, "max_new_tokens": 5, "pad_token_id": 0}
    with torch.no_grad():
        greedy = plain.generate(ids, **told)[0].tolist()
        best = plain.generate(ids, num_beams=3, **told)[0].tolist()
    *_, last = generate(smollm2, CAPITAL, settings=GenerationSettings(max_new_tokens=5))
    assert list(last.ids) == greedy
    *_, widest = beam_search(smollm2, CAPITAL, settings=BeamSettings(beams=3, max_new_tokens=5))
    assert list(widest.finished[0].ids) == best
