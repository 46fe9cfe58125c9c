"""One query's row, taken apart: what the two sub-views of it share. Nothing is computed before somebody looks."""

from functools import cached_property

import numpy as np

from transformer.head_contributions import MixedValues, mixed_values
from transformer.parts import Array
from transformer.query_scores import QueryScores, query_scores
from viz.pages.options import Whole
from viz.pages.scene import Scene

DIMENSION = Whole("dim", most=65_535)  # of q and k, or of v; None: the one that matters most in this cell
SHOWN = 32  # keys of a long text
STEP = 16  # by so many keys the window moves, so that it stands still while one walks in it


class Row:
    """The row of the chosen query in the chosen head."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @property
    def is_known(self) -> bool:
        """Whether the family handed out q, k and v."""
        return f"{self.scene.site}.q" in self.scene.trace.arrays

    @property
    def place(self) -> tuple[str, int, int]:
        return self.scene.site, self.scene.head, self.scene.query

    @cached_property
    def scores(self) -> QueryScores:
        return query_scores(self.scene.trace, *self.place)

    @cached_property
    def mix(self) -> MixedValues:
        return mixed_values(self.scene.trace, *self.place)

    @property
    def window(self) -> slice | None:
        """The keys that are shown: all of a short text, else those around the chosen one."""
        count = len(self.scene.keys)
        if count <= SHOWN:
            return None
        start = max(0, min(self.scene.key // STEP * STEP - STEP // 2, count - SHOWN))
        return slice(start, start + SHOWN)

    @property
    def shown(self) -> slice:
        return self.window or slice(0, len(self.scene.keys))

    @cached_property
    def product_dimension(self) -> int:
        """The chosen dimension of q and k, or the one with the largest product."""
        return _dimension(self.scene, self.scores.products[self.scene.key])

    @cached_property
    def value_dimension(self) -> int:
        """The chosen dimension of v, or the one in which this key gives most."""
        return _dimension(self.scene, self.mix.weighted[self.scene.key])

    def key_at(self, row: int | None) -> int | None:
        """Which key a row of a figure shows."""
        if not self.is_known or row is None or not 0 <= row < self.shown.stop - self.shown.start:
            return None
        return self.shown.start + row


def _dimension(scene: Scene, numbers: Array) -> int:
    chosen = DIMENSION.of(scene.selection)
    return int(np.abs(numbers).argmax()) if chosen is None else min(chosen, len(numbers) - 1)
