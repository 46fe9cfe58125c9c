"""`ours_like`: a model of Hugging Face becomes one of ours, with its weights; the same ids give the same numbers.

GPT2LMHeadModel, LlamaForCausalLM, BloomForCausalLM    DecoderLM
BertModel                                              Encoder
BertForSequenceClassification                          EncoderClassifier
BartForConditionalGeneration                           EncoderDecoder
ViTForImageClassification                              VisionTransformer
"""

from collections.abc import Callable
from typing import Any

from torch import nn

from transformer.copied_bart import from_bart, like_bart
from transformer.copied_bloom import from_bloom, like_bloom
from transformer.copied_decoders import from_gpt2, from_llama, like_gpt2, like_llama
from transformer.copied_encoders import (
    from_bert,
    from_bert_classifier,
    from_vit,
    like_bert,
    like_bert_classifier,
    like_vit,
)
from transformer.copying import CannotCopy, require

__all__ = [
    "CannotCopy",
    "from_bart",
    "from_bert",
    "from_bert_classifier",
    "from_bloom",
    "from_gpt2",
    "from_llama",
    "from_vit",
    "ours_like",
]

_LIKE: dict[str, Callable[[Any], nn.Module]] = {
    "GPT2LMHeadModel": like_gpt2,
    "LlamaForCausalLM": like_llama,
    "BloomForCausalLM": like_bloom,
    "BertModel": like_bert,
    "BertForSequenceClassification": like_bert_classifier,
    "BartForConditionalGeneration": like_bart,
    "ViTForImageClassification": like_vit,
}


def ours_like(theirs: nn.Module) -> nn.Module:
    """Our class with a copy of a Hugging Face model's weights, in float32 and in evaluation mode.

    The config is derived from theirs, without dropout: the copy is there to be looked at. Raises CannotCopy, which says
    what our classes cannot express: stretched rotary positions, another activation, …
    """
    kind = type(theirs).__name__  # a subclass may compute something else
    require(theirs, "architectures", kind, *_LIKE)
    return _LIKE[kind](theirs)
