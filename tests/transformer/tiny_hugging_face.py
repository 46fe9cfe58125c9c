"""Tiny random models of the families whose weights fit our classes; no two sizes of one are alike."""

from collections.abc import Callable
from typing import Any

from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BloomConfig,
    BloomForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    ViTForImageClassification,
)

_NO_SPECIAL = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": None}
_BERT = {
    "vocab_size": 53, "hidden_size": 28, "num_hidden_layers": 3, "num_attention_heads": 7, "intermediate_size": 31,
    "max_position_embeddings": 11,
}  # fmt: skip


def gpt2(**changes: Any) -> nn.Module:
    sizes = {"vocab_size": 53, "n_positions": 11, "n_embd": 28, "n_layer": 3, "n_head": 7, "n_inner": 31}
    return GPT2LMHeadModel(GPT2Config(**(sizes | _NO_SPECIAL | changes)))


def llama(**changes: Any) -> nn.Module:
    """Grouped heads (6 share 2) of a size of their own (10, not 42 / 6)."""
    sizes = {
        "vocab_size": 53, "max_position_embeddings": 11, "hidden_size": 42, "intermediate_size": 31,
        "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
    }  # fmt: skip
    return LlamaForCausalLM(LlamaConfig(**(sizes | _NO_SPECIAL | changes)))


def bloom(**changes: Any) -> nn.Module:
    """Six heads: no power of two, so that the slopes come from two rows."""
    sizes = {"vocab_size": 53, "hidden_size": 42, "n_layer": 3, "n_head": 6}
    return BloomForCausalLM(BloomConfig(**(sizes | _NO_SPECIAL | changes)))


def bert(**changes: Any) -> nn.Module:
    return BertModel(BertConfig(**(_BERT | {"pad_token_id": None} | changes)))


def bert_classifier(**changes: Any) -> nn.Module:
    return BertForSequenceClassification(BertConfig(**(_BERT | {"pad_token_id": None, "num_labels": 3} | changes)))


def bart(**changes: Any) -> nn.Module:
    sizes = {
        "vocab_size": 53, "max_position_embeddings": 11, "d_model": 28, "encoder_layers": 3, "decoder_layers": 3,
        "encoder_attention_heads": 7, "decoder_attention_heads": 7, "encoder_ffn_dim": 31, "decoder_ffn_dim": 31,
        "forced_eos_token_id": None,
    }  # fmt: skip
    return BartForConditionalGeneration(BartConfig(**(sizes | changes)))


def vit(**changes: Any) -> nn.Module:
    sizes = {
        "hidden_size": 28, "num_hidden_layers": 3, "num_attention_heads": 7, "intermediate_size": 31, "image_size": 6,
        "patch_size": 2, "num_channels": 3, "num_labels": 5,
    }  # fmt: skip
    return ViTForImageClassification(ViTConfig(**(sizes | changes)))


EVERY: dict[str, Callable[..., nn.Module]] = {
    "gpt2": gpt2, "llama": llama, "bloom": bloom, "bert": bert, "bert_classifier": bert_classifier, "bart": bart,
    "vit": vit,
}  # fmt: skip
