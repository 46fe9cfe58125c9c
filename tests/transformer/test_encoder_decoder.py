"""EncoderDecoder: both tutorials' models by their numbers, and the laws of reading one text and writing another."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer.config import ModelConfig
from transformer.encoder_decoder import EncoderDecoder
from transformer.errors import ShapesDoNotFit, TooManyTokens, UnknownToken
from transformer.parameter_counts import parameter_counts

SOURCE = torch.tensor([[5, 41, 5, 0, 52], [7, 7, 19, 3, 11]])
TARGET = torch.tensor([[2, 9, 1, 9], [4, 4, 17, 6]])
KINDS = [
    {"positions": "sinusoidal", "scale_embeddings": True, "norm": "post", "activation": "relu"},
    {"positions": "learned", "embedding_norm": True},
    {"positions": "rotary", "n_kv_heads": 1, "norm_kind": "rmsnorm", "activation": "swiglu", "ffn_bias": False},
    {"positions": "alibi", "tied_embeddings": False, "d_head": 6, "window": 2},
]
ANNOTATED = ModelConfig(  # transformer_model(10, 10, 2) of The Annotated Transformer
    vocab_size=10, max_positions=64, d_model=512, n_layers=2, n_heads=8, d_ff=2048, norm="post", activation="relu",
    scale_embeddings=True, tied_embeddings=False, dropout=0.1, init="xavier",
)  # fmt: skip


def kinds(name: str = "kind"):
    return pytest.mark.parametrize(name, KINDS, ids=lambda kind: kind["positions"])


# --- the tutorials' models -------------------------------------------------------------------------------------------


@torch.no_grad()
def test_the_annotated_transformer_writes_ten_steps_from_a_start_symbol():
    model = EncoderDecoder(ANNOTATED, share_embeddings=False, generator=torch.Generator().manual_seed(1)).eval()
    source = torch.arange(1, 11)[None] % 10
    mask = torch.ones(1, 10)
    memory, cache = model.encode(source, mask), model.new_cache()
    assert memory.shape == (1, 10, 512)
    written = torch.ones(1, 1).long()  # the start symbol
    for length in range(1, 11):
        logits = model.decode(written, memory, mask).logits
        assert logits.shape == (1, length, 10)
        next_logits = model.decode(written[:, -1:], memory, mask, cache=cache).logits
        torch.testing.assert_close(next_logits, logits[:, -1:], atol=2e-5, rtol=0)
        probabilities = logits[:, -1].log_softmax(-1).exp()  # over the vocabulary, and not over the positions
        assert probabilities.sum().item() == pytest.approx(1.0, abs=1e-6)
        written = torch.cat((written, logits[:, -1:].argmax(-1)), dim=1)
    assert written.shape == (1, 11) and cache.length == 10


def test_its_parameters_by_hand():
    attention, feedforward = 4 * (512 * 512 + 512), 512 * 2048 + 2048 + 2048 * 512 + 512
    with torch.device("meta"):
        counts = parameter_counts(EncoderDecoder(ANNOTATED, share_embeddings=False))
    assert counts == {
        "embedding": 2 * 10 * 512, "attention": 2 * 3 * attention, "feedforward": 2 * 2 * feedforward,
        "norm": 2 * 5 * 2 * 512, "head": 10 * 512,
    }  # fmt: skip


@torch.no_grad()
def test_the_continuation_of_the_other_tutorial_feeds_both_sides_the_same(tiny, scramble):
    """Ten more tokens, each the likeliest after the text so far, which encoder and decoder both read."""
    model, ids = scramble(EncoderDecoder(tiny(max_positions=17))), SOURCE
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    assert torch.equal(model(ids).logits, model(ids, None, ids).logits)
    assert torch.equal(model(ids, mask).logits, model(ids, mask, ids, mask).logits)
    for _ in range(10):
        ids = torch.cat((ids, model(ids).logits[:, -1:].argmax(-1)), dim=1)
    assert ids.shape == (2, 15)


# --- laws ------------------------------------------------------------------------------------------------------------


@kinds()
@settings(max_examples=10)
@given(changed_at=st.integers(1, 3), new_id=st.integers(0, 52))
def test_a_later_target_token_never_changes_earlier_logits(tiny, scramble, kind, changed_at, new_id):
    model = scramble(EncoderDecoder(tiny(**kind)))
    changed = TARGET.clone()
    changed[:, changed_at] = new_id
    with torch.no_grad():
        before, after = (model(SOURCE, decoder_input_ids=ids).logits for ids in (TARGET, changed))
    torch.testing.assert_close(after[:, :changed_at], before[:, :changed_at], atol=1e-6, rtol=0)
    for was, now, old_id in zip(before, after, TARGET[:, changed_at], strict=True):
        assert (old_id == new_id) == torch.allclose(was[changed_at:], now[changed_at:], atol=1e-6, rtol=0)


@kinds()
@settings(max_examples=10)
@given(left=st.integers(0, 3), right=st.integers(0, 3), pad_id=st.integers(0, 52))
def test_padding_of_either_text_on_either_side_changes_nothing(tiny, scramble, kind, left, right, pad_id):
    model = scramble(EncoderDecoder(tiny(**kind)))

    def padded(ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mask = nn.functional.pad(torch.ones_like(ids), (left, right))
        return nn.functional.pad(ids, (left, right), value=pad_id), mask

    (source, source_mask), (target, target_mask) = padded(SOURCE), padded(TARGET)
    with torch.no_grad():
        whole = model(SOURCE, None, TARGET).logits
        source_only = model(source, source_mask, TARGET).logits
        both = model(source, source_mask, target, target_mask).logits
    torch.testing.assert_close(source_only, whole, atol=1e-5, rtol=1e-6)
    torch.testing.assert_close(both[:, left : left + 4], whole, atol=1e-5, rtol=1e-6)


@kinds()
@torch.no_grad()
def test_every_source_token_has_a_say_in_every_target_position(tiny, scramble, kind):
    model = scramble(EncoderDecoder(tiny(**kind)))
    before = model(SOURCE, None, TARGET).logits
    for place in range(5):
        changed = SOURCE.clone()
        changed[:, place] = 17
        assert ((model(changed, None, TARGET).logits - before).abs().amax(-1) > 1e-5).all(), place


def test_a_mask_of_another_source_is_refused(tiny):
    model = EncoderDecoder(tiny())
    memory = model.encode(SOURCE)
    for mask in (torch.ones(2, 4), torch.ones(1, 5), torch.ones(2, 1)):  # the last two would be stretched in silence
        with pytest.raises(ShapesDoNotFit) as caught:
            model.decode(TARGET, memory, mask)
        assert caught.value.values == {"what": "memory_mask", "expected": (2, 5), "got": tuple(mask.shape)}


@torch.no_grad()
def test_forward_is_encode_then_decode(tiny, scramble):
    model, mask = scramble(EncoderDecoder(tiny())), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    memory = model.encode(SOURCE, mask)
    assert torch.equal(memory, model.encoder(SOURCE, mask).last_hidden_state)
    assert torch.equal(model(SOURCE, mask, TARGET).logits, model.decode(TARGET, memory, mask).logits)
    assert (model.decode(TARGET, memory).logits - model.decode(TARGET, memory, mask).logits).abs().max() > 1e-4


# --- one table or several --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "tied", "tables"), [(True, True, 1), (True, False, 2), (False, True, 2), (False, False, 3)]
)
def test_tables_are_shared_as_asked(tiny, share, tied, tables):
    model = EncoderDecoder(tiny(tied_embeddings=tied), share_embeddings=share)
    source, target = model.encoder.embedding.tokens.weight, model.decoder.embedding.tokens.weight
    assert (source is target) == share and (model.head.weight is target) == tied
    assert len({id(source), id(target), id(model.head.weight)}) == tables
    counts = parameter_counts(model)
    assert counts["embedding"] + counts["head"] == tables * 53 * 28
    assert sum(counts.values()) == sum(one.numel() for one in model.parameters())


def test_final_norms_only_in_the_pre_form(tiny):
    pre, post = EncoderDecoder(tiny()), EncoderDecoder(tiny(norm="post"))
    assert pre.encoder.norm is not None and pre.decoder.norm is not None
    assert post.encoder.norm is None and post.decoder.norm is None


@pytest.mark.parametrize(
    ("error", "values", "changed"),
    [
        (TooManyTokens, {"got": 13, "limit": 11, "model": "Encoder"}, {"input_ids": torch.ones(2, 13).long()}),
        (TooManyTokens, {"got": 13, "model": "Decoder"}, {"decoder_input_ids": torch.ones(2, 13).long()}),
        (UnknownToken, {"token": 53}, {"decoder_input_ids": TARGET + 36}),
        (ShapesDoNotFit, {"what": "attention_mask", "got": (2, 4)}, {"attention_mask": torch.ones(2, 4)}),
        (ShapesDoNotFit, {"what": "attention_mask", "got": (2, 5)}, {"decoder_attention_mask": torch.ones(2, 5)}),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tiny, error, values, changed):
    with pytest.raises(error) as caught:
        EncoderDecoder(tiny())(**{"input_ids": SOURCE, "decoder_input_ids": TARGET} | changed)
    assert values.items() <= caught.value.values.items()
