"""An image as a model reads it: pixels, and the patches that stand where a text has its tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transformer.errors import InputError, ShapesDoNotFit
from transformer.parts import Array
from transformer.tokenizer import Encoding

LARGEST = 1e6  # of a pixel's value
LEVELS = "0123456789abcdefg"  # ink 0 … 16 of one pixel, as a character


class NotAnImage(InputError): ...


@dataclass(frozen=True)
class ImageShape:
    """What a vision model takes: pixels of `channels` × `height` × `width` in squares of `patch_size`."""

    channels: int
    height: int
    width: int
    patch_size: int
    extra_tokens: int = 1  # before the patches: [CLS], and one more in distilled models

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.height // self.patch_size, self.width // self.patch_size

    @property
    def n_tokens(self) -> int:
        rows, columns = self.grid
        return self.extra_tokens + rows * columns

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.channels, self.height, self.width


@dataclass(frozen=True)
class ImageEncoding(Encoding):
    """The tokens of an image: [CLS], then the patches row by row, named "row,column" from 1. They stand for no text.

    `pixels` (channels · height · width) floats, row by row, lie in `shape`.
    """

    pixels: tuple[float, ...] = ()
    shape: ImageShape | None = None

    @property
    def image(self) -> Array:
        """(channels, height, width) float32."""
        assert self.shape is not None
        return np.array(self.pixels, dtype=np.float32).reshape(self.shape.shape)

    @classmethod
    def of(cls, image: Array, shape: ImageShape) -> "ImageEncoding":
        """Raises ShapesDoNotFit, also for pixels that are no numbers."""
        image = image[None] if image.ndim == 2 else image
        if image.dtype.kind not in "fiub":
            raise ShapesDoNotFit(what="image", expected=f"{shape.shape} ∈ ℝ", got=image.dtype)
        if image.shape != shape.shape:
            raise ShapesDoNotFit(what="image", expected=shape.shape, got=image.shape)
        pixels = np.asarray(image, dtype=np.float32)
        if not (np.abs(pixels) <= LARGEST).all():  # NaN neither; larger ones overflow a norm's float32 variance
            raise ShapesDoNotFit(what="image", expected=f"|pixel| ≤ {LARGEST:g}", got=float(np.abs(pixels).max()))
        names, nothing = patch_names(shape), (None,) * shape.n_tokens
        return cls(
            ids=tuple(range(shape.n_tokens)),
            tokens=names,
            spans=nothing,
            bytes=(b"",) * shape.n_tokens,
            special=tuple(number < shape.extra_tokens for number in range(shape.n_tokens)),
            words=nothing,
            groups=tuple(range(shape.n_tokens)),
            text=None,
            pixels=tuple(map(float, pixels.ravel())),
            shape=shape,
        )


def pixels_of(encoding: Encoding) -> tuple[float, ...]:
    """The pixels that stand behind the tokens of an image; none behind those of a text."""
    return encoding.pixels if isinstance(encoding, ImageEncoding) else ()


def patch_names(shape: ImageShape) -> tuple[str, ...]:
    """ "[CLS]", "1,1", "1,2", …: row and column of each patch, counted from 1."""
    rows, columns = shape.grid
    places = tuple(f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1))
    return ("[CLS]", "[DISTILL]")[: shape.extra_tokens] + places


def image_of(text: str, shape: ImageShape) -> Array:
    """An image that was written down, one character per pixel, row by row: "0" paper … "g" ink, white space between.

    So an image travels wherever a text does: in a box, a link, a program. (channels, height, width) of 0 … 1. Raises
    NotAnImage.
    """
    signs, needed = "".join(text.split()).lower(), int(np.prod(shape.shape))
    if len(signs) != needed or set(signs) - set(LEVELS):
        wrong = next((sign for sign in signs if sign not in LEVELS), "")
        raise NotAnImage(height=shape.height, width=shape.width, expected=needed, got=f"{len(signs)} {wrong}".strip())
    return np.array([LEVELS.index(sign) / 16 for sign in signs], dtype=np.float32).reshape(shape.shape)


def text_of(image: Array | Sequence[Sequence[float]]) -> str:
    """The other way: 0 … 1 rounded to 16ths, one line per row."""
    rows = np.asarray(image, dtype=np.float64)
    rows = rows.reshape(-1, rows.shape[-1])
    return "\n".join("".join(LEVELS[round(16 * min(max(pixel, 0.0), 1.0))] for pixel in row) for row in rows)
