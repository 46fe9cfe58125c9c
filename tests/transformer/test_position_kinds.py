"""position_kinds.py: every kind is told from the numbers of a run, and what is not seen is not claimed."""

import pytest

from tests.transformer.families import CONFIGS, SOURCES, TARGETS, WEIGHTS_ONLY, family, scramble
from transformer import run, wrap
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.messages import message
from transformer.position_kinds import KINDS, position_kinds

TABLES = {
    "gpt2", "bert", "distilbert", "bart", "opt", "roberta", "xlm-roberta", "albert", "electra", "marian", "gpt_bigcode",
}  # fmt: skip
RELATIVE = {"t5", "mt5"}
UNKNOWN = {"qwen3", "olmo2", "gemma3_text", "stablelm", "deepseek_v3"}


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_kinds_of_a_family(name: str) -> None:
    one = family(name)
    trace = run(one.model, ids=SOURCES[0], **({"target_ids": TARGETS[0]} if one.seq2seq else {}))
    for site in (site for site in trace.attention if site.endswith("self")):
        found = position_kinds(trace, site)
        if name in WEIGHTS_ONLY:
            assert set(found.unknown) == {("rotary", "lack.weights_only"), ("bias", "lack.weights_only")}
            assert set(found.names) <= {"learned"} and not found.has_none
        elif name in UNKNOWN:
            assert found.names == () and found.unknown == (("rotary", "lack.projection_unknown"),)
        else:
            kind = "learned" if name in TABLES else "relative" if name in RELATIVE else "rotary"
            assert (found.names, found.unknown) == ((kind,), ())
        assert set(found.names) <= set(KINDS)
        for _, reason in found.unknown:
            assert message(reason, "en") != message(reason, "zh")


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "none"])
def test_kinds_of_our_own(positions: str) -> None:
    config = ModelConfig(vocab_size=53, max_positions=11, d_model=28, n_layers=2, n_heads=7, positions=positions)
    found = position_kinds(run(wrap(scramble(DecoderLM(config))), ids=SOURCES[0]), "decoder.1.self")
    assert found.names == (() if positions == "none" else (positions,)) and found.unknown == ()
    assert found.has_none == (positions == "none") and found.stack == "decoder"


def test_a_layer_without_positions_among_others() -> None:
    """SmolLM3 leaves every fourth layer without rotation."""
    from tests.transformer.families import build

    trace = run(wrap(build("smollm3", num_hidden_layers=4)), ids=SOURCES[0])
    found = [position_kinds(trace, f"decoder.{layer}.self") for layer in range(4)]
    assert [one.names for one in found] == [("rotary",)] * 3 + [()] and found[3].has_none


def test_what_was_not_recorded_is_not_called_none() -> None:
    config = ModelConfig(vocab_size=53, max_positions=11, d_model=28, n_layers=2, n_heads=7, positions="none")
    trace = run(wrap(scramble(DecoderLM(config))), ids=SOURCES[0], record=("attention", "stream"))
    found = position_kinds(trace, "decoder.0.self")
    assert not found.has_none and found.unknown == (("added", "lack.not_recorded"),)
