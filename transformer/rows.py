"""What goes into a run: texts or ids become rows of equal length, and rows the inputs of a forward pass."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer.errors import (
    EmptyText,
    InputError,
    MissingTarget,
    NoTokenizer,
    ShapesDoNotFit,
    TooManyTokens,
    UnknownToken,
)
from transformer.image import ImageEncoding, image_of
from transformer.parts import Array
from transformer.second_text import begun
from transformer.tokenizer import Encoding
from transformer.wrapped import LoadedModel, quiet_inputs


class NotAVisionModel(InputError): ...


Texts = str | Sequence[str]
Ids = Sequence[int] | Sequence[Sequence[int]] | Tensor
Rows = list[Encoding]


def encode(model: LoadedModel, text: str, max_tokens: int | None = None) -> Encoding:
    """The tokens of one text as this model reads them; a vision model reads an image that was written down.

    Raises EmptyText, BrokenText, TooManyTokens, NoTokenizer, NotAnImage.
    """
    encoding = _encoded(model, text)
    if model.image is None:
        _check(model, encoding, max_tokens)
    return encoding


def encode_target(model: LoadedModel, text: str, max_tokens: int | None = None) -> Encoding:
    """The tokens of a second text as the decoder reads them, see `second_text.py`. Raises what `encode` raises."""
    encoding = begun(model, _encoded(model, text))
    _check(model, encoding, max_tokens)
    return encoding


def _encoded(model: LoadedModel, text: str) -> Encoding:
    if model.image is not None:
        return ImageEncoding.of(image_of(text, model.image), model.image)
    if model.tokenizer is None:
        raise NoTokenizer(name=model.name)
    encoding = model.tokenizer.encode(text)
    if not any(encoding.spans):
        raise EmptyText()  # nothing, or nothing but special tokens: BERT drops white space
    return encoding


def image_rows(model: LoadedModel, text: Texts | None, image: Array | None) -> Rows:
    """The patches of one image, given as numbers or written down. Raises NotAVisionModel and what `encode` raises."""
    if model.image is None:
        raise NotAVisionModel(name=model.name)
    if image is not None:
        return [ImageEncoding.of(_array(image), model.image)]
    texts = list(text) if isinstance(text, list | tuple) else [text]
    if not texts or not all(isinstance(one, str) for one in texts):
        raise ShapesDoNotFit(what="image", expected=model.image.shape, got=repr(text)[:60])
    return [encode(model, str(one)) for one in texts]


def _array(image: Array) -> Array:
    """Lists and tensors are welcome; rows of unequal length are no image."""
    try:
        return image.detach().cpu().numpy() if isinstance(image, Tensor) else np.asarray(image)
    except ValueError:
        raise ShapesDoNotFit(what="image", expected="[[0.0, …], …]", got=repr(image)[:60]) from None


def source_rows(
    model: LoadedModel,
    text: Texts | None,
    ids: Ids | None,
    mask: Ids | None,
    max_tokens: int | None,
    read: Callable[[LoadedModel, str, int | None], Encoding] = encode,
) -> Rows:
    """One encoding per row, padded to equal length; `read` makes it of a text. Raises UnknownToken, ShapesDoNotFit, and
    what `encode` raises."""
    masks = None if mask is None else _lists(mask)
    if ids is not None:
        return _rows_of_ids(model, _lists(ids), masks, max_tokens)
    texts = [text] if isinstance(text, str) else list(text) if isinstance(text, list | tuple) else [text]
    if any(one is not None and not isinstance(one, str) for one in texts):
        raise ShapesDoNotFit(what="text", expected="str / [str, …]", got=repr(text)[:60])
    texts = [str(one) for one in texts if one is not None]
    if not texts:
        raise EmptyText()
    encodings = [read(model, one, max_tokens) for one in texts]
    longest = max(len(one) for one in encodings)
    if masks is None and all(len(one) == longest for one in encodings):
        return encodings
    return _rows_of_ids(model, [list(one.ids) for one in encodings], masks, max_tokens)


def target_rows(
    model: LoadedModel, target: Texts | None, ids: Ids | None, max_tokens: int | None, n_rows: int
) -> Rows | None:
    """The decoder's rows of an encoder-decoder, one per source; None for a model of one stack. A text begins with the
    token that begins what the model writes; ids stay as they are given. Raises MissingTarget, ShapesDoNotFit, and what
    `source_rows` raises."""
    if not model.encoder_decoder:
        return None
    if target is None and ids is None:
        raise MissingTarget(model=model.name)
    rows = source_rows(model, target, ids, None, max_tokens, encode_target)
    if len(rows) != n_rows:
        raise ShapesDoNotFit(what="target", expected=f"({n_rows}, …)", got=f"({len(rows)}, …)")
    return rows


def forward_inputs(model: LoadedModel, source: Rows, targets: Rows | None) -> dict[str, Any]:
    """The keywords of one forward pass."""
    if model.image is not None:
        return {"pixel_values": torch.tensor(np.stack([row.image for row in source if isinstance(row, ImageEncoding)]))}
    mask = _mask(source)
    inputs = {"input_ids": torch.tensor([row.ids for row in source]), "attention_mask": mask}
    if model.is_causal and not bool(mask.all()):
        # Without these, a left-padded causal model counts its padding and gives plausible, wrong numbers.
        inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    if targets is not None:
        inputs["decoder_input_ids"] = torch.tensor([row.ids for row in targets])
        if not bool(_mask(targets).all()):
            inputs["decoder_attention_mask"] = _mask(targets)
    wanted = quiet_inputs(inputs, model.accepts)
    return {**wanted, "output_attentions": True} if model.weights_only else wanted


def _mask(rows: Rows) -> Tensor:
    """(batch, position): 1 = real, 0 = padding."""
    return torch.tensor([[0 if padding else 1 for padding in row.padding] for row in rows])


def _lists(values: Any) -> list[list[int]]:
    """Numbers of any kind (lists, tuples, arrays, tensors), one row or several, as lists."""
    try:
        plain = values.tolist() if hasattr(values, "tolist") else list(values)
        rows = plain if plain and hasattr(plain[0], "__len__") else [plain]
        whole = [[int(one) for one in row] for row in rows]
        if any(
            number != one
            for numbers, row in zip(whole, rows, strict=True)
            for number, one in zip(numbers, row, strict=True)
        ):
            raise ValueError  # 3.7, or "5"
    except (TypeError, ValueError, OverflowError):
        raise ShapesDoNotFit(what="ids", expected="[5, 7, 9] / [[5, 7], [9]]", got=repr(values)[:60]) from None
    return whole


def is_batch(text: Texts | None, ids: Any) -> bool:
    """Whether several rows were asked for (even if it is a list of one)."""
    if ids is None:
        return not isinstance(text, str)
    return len(ids) > 0 and hasattr(ids[0], "__len__") and getattr(ids[0], "ndim", 1) > 0


def _rows_of_ids(
    model: LoadedModel, lists: list[list[int]], masks: list[list[int]] | None, max_tokens: int | None
) -> Rows:
    masks = [[1] * len(row) for row in lists] if masks is None else masks
    if len(masks) != len(lists):
        raise ShapesDoNotFit(what="attention_mask", expected=f"({len(lists)}, …)", got=f"({len(masks)}, …)")
    if not all(lists):
        raise EmptyText()
    longest = max(len(row) for row in lists)
    left = getattr(model.tokenizer, "padding_side", "right") == "left"
    pad = getattr(model.tokenizer, "pad_id", None) or 0
    rows = []
    for row, mask in zip(lists, masks, strict=True):
        if len(mask) != len(row):
            raise ShapesDoNotFit(what="attention_mask", expected=len(row), got=len(mask))
        if not set(mask) <= {0, 1}:
            raise ShapesDoNotFit(what="attention_mask", expected="0 / 1", got=mask[:20])
        fill, blank = [pad] * (longest - len(row)), [0] * (longest - len(row))
        full, real = (fill + row, blank + mask) if left else (row + fill, mask + blank)
        rows.append(_encoding_of_ids(model, full, [not one for one in real]))
        _check(model, rows[-1], max_tokens)
    return rows


def _encoding_of_ids(model: LoadedModel, ids: list[int], padding: list[bool]) -> Encoding:
    wrong = next((one for one in ids if not 0 <= one < model.vocab_size), None)
    if wrong is not None:
        raise UnknownToken(token=wrong, last=model.vocab_size - 1)
    if model.tokenizer is None:
        return Encoding.from_ids(ids, padding=padding)
    return model.tokenizer.encoding_of_ids(ids, padding)


def _check(model: LoadedModel, encoding: Encoding, max_tokens: int | None) -> None:
    limit = min(model.max_tokens, max_tokens or model.max_tokens)
    if len(encoding) > limit:
        raise TooManyTokens(got=len(encoding), limit=limit, model=model.name)
