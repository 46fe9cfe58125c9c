"""What a panel is made of: pieces of HTML and figures. Each says what it depends on (`of`), and is made only where the
visitor's browser has not got it already.

A block's `name` is its `id` in the page, the name of its files, and what a pick tells.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import plotly.graph_objects as go

from transformer.parts import Array


@dataclass(frozen=True)
class Data:
    """The numbers of a figure, for its table, CSV and NPZ: `values` (row, column), or (row,) with one column.

    `corner` says what rows and columns are ("looks ↓ · is looked at →"). `allowed` is False where a cell holds no
    number. `more` are further arrays that only NPZ holds.
    """

    values: Array
    rows: Sequence[str]
    columns: Sequence[str]
    corner: str = ""
    allowed: Array | None = None
    more: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """HTML, escaped where it is made. What carries `data-…` in it can be picked; `live`: read out when it changes."""

    name: str
    of: Hashable
    make: Callable[[], str]
    live: bool = False


@dataclass(frozen=True)
class Plot:
    """A figure with its tools. `label` is what a screen reader calls it.

    `data` gives its numbers; `code` the lines of Python that draw it, given `model`, `trace`, `figures` and `np`, and
    end in `figure = …`; `seal` its line of the seal (HTML). `select` is (column, row) of the rectangle, which moves
    without a new figure.
    """

    name: str
    of: Hashable
    label: str
    draw: Callable[[], go.Figure]
    data: Callable[[], Data] | None = None
    code: Callable[[], str] | None = None
    seal: Callable[[], str] | None = None
    select: tuple[int, int] | None = None


Block = Piece | Plot
Columns = Sequence[Sequence[Block]]  # one to three columns, each from top to bottom


def key_of(block: Block, about: Hashable) -> str:
    """Equal keys: the browser has this block already. `about` is what all blocks depend on (run, language)."""
    return sha256(repr((about, type(block).__name__, block.name, block.of)).encode()).hexdigest()[:16]
