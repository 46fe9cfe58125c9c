"""Where a generation begins and what ends it: the ids that are given, the source that is read, the end tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transformer.errors import InputError, ShapesDoNotFit
from transformer.next_pass import check_generator
from transformer.rows import Ids, encode, encode_target, source_rows
from transformer.second_text import named_ids, start_id
from transformer.tokenizer import Encoding
from transformer.wrapped import LoadedModel


class MissingSource(InputError):
    """An encoder–decoder writes from a text that it reads, and none was given."""


class NoRoomToWrite(InputError):
    """A text that fits, but leaves no room for another token."""


@dataclass(frozen=True)
class Prompt:
    """`ids`: where the text that is written begins; `source`: what an encoder–decoder reads, None for other models."""

    ids: tuple[int, ...]
    source: tuple[int, ...] | None
    limit: int  # tokens that the text may grow to


def prompt_of(
    model: LoadedModel,
    text: str | None,
    ids: Ids | None,
    source: str | None,
    source_ids: Ids | None,
    *,
    same_ids: bool = False,
    max_tokens: int | None = None,
) -> Prompt:
    """Raises NotAGenerator, MissingSource, NoStartToken, NoRoomToWrite, TooManyTokens, ShapesDoNotFit,
    and what `source_rows` raises."""
    if not isinstance(model, LoadedModel):
        raise ShapesDoNotFit(what="model", expected="load_model(…) / wrap(…)", got=type(model).__name__)
    check_generator(model)
    has_source = source is not None or source_ids is not None
    two_texts = model.encoder_decoder and not same_ids
    if same_ids and not model.encoder_decoder:
        raise ShapesDoNotFit(what="same_ids", expected="False (DecoderLM)", got=model.name)
    if has_source and not two_texts:
        raise ShapesDoNotFit(what="source", expected="None", got=repr(source or source_ids)[:60])
    if two_texts and not has_source:
        raise MissingSource(model=model.name)
    read = tuple(_one_row(model, source, source_ids, max_tokens).ids) if two_texts else None
    given = tuple(_given(model, text, ids, two_texts, max_tokens))
    limit = min(model.max_tokens, max_tokens or model.max_tokens)
    if len(given) >= limit:
        raise NoRoomToWrite(got=len(given), limit=limit, model=model.name)
    return Prompt(given, read, limit)


def _given(
    model: LoadedModel, text: str | None, ids: Ids | None, two_texts: bool, max_tokens: int | None
) -> Sequence[int]:
    """The first ids of the text that is written; of a text, without the specials that would close it."""
    if ids is not None:
        return _one_row(model, None, ids, max_tokens).ids
    if two_texts:
        start = start_id(model)
        return [start] if text is None else _one_row(model, text, None, max_tokens, encode_target).ids
    encoding = _one_row(model, text, None, max_tokens)
    real = [index for index, span in enumerate(encoding.spans) if span is not None]
    return encoding.ids[: real[-1] + 1]


def _one_row(
    model: LoadedModel,
    text: str | None,
    ids: Ids | None,
    max_tokens: int | None,
    read: Callable[[LoadedModel, str, int | None], Encoding] = encode,
) -> Encoding:
    rows = source_rows(model, text, ids, None, max_tokens, read)
    if len(rows) != 1:
        raise ShapesDoNotFit(what="ids", expected="[5, 7, 9]", got=f"({len(rows)}, …)")
    return rows[0]


def end_ids(model: LoadedModel) -> tuple[int, ...]:
    """The tokens that end a text, as the model or its tokenizer names them; there may be several, or none."""
    own = getattr(model.tokenizer, "eos_id", None)
    return tuple(dict.fromkeys((*named_ids(model, "eos_token_id"), *(() if own is None else (own,)))))
