"""What the output panel looks at: the answer at one position, and the token of it that is to be explained."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from transformer.errors import SeeThroughError
from transformer.full_logits import LogitParts, full_logits
from transformer.parts import Array
from transformer.readout import head_of
from viz import figures
from viz.pages.options import Whole
from viz.pages.panels.next_token import names
from viz.pages.pick import Pick
from viz.pages.scene import Scene

WORD = Whole("word-id", 0, 9_999_999)  # the token or class that is explained; not set: the most probable one


class Answer:
    """The logits of the scene's position. `why` says why there are none, where there are none."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.trace, self.position = scene, scene.trace, scene.position

    @cached_property
    def why(self) -> str | None:
        try:
            head_of(self.trace)
        except SeeThroughError as problem:
            return problem.text(self.scene.language)
        return None

    @property
    def stack(self) -> str:
        """Whose positions the answers belong to."""
        return list(self.trace.encodings)[-1]

    @property
    def vocabulary(self) -> int:
        return 0 if self.trace.top is None else self.trace.top.vocabulary

    @property
    def best(self) -> int:
        """The most probable token."""
        assert self.trace.top is not None
        return int(self.trace.top.ids[self.position][0])

    @property
    def token(self) -> int:
        chosen = WORD.of(self.scene.selection)
        return self.best if chosen is None or chosen >= self.vocabulary else chosen

    @property
    def about(self) -> tuple[int, int]:
        """What most blocks depend on."""
        return self.position, self.token if self.trace.top is not None else 0

    def name(self, token: int) -> str:
        return self.names(np.array([token]))[0]

    def names(self, ids: Array) -> list[str]:
        return names(self.scene, ids)

    @property
    def logits(self) -> Array:
        """(vocabulary,)"""
        return full_logits(self.trace, self.position)

    @property
    def logsumexp(self) -> float:
        assert self.trace.top is not None
        return float(self.trace.top.logsumexp[self.position])

    @property
    def before(self) -> str:
        """The token after which (or at which) is answered."""
        return self.trace.encodings[self.stack].tokens[self.position]

    @property
    def is_few(self) -> bool:
        """Whether there are so few classes that all of them are shown."""
        return self.trace.is_classified and self.vocabulary <= 12


def cell_of(pick: Pick) -> tuple[int | None, int | None]:
    """The row and column of a cell that was chosen by mouse, finger or arrow key."""
    row = pick.row if pick.row is not None else None if pick.y is None else round(pick.y)
    column = pick.column if pick.column is not None else None if pick.x is None else round(pick.x)
    return row, column


def stepped(ids: Sequence[int], token: int, pick: Pick) -> int | None:
    """Of tokens below each other: the one that was clicked, or the next one for an arrow key; None: nothing."""
    step = {"ArrowDown": 1, "ArrowUp": -1}.get(pick.key or "")
    if step is not None:
        place = list(ids).index(token) + step if token in ids else 0
        return ids[max(0, min(place, len(ids) - 1))]
    return ids[round(pick.y)] if pick.y is not None and 0 <= round(pick.y) < len(ids) else None


def logit_panel(answer: Answer, found: LogitParts, logsumexp: float) -> str:
    """The arithmetic of the chosen token's logit and probability."""
    return figures.logit_arithmetic(
        found.hidden,
        found.row,
        bias=found.bias,
        scale=found.scale,
        softcap=found.softcap,
        logit=found.logit,
        logsumexp=logsumexp,
        token=answer.name(answer.token),
        n_vocabulary=answer.vocabulary,
        language=answer.scene.language,
    )
