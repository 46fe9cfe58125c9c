"""A word that somebody typed, as a model has to begin it: its first token, with and without a space before it."""

from dataclasses import dataclass

from transformer.tokenizer import Tokenizer


@dataclass(frozen=True)
class FirstToken:
    """How one spelling begins."""

    typed: str  # with the space, where one was put before it
    id: int
    count: int  # tokens of the whole spelling, without specials
    unknown: bool  # the vocabulary has no token for it


def first_tokens(tokenizer: Tokenizer, text: str) -> tuple[FirstToken, ...]:
    """The first tokens of `text` and of the same after a space: in many vocabularies these are two tokens, and the
    second is the one that goes on a sentence. Equal ones are named once. Raises what `encode` raises."""
    spellings = [text] if text[:1].isspace() else [text, f" {text}"]
    found: dict[int, FirstToken] = {}
    for typed in spellings:
        encoding = tokenizer.encode(typed)
        real = [index for index, special in enumerate(encoding.special) if not special]
        if not real:  # a special token was typed, such as [MASK]: it is one itself
            real = [index for index, span in enumerate(encoding.spans) if span is not None]
        if real and (typed == text or encoding.bytes[real[0]].strip()):
            first = real[0]
            one = FirstToken(typed, encoding.ids[first], len(real), encoding.unknown[first])
            found.setdefault(one.id, one)
    return tuple(found.values())
