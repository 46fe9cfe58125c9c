"""BLOOM's weights in our `DecoderLM` (Le Scao et al. 2022): ALiBi, and a norm right after the embedding."""

from functools import partial
from typing import Any

from torch import Tensor

from transformer.config import ModelConfig
from transformer.copying import filled, renamed, setting
from transformer.decoder_lm import DecoderLM

_TRAINED_LENGTH = 2048  # no table ends a text here; this is what BLOOM was trained with, where config.json is silent
_BLOOM = {
    "transformer.word_embeddings": "embedding.tokens",
    "transformer.word_embeddings_layernorm": "embedding.norm",
    "transformer.h.N.input_layernorm": "blocks.N.norm1",
    "transformer.h.N.self_attention.query": "blocks.N.attention.query",
    "transformer.h.N.self_attention.key": "blocks.N.attention.key",
    "transformer.h.N.self_attention.value": "blocks.N.attention.value",
    "transformer.h.N.self_attention.dense": "blocks.N.attention.output",
    "transformer.h.N.post_attention_layernorm": "blocks.N.norm2",
    "transformer.h.N.mlp.dense_h_to_4h": "blocks.N.feedforward.up",
    "transformer.h.N.mlp.dense_4h_to_h": "blocks.N.feedforward.down",
    "transformer.ln_f": "norm",
    "lm_head": "head",
}


def like_bloom(theirs: Any) -> DecoderLM:
    """A `DecoderLM` that computes what this `BloomForCausalLM` computes. Raises CannotCopy."""
    setting(theirs, "apply_residual_connection_post_layernorm", False)
    its = theirs.config
    config = ModelConfig(
        vocab_size=its.vocab_size,
        max_positions=getattr(its, "seq_length", _TRAINED_LENGTH),
        d_model=its.hidden_size,
        n_layers=its.n_layer,
        n_heads=its.n_head,
        norm_eps=its.layer_norm_epsilon,
        positions="alibi",
        activation="gelu_tanh",
        tied_embeddings=theirs.lm_head.weight is theirs.transformer.word_embeddings.weight,
        embedding_norm=True,
    )
    return filled(partial(DecoderLM, config), from_bloom(theirs))


def from_bloom(theirs: Any) -> dict[str, Tensor]:
    """BLOOM's weights under our names. One matrix holds query, key and value of head 0, then those of head 1, …"""
    apart: dict[str, Tensor] = {}
    for name, tensor in theirs.state_dict().items():
        if ".query_key_value." in name:
            heads = tensor.unflatten(0, (theirs.config.n_head, 3, -1))  # (head, 3, d_head, …)
            for number, part in enumerate(("query", "key", "value")):
                apart[name.replace("query_key_value", part)] = heads[:, number].flatten(0, 1)
        else:
            apart[name] = tensor
    return renamed(theirs, apart, _BLOOM)
