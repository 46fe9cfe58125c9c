"""reading.py, boxes.py, ends.py, places.py: the diagram has the boxes of the model that ran, in its order."""

import pytest
import torch
from torch import nn

from tests.transformer.families import LISTED, SOURCES, TARGETS, build, family
from transformer import run, wrap
from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.messages import message
from transformer.structure import Box
from transformer.wrapped import LoadedModel


def words(boxes: tuple[Box, ...]) -> str:
    """ "norm attention add …"; branches side by side stand in brackets."""
    said = []
    for box in boxes:
        branches = [words(branch) for branch in box.label_values.get("branches", ())]
        said.append(f"({' | '.join(branches)})" if branches else box.kind)
    return " ".join(said)


PRE, POST = "norm attention add norm ffn add", "attention add norm ffn add norm"
SANDWICH, TWO_NORMS_AFTER = "norm attention norm add norm ffn norm add", "attention norm add ffn norm add"
BRANCHES = "norm (attention | ffn) add"
PRE_CROSS, POST_CROSS = (
    "norm attention add norm cross add norm ffn add",
    "attention add norm cross add norm ffn add norm",
)
LEARNED, BERTS = "tokens embedding positions add", "tokens embedding embedding positions add norm"
STRUCTURES = {
    "gpt2": [("decoder", LEARNED, PRE, "norm head")],
    "llama": [("decoder", "tokens embedding", PRE, "norm head")],
    "opt": [("decoder", LEARNED, PRE, "norm head")],
    "bert": [("encoder", BERTS, POST, "transform head")],
    "distilbert": [("encoder", "tokens embedding positions add norm", POST, "transform head")],
    "albert": [("encoder", BERTS, POST, "transform head")],
    "gemma2": [("decoder", "tokens embedding", SANDWICH, "norm head")],
    "olmo2": [("decoder", "tokens embedding", TWO_NORMS_AFTER, "norm head")],
    "gptj": [("decoder", "tokens embedding", BRANCHES, "norm head")],
    "phi": [("decoder", "tokens embedding", BRANCHES, "norm head")],
    "cohere": [("decoder", "tokens embedding", BRANCHES, "norm head")],
    "gpt_neox": [("decoder", "tokens embedding", "(norm attention | norm ffn) add", "norm head")],
    "falcon": [("decoder", "tokens embedding", "norm (attention | unknown) add", "norm head")],
    "bloom": [("decoder", "tokens embedding norm", PRE, "norm head")],
    "t5": [
        ("encoder", "tokens embedding", PRE, "norm"),
        ("decoder", "tokens embedding", PRE_CROSS, "norm transform head"),
    ],
    "bart": [
        ("encoder", "tokens embedding positions add norm", POST, ""),
        ("decoder", "tokens embedding positions add norm", POST_CROSS, "head"),
    ],
    "marian": [
        ("encoder", LEARNED, POST, ""),
        ("decoder", LEARNED, POST_CROSS, "head"),
    ],
}


@pytest.mark.parametrize("name", list(STRUCTURES))
def test_boxes_of_a_family(name):
    structure = family(name).model.structure
    found = [(one.name, words(one.before), words(one.blocks[0]), words(one.after)) for one in structure.stacks]
    assert found == STRUCTURES[name]
    assert all(words(block) == words(stack.blocks[0]) for stack in structure.stacks for block in stack.blocks)


def test_blocks_that_differ_are_drawn_as_they_are():
    """ModernBERT's first block has no norm before its attention; DeepSeek's second has experts beside a shared one."""
    modern = [words(block) for block in family("modernbert").model.structure.stack("encoder").blocks]
    assert modern == ["attention add norm ffn add", PRE, PRE, PRE]
    deepseek = [words(block) for block in family("deepseek_v3").model.structure.stack("decoder").blocks]
    assert deepseek == [PRE, "norm attention add norm (unknown | ffn) add"]


@pytest.mark.parametrize(
    ("changes", "block", "after"), [({"norm": "pre"}, PRE, "norm head"), ({"norm": "post"}, POST, "head")]
)
def test_our_own_model(tiny, scramble, changes, block, after):
    model = wrap(scramble(DecoderLM(tiny(positions="learned", **changes))))
    (stack,) = model.structure.stacks
    assert (words(stack.before), words(stack.blocks[1]), words(stack.after)) == (LEARNED, block, after)


def box(model: LoadedModel, name: str) -> Box:
    parts = [part for stack in model.structure.stacks for part in (stack.before, *stack.blocks, stack.after)]
    boxes = [one for part in parts for one in part]
    inner = [one for box in boxes for branch in box.label_values.get("branches", ()) for one in branch]
    return next(one for one in [*boxes, *inner] if one.name == name)


def test_facts_on_the_boxes():
    gemma = family("gemma2").model
    facts = box(gemma, "decoder.1.self").label_values
    assert (facts["heads"], facts["kv_heads"], facts["d_head"], facts["rotary"]) == (4, 2, 8, True)
    assert box(gemma, "decoder.1.norm1").label_values["kind"] == "rmsnorm"
    assert box(gemma, "decoder.1.ffn").label_values == {"activation": "gelu_tanh", "gated": True, "d_ff": 40}
    gpt2 = family("gpt2").model
    assert box(gpt2, "decoder.0.self").label_values["rotary"] is False
    assert box(gpt2, "decoder.0.ffn").label_values == {"activation": "gelu_tanh", "gated": False, "d_ff": 112}
    assert box(gpt2, "decoder.0.norm2").label_values["kind"] == "layernorm"
    assert box(gpt2, "logits").label_values["vocabulary"] == 53
    assert box(family("t5").model, "decoder.1.cross").kind == "cross"
    assert box(family("t5").model, "encoder.2.self").label_values["bias"] is True
    assert box(family("gptj").model, "decoder.2.ffn").kind == "ffn"


def test_every_box_has_a_name_of_its_own():
    for name in STRUCTURES:
        for stack in family(name).model.structure.stacks:
            names = [one.name for part in (stack.before, *stack.blocks, stack.after) for one in part]
            assert len(set(names)) == len(names), name


# --- sums and streams ------------------------------------------------------------------------------------------------


def test_sums_are_named():
    sums = family("gpt2").model.plan.sums
    assert sums["decoder.embed.sum"] == ("decoder.embed.token", "decoder.embed.position")
    assert sums["decoder.1.norm2.input"] == ("decoder.1.resid.before", "decoder.1.self.output")
    assert sums["decoder.1.resid.after"] == ("decoder.1.norm2.input", "decoder.1.ffn.output")
    bert = family("bert").model.plan.sums
    assert set(bert["encoder.embed.sum"]) == {f"encoder.embed.{kind}" for kind in ("token", "position", "segment")}
    assert bert["encoder.1.norm2.input"] == ("encoder.1.norm1.output", "encoder.1.ffn.output")
    gptj = family("gptj").model.plan.sums
    parts = ("resid.before", "self.output", "ffn.output")
    assert set(gptj["decoder.0.resid.after"]) == {f"decoder.0.{part}" for part in parts}


@pytest.mark.parametrize(
    ("name", "same_as"),
    [
        ("gpt2", "norm2.input"), ("gemma2", "norm3.input"), ("olmo2", "ffn.input"), ("bert", "norm1.output"),
        ("t5", "norm3.input"),
    ],
)  # fmt: skip
def test_the_stream_between_attention_and_feed_forward(name, same_as):
    model = family(name).model
    trace = run(model, ids=SOURCES[0], **({"target_ids": TARGETS[0]} if name == "t5" else {}))
    stack = model.structure.stacks[-1].name
    assert (trace[f"{stack}.1.resid.middle"] == trace[f"{stack}.1.{same_as}"]).all()


def test_branches_side_by_side_have_no_middle():
    trace = run(family("gptj").model, ids=SOURCES[0])
    assert not [site for site in trace.sites if site.endswith("resid.middle")]


def test_what_leaves_a_block_enters_the_next():
    trace = run(family("gpt2").model, ids=SOURCES[0])
    for layer in range(2):
        assert trace[f"decoder.{layer}.resid.after"] is trace[f"decoder.{layer + 1}.resid.before"]
    assert trace["decoder.final.norm.input"] is trace["decoder.2.resid.after"]
    assert trace["decoder.embed.sum"] is trace["decoder.0.resid.before"]


# --- what is not known is not drawn ----------------------------------------------------------------------------------


def test_a_multiplier_in_the_residual_is_not_drawn_as_a_plain_sum():
    """Granite adds 0.3 · attention(x): no + is claimed, and the trace says that the sum is not explained."""
    model = wrap(build("granite", residual_multiplier=0.3))
    (stack,) = model.structure.stacks
    for layer, block in enumerate(stack.blocks):
        kinds = words(block).split()
        assert "add" not in kinds and kinds.count("unknown") == 2 and {"attention", "norm"} <= set(kinds), kinds
        assert model.plan.lacks[f"decoder.{layer}.resid.after.sum"] == "lack.sum_unexplained"
    assert not [site for site in model.plan.sums if "resid" in site or "norm" in site]
    assert message("lack.sum_unexplained", "en") != message("lack.sum_unexplained", "zh")
    trace = run(model, ids=SOURCES[0])
    assert not [site for site in trace.sites if site.endswith(("resid.middle",))]
    assert trace["decoder.1.resid.after"].shape == (7, 24)


def test_blocks_without_attention_are_not_left_out_in_silence():
    """LFM2 has convolutions where others have attention: two of these three blocks could not be drawn."""
    model = wrap(build("lfm2", **LISTED["llama"], layer_types=["conv", "full_attention", "conv"]))
    (stack,) = model.structure.stacks
    assert [words(block) for block in stack.blocks] == ["attention"] and not stack.before and not stack.after
    trace = run(model, ids=SOURCES[0])
    assert trace.lacks["decoder.resid"] == "lack.no_blocks" and trace["decoder.0.self.weights"].shape == (6, 7, 7)


def test_a_feed_forward_of_an_unknown_kind_has_no_formula():
    model = family("mixtral").model
    assert model.plan.lacks["decoder.0.ffn"] == "lack.formula_unknown"
    experts = box(model, "decoder.0.ffn")
    assert experts.kind == "unknown" and experts.label_values["class"] == "MixtralExperts"
    trace = run(model, ids=SOURCES[0])
    assert "decoder.0.ffn.output" in trace.sites and "decoder.0.ffn.hidden" not in trace.sites


def test_a_norm_of_an_unknown_kind_has_no_formula(tiny, scramble):
    class OddNorm(nn.LayerNorm):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return super().forward(input).tanh()

    module = scramble(DecoderLM(tiny()))
    module.blocks[1].norm2 = OddNorm(28)
    model = wrap(module)
    assert box(model, "decoder.1.norm2").label_values["kind"] == "unknown"
    assert model.plan.lacks["decoder.1.norm2"] == "lack.formula_unknown"
    assert "decoder.1.norm2" not in model.plan.parts and "decoder.0.norm2" in model.plan.parts


def test_a_stack_without_blocks_says_so():
    """An attention that no numbered module holds: its box is drawn, no stream is claimed."""

    class Bare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            config = ModelConfig(vocab_size=53, max_positions=11, d_model=28, n_layers=1, n_heads=7)
            self.config, self.table, self.attention = config, nn.Embedding(53, 28), MultiHeadAttention(config)

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return self.attention(self.table(input_ids), causal=True)

    model = wrap(Bare().eval())
    trace = run(model, ids=[5, 7, 5])
    assert trace["decoder.0.self.weights"].shape == (7, 3, 3)
    assert trace.lacks["decoder.resid"] == "lack.no_blocks" and trace.top is None
    assert [words(block) for block in model.structure.stack("decoder").blocks] == ["attention"]
