"""The Transformer and its recording. The public doors are below; each is loaded when it is first asked for.

Torch takes seconds to import, so `python app.py --help` and the figures must not wait for it.
"""

from importlib import import_module

_DOORS = {
    "load_model": "transformer.catalog",
    "wrap": "transformer.wrapped",
    "run": "transformer.runner",
    "seal": "transformer.replay",
    "Trace": "transformer.trace",
    "DecoderLM": "transformer.decoder_lm",
    "Encoder": "transformer.encoder",
    "EncoderClassifier": "transformer.encoder_classifier",
    "EncoderDecoder": "transformer.encoder_decoder",
    "VisionTransformer": "transformer.vision",
    "ModelConfig": "transformer.config",
}
__all__ = list(_DOORS)


def __getattr__(name: str) -> object:
    if name not in _DOORS:
        raise AttributeError(f"module 'transformer' has no attribute {name!r}")
    return getattr(import_module(_DOORS[name]), name)
