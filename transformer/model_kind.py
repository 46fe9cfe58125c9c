"""Which class of `transformers` a saved model asks for, told from its config.json alone."""

from pathlib import Path
from typing import Any

from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    MODEL_FOR_TEXT_ENCODING_MAPPING,
    MODEL_MAPPING,
    AutoConfig,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from transformer.errors import ModelError, NeedsRemoteCode, NotATextModel
from transformer.hub import shown
from transformer.weights_size import read_config

_WITH_HEAD = (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_TEXT_ENCODING_MAPPING,
)


class UnknownFamily(ModelError):
    """config.json names a kind of model that this version of `transformers` does not have."""


class QuantizedModel(ModelError):
    """The weights are packed into fewer bits, so queries and keys would not be what the model was trained with."""


def configuration(folder: Path, name: str) -> tuple[Any, Any]:
    """The configuration and the class, checked for all that speaks against the model.

    Raises NoConfig, DamagedFile, NeedsRemoteCode, UnknownFamily, QuantizedModel, NotATextModel, and whatever the
    library raises about a configuration that it cannot read.
    """
    settings = read_config(folder, name)
    family = str(settings.get("model_type", ""))
    if family not in CONFIG_MAPPING:
        if "auto_map" in settings:
            raise NeedsRemoteCode(name=name)
        raise UnknownFamily(name=name, family=shown(family))
    if settings.get("quantization_config"):
        method = str(settings["quantization_config"].get("quant_method", "?"))
        raise QuantizedModel(name=name, method=shown(method))
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    config.transformers_weights = None  # the weights are in the files that were measured, and in no others
    kind = _kind(config)
    if kind is None:
        raise UnknownFamily(name=name, family=shown(family))
    if kind.main_input_name != "input_ids":
        raise NotATextModel(name=name, wants=kind.main_input_name)
    return config, kind


def _kind(config: Any) -> Any:
    """The class named in `architectures` if it has a language head or is a lone encoder; else the bare model."""
    for mapping in _WITH_HEAD:
        for kind in _classes(mapping, config):
            if kind.__name__ in (config.architectures or ()):
                return kind
    return next(iter(_classes(MODEL_MAPPING, config)), None)


def _classes(mapping: Any, config: Any) -> tuple[Any, ...]:
    found = mapping.get(type(config), ())
    return found if isinstance(found, tuple) else (found,)
