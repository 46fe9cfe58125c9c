"""Tiny random models of many Hugging Face families, each as three twins: ours to wrap, one untouched, one eager.

The listed cases of `tests/cases/families.json` come first; the others are families that are not in that list.
"""

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM
from transformers.utils import logging

from transformer.wrapped import LoadedModel, wrap

_CASES = json.loads((Path(__file__).parent.parent / "cases" / "families.json").read_text(encoding="utf-8"))["families"]
LISTED: dict[str, dict[str, Any]] = {
    name: {key: value for key, value in sizes.items() if key != "note"} for name, sizes in _CASES.items()
}
_LLAMA, _BERT = LISTED["llama"], LISTED["bert"]
_DEEPSEEK = {
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 6, "vocab_size": 53,
    "intermediate_size": 40, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4,
    "v_head_dim": 5, "n_routed_experts": 4, "moe_intermediate_size": 8, "first_k_dense_replace": 1, "n_group": 1,
    "topk_group": 1, "num_experts_per_tok": 2,
}  # fmt: skip
_ALBERT = {
    "hidden_size": 28, "num_hidden_layers": 3, "num_attention_heads": 7, "intermediate_size": 40, "vocab_size": 53,
    "embedding_size": 12,
}  # fmt: skip
_GPT_NEO = {
    "hidden_size": 28, "num_layers": 2, "num_heads": 7, "vocab_size": 53, "window_size": 4,
    "attention_types": [[["global", "local"], 1]],
}  # fmt: skip
CONFIGS = LISTED | {
    "gpt_neox": _BERT,
    "gptj": {"n_embd": 28, "n_layer": 3, "n_head": 7, "rotary_dim": 4, "vocab_size": 53},
    "mistral": _LLAMA | {"sliding_window": 3},
    "qwen2": _LLAMA,
    "phi": {key: value for key, value in _LLAMA.items() if key != "num_key_value_heads"},
    "phi3": _LLAMA | {"pad_token_id": 0},
    "opt": {
        "hidden_size": 28, "num_hidden_layers": 3, "num_attention_heads": 7, "ffn_dim": 40, "vocab_size": 53,
        "word_embed_proj_dim": 28,
    },
    "olmo2": _LLAMA,
    "smollm3": _LLAMA | {"pad_token_id": 0},
    "roberta": _BERT | {"max_position_embeddings": 64},
    "xlm-roberta": _BERT | {"max_position_embeddings": 64},
    "albert": _ALBERT,
    "electra": _BERT | {"embedding_size": 28},
    "modernbert": _BERT
    | {"pad_token_id": 0, "num_hidden_layers": 4, "local_attention": 4, "hidden_size": 24, "num_attention_heads": 6},
    "marian": LISTED["bart"] | {"pad_token_id": 0, "decoder_start_token_id": 0},
    "mt5": LISTED["t5"],
    "gpt_oss": _LLAMA | {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2},
    "mixtral": _LLAMA | {"num_local_experts": 4},
    "cohere": _LLAMA,
    "gemma3_text": LISTED["gemma2"],
    "granite": _LLAMA,
    "starcoder2": _LLAMA,
    "stablelm": _LLAMA,
    "deepseek_v3": _DEEPSEEK,
    "glm": _LLAMA | {"head_dim": 4, "pad_token_id": 0, "eos_token_id": [7, 50]},
    "nemotron": _LLAMA,
    "gpt_bigcode": {"n_embd": 28, "n_layer": 2, "n_head": 7, "vocab_size": 53},  # multi-query
    "gpt_neo": _GPT_NEO,
    "falcon": {"hidden_size": 28, "num_hidden_layers": 2, "num_attention_heads": 7, "vocab_size": 53},
    "mpt": {"d_model": 32, "n_layers": 2, "n_heads": 8, "vocab_size": 53},
    "diffllama": _LLAMA,
    "deberta": _BERT,
    "deberta-v2": _BERT | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}  # fmt: skip
WEIGHTS_ONLY = {"bloom", "gpt_neo", "falcon", "mpt", "deberta", "deberta-v2", "diffllama"}
MASKED_LM = {
    "bert", "roberta", "distilbert", "albert", "electra", "modernbert", "xlm-roberta", "deberta", "deberta-v2",
}  # fmt: skip
SEQ2SEQ = {"t5", "mt5", "bart", "marian"}
SINKS = {"gpt_oss"}  # rows over real keys sum to less than 1

SOURCES = [[5, 7, 9, 7, 3, 11, 2], [4, 6, 8]]  # two unequal lengths, one with a repeated token
TARGETS = [[5, 6, 7, 8], [9, 6, 9, 3]]


def build(name: str, attention: str | None = None, **changes: Any) -> Any:
    """A model of the family in evaluation mode; every parameter random, so that no norm or bias can be left out."""
    with _quiet(), torch.random.fork_rng():
        torch.manual_seed(0)
        config = AutoConfig.for_model(name, **deepcopy(CONFIGS.get(name, {}) | changes))
        kind = AutoModelForMaskedLM if name in MASKED_LM else AutoModelForCausalLM
        kind = AutoModelForSeq2SeqLM if name in SEQ2SEQ or name == "longt5" else kind
        model = kind.from_config(config, **({} if attention is None else {"attn_implementation": attention}))
    return scramble(model)


def scramble(module: nn.Module, seed: int = 7) -> nn.Module:
    """Spread weights, so that attention is far from flat; γ stays near what the family keeps it at."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(0.2 * noise if parameter.ndim > 1 else parameter + 0.1 * noise)
    return module.eval()


@dataclass
class Family:
    """The twins of one family, made when they are first asked for."""

    name: str

    @cached_property
    def untouched(self) -> Any:
        return build(self.name)

    @cached_property
    def eager(self) -> Any:
        return build(self.name, "eager")

    @cached_property
    def model(self) -> LoadedModel:
        with _quiet():
            return wrap(build(self.name))

    @property
    def seq2seq(self) -> bool:
        return self.name in SEQ2SEQ

    def padded(self, side: str) -> dict[str, list[list[int]]]:
        """Two rows of unequal length, padded to one, as keywords of `run`."""
        long, short = SOURCES
        fill = [0] * (len(long) - len(short))
        real, blank = [1] * len(short), [0] * len(fill)
        ids = [long, fill + short if side == "left" else short + fill]
        mask = [[1] * len(long), blank + real if side == "left" else real + blank]
        return {"ids": ids, "attention_mask": mask} | ({"target_ids": TARGETS} if self.seq2seq else {})

    def answer(self, module: Any, wanted: dict[str, list[list[int]]], **more: Any) -> Any:
        """What a twin says to the same rows, with positions made from the mask where it takes them."""
        ids, mask = torch.tensor(wanted["ids"]), torch.tensor(wanted["attention_mask"])
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "use_cache": False, **more}
        if self.seq2seq:
            inputs["decoder_input_ids"] = torch.tensor(wanted["target_ids"])
        elif self.name not in MASKED_LM and "position_ids" in inspect.signature(module.forward).parameters:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
        if self.name in MASKED_LM:
            del inputs["use_cache"]
        with torch.no_grad():
            return module(**inputs)

    def maps(self, answer: Any) -> dict[str, Tensor]:
        """`output_attentions` of an answer by site: (batch, head, query, key)."""
        if self.seq2seq:
            named = [("encoder", "self", answer.encoder_attentions), ("decoder", "self", answer.decoder_attentions)]
            named += [("decoder", "cross", answer.cross_attentions)]
        else:
            named = [("encoder" if self.name in MASKED_LM else "decoder", "self", answer.attentions)]
        return {f"{stack}.{layer}.{kind}": one for stack, kind, maps in named for layer, one in enumerate(maps)}


@cache
def family(name: str) -> Family:
    """The twins of a family, shared by all tests: nobody may change them."""
    return Family(name)


@contextmanager
def _quiet() -> Iterator[None]:
    """The library logs that special ids are outside of so small a vocabulary."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
