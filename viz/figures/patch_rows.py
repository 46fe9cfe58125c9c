"""What stands above the patches of an image in `text_levels`: their pixels, row by row, or their means."""

import numpy as np

from viz.figures.pieces import say

LISTED_UP_TO = 4  # pixels in a row of a patch; larger patches, and colours, are told by their means


def patch_rows(
    image: np.ndarray, grid: tuple[int, int], n_tokens: int, tokens: tuple[int, int], *, language: str = "en"
) -> str:
    """HTML rows of a table for the tokens [first, last) of `image` (channels, height, width), cut into `grid` (rows,
    columns); what stands before the patches, such as [CLS], has no pixels. Raises ValueError where shapes do not fit.
    """
    channels, height, width = np.shape(image)
    extra = n_tokens - grid[0] * grid[1]
    if height % grid[0] or width % grid[1] or extra < 0:
        raise ValueError(f"image {np.shape(image)} in {grid} patches does not fit {n_tokens} tokens")
    high, wide = height // grid[0], width // grid[1]
    cut = np.asarray(image, dtype=np.float64).reshape(channels, grid[0], high, grid[1], wide)
    patches = cut.transpose(1, 3, 0, 2, 4).reshape(grid[0] * grid[1], channels, high, wide)
    if channels == 1 and wide <= LISTED_UP_TO:
        lines = [(say("figure.levels.pixels", language, row=row + 1), patches[:, 0, row]) for row in range(high)]
    else:
        means = patches.mean((2, 3))
        lines = [(say("figure.levels.mean", language, channel=c + 1), means[:, c, None]) for c in range(channels)]
    return "".join(_line(name, values, extra, tokens) for name, values in lines)


def _line(name: str, values: np.ndarray, extra: int, tokens: tuple[int, int]) -> str:
    """One row of pixels of every patch: `values` (patch, pixel)."""
    cells = [
        "<td></td>" if token < extra else f'<td data-tie="{token}">{_pixels(values[token - extra].tolist())}</td>'
        for token in range(*tokens)
    ]
    return f'<tr class="stt-level-pixels"><th scope="row"><bdi>{name}</bdi></th>{"".join(cells)}</tr>'


def _pixels(values: list[float]) -> str:
    """Each value with a square of as much ink; values beyond 0 … 1 are a processor's, and have no square."""
    squares = (
        f'<i style="--ink:{value:.1%}"></i>' if 0 <= value <= 1 else '<i class="stt-no-ink"></i>' for value in values
    )
    return "".join(f"<span>{square}{value:.3g}</span>" for square, value in zip(squares, values, strict=True))
