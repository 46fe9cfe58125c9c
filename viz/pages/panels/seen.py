"""The chosen head as it is drawn: token by token, or, where a visitor wants whole words, word by word; of a vast text
the window around the chosen cell."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from transformer.parts import Array
from transformer.words import Words, allowed_by_words, by_words, words_of
from viz.pages import selection as move
from viz.pages.panels.word_view import WORDS
from viz.pages.scene import Scene


@dataclass(frozen=True)
class Seen:
    """`weights` and `allowed` (query, key), their names, and the chosen cell among them."""

    weights: Array
    allowed: Array | None
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    query: int
    key: int
    words: tuple[Words, Words] | None = None
    start: tuple[int, int] = (0, 0)  # the tokens of the first row and column

    def tokens(self, query: int, key: int) -> tuple[int, int]:
        """The tokens behind a row and a column: of a word its first."""
        if self.words is None:
            return query + self.start[0], key + self.start[1]
        rows, columns = self.words
        query, key = max(0, min(query, len(rows) - 1)), max(0, min(key, len(columns) - 1))
        return rows.tokens[query][0], columns.tokens[key][0]


_KNOWN: WeakKeyDictionary[Scene, Seen] = WeakKeyDictionary()


def seen(scene: Scene) -> Seen:
    """What the attention views draw; made once for a scene."""
    if scene not in _KNOWN:
        _KNOWN[scene] = _made(scene)
    return _KNOWN[scene]


def _made(scene: Scene) -> Seen:
    if scene.is_vast:
        return _window(scene)
    return joined_words(scene, scene.weights, scene.allowed)


def joined_words(scene: Scene, weights: Array, allowed: Array | None) -> Seen:
    """Any map of the chosen attention, (…, query, key), token by token or word by word."""
    if not WORDS.of(scene.selection):
        return Seen(weights, allowed, scene.queries, scene.keys, scene.query, scene.key)
    rows, columns = (words_of(scene.trace.encoding(scene.site, axis)) for axis in ("query", "key"))
    return Seen(
        weights=by_words(weights, rows, columns),
        allowed=None if allowed is None else allowed_by_words(allowed, rows, columns),
        queries=rows.names,
        keys=columns.names,
        query=rows.of_token[scene.query],
        key=columns.of_token[scene.key],
        words=(rows, columns),
    )


def tokens_at(scene: Scene, row: int, column: int) -> tuple[int, int]:
    """The tokens behind a cell of a map that is drawn as a whole."""
    if not WORDS.of(scene.selection):
        return row, column
    sides = (words_of(scene.trace.encoding(scene.site, axis)) for axis in ("query", "key"))
    query, key = (
        words.tokens[max(0, min(at, len(words) - 1))][0] for words, at in zip(sides, (row, column), strict=True)
    )
    return query, key


def windows(scene: Scene) -> tuple[slice, slice]:
    """The rows and columns around the chosen cell."""
    return move.window(scene.query, len(scene.queries)), move.window(scene.key, len(scene.keys))


def exact_windows(scene: Scene, drawn: Seen | Scene) -> tuple[slice | None, slice | None]:
    """Around the chosen cell of what is drawn, where a visitor asked for it in a long text; None: the whole."""
    if not (move.is_long(scene.trace, scene.selection) and scene.selection.exact):
        return None, None
    return move.window(drawn.query, len(drawn.queries)), move.window(drawn.key, len(drawn.keys))


def _window(scene: Scene) -> Seen:
    rows, columns = windows(scene)
    hidden = scene.hides_some is None
    return Seen(
        weights=scene.trace.weights(scene.site, scene.head, rows)[:, columns],
        allowed=None if hidden else scene.trace.allowed(scene.site, scene.head, rows)[:, columns],
        queries=scene.queries[rows],
        keys=scene.keys[columns],
        query=scene.query - rows.start,
        key=scene.key - columns.start,
        start=(rows.start, columns.start),
    )


def code(scene: Scene) -> str:
    """Python that makes `weights`, `allowed`, `queries` and `keys` as they are drawn."""
    site, head = scene.site, scene.head
    known = "None" if scene.hides_some is None else f"trace.allowed({site!r}, {head})"
    if scene.is_vast:
        rows, columns = windows(scene)
        known = "None" if scene.hides_some is None else f"trace.allowed({site!r}, {head}, rows)[:, columns]"
        return (
            f"rows, columns = {rows}, {columns}  # a window of the text\n"
            f"weights, allowed = trace.weights({site!r}, {head}, rows)[:, columns], {known}\n"
            f"queries, keys = trace.tokens({site!r}, 'query')[rows], trace.tokens({site!r}, 'key')[columns]\n"
        )
    plain = f"weights, allowed = trace.weights({site!r}, {head}), {known}  # (query, key)\n"
    return plain + names_code(scene, allowed=scene.hides_some is not None)


def names_code(scene: Scene, *, allowed: bool) -> str:
    """Python that names the rows and columns of `weights`, joined to words where these are wanted; `allowed` too."""
    site = scene.site
    if not WORDS.of(scene.selection):
        return f"queries, keys = trace.tokens({site!r}, 'query'), trace.tokens({site!r}, 'key')\n"
    joined = "allowed = allowed_by_words(allowed, rows, columns)\n" if allowed else ""
    return (
        "\nfrom transformer.words import allowed_by_words, by_words, words_of\n\n"
        f"rows, columns = (words_of(trace.encoding({site!r}, axis)) for axis in ('query', 'key'))\n"
        "weights = by_words(weights, rows, columns)  # the sum over a word's keys, the mean over its queries\n"
        f"{joined}queries, keys = rows.names, columns.names\n"
    )
