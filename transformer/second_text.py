"""The second text of an encoder–decoder as its decoder reads it: behind the token that begins all that it writes.

    "Le chat"  ─▶  tokenizer  ─▶  Le chat </s>  ─▶  <start> Le chat

So a text that is recorded runs through the very pass in which generation chose what comes next (in training: the labels
shifted by one, Vaswani et al. 2017, section 3.1).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transformer.errors import ModelError
from transformer.tokenizer import Encoding
from transformer.wrapped import LoadedModel


class NoStartToken(ModelError):
    """Neither the model nor its tokenizer names the token that begins what an encoder–decoder writes."""


def start_id(model: LoadedModel) -> int:
    """The token that begins what an encoder–decoder writes. Raises NoStartToken."""
    if (found := _start(model)) is None:
        raise NoStartToken(model=model.name)
    return found


def _start(model: LoadedModel) -> int | None:
    named = (*named_ids(model, "decoder_start_token_id"), *named_ids(model, "bos_token_id"))
    return next(iter(named), getattr(model.tokenizer, "bos_id", None))


def named_ids(model: LoadedModel, name: str) -> Iterator[int]:
    """Token ids that a Hugging Face model's settings give under `name`; those beyond its vocabulary are left out."""
    module: Any = model.module
    for settings in (getattr(module, "generation_config", None), getattr(module, "config", None)):
        value = getattr(settings, name, None)
        for token in value if isinstance(value, list | tuple) else [value]:
            if isinstance(token, int) and 0 <= token < model.vocab_size:
                yield token


def begun(model: LoadedModel, encoding: Encoding) -> Encoding:
    """The tokens of a second text behind the start token, and without the specials that would close it.

    A start token that stands there already is not doubled, and one of our tokenizers' own takes the model's place.
    Where nobody names one, nothing is put before the text.
    """
    start, own = _start(model), getattr(model.tokenizer, "bos_id", None)
    real = [index for index, span in enumerate(encoding.spans) if span is not None]
    open_end = _cut(encoding, 0, real[-1] + 1 if real else len(encoding))
    if start is None or open_end.ids[:1] == (start,):
        return open_end
    rest = _cut(open_end, 1, len(open_end)) if own is not None and open_end.ids[:1] == (own,) else open_end
    return _behind(start, _name(model, start), rest)


def _cut(encoding: Encoding, first: int, end: int) -> Encoding:
    names = ("ids", "tokens", "spans", "bytes", "special", "words", "groups", "padding", "unknown")
    return replace(encoding, **{name: getattr(encoding, name)[first:end] for name in names})


def _behind(token: int, name: str, encoding: Encoding) -> Encoding:
    """The encoding with one special token more at its beginning."""
    return replace(
        encoding,
        ids=(token, *encoding.ids),
        tokens=(name, *encoding.tokens),
        spans=(None, *encoding.spans),
        bytes=(b"", *encoding.bytes),
        special=(True, *encoding.special),
        words=(None, *encoding.words),
        groups=(min(encoding.groups, default=0) - 1, *encoding.groups),
        padding=(False, *encoding.padding),
        unknown=(False, *encoding.unknown),
    )


def _name(model: LoadedModel, token: int) -> str:
    known = model.tokenizer is not None and token < model.tokenizer.vocab_size
    return model.tokenizer.token(token) if model.tokenizer is not None and known else f"<{token}>"
