"""BERT's weights in our `Encoder` and `EncoderClassifier` (Devlin et al. 2019); a ViT's in our `VisionTransformer`
(Dosovitskiy et al. 2021)."""

from functools import partial
from typing import Any

from torch import Tensor

from transformer.config import ModelConfig
from transformer.copying import activation, filled, renamed, require, setting
from transformer.encoder import Encoder
from transformer.encoder_classifier import EncoderClassifier
from transformer.vision import VisionTransformer

_BERT = {
    "embeddings.word_embeddings": "embedding.tokens",
    "embeddings.position_embeddings": "embedding.positions",
    "embeddings.token_type_embeddings": "embedding.segments",
    "embeddings.LayerNorm": "embedding.norm",
    "encoder.layer.N.attention.self.query": "blocks.N.attention.query",
    "encoder.layer.N.attention.self.key": "blocks.N.attention.key",
    "encoder.layer.N.attention.self.value": "blocks.N.attention.value",
    "encoder.layer.N.attention.output.dense": "blocks.N.attention.output",
    "encoder.layer.N.attention.output.LayerNorm": "blocks.N.norm1",
    "encoder.layer.N.intermediate.dense": "blocks.N.feedforward.up",
    "encoder.layer.N.output.dense": "blocks.N.feedforward.down",
    "encoder.layer.N.output.LayerNorm": "blocks.N.norm2",
}
_BERT_CLASSIFIER = {
    **{f"bert.{theirs}": f"encoder.{ours}" for theirs, ours in _BERT.items()},
    "bert.pooler.dense": "summary.pooler",
    "classifier": "head",
}
_VIT = {
    "vit.embeddings": "embedding",
    "vit.embeddings.patch_embeddings.projection": "embedding.projection",
    "vit.embeddings.position_embeddings": "positions",
    "vit.layers.N.layernorm_before": "blocks.N.norm1",
    "vit.layers.N.attention.q_proj": "blocks.N.attention.query",
    "vit.layers.N.attention.k_proj": "blocks.N.attention.key",
    "vit.layers.N.attention.v_proj": "blocks.N.attention.value",
    "vit.layers.N.attention.o_proj": "blocks.N.attention.output",
    "vit.layers.N.layernorm_after": "blocks.N.norm2",
    "vit.layers.N.mlp.fc1": "blocks.N.feedforward.up",
    "vit.layers.N.mlp.fc2": "blocks.N.feedforward.down",
    "vit.layernorm": "norm",
    "classifier": "head",
}


def like_bert(theirs: Any) -> Encoder:
    """An `Encoder` whose last hidden state is this `BertModel`'s. Raises CannotCopy.

    Theirs counts positions through padding and ours over the real tokens: with padding on the right they are the same.
    """
    return filled(partial(Encoder, _bert_config(theirs)), from_bert(theirs))


def like_bert_classifier(theirs: Any) -> EncoderClassifier:
    """An `EncoderClassifier` with this `BertForSequenceClassification`'s logits. Raises CannotCopy."""
    make = partial(EncoderClassifier, _bert_config(theirs), n_classes=theirs.num_labels, pooler=True)
    return filled(make, from_bert_classifier(theirs))


def from_bert(theirs: Any) -> dict[str, Tensor]:
    """A `BertModel`'s weights under our names, without the pooler: the last hidden state does not come from it."""
    weights = {name: tensor for name, tensor in theirs.state_dict().items() if not name.startswith("pooler.")}
    return renamed(theirs, weights, _BERT)


def from_bert_classifier(theirs: Any) -> dict[str, Tensor]:
    """A `BertForSequenceClassification`'s weights under our names."""
    return renamed(theirs, theirs.state_dict(), _BERT_CLASSIFIER)


def _bert_config(theirs: Any) -> ModelConfig:
    setting(theirs, "is_decoder", False)
    setting(theirs, "add_cross_attention", False)
    its = theirs.config
    return ModelConfig(
        vocab_size=its.vocab_size,
        max_positions=its.max_position_embeddings,
        d_model=its.hidden_size,
        n_layers=its.num_hidden_layers,
        n_heads=its.num_attention_heads,
        d_ff=its.intermediate_size,
        norm="post",
        norm_eps=its.layer_norm_eps,
        positions="learned",
        activation=activation(theirs, "hidden_act"),
        embedding_norm=True,
        n_segments=its.type_vocab_size,
    )


def like_vit(theirs: Any) -> VisionTransformer:
    """A `VisionTransformer` with this `ViTForImageClassification`'s logits. Raises CannotCopy."""
    setting(theirs, "qkv_bias", True)
    its = theirs.config
    image_size, patch_size = (_side(theirs, name) for name in ("image_size", "patch_size"))
    require(theirs, "num_labels", its.num_labels, max(its.num_labels, 1))  # with none there is no head
    config = ModelConfig(
        vocab_size=1,  # it reads no ids
        max_positions=1 + (image_size // patch_size) ** 2,
        d_model=its.hidden_size,
        n_layers=its.num_hidden_layers,
        n_heads=its.num_attention_heads,
        d_head=getattr(its, "head_dim", None),
        d_ff=its.intermediate_size,
        norm_eps=its.layer_norm_eps,
        positions="learned",
        activation=activation(theirs, "hidden_act"),
    )
    make = partial(
        VisionTransformer,
        config,
        image_size=image_size,
        patch_size=patch_size,
        channels=its.num_channels,
        n_classes=its.num_labels,
    )
    return filled(make, from_vit(theirs))


def from_vit(theirs: Any) -> dict[str, Tensor]:
    """A ViT's weights under our names. A convolution whose stride is its size is one linear map of every patch."""
    weights = dict(theirs.state_dict())
    patches = "vit.embeddings.patch_embeddings.projection.weight"
    weights[patches] = weights[patches].flatten(1)  # (d_model, channels · patch_size²)
    weights["vit.embeddings.cls"] = weights.pop("vit.embeddings.cls_token")
    weights["vit.embeddings.position_embeddings.weight"] = weights.pop("vit.embeddings.position_embeddings")[0]
    return renamed(theirs, weights, _VIT)


def _side(theirs: Any, name: str) -> int:
    """The side of a square that is given as one number or as (height, width)."""
    got = getattr(theirs.config, name)
    height, width = got if isinstance(got, list | tuple) else (got, got)
    require(theirs, name, (height, width), (height, height))
    return int(height)
