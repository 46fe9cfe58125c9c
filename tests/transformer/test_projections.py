"""projections.py: the maps to queries, keys and values of every family, checked on texts that no probe has seen."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.transformer.families import CONFIGS, SOURCES, TARGETS, WEIGHTS_ONLY, build, family, scramble
from transformer import run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.errors import NoSuchSite
from transformer.parts import ProjectionPart
from transformer.replay import seal
from transformer.rotation import Pairing
from transformer.trace import Trace

NORM_BETWEEN = {"qwen3", "gemma3_text", "olmo2"}  # q and k go through a norm: not W · x + b
LATENT = {"deepseek_v3"}  # by way of fewer dimensions
TOO_SMALL = {"stablelm"}  # a quarter of 4 dimensions is one: no pair
ROTARY = {
    "llama", "gemma2", "gpt_neox", "gptj", "mistral", "qwen2", "phi", "phi3", "smollm3", "modernbert", "gpt_oss",
    "mixtral", "cohere", "granite", "starcoder2", "glm", "nemotron",
}  # fmt: skip
INTERLEAVED = {"gptj", "cohere"}


def trace_of(name: str) -> Trace:
    one = family(name)
    return run(one.model, ids=SOURCES[0], **({"target_ids": TARGETS[0]} if one.seq2seq else {}))


def parts_of(trace: Trace) -> dict[str, ProjectionPart]:
    return {name: part for name, part in trace.parts.items() if isinstance(part, ProjectionPart)}


@pytest.mark.parametrize("name", [one for one in CONFIGS if one not in WEIGHTS_ONLY])
def test_projections_of_a_family(name: str) -> None:
    trace = trace_of(name)
    found = parts_of(trace)
    for site in trace.attention:
        for letter in "qkv":
            known = letter == "v" or name not in NORM_BETWEEN | TOO_SMALL
            known &= name not in LATENT
            part = found.get(f"{site}.{letter}_projection")
            assert (part is not None) == known, f"{site}.{letter}"
            if part is None:
                assert trace.lacks[f"{site}.{letter}_projection"] == "lack.projection_unknown"
                continue
            enters, leaves = trace.part_inputs[f"{site}.{letter}_projection"]
            given = part(trace[enters])
            assert given.shape == trace[leaves].shape
            assert (part.pairing is not None) == (name in ROTARY and letter != "v")
            if part.pairing is None:
                np.testing.assert_allclose(given, trace[leaves], atol=2e-6)
            else:
                assert np.abs(given - trace[leaves]).max() > 0.01, "nothing turned: this would prove nothing"
            assert seal(trace, f"{site}.{letter}_projection").holds


@pytest.mark.parametrize("name", sorted(WEIGHTS_ONLY))
def test_a_family_that_hides_its_queries_has_none(name: str) -> None:
    trace = run(family(name).model, ids=SOURCES[0])
    assert not parts_of(trace)


@pytest.mark.parametrize("name", sorted(INTERLEAVED))
def test_neighbours_turn_together_in_some_families(name: str) -> None:
    assert parts_of(trace_of(name))["decoder.1.self.q_projection"].pairing == Pairing("neighbours", 4)


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("gpt_neox", {"hidden_size": 32, "num_attention_heads": 2}, Pairing("halves", 4)),
        ("phi", {"hidden_size": 32, "num_attention_heads": 2, "head_dim": 16}, Pairing("halves", 8)),
        (
            "stablelm",
            {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2},
            Pairing("halves", 4),
        ),
        ("gptj", {"n_embd": 24, "n_head": 2, "rotary_dim": 8}, Pairing("neighbours", 8)),
        ("glm", {"head_dim": 8}, Pairing("neighbours", 4)),
    ],
)
def test_a_part_of_the_head_turns(name: str, changes: dict, expected: Pairing) -> None:
    trace = run(wrap(build(name, **changes)), ids=SOURCES[0])
    query, key = (parts_of(trace)[f"decoder.1.self.{letter}_projection"] for letter in "qk")
    assert query.pairing == key.pairing == expected and query.rows.shape[1] > expected.turned
    assert seal(trace, "decoder.1.self.q_projection").difference < 1e-6


def test_one_matrix_for_all_three() -> None:
    """GPT-2 keeps them one after the other, GPT-NeoX head by head; nothing is copied."""
    gpt2, neox = family("gpt2").model, family("gpt_neox").model
    rows = [parts_of(trace_of("gpt2"))[f"decoder.0.self.{letter}_projection"] for letter in "qkv"]
    weight = gpt2.module.transformer.h[0].attn.c_attn.weight.detach().numpy().T
    for place, part in enumerate(rows):
        assert part.linear.weight.base is not None and np.shares_memory(part.linear.weight, weight)
        np.testing.assert_array_equal(part.linear.weight, weight[28 * place : 28 * place + 28])
    inside = parts_of(trace_of("gpt_neox"))["decoder.0.self.k_projection"]
    assert inside.rows[3].tolist() == [3 * 12 + 4 + i for i in range(4)]
    fused = neox.module.gpt_neox.layers[0].attention.query_key_value.weight.detach().numpy()
    assert np.shares_memory(inside.linear.weight, fused)


def test_a_row_gives_one_number() -> None:
    trace = trace_of("opt")
    part, x = parts_of(trace)["decoder.2.self.q_projection"], trace["decoder.2.self.input"]
    assert part.factor == pytest.approx(0.5)  # 1/√d_head stands in the queries, not in the scale
    weights, bias = part.row(5, 3)
    assert weights @ x[4] + bias == pytest.approx(trace["decoder.2.self.q"][5, 4, 3], abs=1e-6) and bias != 0


def test_grouped_heads_across_a_text() -> None:
    """Cross-attention: queries from the target, keys and values from what the encoder gave."""
    trace = trace_of("bart")
    assert trace.part_inputs["decoder.1.cross.q_projection"][0] == "decoder.1.cross.input"
    assert trace.part_inputs["decoder.1.cross.v_projection"][0] == "encoder.output"
    grouped = parts_of(trace_of("llama"))
    assert [grouped[f"decoder.0.self.{letter}_projection"].rows.shape for letter in "qkv"] == [(6, 4), (2, 4), (2, 4)]


@pytest.mark.parametrize("positions", ["rotary", "alibi", "none", "learned"])
def test_our_own_model(positions: str) -> None:
    config = ModelConfig(
        vocab_size=53, max_positions=11, d_model=30, n_layers=2, n_heads=3, n_kv_heads=1, positions=positions
    )
    trace = run(wrap(scramble(DecoderLM(config))), ids=SOURCES[0])
    part = parts_of(trace)["decoder.1.self.k_projection"]
    assert part.pairing == (Pairing("halves", 10) if positions == "rotary" else None)
    assert all(seal(trace, name).holds for name in parts_of(trace)) and len(parts_of(trace)) == 6


class Crooked(nn.Module):
    """A map that is not linear."""

    def __init__(self, inner: nn.Linear) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.inner(x))


def test_a_map_that_bends_is_not_recognised() -> None:
    config = ModelConfig(vocab_size=53, max_positions=11, d_model=28, n_layers=2, n_heads=7, positions="rotary")
    model = DecoderLM(config)
    model.blocks[1].attention.key = Crooked(model.blocks[1].attention.key)
    trace = run(wrap(scramble(model)), ids=SOURCES[0])
    assert "decoder.1.self.k_projection" not in trace.parts
    assert trace.lacks["decoder.1.self.k_projection"] == "lack.projection_unknown"
    assert "decoder.0.self.k_projection" in trace.parts and "decoder.1.self.v_projection" in trace.parts


def test_a_seal_breaks_with_its_part() -> None:
    from dataclasses import replace

    trace = trace_of("gpt2")
    name = "decoder.0.self.q_projection"
    part = trace.parts[name]
    assert isinstance(part, ProjectionPart)
    wrong = replace(trace, parts={**trace.parts, name: replace(part, factor=1.001)})
    assert seal(trace, name).holds and not seal(wrong, name).holds
    with pytest.raises(NoSuchSite):
        seal(trace, "decoder.0.self.w_projection")
