"""Where the parameters are: names by hand, and parts that add up to the whole of every class."""

import pytest
import torch

from tests.transformer.test_initial_weights import MAKERS, SWITCHES
from transformer.encoder_classifier import EncoderClassifier
from transformer.parameter_counts import parameter_counts, part_of
from transformer.vision import VisionTransformer


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("embedding.tokens.weight", "embedding"),
        ("embedding.positions.weight", "positions"),
        ("embedding.segments.weight", "embedding"),
        ("embedding.norm.bias", "norm"),
        ("embedding.cls", "embedding"),
        ("embedding.projection.weight", "embedding"),
        ("positions.rows", "positions"),
        ("positions.cls", "positions"),
        ("blocks.11.attention.query.weight", "attention"),
        ("decoder.blocks.0.cross.output.bias", "attention"),
        ("decoder.blocks.0.norm3.weight", "norm"),
        ("encoder.blocks.2.feedforward.gate.weight", "feedforward"),
        ("encoder.norm.weight", "norm"),
        ("summary.pooler.weight", "summary"),
        ("head.weight", "head"),
    ],
)
def test_every_parameter_has_its_part(name, part):
    assert part_of(name) == part


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_parts_add_up_to_the_model(tiny, make):
    model = make(tiny(**SWITCHES))
    counts = parameter_counts(model)
    assert sum(counts.values()) == sum(one.numel() for one in model.parameters())
    assert all(count >= 0 for count in counts.values())
    assert counts.get("summary", 0) == (28 * 28 + 28 if isinstance(model, EncoderClassifier) else 0)
    assert counts["positions"] > 0 and counts["attention"] > 0


def test_vit_base_has_its_known_number_of_parameters(tiny):
    """86,567,656 with 1000 classes: Dosovitskiy et al. 2021, table 1, says 86M."""
    config = tiny(
        vocab_size=1, max_positions=197, d_model=768, n_layers=12, n_heads=12, positions="learned", norm_eps=1e-12
    )
    with torch.device("meta"):
        model = VisionTransformer(config, image_size=224, patch_size=16, channels=3, n_classes=1000)
    counts = parameter_counts(model)
    assert sum(counts.values()) == 86_567_656
    assert counts["positions"] == 197 * 768 and counts["head"] == 769_000
