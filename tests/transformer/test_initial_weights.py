"""How weights begin: every one drawn as the config says, from the generator that is passed in, in every class."""

import math

import pytest
import torch
from torch import nn

from transformer.decoder_lm import DecoderLM
from transformer.encoder import Encoder
from transformer.encoder_classifier import EncoderClassifier
from transformer.encoder_decoder import EncoderDecoder
from transformer.initial_weights import initialize
from transformer.vision import VisionTransformer

MAKERS = {
    "decoder": DecoderLM,
    "encoder": Encoder,
    "classifier": lambda config, **more: EncoderClassifier(config, 3, pooler=True, **more),
    "encoder-decoder": EncoderDecoder,
    "vision": lambda config, **more: VisionTransformer(config, image_size=6, positions_2d=True, **more),
}
SWITCHES = {"max_positions": 10, "positions": "learned", "n_segments": 2, "embedding_norm": True, "d_ff": 997}


@pytest.mark.parametrize("init", ["normal", "xavier"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_equal_generators_give_equal_models(tiny, make, init):
    config = tiny(init=init, **SWITCHES)
    first, again, other = (make(config, generator=torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    for (name, a), b, c in zip(first.named_parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert torch.equal(a, c) == (a.dim() == 1), name  # what is not drawn is 0 or 1
        assert a.abs().max() > 0 or name.endswith("bias"), name


@pytest.mark.parametrize("init", ["normal", "xavier"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_norms_begin_as_the_identity_and_biases_at_0(tiny, make, init):
    for name, one in make(tiny(init=init, **SWITCHES)).named_parameters():
        if one.dim() == 1:
            scale = "norm" in name and name.endswith("weight")
            assert torch.equal(one, torch.ones_like(one) if scale else torch.zeros_like(one)), name


def test_normal_is_two_hundredths_wide(tiny):
    model = DecoderLM(tiny(d_ff=997), generator=torch.Generator().manual_seed(1))
    for matrix in (model.blocks[0].feedforward.up.weight, model.blocks[2].feedforward.down.weight):
        assert matrix.std().item() == pytest.approx(0.02, rel=0.03)
        assert abs(matrix.mean().item()) < 0.001 and matrix.abs().max() > 0.06


def test_xavier_fills_its_range_evenly(tiny):
    """Uniform in ±√(6 / (inputs + outputs)): the ends are reached, and the spread is the range / √3."""
    model = DecoderLM(tiny(d_ff=997, init="xavier"), generator=torch.Generator().manual_seed(1))
    bound = math.sqrt(6 / (28 + 997))
    for matrix in (model.blocks[0].feedforward.up.weight, model.blocks[2].feedforward.down.weight):
        assert 0.999 * bound < matrix.abs().max() <= bound
        assert matrix.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
    table = model.embedding.tokens.weight
    assert 0.98 * math.sqrt(6 / (53 + 28)) < table.abs().max() <= math.sqrt(6 / (53 + 28))


def test_xavier_is_torchs(tiny):
    ours, theirs = nn.Linear(28, 31), nn.Linear(28, 31)
    initialize(ours, tiny(init="xavier"), torch.Generator().manual_seed(5))
    nn.init.xavier_uniform_(theirs.weight, generator=torch.Generator().manual_seed(5))
    assert torch.equal(ours.weight, theirs.weight)
