"""Pictures of handwritten digits, 8 × 8: the test set of Alpaydin & Kaynak 1998 (UCI), as scikit-learn brings it along.

It is needed for training only, so scikit-learn stands in requirements-dev.txt and is loaded for the first batch.
"""

import zlib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.errors import ModelError
from transformer.tasks import Batch

HELD_OUT_ONE_IN = 5  # 1797 pictures are few: a fifth of them make an examination of 300 and more
BRIGHTEST = 16.0  # the pictures count black pixels in squares of 4 × 4


class NoDigits(ModelError): ...


@cache
def digits(held_out: bool) -> tuple[Tensor, Tensor]:
    """Pictures, (picture, 1, 8, 8) from 0 to 1, and the digits they show, (picture,). Raises NoDigits."""
    try:
        bundle = import_module("sklearn.datasets").load_digits()
    except ImportError as problem:
        raise NoDigits() from problem
    pictures = torch.tensor(bundle.images, dtype=torch.float32)[:, None] / BRIGHTEST
    chosen = torch.tensor([_is_held_out(index) == held_out for index in range(len(pictures))])
    return pictures[chosen], torch.tensor(bundle.target)[chosen]


def _is_held_out(index: int) -> bool:
    return zlib.crc32(str(index).encode()) % HELD_OUT_ONE_IN == 0


@dataclass(frozen=True)
class Digits:
    """Which digit is it? Training pictures are moved, turned and dimmed a little, since there are only 1400 of them."""

    shift: float = 1.0  # pixels, to either side
    turn: float = 15.0  # degrees
    stretch: float = 0.15  # share of the size, also that of the shear
    dim: float = 0.2  # share of the brightness
    noise: float = 0.03  # standard deviation

    name = "digits"

    def batch(self, random: Random, size: int, held_out: bool = False) -> Batch:
        """`size` pictures, (batch, 1, 8, 8), and their digits, (batch,). Held-out ones come once and as they are."""
        pictures, labels = digits(held_out)
        if held_out:
            chosen = torch.tensor(random.sample(range(len(labels)), min(size, len(labels))))
            return Batch({"pixel_values": pictures[chosen]}, labels[chosen])
        chosen = torch.tensor(random.choices(range(len(labels)), k=size))
        varied = self.varied(pictures[chosen], torch.Generator().manual_seed(random.getrandbits(63)))
        return Batch({"pixel_values": varied}, labels[chosen])

    def varied(self, pixels: Tensor, generator: torch.Generator) -> Tensor:
        """Every picture as another hand might have written it: (batch, 1, height, width)."""
        size = len(pixels)

        def within(limit: float) -> Tensor:
            return (torch.rand(size, generator=generator) * 2 - 1) * limit  # (batch,)

        turn, shear = within(self.turn * torch.pi / 180), within(self.stretch)
        wide, high = 1 + within(self.stretch), 1 + within(self.stretch)
        pixel = 2 / pixels.shape[-1]  # affine_grid counts from −1 to 1
        rows = (
            torch.stack((turn.cos() * wide, shear - turn.sin() * high, within(self.shift) * pixel), -1),
            torch.stack((turn.sin() * wide, turn.cos() * high, within(self.shift) * pixel), -1),
        )
        grid = F.affine_grid(torch.stack(rows, 1), list(pixels.shape), align_corners=False)
        moved = F.grid_sample(pixels, grid, align_corners=False)  # outside is empty paper
        bright = moved * (1 - within(self.dim).abs())[:, None, None, None]
        noise = torch.randn(pixels.shape, generator=generator) * self.noise
        return (bright + noise).clamp(0, 1)
