"""ours_like: every family's numbers come out of our classes, and what ours cannot express is refused by name."""

import copy

import pytest
import torch
from torch import nn
from transformers import DynamicCache, T5Config, T5ForConditionalGeneration

from tests.transformer import tiny_hugging_face as tiny_of
from tests.transformer.families import scramble as spread
from transformer import run, wrap
from transformer.copied_weights import CannotCopy, ours_like
from transformer.copying import renamed
from transformer.decoder_lm import DecoderLM
from transformer.encoder import Encoder
from transformer.encoder_classifier import EncoderClassifier
from transformer.encoder_decoder import EncoderDecoder
from transformer.replay import replay
from transformer.text_input import count_positions
from transformer.vision import VisionTransformer

IDS = torch.tensor([[5, 41, 5, 0, 52], [7, 7, 19, 3, 11]])
SEGMENTS = torch.tensor([[0, 0, 1, 1, 1], [0, 0, 0, 0, 1]])
TARGETS = torch.tensor([[2, 9, 1, 9], [4, 4, 17, 6]])
LEFT = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
RIGHT = LEFT.flip(1)
TARGET_RIGHT = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
CLASSES = {
    "gpt2": DecoderLM, "llama": DecoderLM, "bloom": DecoderLM, "bert": Encoder, "bert_classifier": EncoderClassifier,
    "bart": EncoderDecoder, "vit": VisionTransformer,
}  # fmt: skip
DECODERS = [
    ("gpt2", {}),
    ("gpt2", {"activation_function": "gelu", "tie_word_embeddings": False, "layer_norm_epsilon": 0.01}),
    ("gpt2", {"activation_function": "relu", "n_inner": None}),
    ("llama", {}),
    ("llama", {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True, "num_key_value_heads": 1}),
    ("llama", {"num_key_value_heads": 6, "head_dim": None, "hidden_size": 36}),
    ("bloom", {}),
    ("bloom", {"hidden_size": 40, "n_head": 8, "tie_word_embeddings": False}),
]


def pair(scramble, name: str, **changes: object) -> tuple[nn.Module, nn.Module]:
    """Ours and theirs, with random weights in norms and biases too."""
    theirs = scramble(tiny_of.EVERY[name](**changes))
    return ours_like(theirs), theirs


def assert_same(ours: torch.Tensor, theirs: torch.Tensor, mask: torch.Tensor | None = None) -> None:
    real = torch.ones(theirs.shape[:2]).bool() if mask is None else mask.bool()
    assert ours.shape == theirs.shape and theirs.std() > 0.1
    torch.testing.assert_close(ours[real], theirs[real], atol=1e-5, rtol=0)


# --- parity ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "changes"), DECODERS, ids=lambda one: one if isinstance(one, str) else "-".join(one))
@pytest.mark.parametrize("mask", [None, LEFT, RIGHT], ids=["whole", "left", "right"])
@torch.no_grad()
def test_decoders_give_the_same_logits(scramble, name, changes, mask):
    ours, theirs = pair(scramble, name, **changes)
    where = {} if name == "bloom" else {"position_ids": count_positions(IDS, mask)}  # BLOOM counts by the mask itself
    assert_same(ours(IDS, mask).logits, theirs(IDS, attention_mask=mask, **where).logits, mask)


@pytest.mark.parametrize("changes", [{}, {"hidden_act": "relu"}, {"hidden_act": "gelu_new", "type_vocab_size": 3}])
@pytest.mark.parametrize("mask", [None, RIGHT], ids=["whole", "right"])
@torch.no_grad()
def test_bert_gives_the_same_hidden_states(scramble, changes, mask):
    ours, theirs = pair(scramble, "bert", **changes)
    for segments in (None, SEGMENTS):
        wanted = theirs(IDS, attention_mask=mask, token_type_ids=segments).last_hidden_state
        assert_same(ours(IDS, mask, segments).last_hidden_state, wanted, mask)


@torch.no_grad()
def test_bert_counts_positions_through_padding_and_ours_does_when_told_to(scramble):
    ours, theirs = pair(scramble, "bert")
    wanted = theirs(IDS, attention_mask=LEFT).last_hidden_state
    assert_same(ours(IDS, LEFT, position_ids=torch.arange(5)[None]).last_hidden_state, wanted, LEFT)
    assert (ours(IDS, LEFT).last_hidden_state - wanted)[0, 2:].abs().max() > 1e-3


@pytest.mark.parametrize("mask", [None, RIGHT], ids=["whole", "right"])
@torch.no_grad()
def test_bert_classifies_the_same(scramble, mask):
    ours, theirs = pair(scramble, "bert_classifier")
    wanted = theirs(IDS, attention_mask=mask, token_type_ids=SEGMENTS).logits
    assert wanted.shape == (2, 3)
    assert_same(ours(IDS, mask, SEGMENTS).logits, wanted)


@pytest.mark.parametrize("scale", [True, False], ids=["scaled", "unscaled"])
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@torch.no_grad()
def test_bart_gives_the_same_logits(scramble, scale, tied):
    ours, theirs = pair(scramble, "bart", scale_embedding=scale, tie_word_embeddings=tied)
    for mask, target_mask in ((None, None), (RIGHT, None), (RIGHT, TARGET_RIGHT)):
        wanted = theirs(IDS, attention_mask=mask, decoder_input_ids=TARGETS, decoder_attention_mask=target_mask).logits
        assert_same(ours(IDS, mask, TARGETS, target_mask).logits, wanted, target_mask)
    tables = {id(ours.encoder.embedding.tokens.weight), id(ours.decoder.embedding.tokens.weight), id(ours.head.weight)}
    assert len(tables) == (1 if tied else 3)


@pytest.mark.parametrize("changes", [{}, {"image_size": (6, 6), "patch_size": [3, 3], "num_channels": 1}])
@torch.no_grad()
def test_vit_gives_the_same_logits(scramble, changes):
    ours, theirs = pair(scramble, "vit", **changes)
    pixels = torch.rand(2, theirs.config.num_channels, 6, 6, generator=torch.Generator().manual_seed(3))
    assert_same(ours(pixels).logits, theirs(pixels).logits)


@torch.no_grad()
def test_going_on_from_a_cache_is_hugging_faces_too(scramble):
    """Theirs keeps keys and values of its own kind; both read two tokens, then three."""
    for name in ("gpt2", "llama"):
        ours, theirs = pair(scramble, name)
        cache, their_cache = ours.new_cache(), DynamicCache()
        for begin, end in ((0, 2), (2, 5)):
            wanted = theirs(IDS[:, begin:end], cache=their_cache, use_cache=True)
            assert_same(ours(IDS[:, begin:end], cache=cache).logits, wanted.logits)


# --- what a copy is --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_a_copy_is_of_our_class_and_shares_nothing_with_what_it_was_copied_from(scramble, name):
    ours, theirs = pair(scramble, name)
    assert type(ours) is CLASSES[name] and not ours.training
    assert {one.dtype for one in ours.parameters()} == {torch.float32}
    before = [one.clone() for one in theirs.parameters()]
    with torch.no_grad():
        for one in ours.parameters():
            one.add_(1.0)
    assert all(torch.equal(one, old) for one, old in zip(theirs.parameters(), before, strict=True))


@pytest.mark.parametrize("name", CLASSES)
def test_copying_draws_no_random_numbers_and_misses_no_weight(scramble, name):
    theirs = scramble(tiny_of.EVERY[name]())
    state = torch.get_rng_state()
    first, again = ours_like(theirs), ours_like(theirs)
    assert torch.equal(torch.get_rng_state(), state)
    for a, b in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b) and a.isfinite().all()
    left_out = {"bert": ("pooler.",), "bart": ("model.shared.",)}.get(name, ())
    wanted = [one.numel() for key, one in theirs.named_parameters() if not key.startswith(left_out)]
    if name == "bart":  # its tied table goes by the name of `shared`; the two tables' unused rows are left behind
        wanted += [53 * 28, -2 * 2 * 28]
    assert sum(one.numel() for one in first.parameters()) == sum(wanted)


def test_half_precision_weights_become_float32(scramble):
    theirs = scramble(tiny_of.gpt2()).to(torch.bfloat16)
    ours = ours_like(theirs)
    assert torch.equal(ours.norm.weight, theirs.transformer.ln_f.weight.float())


@pytest.mark.parametrize("name", CLASSES)
def test_a_copy_is_seen_through_as_its_original(name):
    theirs = spread(tiny_of.EVERY[name]())
    ours = wrap(ours_like(theirs))
    wanted = {"image": torch.rand(3, 6, 6).numpy()} if name == "vit" else {"ids": [5, 7, 9, 7, 3]}
    trace = run(ours, **wanted, **({"target_ids": [2, 9, 9]} if name == "bart" else {}))
    seals = replay(trace)
    assert len(seals) > 20 and all(one.holds for one in seals) and not ours.weights_only
    assert trace.lacks == ({"logits": "lack.no_head"} if name == "bert" else {})
    original = wrap(theirs)
    if name == "bloom":  # it keeps its attention to itself: only our class shows its queries and keys
        assert original.weights_only
        return
    drawn, wanted = ([(one.name, one.blocks, one.after) for one in x.structure.stacks] for x in (ours, original))
    assert drawn == wanted


# --- what is refused -------------------------------------------------------------------------------------------------

LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 500.0}
PARTIAL = {"rope_type": "default", "partial_rotary_factor": 0.5, "rope_theta": 500.0}


@pytest.mark.parametrize(
    ("name", "changes", "what", "got"),
    [
        ("gpt2", {"activation_function": "silu"}, "activation_function", "silu"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights", "False"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx", "True"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention", "True"),
        ("llama", {"rope_parameters": LINEAR}, "rope_type", "linear"),
        ("llama", {"rope_parameters": PARTIAL}, "partial_rotary_factor", "0.5"),
        ("llama", {"hidden_act": "gelu"}, "hidden_act", "gelu"),
        (
            "bloom",
            {"apply_residual_connection_post_layernorm": True},
            "apply_residual_connection_post_layernorm",
            "True",
        ),
        ("bert", {"is_decoder": True}, "is_decoder", "True"),
        ("bert_classifier", {"hidden_act": "tanh"}, "hidden_act", "tanh"),
        ("bart", {"decoder_layers": 2}, "decoder_layers", "2"),
        ("bart", {"decoder_ffn_dim": 37}, "decoder_ffn_dim", "37"),
        ("bart", {"decoder_attention_heads": 4}, "decoder_attention_heads", "4"),
        ("bart", {"activation_function": "swish"}, "activation_function", "swish"),
        ("vit", {"qkv_bias": False}, "qkv_bias", "False"),
        ("vit", {"image_size": (6, 8)}, "image_size", "(6, 8)"),
        ("vit", {"num_labels": 0}, "num_labels", "0"),
    ],
)  # fmt: skip
def test_what_our_classes_cannot_express_is_refused_and_named(name, changes, what, got):
    with pytest.raises(CannotCopy) as caught:
        ours_like(tiny_of.EVERY[name](**changes))
    assert (caught.value.values["what"], caught.value.values["got"]) == (what, got)
    for language in ("en", "zh"):
        assert what in caught.value.text(language) and str(caught.value.values["known"]) in caught.value.text(language)


def test_a_bias_of_the_logits_is_refused():
    theirs = tiny_of.bart()
    theirs.final_logits_bias[0, 3] = -0.5
    with pytest.raises(CannotCopy) as caught:
        ours_like(theirs)
    assert (caught.value.values["what"], caught.value.values["got"]) == ("final_logits_bias", "0.5")


def test_other_classes_are_refused_even_those_derived_from_one_we_know():
    t5 = T5ForConditionalGeneration(T5Config(vocab_size=53, d_model=28, d_kv=4, d_ff=31, num_layers=2, num_heads=7))
    own = copy.deepcopy(tiny_of.gpt2())
    own.__class__ = type("Changed", (type(own),), {})
    for theirs in (t5, own, nn.Linear(2, 3)):
        with pytest.raises(CannotCopy, match=type(theirs).__name__) as caught:
            ours_like(theirs)
        assert "LlamaForCausalLM" in caught.value.text("zh")


def test_a_tensor_of_another_name_is_refused():
    theirs = tiny_of.gpt2()
    theirs.transformer.h[1].attn.adapter = nn.Linear(2, 3)
    with pytest.raises(CannotCopy, match=r"h\.1\.attn\.adapter\.weight"):
        ours_like(theirs)


def test_names_by_hand():
    """N is the layer's number, 12 here and not 1."""
    one = torch.ones(1)
    names = {"wte": "embedding.tokens", "h.N.ln_1": "blocks.N.norm1"}
    assert renamed(nn.Identity(), {"wte.weight": one, "h.12.ln_1.bias": one}, names) == {
        "embedding.tokens.weight": one, "blocks.12.norm1.bias": one,
    }  # fmt: skip
