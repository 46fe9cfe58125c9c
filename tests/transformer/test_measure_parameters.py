"""The parameter map: sums are the whole, parts by hand for ours, nothing unknown in any family, traps in names."""

import pytest
import torch
from torch import nn
from transformers import ViTConfig, ViTForImageClassification

from tests.transformer.families import build
from transformer.decoder_lm import DecoderLM
from transformer.measure_parameters import PARTS, ParameterMap, parameter_map


def by_part(found: ParameterMap) -> dict[str, int]:
    return {part: int(count) for part, count in zip(PARTS, found.counts.sum(0), strict=True) if count}


def total(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("tied", [True, False])
def test_ours_by_hand(tiny, tied):
    model = DecoderLM(tiny(positions="learned", tied_embeddings=tied, norm="pre"))
    found = parameter_map(model)
    expected = {
        "embedding": 53 * 28,
        "positions": 11 * 28,
        "attention": 3 * 4 * (28 * 28 + 28),
        "feedforward": 3 * (2 * 28 * 112 + 112 + 28),
        "norm": 7 * 2 * 28,
    }
    assert by_part(found) == expected | ({} if tied else {"head": 53 * 28})
    assert found.places == ((None, None), ("", 0), ("", 1), ("", 2))
    assert (found.counts[1:, PARTS.index("attention")] == 4 * (28 * 28 + 28)).all()
    assert found.counts[0, PARTS.index("norm")] == 2 * 28 and found.total == total(model)
    shared = {row.name: row.also for row in found.rows if row.also}
    assert len(shared) == tied and all(also == ("head.weight",) for also in shared.values())


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5", "bart", "albert", "modernbert", "mixtral"])
def test_families_add_up_and_hold_nothing_unknown(name):
    model = build(name)
    found = parameter_map(model)
    assert found.total == total(model) == sum(row.count for row in found.rows)
    assert len({row.name for row in found.rows}) == len(list(model.parameters()))
    for row in found.rows:
        assert row.count == torch.Size(row.shape).numel() and row.part != "other", row
    assert {"embedding", "attention", "feedforward", "norm"} <= by_part(found).keys()


def test_bert_by_hand():
    found = by_part(parameter_map(build("bert")))  # sizes in tests/cases/families.json
    assert found["attention"] == 3 * 4 * (28 * 28 + 28)
    assert found["feedforward"] == 3 * (2 * 28 * 40 + 40 + 28)
    assert found["positions"] == 512 * 28 and found["embedding"] == (53 + 2) * 28
    assert found["head"] == 28 * 28 + 28 + 53  # the transform, and a bias beside the tied matrix


def test_two_stacks_are_told_apart():
    places = parameter_map(build("t5")).places
    assert places == ((None, None), *(("encoder", n) for n in range(3)), *(("decoder", n) for n in range(2)))


def test_a_vision_model():
    config = ViTConfig(
        hidden_size=28, num_hidden_layers=3, num_attention_heads=7, intermediate_size=40, image_size=6, patch_size=2
    )
    model = ViTForImageClassification(config)
    found = parameter_map(model)
    assert found.total == total(model) and "other" not in by_part(found)
    assert by_part(found)["positions"] == 10 * 28 and by_part(found)["head"] == 2 * 28 + 2
    assert by_part(found)["embedding"] == 28 + 3 * 4 * 28 + 28  # the class token, the patches' matrix and bias


def test_torchs_encoder_and_what_is_no_transformer():
    layer = nn.TransformerEncoderLayer(28, 7, 31, batch_first=True)
    found = parameter_map(nn.TransformerEncoder(layer, 3, enable_nested_tensor=False))
    assert by_part(found) == {
        "attention": 3 * 4 * (28 * 28 + 28), "feedforward": 3 * (2 * 28 * 31 + 31 + 28), "norm": 3 * 2 * 2 * 28,
    }  # fmt: skip
    lstm = nn.LSTM(5, 7)
    assert by_part(parameter_map(lstm)) == {"other": total(lstm)}
    nothing = parameter_map(nn.Identity())
    assert nothing.total == 0 and nothing.rows == () and nothing.counts.shape == (0, len(PARTS))


class Traps(nn.Module):
    """A head that is made before the embedding it shares its matrix with, and a network that is "position-wise"."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Linear(5, 11, bias=False)
        self.embed = nn.Embedding(11, 5)
        self.embed.weight = self.generator.weight
        self.positionwise_feed_forward = nn.Linear(5, 7)
        self.frozen = nn.Parameter(torch.zeros(3), requires_grad=False)


def test_traps_of_names():
    found = parameter_map(Traps())
    parts = {row.name: (row.part, row.also) for row in found.rows}
    assert parts == {
        "frozen": ("other", ()),
        "embed.weight": ("embedding", ("generator.weight",)),
        "positionwise_feed_forward.weight": ("feedforward", ()),
        "positionwise_feed_forward.bias": ("feedforward", ()),
    }
    assert found.total == 3 + 55 + 42
