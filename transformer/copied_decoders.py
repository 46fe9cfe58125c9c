"""GPT-2's and Llama's weights in our `DecoderLM` (Radford et al. 2019; Touvron et al. 2023)."""

from functools import partial
from typing import Any

from torch import Tensor

from transformer.config import ModelConfig
from transformer.copying import activation, filled, renamed, require, setting
from transformer.decoder_lm import DecoderLM

_GPT2 = {
    "transformer.wte": "embedding.tokens",
    "transformer.wpe": "embedding.positions",
    "transformer.h.N.ln_1": "blocks.N.norm1",
    "transformer.h.N.attn.query": "blocks.N.attention.query",
    "transformer.h.N.attn.key": "blocks.N.attention.key",
    "transformer.h.N.attn.value": "blocks.N.attention.value",
    "transformer.h.N.attn.c_proj": "blocks.N.attention.output",
    "transformer.h.N.ln_2": "blocks.N.norm2",
    "transformer.h.N.mlp.c_fc": "blocks.N.feedforward.up",
    "transformer.h.N.mlp.c_proj": "blocks.N.feedforward.down",
    "transformer.ln_f": "norm",
    "lm_head": "head",
}
_LLAMA = {
    "model.embed_tokens": "embedding.tokens",
    "model.layers.N.input_layernorm": "blocks.N.norm1",
    "model.layers.N.self_attn.q_proj": "blocks.N.attention.query",
    "model.layers.N.self_attn.k_proj": "blocks.N.attention.key",
    "model.layers.N.self_attn.v_proj": "blocks.N.attention.value",
    "model.layers.N.self_attn.o_proj": "blocks.N.attention.output",
    "model.layers.N.post_attention_layernorm": "blocks.N.norm2",
    "model.layers.N.mlp.up_proj": "blocks.N.feedforward.up",
    "model.layers.N.mlp.gate_proj": "blocks.N.feedforward.gate",
    "model.layers.N.mlp.down_proj": "blocks.N.feedforward.down",
    "model.norm": "norm",
    "lm_head": "head",
}


def like_gpt2(theirs: Any) -> DecoderLM:
    """A `DecoderLM` that computes what this `GPT2LMHeadModel` computes. Raises CannotCopy."""
    setting(theirs, "scale_attn_weights", True)
    setting(theirs, "scale_attn_by_inverse_layer_idx", False)
    setting(theirs, "add_cross_attention", False)
    its = theirs.config
    config = ModelConfig(
        vocab_size=its.vocab_size,
        max_positions=its.n_positions,
        d_model=its.n_embd,
        n_layers=its.n_layer,
        n_heads=its.n_head,
        d_ff=its.n_inner,
        norm_eps=its.layer_norm_epsilon,
        positions="learned",
        activation=activation(theirs, "activation_function"),
        tied_embeddings=theirs.lm_head.weight is theirs.transformer.wte.weight,
    )
    return filled(partial(DecoderLM, config), from_gpt2(theirs))


def from_gpt2(theirs: Any) -> dict[str, Tensor]:
    """GPT-2's weights under our names. Its `Conv1D` keeps (in, out), a Linear (out, in); its query, key and value are
    one matrix."""
    apart: dict[str, Tensor] = {}
    for name, tensor in theirs.state_dict().items():
        tensor = tensor.T if ".c_" in name and name.endswith("weight") else tensor
        if ".c_attn." in name:
            for part, third in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                apart[name.replace("c_attn", part)] = third
        else:
            apart[name] = tensor
    return renamed(theirs, apart, _GPT2)


def like_llama(theirs: Any) -> DecoderLM:
    """A `DecoderLM` that computes what this `LlamaForCausalLM` computes. Raises CannotCopy."""
    setting(theirs, "hidden_act", "silu")
    its, rope = theirs.config, theirs.config.rope_parameters
    require(theirs, "rope_type", rope["rope_type"], "default")
    require(theirs, "partial_rotary_factor", rope.get("partial_rotary_factor", 1.0), 1.0)
    config = ModelConfig(
        vocab_size=its.vocab_size,
        max_positions=its.max_position_embeddings,
        d_model=its.hidden_size,
        n_layers=its.num_hidden_layers,
        n_heads=its.num_attention_heads,
        n_kv_heads=its.num_key_value_heads,
        d_head=its.head_dim,
        d_ff=its.intermediate_size,
        norm_kind="rmsnorm",
        norm_eps=its.rms_norm_eps,
        positions="rotary",
        rotary_base=rope["rope_theta"],
        activation="swiglu",
        tied_embeddings=theirs.lm_head.weight is theirs.model.embed_tokens.weight,
        attention_bias=its.attention_bias,
        ffn_bias=its.mlp_bias,
    )
    return filled(partial(DecoderLM, config), from_llama(theirs))


def from_llama(theirs: Any) -> dict[str, Tensor]:
    """Llama's weights under our names."""
    return renamed(theirs, theirs.state_dict(), _LLAMA)
