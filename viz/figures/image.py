"""An image as a vision model reads it: crisp pixels, cut into patches that are tokens (Dosovitskiy et al. 2021)."""

import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np

from transformer.messages import message
from viz.figures import theme

WIDTH = 240.0  # units of the drawing across all patches, without the gaps
GAP = 3.0  # units between two patches
EDGE = 4.0  # of a shaded patch: units that its pixels leave free, so that the shade is seen pure
NUMBERS_UP_TO = 36  # patches: more, and a number no longer fits its patch
LISTED_UP_TO = 4  # pixels of a patch that are named one by one
INK = "linear-gradient(90deg,var(--stt-soft),var(--stt-ink))"


def image_patches(
    image: np.ndarray,
    grid: tuple[int, int],
    names: Sequence[str],
    *,
    selected: int | None = None,
    weights: np.ndarray | None = None,
    language: str = "en",
) -> str:
    """HTML of `image` (channels, height, width) of 0 … 1, cut into `grid` (rows, columns) of patches.

    `names` are those of all tokens: what stands before the patches, such as [CLS], becomes a chip beside the image.
    Chips and patches carry `data-token`, the token's position, as in `token_strip`; `selected` is the orange one.
    `weights` (token,) are what it looks at: they shade the patches from 0 to the largest of them, and the legend says
    so. One channel is ink on paper, three are red, green and blue. Raises ValueError where the shapes do not fit.
    """
    image = np.asarray(image, dtype=np.float64)
    extra = _extra_tokens(image, grid, names)
    shares = None if weights is None else _shares(np.asarray(weights, dtype=np.float64), len(names))
    cut = _Cut(image, grid)
    words = [_title(index, names, cut, extra, shares, language) for index in range(len(names))]
    chips = "".join(_chip(index, names[index], words[index], index == selected, shares) for index in range(extra))
    patches = [_patch(cut, index, extra, words[index], index == selected, shares) for index in range(extra, len(names))]
    label = escape(message("figure.image.label", language, rows=grid[0], columns=grid[1]))
    return (
        f'<div class="stt-image" role="group" aria-label="{label}"><div class="stt-image-parts">'
        + (f'<div class="stt-image-chips">{chips}</div>' if chips else "")
        + f'<svg class="stt-image-patches{" stt-weighed" if shares is not None else ""}"'
        f' viewBox="0 0 {cut.wide:g} {cut.high:g}">{"".join(patches)}</svg></div>'
        f"{_below(cut, names, extra, selected, shares, language)}</div>"
    )


@dataclass(frozen=True)
class _Cut:
    """The patches of an image and where they are drawn."""

    image: np.ndarray  # (channel, y, x)
    grid: tuple[int, int]

    @property
    def patch(self) -> tuple[int, int]:
        """Height and width of a patch in pixels."""
        return self.image.shape[1] // self.grid[0], self.image.shape[2] // self.grid[1]

    @property
    def unit(self) -> float:
        """Side of a pixel in the drawing."""
        return WIDTH / self.image.shape[2]

    @property
    def wide(self) -> float:
        return WIDTH + (self.grid[1] - 1) * GAP

    @property
    def high(self) -> float:
        return self.unit * self.image.shape[1] + (self.grid[0] - 1) * GAP

    def pixels(self, number: int) -> np.ndarray:
        """(channel, y, x) of patch `number`, row by row."""
        (high, wide), (row, column) = self.patch, divmod(number, self.grid[1])
        return self.image[:, row * high : (row + 1) * high, column * wide : (column + 1) * wide]

    def corner(self, number: int) -> tuple[float, float]:
        """x and y of the patch in the drawing."""
        (high, wide), (row, column) = self.patch, divmod(number, self.grid[1])
        return column * (wide * self.unit + GAP), row * (high * self.unit + GAP)


def _extra_tokens(image: np.ndarray, grid: tuple[int, int], names: Sequence[str]) -> int:
    """How many tokens stand before the patches."""
    rows, columns = grid
    if image.ndim != 3 or image.shape[0] not in (1, 3) or image.shape[1] % rows or image.shape[2] % columns:
        raise ValueError(f"image {image.shape} cannot be cut into {rows} × {columns} patches")
    if not ((image >= 0) & (image <= 1)).all():
        raise ValueError(f"pixels from {image.min():g} to {image.max():g} do not lie within 0 … 1")
    if len(names) < rows * columns:
        raise ValueError(f"{len(names)} names do not fit {rows} × {columns} patches")
    return len(names) - rows * columns


def _shares(weights: np.ndarray, n_tokens: int) -> np.ndarray:
    if weights.shape != (n_tokens,):
        raise ValueError(f"weights {weights.shape} do not fit {n_tokens} tokens")
    if not ((weights >= 0) & (weights <= 1 + 1e-5)).all():
        raise ValueError(f"weights from {weights.min():g} to {weights.max():g} do not lie within 0 … 1")
    return weights


def _shade(shares: np.ndarray, index: int) -> str:
    return theme.weight_css(shares[index] / shares.max()) if shares.max() > 0 else theme.weight_css(0)


def _chip(index: int, name: str, words: str, selected: bool, shares: np.ndarray | None) -> str:
    share = ""
    if shares is not None:
        swatch = f'<i class="stt-swatch" style="background:{_shade(shares, index)}"></i>'
        share = f'<span class="stt-token-id">{swatch}{shares[index]:.2f}</span>'
    return (
        f'<button type="button" class="stt-token stt-special" data-token="{index}" title="{words}" aria-label="{words}"'
        f' aria-pressed="{"true" if selected else "false"}"><bdi class="stt-token-text">{escape(name)}</bdi>{share}'
        "</button>"
    )


def _patch(cut: _Cut, index: int, extra: int, words: str, selected: bool, shares: np.ndarray | None) -> str:
    """One patch, from back to front: its shade, its pixels over it with the shade pure around them, number, frame."""
    x, y = cut.corner(index - extra)
    high, wide = (side * cut.unit for side in cut.patch)
    back, number, edge = "", "", 0.0
    if shares is not None:
        back, edge = f' style="fill:{_shade(shares, index)}"', min(EDGE, 0.1 * min(high, wide))
        if len(shares) - extra <= NUMBERS_UP_TO:
            number = f'<text class="stt-patch-number" x="7" y="{high - 8:g}">{_short(shares[index])}</text>'
    inside = f"translate({edge:g} {edge:g}) scale({1 - 2 * edge / wide:.5g} {1 - 2 * edge / high:.5g})"
    return (
        f'<g class="stt-patch" transform="translate({x:g} {y:g})" role="button" tabindex="0" data-token="{index}"'
        f' aria-label="{words}" aria-pressed="{"true" if selected else "false"}"><title>{words}</title>'
        f"{_box('stt-patch-back', wide, high, 0, back)}"
        f'<g class="stt-patch-pixels" transform="{inside}">{_pixels(cut.pixels(index - extra), cut.unit)}</g>'
        f"{number}{_box('stt-patch-frame', wide, high, 1)}</g>"
    )


def _box(kind: str, wide: float, high: float, inset: float, more: str = "") -> str:
    size = f'width="{wide - 2 * inset:g}" height="{high - 2 * inset:g}"'
    return f'<rect class="{kind}" x="{inset:g}" y="{inset:g}" {size}{more}/>'


def _pixels(pixels: np.ndarray, unit: float) -> str:
    """Ink as rectangles, so that it follows light and dark; colours as a picture, since they are what they are."""
    channels, high, wide = pixels.shape
    if channels == 3:
        size = f'width="{wide * unit:g}" height="{high * unit:g}" preserveAspectRatio="none"'
        return f'<image {size} href="data:image/png;base64,{b64encode(png(pixels)).decode()}"/>'
    parts = []
    for y, row in enumerate(pixels[0].tolist()):
        x = 0
        for value, run in groupby(row):
            length = len(list(run))
            if value > 0:
                place = f'x="{x * unit:g}" y="{y * unit:g}" width="{length * unit:g}" height="{unit:g}"'
                parts.append(f'<rect class="stt-pixel" {place} fill-opacity="{value:.4g}"/>')
            x += length
    return "".join(parts)


def png(pixels: np.ndarray) -> bytes:
    """A PNG file (ISO/IEC 15948) of pixels (3, y, x) from 0 to 1."""
    rows = np.rint(pixels * 255).astype(np.uint8).transpose(1, 2, 0)  # (y, x, channel)
    high, wide, _ = rows.shape
    lines = np.zeros((high, 1 + 3 * wide), np.uint8)  # each line begins with its filter: 0, none
    lines[:, 1:] = rows.reshape(high, 3 * wide)
    size = wide.to_bytes(4) + high.to_bytes(4)
    chunks = ((b"IHDR", size + bytes((8, 2, 0, 0, 0))), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4) for kind, data in chunks
    )


def _short(share: float) -> str:
    """ ".07" """
    text = f"{share:.2f}"
    return text.removeprefix("0") if share < 0.995 else "1.0"


def _called(index: int, names: Sequence[str], extra: int, language: str) -> str:
    return names[index] if index < extra else message("figure.image.patch", language, name=names[index])


def _title(index: int, names: Sequence[str], cut: _Cut, extra: int, shares: np.ndarray | None, language: str) -> str:
    """ "patch 2,3 | token 7 | pixels 0 0.25 0.5 1 | weight 0.123", escaped."""
    facts = [_called(index, names, extra, language), message("figure.image.token", language, index=index)]
    if index >= extra:
        pixels = cut.pixels(index - extra)
        if pixels.size <= LISTED_UP_TO:
            values = " ".join(f"{value:.3g}" for value in pixels.ravel().tolist())
            facts.append(message("figure.image.pixels", language, values=values))
        else:
            facts.append(message("figure.image.mean", language, mean=f"{pixels.mean():.2f}"))
    if shares is not None:
        facts.append(message("figure.image.weight", language, weight=f"{shares[index]:.3f}"))
    return escape(" | ".join(facts))


def _below(
    cut: _Cut, names: Sequence[str], extra: int, selected: int | None, shares: np.ndarray | None, language: str
) -> str:
    """What is overlaid, in words, and a bar that says which shade is how much."""
    rows, columns = cut.grid
    if shares is None:
        size = {"height": cut.image.shape[1], "width": cut.image.shape[2], "count": rows * columns}
        words = message("figure.image.plain", language, **size, rows=cut.patch[0], columns=cut.patch[1])
    elif selected is None:
        words = message("figure.image.weights", language)
    else:
        words = message("figure.image.looks", language, token=_called(selected, names, extra, language))
    legend = ""
    if shares is not None:
        legend = _legend(message("figure.weight", language), f"{shares.max():.2f}", theme.weight_gradient())
    elif len(cut.image) == 1:
        legend = _legend(message("figure.image.ink", language), "1", INK)
    return f'<p class="stt-image-caption">{escape(words)}</p>{legend}'


def _legend(name: str, most: str, background: str) -> str:
    return (
        f'<p class="stt-image-legend"><span>{escape(name)}</span> <span>0</span>'
        f'<i style="background:{background}"></i><span>{most}</span></p>'
    )
