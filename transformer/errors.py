"""What can go wrong in the world, by name; a mistake of ours is an `assert` instead.

SeeThroughError
├── InputError              what a person typed or passed does not fit
│   ├── EmptyText
│   ├── TextTooLong
│   ├── TooManyTokens
│   ├── BrokenText          half of a surrogate pair, which has no bytes
│   ├── UnknownToken        an id outside the vocabulary
│   ├── MissingTarget       an encoder-decoder model needs a second text
│   └── ShapesDoNotFit
├── ModelError              a model cannot be had, or cannot be seen through
│   ├── UnknownModel
│   ├── NoNetwork
│   ├── GatedModel          its owner asks for a log-in or an agreement first
│   ├── NoSafetensors
│   ├── NeedsRemoteCode
│   ├── BrokenModel
│   ├── NoTokenizer
│   ├── SlowTokenizer
│   ├── ModelTooBig
│   ├── NotATextModel
│   ├── CannotRecord        its own code failed on this input, or handed out what cannot be laid along the tokens
│   └── NoAttentionSeen
├── PackError               a model pack cannot be brought
│   ├── UnknownPack
│   ├── PackNotReachable
│   ├── PackDamaged
│   └── DiskFull
└── TraceError              a recording does not hold what was asked
    ├── NoSuchSite
    ├── SiteHeardTwice
    ├── WeightsChanged      the model was trained since; what follows from its weights is gone
    └── BadTrace

More ModelErrors stand beside the code that raises them: ModelNotKept (hub.py), NoConfig and DamagedFile
(weights_size.py), UnknownFamily and QuantizedModel (model_kind.py), FoldersClosed and WeightsDoNotFit (pretrained.py);
PackNotMade is in pack_steps.py.

Each error carries the values of its sentence and speaks the reader's language: `error.text("zh")`.
"""

import re

from transformer.messages import message


class SeeThroughError(Exception):
    """The root: `str(error)` is English, `error.text(language)` is for the page."""

    def __init__(self, **values: object) -> None:
        self.values = values
        super().__init__(values)

    @property
    def key(self) -> str:
        """The message key: `TextTooLong` speaks with `error.text_too_long`."""
        return "error." + re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def text(self, language: str = "en") -> str:
        """The sentence in one language: what was expected, what came, what to do."""
        return message(self.key, language, **self.values)

    def __str__(self) -> str:
        return self.text("en")


class InputError(SeeThroughError): ...


class EmptyText(InputError): ...


class TextTooLong(InputError): ...


class TooManyTokens(InputError): ...


class BrokenText(InputError): ...


class UnknownToken(InputError): ...


class MissingTarget(InputError): ...


class ShapesDoNotFit(InputError): ...


class ModelError(SeeThroughError): ...


class UnknownModel(ModelError): ...


class NoNetwork(ModelError): ...


class GatedModel(ModelError): ...


class NoSafetensors(ModelError): ...


class NeedsRemoteCode(ModelError): ...


class BrokenModel(ModelError): ...


class NoTokenizer(ModelError): ...


class SlowTokenizer(ModelError): ...


class ModelTooBig(ModelError): ...


class NotATextModel(ModelError): ...


class CannotRecord(ModelError): ...


class NoAttentionSeen(ModelError): ...


class PackError(SeeThroughError): ...


class UnknownPack(PackError): ...


class PackNotReachable(PackError): ...


class PackDamaged(PackError): ...


class DiskFull(PackError): ...


class TraceError(SeeThroughError): ...


class NoSuchSite(TraceError): ...


class SiteHeardTwice(TraceError): ...


class WeightsChanged(TraceError): ...


class BadTrace(TraceError): ...
