"""`wrap`: any text model that is already built, ours or Hugging Face's, becomes one that can be seen through.

The model is probed with a few ids, once as it came and once with our attention in it. Only if both give the same
numbers is the graft kept; otherwise the model stays as it was, its own attention weights are used, and the trace says
what it lacks.
"""

import inspect
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from transformer.capture import install_hooks
from transformer.cards import Card
from transformer.config import ModelConfig
from transformer.errors import NoAttentionSeen, NotATextModel, SeeThroughError, SiteHeardTwice
from transformer.image import ImageShape
from transformer.probe import Evidence, Heard, first_tensor, is_silent, probe, probe_ids
from transformer.reading import read_model
from transformer.recognise import linear_part, same, to_numpy
from transformer.structure import Plan, Structure
from transformer.tokenizer import Tokenizer

SOURCE_LENGTH, TARGET_LENGTH = 5, 3  # unlike, so that cross-attention can be told from self-attention
_unnamed = count(1)


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model that `run` can record: the module, its tokenizer, and what was read off its probe pass."""

    module: nn.Module
    tokenizer: Tokenizer | None
    name: str
    structure: Structure
    plan: Plan
    vocab_size: int
    max_tokens: int
    encoder_decoder: bool
    weights_only: bool  # True: the family does not let our attention in, so only its weights are known
    image: ImageShape | None  # what a vision model reads; None: it reads text
    accepts: frozenset[str]  # the names that its forward takes
    fingerprint: str  # part of every trace's key: two models never share one
    weights: tuple[object, ...]  # which weights structure and plan were read from, see `weights_of`
    card: Card | None = None  # how it was made, of a model that we trained ourselves

    @property
    def is_causal(self) -> bool:
        return not self.encoder_decoder and bool(self.structure.stacks) and self.structure.stacks[0].name == "decoder"


_Reading = tuple[Structure, Plan, bool]
_seen: WeakKeyDictionary[nn.Module, tuple[tuple[object, ...], _Reading]] = WeakKeyDictionary()


def wrap(module: nn.Module, tokenizer: object = None, name: str | None = None) -> LoadedModel:
    """A built model, ready for `run`. The module itself is changed to evaluation mode, to our attention, and gets hooks
    that do nothing unless a run listens; what it computes stays the same, which is checked here.

    `tokenizer`: one of ours, or a fast Hugging Face tokenizer; without one, run with `ids=`. A module whose weights
    have changed since is read anew. Raises NotATextModel, NoAttentionSeen, SlowTokenizer.
    """
    accepts = frozenset(inspect.signature(module.forward).parameters)
    wants = getattr(module, "main_input_name", "input_ids" if "input_ids" in accepts else ", ".join(sorted(accepts)))
    image = image_shape(module) if wants == "pixel_values" else None
    if image is None and (wants != "input_ids" or not vocabulary_size(module)):
        raise NotATextModel(name=name or type(module).__name__, wants=wants)
    if getattr(_text_config(module), "attention_type", None) == "block_sparse":
        raise NoAttentionSeen(name=name or type(module).__name__)  # it attends otherwise as soon as a text is long
    weights, adapted, name = weights_of(module), _adapted(tokenizer), name or type(module).__name__
    if module not in _seen or _seen[module][0] != weights:
        _seen[module] = (weights, _read_or_restore(module, accepts))
    module.eval()
    structure, plan, weights_only = _seen[module][1]
    return LoadedModel(
        module=module,
        tokenizer=adapted,
        name=name,
        structure=structure,
        plan=plan,
        vocab_size=vocabulary_size(module),
        max_tokens=longest_input(module) if image is None else image.n_tokens,
        encoder_decoder=_is_encoder_decoder(module),
        weights_only=weights_only,
        image=image,
        accepts=accepts,
        fingerprint=f"{name}#{next(_unnamed)}",
        weights=weights,
    )


def weights_of(module: nn.Module) -> tuple[object, ...]:
    """Equal as long as the parameters are the same and nobody has written to them."""
    return tuple((one.data_ptr(), one._version, one.shape) for one in module.parameters())


def as_it_is_now(model: LoadedModel) -> LoadedModel:
    """The model, read anew if its weights have changed (it was trained) since it was wrapped."""
    if weights_of(model.module) == model.weights:
        return model
    return wrap(model.module, model.tokenizer, model.name)


def _read_or_restore(module: Any, accepts: frozenset[str]) -> _Reading:
    """Structure and plan; a model that cannot be seen through is left as it came, with one named error."""
    training = [one for one in module.modules() if one.training]
    before = getattr(getattr(module, "config", None), "_attn_implementation", None)
    module.eval()
    _own_configuration(module)
    try:
        return _read(module, accepts)
    except Exception as problem:
        for one in training:
            one.training = True
        if before is not None:
            module.config._attn_implementation = before
        if isinstance(problem, SeeThroughError):
            raise
        # Whatever a family's own code raises on five plain tokens: it cannot be probed.
        raise NoAttentionSeen(name=type(module).__name__) from problem


def _own_configuration(module: nn.Module) -> None:
    """Give the module configurations of its own: two models made from one share it, and only this one is to change."""
    copies: dict[int, object] = {}
    for part in module.modules():
        if "config" in vars(part) and not isinstance(part.config, ModelConfig):
            part.config = deepcopy(part.config, copies)


def _read(module: nn.Module, accepts: frozenset[str]) -> _Reading:
    inputs = _probe_inputs(module, accepts)
    with torch.inference_mode():
        untouched = _answer(module(**inputs))
    evidence = _grafted_evidence(module, inputs, untouched)
    weights_only = evidence is None
    if evidence is None:
        evidence = _weights_only_evidence(module, inputs, accepts, untouched)
    elif any(is_silent(one.module, one.output) for one in evidence.heard):
        evidence = probe(module, inputs, loud=True)
    target = TARGET_LENGTH if _is_encoder_decoder(module) else None
    structure, plan = read_model(evidence, SOURCE_LENGTH, target, _softcap(module))
    install_hooks(plan)
    return structure, plan, weights_only


def _grafted_evidence(module: Any, inputs: dict[str, Tensor], untouched: Tensor) -> Evidence | None:
    """The probe with our attention in the model, or None where the model does not take it or the numbers change."""
    if not hasattr(module, "set_attn_implementation"):  # ours: `attend` is in it from the start
        evidence = probe(module, inputs)
        return evidence if any(one.attention for one in evidence.heard) else None
    from transformer import graft

    before = module.config._attn_implementation
    try:
        module.set_attn_implementation(graft.NAME)
        evidence = probe(module, inputs)
        if _hears_all(module, evidence) and _says(evidence, untouched):
            return evidence
    except (ValueError, TypeError, RuntimeError, AttributeError, NotImplementedError, SiteHeardTwice):
        pass  # a family that never moved to the attention interface refuses in its own way
    module.set_attn_implementation(before)
    return None


def _hears_all(module: nn.Module, evidence: Evidence) -> bool:
    """Whether our attention ran, and in both stacks where there are two (LongT5's encoder has one of its own)."""
    lengths = {one.attention.query.shape[2] for one in evidence.heard if one.attention is not None}
    return bool(lengths) and (not _is_encoder_decoder(module) or lengths >= {SOURCE_LENGTH, TARGET_LENGTH})


def _weights_only_evidence(
    module: Any, inputs: dict[str, Tensor], accepts: frozenset[str], untouched: Tensor
) -> Evidence:
    """The probe of a family that keeps its attention to itself: its own weights, beside their modules.

    Fused kernels hand out no weights, or wrong ones (Falcon adds a boolean mask as 0 and 1), so the written-out
    attention is asked for, in the configuration itself where the setter refuses; and what it says must be what the
    model said.
    """
    if hasattr(module, "config"):
        module.config._attn_implementation = "eager"
    try:
        evidence = probe(module, {**inputs, "output_attentions": True})  # type: ignore[dict-item]
    except TypeError as problem:  # its forward knows no such word
        raise NoAttentionSeen(name=type(module).__name__) from problem
    weights = own_weights(evidence.answer)
    modules = [one for one in evidence.heard if _keeps_attention(one, evidence)]
    lengths = ((SOURCE_LENGTH,) * 2, (TARGET_LENGTH,) * 2, (TARGET_LENGTH, SOURCE_LENGTH))
    windowed = any(tuple(one.shape[-2:]) not in lengths for one in weights)  # Longformer's columns are no keys
    if not weights or windowed or len(modules) != len(weights) or not _says(evidence, untouched):
        raise NoAttentionSeen(name=type(module).__name__)
    for one, array in zip(modules, weights, strict=True):
        one.weights = array
    return evidence


def _says(evidence: Evidence, untouched: Tensor) -> bool:
    """Whether the probe gave the untouched model's numbers."""
    return same(to_numpy(_answer(evidence.answer)), to_numpy(untouched), 1e-4)


def _answer(output: object) -> Tensor:
    """Logits, or the last hidden state of a model without a head."""
    named = (getattr(output, name, None) for name in ("logits", "last_hidden_state"))
    found = next((one for one in named if isinstance(one, Tensor)), first_tensor(output))
    assert found is not None
    return found


def own_weights(answer: object) -> list[Tensor]:
    """The attention weights that a model hands out itself, (batch, head, query, key), in the order they ran."""
    encoder = list(getattr(answer, "encoder_attentions", None) or ())
    decoder = getattr(answer, "decoder_attentions", None) or getattr(answer, "attentions", None) or ()
    cross = getattr(answer, "cross_attentions", None) or ()
    pairs = [[one, *cross[layer : layer + 1]] for layer, one in enumerate(decoder)]
    found = [*encoder, *(array for pair in pairs for array in pair)]
    return found if all(isinstance(array, Tensor) and array.ndim == 4 for array in found) else []


def _keeps_attention(one: Heard, evidence: Evidence) -> bool:
    """The innermost module named attention that holds linear maps: the one whose weights were handed out."""
    if "attention" not in type(one.module).__name__.lower():
        return False
    inner = [other for other in evidence.heard if one.holds(other)]
    attends_inside = any("attention" in type(other.module).__name__.lower() for other in inner)
    return not attends_inside and sum(linear_part(other.module) is not None for other in inner) >= 1


def _probe_inputs(module: nn.Module, accepts: frozenset[str]) -> dict[str, Tensor]:
    if (image := image_shape(module)) is not None:
        return {"pixel_values": torch.rand((1, *image.shape), generator=torch.Generator().manual_seed(0))}
    config = getattr(module, "config", None)
    special = [getattr(config, f"{kind}_token_id", None) for kind in ("pad", "bos", "eos", "decoder_start")]
    # Llama 3 and GLM end a text with any of several tokens.
    listed = [token for value in special for token in (value if isinstance(value, list | tuple) else [value])]
    avoid = {token for token in listed if isinstance(token, int)}
    ids = probe_ids(vocabulary_size(module), SOURCE_LENGTH, avoid)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if _is_encoder_decoder(module):
        inputs["decoder_input_ids"] = probe_ids(vocabulary_size(module), TARGET_LENGTH, avoid)
    return quiet_inputs(inputs, accepts)


def quiet_inputs(inputs: dict[str, Tensor], accepts: frozenset[str]) -> dict[str, Tensor]:
    """The inputs that this forward takes, and no cache: a recording is one whole pass."""
    known = {name: value for name, value in inputs.items() if name in accepts or "kwargs" in accepts}
    return {**known, "use_cache": False} if "use_cache" in accepts else known  # type: ignore[dict-item]


def _text_config(module: Any) -> Any:
    config: Any = getattr(module, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def image_shape(module: nn.Module) -> ImageShape | None:
    """What a model that reads images takes, from its own settings; None where it reads text, or does not say."""
    if getattr(module, "main_input_name", "") != "pixel_values":
        return None
    config = getattr(module, "config", None)
    own = module if isinstance(config, ModelConfig) else config
    size, patch = getattr(own, "image_size", None), getattr(own, "patch_size", None)
    channels = getattr(own, "num_channels", getattr(own, "channels", None))
    if not all(isinstance(one, int) for one in (size, patch, channels)):
        return None
    return ImageShape(int(channels), int(size), int(size), int(patch))  # type: ignore[arg-type]


def vocabulary_size(module: nn.Module) -> int:
    return int(getattr(_text_config(module), "vocab_size", 0) or 0)


def longest_input(module: nn.Module) -> int:
    """How many tokens the model's positions reach, or a very large number where nothing limits them."""
    config = _text_config(module)
    names = ("max_position_embeddings", "n_positions", "max_positions", "seq_length", "max_seq_len")
    found = (int(size) for name in names if isinstance(size := getattr(config, name, None), int) and size > 0)
    size = next(found, 1_000_000)
    # RoBERTa's table begins with rows that stand for padding; its tokens are counted from the row after these.
    tables = (one for name, one in module.named_modules() if name.endswith("position_embeddings"))
    return next((size - one.padding_idx - 1 for one in tables if getattr(one, "padding_idx", None) is not None), size)


def _softcap(module: nn.Module) -> float | None:
    return getattr(_text_config(module), "final_logit_softcapping", None)


def _is_encoder_decoder(module: nn.Module) -> bool:
    config = getattr(module, "config", None)
    return bool(getattr(config, "is_encoder_decoder", getattr(module, "is_encoder_decoder", False)))


def _adapted(tokenizer: object) -> Tokenizer | None:
    if tokenizer is None or hasattr(tokenizer, "encoding_of_ids"):
        return tokenizer  # type: ignore[return-value]
    from transformer.hf_tokenizer import HuggingFaceTokenizer

    return HuggingFaceTokenizer(tokenizer)
