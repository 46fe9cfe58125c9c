"""Whole stacks against torch's `nn.TransformerEncoder` and `nn.TransformerDecoder`, layer by layer, equal weights."""

import pytest
import torch
from torch import nn

from tests.transformer.torch_layers import from_torch, random_layer
from transformer import masks
from transformer.encoder_decoder import EncoderDecoder

SOURCE = torch.tensor([[5, 41, 5, 0, 52], [7, 7, 19, 3, 11]])
TARGET = torch.tensor([[2, 9, 9], [4, 17, 6]])
SOURCE_REAL = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
TARGET_REAL = torch.tensor([[1, 1, 1], [1, 1, 0]])


@pytest.fixture(params=["pre", "post"])
def pair(request, tiny):
    """Our model, and torch's two stacks with the same weights; in the post form torch's have no last norm either."""
    pre = request.param == "pre"
    ours = EncoderDecoder(tiny(norm=request.param, activation="relu", d_ff=31, scale_embeddings=True))
    layer = {"dropout": 0.0, "activation": "relu", "batch_first": True, "norm_first": pre}
    last = (nn.LayerNorm(28), nn.LayerNorm(28)) if pre else (None, None)
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(28, 7, 31, **layer), 3, norm=last[0], enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(28, 7, 31, **layer), 3, norm=last[1])
    for theirs, mine, seed in ((encoder, ours.encoder, 7), (decoder, ours.decoder, 8)):
        random_layer(theirs, seed)
        for one, block in zip(theirs.layers, mine.blocks, strict=True):
            block.load_state_dict(from_torch(one))
        if theirs.norm is not None:
            mine.norm.load_state_dict(theirs.norm.state_dict())
    return ours.double(), encoder.double(), decoder.double()  # so that nothing but the formulas can differ


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_encoder_and_decoder_are_torchs(pair, padded):
    ours, encoder, decoder = pair
    source_real, target_real = (SOURCE_REAL, TARGET_REAL) if padded else (None, None)
    memory = encoder(ours.encoder.embedding(SOURCE, torch.arange(5)[None]), src_key_padding_mask=_hidden(source_real))
    mine = ours.encode(SOURCE, source_real)
    real = torch.ones_like(SOURCE).bool() if source_real is None else source_real.bool()
    torch.testing.assert_close(mine[real], memory[real], atol=1e-12, rtol=0)
    wanted = decoder(
        ours.decoder.embedding(TARGET, torch.arange(3)[None]),
        memory,
        tgt_mask=~masks.causal(3),
        tgt_key_padding_mask=_hidden(target_real),
        memory_key_padding_mask=_hidden(source_real),
    )
    found = ours(SOURCE, source_real, TARGET, target_real).logits
    real = torch.ones_like(TARGET).bool() if target_real is None else target_real.bool()
    torch.testing.assert_close(found[real], (wanted @ ours.head.weight.T)[real], atol=1e-12, rtol=0)
    assert wanted.std() > 0.3


def test_gradients_are_torchs_too(pair):
    ours, encoder, decoder = pair
    memory = encoder(ours.encoder.embedding(SOURCE, torch.arange(5)[None]))
    theirs = decoder(ours.decoder.embedding(TARGET, torch.arange(3)[None]), memory, tgt_mask=~masks.causal(3))
    (theirs @ ours.head.weight.T).square().sum().backward()
    wanted = ours.encoder.embedding.tokens.weight.grad.clone()
    ours.zero_grad()
    ours(SOURCE, None, TARGET).logits.square().sum().backward()
    torch.testing.assert_close(ours.encoder.embedding.tokens.weight.grad, wanted, atol=1e-10, rtol=0)
    first = encoder.layers[0].self_attn.in_proj_weight.grad.chunk(3)[1]
    torch.testing.assert_close(ours.encoder.blocks[0].attention.key.weight.grad, first, atol=1e-10, rtol=0)
    assert first.abs().max() > 1e-4


def _hidden(real: torch.Tensor | None) -> torch.Tensor | None:
    """torch says it the other way round: True = padding."""
    return None if real is None else real == 0
