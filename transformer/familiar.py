"""Whether an input is of the kind that a model was trained on: it answers anything, and knows nothing of the rest."""

from collections.abc import Mapping
from dataclasses import dataclass

from transformer.tokenizer import Encoding
from transformer.wrapped import LoadedModel


@dataclass(frozen=True)
class Unfamiliar:
    """What training never showed: tokens that only serve to spell what no piece does, and how much too long it is."""

    tokens: tuple[str, ...]
    count: int  # of the tokens in the text; 0 where only its length is new
    longest: int  # tokens of the longest text in training; 0: not longer than that


def unfamiliar(model: LoadedModel, encodings: Mapping[str, Encoding]) -> Unfamiliar | None:
    """None where all is familiar, and where nobody knows (models that others trained)."""
    is_byte = getattr(model.tokenizer, "is_byte", None)
    if model.card is None or is_byte is None:
        return None
    strange = [
        token
        for one in encodings.values()
        for id, token, special in zip(one.ids, one.tokens, one.special, strict=True)
        if not special and is_byte(id)
    ]
    longest = max(len(one) for one in encodings.values())
    too_long = model.card.longest if longest > model.card.longest else 0
    if not strange and not too_long:
        return None
    return Unfamiliar(tuple(dict.fromkeys(strange)), len(strange), too_long)
