"""embedding_sum.py: what is added to what before the first block, factors included."""

import math

import numpy as np
import pytest
import torch

from tests.transformer.families import SOURCES, TARGETS, build, family, scramble
from tests.transformer.tiny_hugging_face import vit
from transformer import run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.embedding_sum import embedding_sum, why_no_sum
from transformer.vision import VisionTransformer

IDS = [5, 7, 9, 7, 3]


def ours(**changes: object) -> DecoderLM:
    sizes = {"vocab_size": 53, "max_positions": 11, "d_model": 28, "n_layers": 2, "n_heads": 7, "positions": "learned"}
    return scramble(DecoderLM(ModelConfig(**(sizes | changes))))


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("gpt2", ("token", "position")),
        ("bert", ("token", "position", "segment")),
        ("llama", ("token",)),
        ("albert", ("token", "position", "segment")),
        ("t5", ("token",)),
        ("bloom", ("token",)),
    ],
)
def test_what_is_added(name: str, names: tuple[str, ...]) -> None:
    one = family(name)
    trace = run(one.model, ids=SOURCES[0], **({"target_ids": TARGETS[0]} if one.seq2seq else {}))
    for stack in trace.encodings:
        found = embedding_sum(trace, stack)
        assert found.names == names and set(found.factors) == {1.0} and found.seal.holds
        np.testing.assert_allclose(found.terms.sum(0), trace[f"{stack}.embed.sum"], atol=1e-6)
        normed = name in ("bert", "albert", "bloom")
        assert (found.normed is not None) == normed
        assert found.rows(3).shape == (len(names) + 1 + normed, found.total.shape[1])
        np.testing.assert_allclose(found.lengths(3)[-1], np.linalg.norm(found.total[3]), rtol=1e-6)
        assert (found.cosine(3) is None) == (len(names) == 1)


class Scaled(torch.nn.Module):
    """Tokens times √d_model outside of their table, then positions (as Marian with `scale_embedding`)."""

    main_input_name = "input_ids"

    def __init__(self, inner: DecoderLM) -> None:
        super().__init__()
        self.inner, self.config = inner, inner.config
        inner.embedding.forward = self._embed

    def _embed(self, input_ids, position_ids, segment_ids=None):
        e = self.inner.embedding
        return e.tokens(input_ids) * 28**0.5 + (0 if e.positions is None else e.positions(position_ids))

    def forward(self, input_ids, attention_mask=None, position_ids=None):
        return self.inner(input_ids, attention_mask, position_ids)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_tokens_that_are_scaled_on_the_way(positions: str) -> None:
    trace = run(wrap(Scaled(ours(positions=positions))), ids=IDS)
    found = embedding_sum(trace, "decoder")
    names = ("token", "position") if positions == "learned" else ("token",)
    assert found.names == names and found.factors[0] == pytest.approx(math.sqrt(28)) and found.seal.holds
    np.testing.assert_allclose(found.scaled(2).sum(0), trace["decoder.embed.sum"][2], atol=1e-5)
    np.testing.assert_allclose(found.scaled(2)[0], math.sqrt(28) * trace["decoder.embed.token"][2], rtol=1e-6)


def test_a_cosine_by_hand() -> None:
    trace = run(wrap(ours()), ids=IDS)
    found = embedding_sum(trace, "decoder")
    token, position = trace["decoder.embed.token"][1], trace["decoder.embed.position"][1]
    wanted = token @ position / np.linalg.norm(token) / np.linalg.norm(position)
    assert found.cosine(1) == pytest.approx(float(wanted), abs=1e-6)


def test_what_cannot_be_explained_says_why() -> None:
    trace = run(wrap(scramble(vit())), image=np.zeros((3, 6, 6), np.float32))
    assert embedding_sum(trace, "encoder") is None
    assert why_no_sum(trace, "encoder") in ("lack.no_token_vectors", "lack.sum_unexplained")
    silent = run(wrap(build("gpt2")), ids=IDS, record=("attention", "stream"))
    assert embedding_sum(silent, "decoder") is None and why_no_sum(silent, "decoder") == "lack.not_recorded"


def test_patches_and_their_positions() -> None:
    config = ModelConfig(vocab_size=1, max_positions=5, d_model=28, n_layers=2, n_heads=7, positions="learned")
    model = wrap(scramble(VisionTransformer(config, image_size=4)))
    found = embedding_sum(run(model, image=np.ones((1, 4, 4), np.float32)), "encoder")
    assert found.names == ("token", "position") and found.seal.holds
