"""What the panel "embedding" looks at: one token's vectors, one dimension, the positions of its stack and layer."""

from functools import cached_property

from transformer.embedding_sum import EmbeddingSum, embedding_sum
from transformer.image import ImageEncoding
from transformer.parts import Array
from transformer.position_kinds import PositionKinds, position_kinds
from transformer.position_picture import Picture, of_run, of_table
from transformer.position_rows import PositionRows, cosines, position_rows
from transformer.vector_tables import Table, table_of
from transformer.wrapped import LoadedModel
from viz.pages import selection as move
from viz.pages.options import Choice, Whole
from viz.pages.scene import Scene
from viz.pages.selection import Selection

TAB = Choice("embed", ("vectors", "positions"))
DIMENSION = Whole("embed-dimension", default=0)
TABLE = Choice("embed-table", ("run", "table"))
EXACT_UP_TO = 128  # dimensions that are drawn one by one
PAGE = 64  # dimensions of a part of a wider vector


class Look:
    """The choice, kept within what the run has; what several blocks need is made once."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.trace, self.stack, self.query = scene, scene.trace, scene.stack, scene.query
        own = f"{scene.place}.self"
        self.site = own if own in scene.trace.attention else scene.site  # whose positions: not those of another text
        self.how = scene.trace.attention[self.site]
        self.head = min(scene.head, self.how.heads - 1)
        # Across, the chosen key stands in the other text; this one's is then the token itself.
        self.key = scene.key if self.site == scene.site else scene.query

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.trace.encodings[self.stack].tokens

    @property
    def token(self) -> str:
        return self.tokens[self.query]

    @property
    def image(self) -> ImageEncoding | None:
        encoding = self.trace.encodings[self.stack]
        return encoding if isinstance(encoding, ImageEncoding) else None

    # --- vectors -----------------------------------------------------------------------------------------------------

    @cached_property
    def model(self) -> LoadedModel:
        return self.scene.engine.load(self.scene.selection.model)

    @cached_property
    def sum(self) -> EmbeddingSum | None:
        return embedding_sum(self.trace, self.stack)

    def table(self, kind: str) -> Table | None:
        return table_of(self.model, self.trace, f"{self.stack}.embed.{kind}")

    @property
    def width(self) -> int:
        """d_model of the vectors that are added."""
        site = next(f"{self.stack}.embed.{kind}" for kind in ("token", "position") if self._has(kind))
        return int(self.trace[site].shape[-1])

    def _has(self, kind: str) -> bool:
        return f"{self.stack}.embed.{kind}" in self.trace.arrays

    @property
    def has_vectors(self) -> bool:
        return self._has("token") or self._has("position")

    @property
    def dimension(self) -> int:
        return min(DIMENSION.of(self.scene.selection) or 0, self.width - 1)

    @property
    def part(self) -> slice | None:
        """The part of a wide vector that holds the chosen dimension; None: it is drawn whole."""
        if self.width <= EXACT_UP_TO:
            return None
        start = self.dimension // PAGE * PAGE
        return slice(start, min(start + PAGE, self.width))

    @property
    def first(self) -> int:
        return 0 if self.part is None else self.part.start

    def to_dimension(self, dimension: int) -> Selection:
        return move.with_option(self.scene.selection, DIMENSION, max(0, min(dimension, self.width - 1)))

    # --- positions ---------------------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> PositionKinds:
        return position_kinds(self.trace, self.site)

    @cached_property
    def rows(self) -> PositionRows | None:
        return position_rows(self.trace, self.stack)

    def to_token(self, token: int) -> Selection:
        return move.to_token(self.trace, self.scene.selection, self.stack, token)

    def to_head(self, head: int) -> Selection:
        """A head of the attention that is shown, which may not be the one that was chosen elsewhere."""
        attention = self.trace.attention_sites().index(self.site)
        kept = move.to_head(self.trace, self.scene.selection, attention, head)
        return kept if self.site == self.scene.site else move.to_query(self.trace, kept, self.query)


class Added:
    """The rows that are shown: the run's, or the whole table's."""

    def __init__(self, scene: Scene, look: Look, rows: PositionRows) -> None:
        self.scene, self.look, self.rows = scene, look, rows

    @cached_property
    def table(self) -> Table | None:
        return self.look.table("position")

    @cached_property
    def whole(self) -> Picture | None:
        return of_table(self.rows, self.table, self.look.query)

    @property
    def asks_for_table(self) -> bool:
        return TABLE.of(self.scene.selection) == "table"

    @cached_property
    def picture(self) -> Picture:
        shown = self.whole if self.asks_for_table else None
        return of_run(self.rows, self.look.query) if shown is None else shown

    @cached_property
    def names(self) -> list[str]:
        tokens, picture = self.look.tokens, self.picture
        if picture.tokens is None:
            return [str(one) for one in picture.positions.tolist()]
        return [tokens[one] for one in picture.tokens.tolist()]

    @cached_property
    def cosines(self) -> Array:
        return cosines(self.picture.rows)

    @property
    def cell(self) -> tuple[int, int] | None:
        at = self.picture.at
        return None if at is None else (at, self.look.dimension)

    def token_at(self, row: int) -> int | None:
        return self.picture.token_at(row, len(self.look.tokens))

    @property
    def code(self) -> str:
        """Lines that give `found`, `picture` and `names`."""
        look = self.look
        lines = ["from transformer.position_rows import cosines, position_rows"]
        lines += ["from transformer.position_picture import of_run, of_table, waves", ""]
        lines += [f"found = position_rows(trace, {look.stack!r})"]
        if self.picture.tokens is None:
            lines += ["from transformer.vector_tables import table_of"]
            lines += [f"table = table_of(model, trace, '{look.stack}.embed.position')"]
            lines += [f"picture = of_table(found, table, {look.query})"]
            lines += ["names = [str(one) for one in picture.positions]"]
        else:
            lines += [f"picture = of_run(found, {look.query})"]
            lines += [f"names = [trace.encodings[{look.stack!r}].tokens[one] for one in picture.tokens]"]
        return "\n".join(lines) + "\n"
