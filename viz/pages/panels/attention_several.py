"""Several heads of one layer at once: lines between two columns of tokens, in colours."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import plotly.graph_objects as go

from transformer.head_maps import most_decided
from transformer.head_seals import seal_heads
from transformer.parts import Array
from viz import figures
from viz.figures.head_lines import MOST_HEADS
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Line, Real
from viz.pages.panels.seen import Seen, joined_words, names_code
from viz.pages.panels.word_view import WORDS, switch
from viz.pages.pick import Pick
from viz.pages.scene import Scene, heading, joined
from viz.pages.selection import Selection

HEADS = Line("heads", 60)  # "0,3,7"; nothing: the chosen head and the two that are least undecided
LEAST = Real("least-weight", 0.02, 1.0, 0.1)
OPTIONS = (HEADS, LEAST)
FEW = 3
EDGE = 0.2  # how far from a column a click still means its token


@dataclass(frozen=True)
class _Several:
    """What the blocks of this view share, made when the first of them needs it."""

    scene: Scene

    @cached_property
    def heads(self) -> tuple[int, ...]:
        return shown_heads(self.scene)

    @property
    def rows(self) -> slice:
        scene = self.scene
        long = move.is_long(scene.trace, scene.selection)
        return move.window(scene.query, len(scene.queries)) if long else slice(0, len(scene.queries))

    @property
    def columns(self) -> slice:
        scene = self.scene
        long = move.is_long(scene.trace, scene.selection)
        return move.window(scene.key, len(scene.keys)) if long else slice(0, len(scene.keys))

    @cached_property
    def weights(self) -> Array:
        """(head, query, key) of the shown heads, of a long text the window around the chosen cell."""
        return self.drawn.weights

    @cached_property
    def drawn(self) -> Seen:
        """Token by token, or, of a text that is no long one, word by word."""
        scene = self.scene
        weights = np.stack([scene.trace.weights(scene.site, head, self.rows)[:, self.columns] for head in self.heads])
        if not move.is_long(scene.trace, scene.selection):
            return joined_words(scene, weights, None)
        names, start = (scene.queries[self.rows], scene.keys[self.columns]), (self.rows.start, self.columns.start)
        return Seen(weights, None, *names, scene.query - start[0], scene.key - start[1], start=start)

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.drawn.queries, self.drawn.keys

    def draw(self) -> go.Figure:
        return figures.head_lines(
            self.weights,
            self.heads,
            *self.names,
            selected_query=self.drawn.query,
            threshold=LEAST.of(self.scene.selection),
            language=self.scene.language,
        )

    def data(self) -> Data:
        """One row for each line that is drawn."""
        selected, (queries, keys) = self.drawn.query, self.names
        lines, _ = figures.lines_of_heads(self.weights, LEAST.of(self.scene.selection), selected)
        ends = zip(*(index.tolist() for index in lines), strict=True)
        names = [f"{self.heads[place]}: {queries[query]} → {keys[key]}" for place, query, key in ends]
        more = {"weights": self.weights, "heads": np.array(self.heads)}
        column = [self.scene.say("figure.weight")]
        return Data(self.weights[lines][:, None], names, column, self.scene.say("attention.several.corner"), more=more)

    def code(self) -> str:
        scene, rows, columns = self.scene, self.rows, self.columns
        if not move.is_long(scene.trace, scene.selection):
            return self._whole_code()
        cut = f"[:, {rows.start}:{rows.stop}, {columns.start}:{columns.stop}]"
        return (
            f"heads = {self.heads}\n"
            f"weights = np.stack([trace.weights({scene.site!r}, head) for head in heads]){cut}  # (head, query, key)\n"
            f"queries = trace.tokens({scene.site!r}, 'query')[{rows.start}:{rows.stop}]\n"
            f"keys = trace.tokens({scene.site!r}, 'key')[{columns.start}:{columns.stop}]\n"
            "figure = figures.head_lines(weights, heads, queries, keys,"
            f" selected_query={scene.query - rows.start}, threshold={LEAST.of(scene.selection):g},"
            f" language={scene.language!r})"
        )

    def _whole_code(self) -> str:
        scene = self.scene
        return (
            f"heads = {self.heads}\n"
            f"weights = np.stack([trace.weights({scene.site!r}, head) for head in heads])  # (head, query, key)\n"
            f"{names_code(scene, allowed=False)}"
            f"figure = figures.head_lines(weights, heads, queries, keys, selected_query={self.drawn.query},"
            f" threshold={LEAST.of(scene.selection):g}, language={scene.language!r})"
        )

    def seal(self) -> str:
        scene = self.scene
        found = seal_heads(scene.trace, scene.site, self.heads)
        return scene.seal_line("attention.several.sealed", found, only_sums=scene.how.weights is not None)


def shown_heads(scene: Scene) -> tuple[int, ...]:
    """The heads that are drawn: those that were asked for, as far as this layer has them."""
    given = [part.strip() for part in HEADS.of(scene.selection).split(",")]
    asked = {int(part) for part in given if part.isascii() and part.isdecimal() and len(part) < 5}
    found = tuple(sorted(head for head in asked if head < scene.how.heads))[:MOST_HEADS]
    return found or most_decided(scene.engine.heads.summary(scene.trace, scene.site), scene.head, FEW)


def blocks(scene: Scene) -> list[Block]:
    """Toggles and lines."""
    chosen, several = scene.selection, _Several(scene)
    where = (scene.site, scene.head, HEADS.of(chosen))
    long = move.is_long(scene.trace, chosen)
    drawn = (*where, scene.query, scene.key if long else None, LEAST.of(chosen), WORDS.of(chosen))
    return [
        Piece("several-title", (*where, (scene.query, scene.key) if long else None), lambda: _title(several)),
        Piece("several-heads", where, lambda: _toggles(several)),
        Piece("several-controls", (scene.how.heads <= MOST_HEADS, long), lambda: _controls(scene)),
        Plot(
            "several-lines",
            drawn,
            scene.say("attention.several.label"),
            several.draw,
            data=several.data,
            code=several.code,
            seal=several.seal,
        ),
    ]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    """A toggle adds or takes away a head; a token of a column, or a line, chooses its token."""
    chosen = scene.selection
    if block == "several-lines":
        return _token(scene, pick)
    if (head := pick.whole("toggle")) is not None:
        return _toggled(scene, head)
    if pick.data.get("heads") == "all":
        return move.with_option(chosen, HEADS, _text(range(min(scene.how.heads, MOST_HEADS))))
    return move.with_option(chosen, HEADS, None) if pick.data.get("heads") == "few" else None


def _toggled(scene: Scene, head: int) -> Selection | None:
    shown = shown_heads(scene)
    if not 0 <= head < scene.how.heads:
        return None
    heads = [one for one in shown if one != head] if head in shown else [*shown, head]
    return move.with_option(scene.selection, HEADS, _text(heads)) if 0 < len(heads) <= MOST_HEADS else None


def _text(heads: range | list[int]) -> str:
    return ",".join(map(str, sorted(heads)))


def _token(scene: Scene, pick: Pick) -> Selection | None:
    if pick.x is None or pick.custom is None:
        return None
    several, token = _Several(scene), int(pick.custom)
    query, key = several.drawn.tokens(token, token)
    if pick.x > 1 - EDGE:
        return move.to_cell(scene.trace, scene.selection, scene.query, key)
    return move.to_query(scene.trace, scene.selection, query)


def _title(several: _Several) -> str:
    scene, rows, columns = several.scene, several.rows, several.columns
    said = [scene.html("attention.several.lead")]
    if move.is_long(scene.trace, scene.selection):
        ends = {"first": rows.start, "last": rows.stop - 1, "first_key": columns.start, "last_key": columns.stop - 1}
        said.append(scene.html("attention.several.window", **ends))
    return heading(scene.say("attention.several.title", layer=scene.layer_name(scene.site)), joined(said))


def _toggles(several: _Several) -> str:
    return figures.head_toggles(several.scene.how.heads, several.heads, language=several.scene.language)


def _controls(scene: Scene) -> str:
    whole = scene.how.heads <= MOST_HEADS
    every = scene.say("attention.several.all" if whole else "attention.several.first", count=MOST_HEADS)
    words = "" if move.is_long(scene.trace, scene.selection) else switch(scene)
    return words + controls.row(
        controls.button(every, name="heads", value="all"),
        controls.button(scene.say("attention.several.few"), name="heads", value="few"),
        controls.slider(LEAST, scene.say("attention.several.least"), step=0.01),
    )
