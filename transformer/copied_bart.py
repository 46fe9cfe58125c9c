"""BART's weights in our `EncoderDecoder`.

Lewis et al. 2020: Vaswani et al. 2017 with GELU, learned positions and a norm right after the embedding.
"""

from functools import partial
from typing import Any

from torch import Tensor

from transformer.config import ModelConfig
from transformer.copying import activation, filled, renamed, require, setting
from transformer.encoder_decoder import EncoderDecoder

_OFFSET = 2  # the first rows of its tables of positions are never used
_LAYER = {
    "self_attn.q_proj": "attention.query",
    "self_attn.k_proj": "attention.key",
    "self_attn.v_proj": "attention.value",
    "self_attn.out_proj": "attention.output",
    "self_attn_layer_norm": "norm1",
    "fc1": "feedforward.up",
    "fc2": "feedforward.down",
}
_ACROSS = {
    "encoder_attn.q_proj": "cross.query",
    "encoder_attn.k_proj": "cross.key",
    "encoder_attn.v_proj": "cross.value",
    "encoder_attn.out_proj": "cross.output",
    "encoder_attn_layer_norm": "norm2",
}
_OUTSIDE = {"embed_tokens": "tokens", "embed_positions": "positions", "layernorm_embedding": "norm"}
_ENCODER_LAYER = _LAYER | {"final_layer_norm": "norm2"}
_DECODER_LAYER = _LAYER | _ACROSS | {"final_layer_norm": "norm3"}
_BART = {
    **{f"model.{side}.{a}": f"{side}.embedding.{b}" for side in ("encoder", "decoder") for a, b in _OUTSIDE.items()},
    **{f"model.encoder.layers.N.{theirs}": f"encoder.blocks.N.{ours}" for theirs, ours in _ENCODER_LAYER.items()},
    **{f"model.decoder.layers.N.{theirs}": f"decoder.blocks.N.{ours}" for theirs, ours in _DECODER_LAYER.items()},
    "lm_head": "head",
}


def like_bart(theirs: Any) -> EncoderDecoder:
    """An `EncoderDecoder` with this `BartForConditionalGeneration`'s logits. Raises CannotCopy.

    Theirs counts positions through padding and ours over the real tokens: with padding on the right they are the same.
    """
    its, model = theirs.config, theirs.model
    for ours, name in (("layers", its.encoder_layers), ("ffn_dim", its.encoder_ffn_dim)):
        setting(theirs, f"decoder_{ours}", name)
    setting(theirs, "decoder_attention_heads", its.encoder_attention_heads)
    require(theirs, "final_logits_bias", float(theirs.final_logits_bias.abs().max()), 0.0)
    config = ModelConfig(
        vocab_size=its.vocab_size,
        max_positions=its.max_position_embeddings,
        d_model=its.d_model,
        n_layers=its.encoder_layers,
        n_heads=its.encoder_attention_heads,
        d_ff=its.encoder_ffn_dim,
        norm="post",
        norm_eps=model.encoder.layernorm_embedding.eps,  # no setting of theirs: torch's own
        positions="learned",
        activation=activation(theirs, "activation_function"),
        tied_embeddings=theirs.lm_head.weight is model.decoder.embed_tokens.weight,
        scale_embeddings=its.scale_embedding,
        embedding_norm=True,
    )
    shared = model.encoder.embed_tokens.weight is model.decoder.embed_tokens.weight
    return filled(partial(EncoderDecoder, config, share_embeddings=shared), from_bart(theirs))


def from_bart(theirs: Any) -> dict[str, Tensor]:
    """BART's weights under our names, without what it keeps beside them: `shared`, which is both tables once more (or
    is in no use, where they differ), and the bias of the logits, which is 0."""
    weights = dict(theirs.state_dict())
    del weights["model.shared.weight"], weights["final_logits_bias"]
    for side in ("encoder", "decoder"):
        place = f"model.{side}.embed_positions.weight"
        weights[place] = weights[place][_OFFSET:]
    return renamed(theirs, weights, _BART)
