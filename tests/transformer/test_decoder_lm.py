"""DecoderLM: parity with GPT-2 and Llama, laws (no look ahead, padding changes nothing), sizes known from outside."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from transformer import masks
from transformer.config import ModelConfig
from transformer.copied_weights import from_gpt2, from_llama
from transformer.decoder_lm import DecoderLM
from transformer.errors import ShapesDoNotFit, TooManyTokens, UnknownToken
from transformer.positions import sinusoidal_table
from transformer.text_input import count_positions

IDS = torch.tensor([[5, 41, 5, 0, 52], [7, 7, 19, 3, 11]])
LEFT_PADDED = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
KINDS = [
    {"positions": "sinusoidal", "scale_embeddings": True},
    {"positions": "learned", "norm": "post", "activation": "relu"},
    {"positions": "rotary", "n_kv_heads": 1, "norm_kind": "rmsnorm", "activation": "swiglu", "ffn_bias": False},
    {"positions": "none", "tied_embeddings": False, "d_head": 6},
]


@pytest.fixture(scope="module")
def gpt2_pair(tiny, scramble):
    config = GPT2Config(
        vocab_size=53, n_positions=11, n_embd=28, n_layer=3, n_head=7, n_inner=31, bos_token_id=None, eos_token_id=None
    )
    theirs = scramble(GPT2LMHeadModel(config))
    ours = DecoderLM(tiny(d_ff=31, positions="learned", activation="gelu_tanh")).eval()
    ours.load_state_dict(from_gpt2(theirs))
    return ours, theirs


@pytest.fixture(scope="module")
def llama_pair(scramble):
    """Grouped heads (6 share 2), a head size of its own (10, not 42 / 6), a head that is not tied."""
    config = LlamaConfig(
        vocab_size=53, max_position_embeddings=11, hidden_size=42, intermediate_size=31, num_hidden_layers=3,
        num_attention_heads=6, num_key_value_heads=2, head_dim=10, rms_norm_eps=1e-6, bos_token_id=None,
        eos_token_id=None, rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    )  # fmt: skip
    theirs = scramble(LlamaForCausalLM(config))
    ours = DecoderLM(
        ModelConfig(
            53, 11, d_model=42, n_layers=3, n_heads=6, n_kv_heads=2, d_head=10, d_ff=31, norm_kind="rmsnorm",
            norm_eps=1e-6, positions="rotary", rotary_base=500.0, activation="swiglu", tied_embeddings=False,
            attention_bias=False, ffn_bias=False,
        )
    ).eval()  # fmt: skip
    ours.load_state_dict(from_llama(theirs))
    return ours, theirs


@pytest.mark.parametrize("pair", ["gpt2_pair", "llama_pair"])
@pytest.mark.parametrize("mask", [None, LEFT_PADDED, LEFT_PADDED.flip(1)], ids=["whole", "left", "right"])
def test_same_weights_give_hugging_faces_logits(request, pair, mask):
    ours, theirs = request.getfixturevalue(pair)
    with torch.no_grad():
        out = ours(input_ids=IDS, attention_mask=mask).logits
        reference = theirs(input_ids=IDS, attention_mask=mask, position_ids=count_positions(IDS, mask)).logits
    real = torch.ones_like(IDS).bool() if mask is None else mask.bool()
    assert out.shape == (2, 5, 53)
    assert reference.std() > 0.3
    torch.testing.assert_close(out[real], reference[real], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["positions"])
@given(changed_at=st.integers(1, 4), new_id=st.integers(0, 52), seed=st.integers(0, 99))
def test_a_later_token_never_changes_earlier_logits(tiny, scramble, kind, changed_at, new_id, seed):
    model = scramble(DecoderLM(tiny(**kind)), seed)
    changed = IDS.clone()
    changed[:, changed_at] = new_id
    with torch.no_grad():
        before, after = model(IDS).logits, model(changed).logits
    torch.testing.assert_close(after[:, :changed_at], before[:, :changed_at], atol=1e-6, rtol=0)
    for was, now, old_id in zip(before, after, IDS[:, changed_at], strict=True):
        assert (old_id == new_id) == torch.allclose(was[changed_at:], now[changed_at:], atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["positions"])
@given(left=st.integers(0, 3), right=st.integers(0, 3), pad_id=st.integers(0, 52))
def test_padding_on_either_side_changes_nothing(tiny, scramble, kind, left, right, pad_id):
    model = scramble(DecoderLM(tiny(**kind)))
    padded = nn.functional.pad(IDS, (left, right), value=pad_id)
    mask = nn.functional.pad(torch.ones_like(IDS), (left, right))
    with torch.no_grad():
        whole, out = model(IDS).logits, model(padded, mask).logits
    torch.testing.assert_close(out[:, left : left + 5], whole, atol=1e-5, rtol=1e-6)


def test_unpadded_text_takes_the_fast_path_and_padded_text_a_mask(tiny):
    model, seen = DecoderLM(tiny()), []

    def note(_module, args, kwargs):
        seen.append((args[1], kwargs["causal"]))

    model.blocks[0].register_forward_pre_hook(note, with_kwargs=True)
    for mask in (None, torch.ones_like(IDS), LEFT_PADDED):
        model(IDS, mask)
    assert seen[0] == seen[1] == (None, True)
    allowed, causal = seen[2]
    assert not causal
    assert torch.equal(allowed, masks.combined(masks.causal(5), masks.padding(LEFT_PADDED)))


def test_positions_are_counted_over_the_real_tokens():
    counted = count_positions(IDS, torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]]))
    assert counted.tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 2, 2]]
    assert count_positions(IDS).tolist() == [[0, 1, 2, 3, 4]] * 2


def test_residual_stream_begins_as_token_plus_position(tiny):
    model, seen = DecoderLM(tiny(scale_embeddings=True)), []
    model.blocks[0].register_forward_pre_hook(lambda _module, args: seen.append(args[0]))
    model(IDS, position_ids=torch.tensor([[3, 4, 5, 6, 7]]))
    by_hand = model.embedding.tokens.weight[IDS] * 28**0.5 + sinusoidal_table(11, 28)[3:8]
    torch.testing.assert_close(seen[0], by_hand, atol=1e-6, rtol=0)
    tokens = model.embedding.tokens
    torch.testing.assert_close(tokens(IDS), tokens.weight[IDS] * 28**0.5, atol=1e-6, rtol=0)


def test_dropout_takes_from_the_sum_of_token_and_position(tiny):
    model, seen = DecoderLM(tiny(dropout=0.5)), []
    model.blocks[0].register_forward_pre_hook(lambda _module, args: seen.append(args[0]))
    model.eval()(IDS)
    model.train()(IDS)
    dropped = seen[1] == 0
    assert 0.3 < dropped.float().mean() < 0.7
    torch.testing.assert_close(seen[1][~dropped], 2 * seen[0][~dropped])


def test_a_final_norm_only_where_the_last_block_has_none(tiny):
    post, seen = DecoderLM(tiny(norm="post")), []
    assert post.norm is None
    assert DecoderLM(tiny()).norm is not None
    post.head.register_forward_pre_hook(lambda _module, args: seen.append(args[0]))
    post(IDS)
    torch.testing.assert_close(seen[0].std(-1, correction=0), torch.ones(2, 5), atol=1e-3, rtol=0)


def test_weights_come_from_the_generator_that_is_passed_in(tiny):
    first, again, other = (DecoderLM(tiny(d_ff=997), generator=torch.Generator().manual_seed(s)) for s in (3, 3, 4))
    for (name, a), b, c in zip(first.named_parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a, c) == (a.dim() == 1), name
        if a.dim() == 1:
            assert torch.equal(a, torch.ones_like(a) if "norm" in name and "weight" in name else torch.zeros_like(a))
    big = first.blocks[2].feedforward.up.weight
    assert big.std().item() == pytest.approx(0.02, rel=0.03)
    assert abs(big.mean().item()) < 0.001


def test_parameters_by_hand(tiny):
    attention = 3 * 4 * (28 * 28 + 28)
    feedforward = 3 * (112 * 28 + 112 + 28 * 112 + 28)
    assert DecoderLM(tiny()).parameter_counts() == {
        "embedding": 53 * 28, "attention": attention, "feedforward": feedforward, "norm": 7 * 2 * 28, "head": 0,
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["positions"])
def test_parts_add_up_to_the_model(tiny, kind):
    model = DecoderLM(tiny(**kind))
    counts = model.parameter_counts()
    assert sum(counts.values()) == sum(parameter.numel() for parameter in model.parameters())
    assert counts["head"] == (0 if kind.get("tied_embeddings", True) else 53 * 28)
    assert ("positions" in counts) == (kind["positions"] == "learned")
    assert (model.head.weight is model.embedding.tokens.weight) == kind.get("tied_embeddings", True)


@pytest.mark.parametrize(
    ("config", "total"),
    [
        (ModelConfig(50257, 1024, 768, 12, 12, positions="learned"), 124_439_808),  # GPT-2 small
        (
            ModelConfig(
                49152, 2048, 576, 30, 9, n_kv_heads=3, d_ff=1536, norm_kind="rmsnorm", positions="rotary",
                activation="swiglu", attention_bias=False, ffn_bias=False,
            ),
            134_515_008,  # SmolLM2-135M
        ),
    ],
    ids=["gpt2", "smollm2"],
)  # fmt: skip
def test_known_models_have_their_known_number_of_parameters(config, total):
    with torch.device("meta"):
        assert sum(DecoderLM(config).parameter_counts().values()) == total


@pytest.mark.parametrize(
    ("error", "values", "changed"),
    [
        (TooManyTokens, {"got": 13, "limit": 11, "model": "DecoderLM"}, {"input_ids": torch.ones(2, 13).long()}),
        (TooManyTokens, {"got": 12}, {"position_ids": IDS.clamp(max=11)}),
        (UnknownToken, {"token": 53, "last": 52}, {"input_ids": IDS + 1}),
        (UnknownToken, {"token": -1, "last": 52}, {"input_ids": IDS - 1}),
        (ShapesDoNotFit, {"what": "input_ids", "got": "(5,) torch.int64"}, {"input_ids": IDS[0]}),
        (ShapesDoNotFit, {"what": "input_ids", "got": "(2, 0) torch.int64"}, {"input_ids": IDS[:, :0]}),
        (ShapesDoNotFit, {"what": "input_ids", "got": "(2, 5) torch.float32"}, {"input_ids": IDS.float()}),
        (ShapesDoNotFit, {"what": "attention_mask", "got": (2, 4)}, {"attention_mask": LEFT_PADDED[:, 1:]}),
        (ShapesDoNotFit, {"what": "attention_mask", "got": (1, 5)}, {"attention_mask": LEFT_PADDED[:1]}),
        (ShapesDoNotFit, {"what": "position_ids", "got": (5,)}, {"position_ids": torch.arange(5)}),
        (ShapesDoNotFit, {"what": "position_ids", "got": -5}, {"position_ids": IDS - 5}),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tiny, error, values, changed):
    with pytest.raises(error) as caught:
        DecoderLM(tiny())(**{"input_ids": IDS} | changed)
    assert values.items() <= caught.value.values.items()
    assert caught.value.text("zh") != caught.value.text("en")
