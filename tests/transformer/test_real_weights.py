"""The models of the packs, with the weights that they were trained with: what is recorded is what they say."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from transformer import load_model, run
from transformer.pretrained import load_folder
from transformer.replay import TOLERANCE, replay, seal, seal_probabilities
from transformer.trace import Trace
from transformer.wrapped import LoadedModel

pytestmark = pytest.mark.weights

CAPITAL = "The capital of France is"
TEXTS = [CAPITAL, "the cat sat.\nThe cat, the  mat", "小明因为考试得了满分，所以非常开心。他笑了👨‍👩‍👧。"]


@pytest.fixture(scope="module")
def smollm2(smollm2_folder) -> LoadedModel:
    return load_folder(smollm2_folder, "smollm2")


@pytest.fixture(scope="module")
def minilm(minilm_folder) -> LoadedModel:
    return load_folder(minilm_folder, "minilm")


@pytest.fixture(scope="module")
def plain_smollm2(smollm2_folder):
    """The same files in plain `transformers`, with its own eager attention."""
    return plain(AutoModelForCausalLM, smollm2_folder)


@pytest.fixture(scope="module")
def plain_minilm(minilm_folder):
    return plain(AutoModel, minilm_folder)


def plain(kind, folder: Path):
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)

    def answer(text: str, **wanted: bool):
        with torch.no_grad():
            return model(**tokenizer(text, return_tensors="pt"), **wanted)

    return answer


def trace_of(model: LoadedModel, text: str) -> Trace:
    return run(model, text)


# --- SmolLM2 ---------------------------------------------------------------------------------------------------------


def test_paris(smollm2):
    """p ≈ 0.77 over the whole vocabulary of 49,152 tokens."""
    trace = trace_of(smollm2, CAPITAL)
    ids, p = trace.probabilities(-1)
    assert smollm2.tokenizer.token(int(ids[0])) == "·Paris" and p[0] == pytest.approx(0.77, abs=0.005)
    assert trace.top.vocabulary == 49152 and 0.9 < p.sum() < 1


@pytest.mark.parametrize("text", TEXTS, ids=["short", "newline", "Chinese"])
def test_probabilities_equal_plain_transformers(smollm2, plain_smollm2, text):
    trace, logits = trace_of(smollm2, text), plain_smollm2(text).logits[0].double()
    theirs = torch.softmax(logits, -1).numpy()
    assert len(theirs) == len(trace.encodings["decoder"])
    for position in range(len(theirs)):
        ids, p = trace.probabilities(position)
        assert np.abs(p - theirs[position][ids]).max() <= 1e-5
    assert seal_probabilities(trace, -1).holds


def test_every_map_of_smollm2_equals_output_attentions(smollm2, plain_smollm2):
    trace, theirs = trace_of(smollm2, TEXTS[1]), plain_smollm2(TEXTS[1], output_attentions=True).attentions
    assert len(theirs) == 30 == len(trace.attention_sites())
    for layer, maps in enumerate(theirs):
        assert np.abs(trace[f"decoder.{layer}.self.weights"] - maps[0].numpy()).max() <= 1e-5


def test_streams_of_smollm2_equal_hidden_states(smollm2, plain_smollm2):
    trace, hidden = trace_of(smollm2, CAPITAL), plain_smollm2(CAPITAL, output_hidden_states=True).hidden_states
    for layer in range(30):
        theirs = hidden[layer][0].numpy()
        assert np.abs(trace[f"decoder.{layer}.resid.before"] - theirs).max() <= 1e-5 * max(1, np.abs(theirs).max())


def test_smollm2_is_read_as_it_is(smollm2):
    (stack,) = smollm2.structure.stacks
    assert {" ".join(box.kind for box in block) for block in stack.blocks} == {"norm attention add norm ffn add"}
    attention, ffn = stack.blocks[7][1].label_values, stack.blocks[7][4].label_values
    assert (attention["heads"], attention["kv_heads"], attention["d_head"], attention["rotary"]) == (9, 3, 64, True)
    assert (ffn["activation"], ffn["gated"], ffn["d_ff"]) == ("silu", True, 1536)
    assert [box.kind for box in stack.after] == ["norm", "head"] and smollm2.plan.lacks == {}


def test_the_catalog_name_is_the_same_model(smollm2, smollm2_folder):
    named = load_model("smollm2")
    assert named.name == "smollm2" and load_model("smollm2") is named
    assert np.array_equal(run(named, CAPITAL)["logits"], trace_of(smollm2, CAPITAL)["logits"])


def test_a_batch_of_texts_equals_each_alone(smollm2):
    for text, row in zip(TEXTS, run(smollm2, TEXTS), strict=True):
        alone = trace_of(smollm2, text)
        real = ~np.array(row.encodings["decoder"].padding)
        assert row.encodings["decoder"].text == text
        assert np.abs(row["logits"][real] - alone["logits"]).max() <= 1e-3
        p, q = row.probabilities(int(np.flatnonzero(real)[-1]))[1], alone.probabilities(-1)[1]
        assert np.abs(p - q).max() <= 1e-5


# --- MiniLM ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS, ids=["short", "newline", "Chinese"])
def test_hidden_states_and_maps_of_minilm_equal_plain_transformers(minilm, plain_minilm, text):
    trace, theirs = trace_of(minilm, text), plain_minilm(text, output_attentions=True, output_hidden_states=True)
    assert np.abs(trace["encoder.output"] - theirs.last_hidden_state[0].numpy()).max() <= 1e-5
    for layer in range(6):
        assert np.abs(trace[f"encoder.{layer}.self.weights"] - theirs.attentions[layer][0].numpy()).max() <= 1e-5
        assert np.abs(trace[f"encoder.{layer}.resid.before"] - theirs.hidden_states[layer][0].numpy()).max() <= 1e-5


def test_minilm_has_no_next_token_and_says_why(minilm):
    trace = trace_of(minilm, CAPITAL)
    assert trace.top is None and trace.lacks == {"logits": "lack.no_head"}
    (stack,) = minilm.structure.stacks
    assert {" ".join(box.kind for box in block) for block in stack.blocks} == {"attention add norm ffn add norm"}
    assert trace.tokens("encoder.0.self", "key")[0] == "[CLS]" and not minilm.is_causal


# --- the seal of both ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS, ids=["short", "newline", "Chinese"])
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_every_panel_is_sealed(request, name, text):
    model = request.getfixturevalue(name)
    trace = trace_of(model, text)
    seals = replay(trace)
    layers = len(trace.attention_sites())
    assert TOLERANCE <= 1e-4 and len(seals) >= 7 * layers
    assert [one for one in seals if not one.difference <= 1e-4] == []
    for site in trace.attention_sites():
        for head in (0, trace.attention[site].heads - 1):
            assert seal(trace, site, head).holds
