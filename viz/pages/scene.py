"""What is looked at: one run, one selection in it, one language. Every panel is made from a `Scene` alone."""

import unicodedata
from functools import cached_property
from html import escape

from transformer import replay
from transformer.engine import Engine
from transformer.image import ImageEncoding, pixels_of
from transformer.messages import message
from transformer.parts import Array
from transformer.trace import Trace
from viz import figures
from viz.pages.selection import Selection, site_of

WHOLE_UP_TO = 1024  # tokens


class Scene:
    """A run and what is chosen in it, with the words and arrays that several panels need."""

    def __init__(self, engine: Engine, trace: Trace, selection: Selection, language: str) -> None:
        self.engine, self.trace, self.selection, self.language = engine, trace, selection, language
        self.site = site_of(trace, selection)  # "decoder.9.self"
        self.how = trace.attention[self.site]
        self.queries, self.keys = (trace.tokens(self.site, axis) for axis in ("query", "key"))

    # --- words -------------------------------------------------------------------------------------------------------

    def say(self, key: str, /, **values: object) -> str:
        """Plain words, not escaped."""
        return message(key, self.language, **values)

    def html(self, key: str, /, **values: object) -> str:
        """Words with values from outside: everything is escaped, and only then set in bold."""
        bold = {name: f"<b><bdi>{escape(str(value))}</bdi></b>" for name, value in values.items()}
        return escape(self.say(key)).format(**bold) if values else escape(self.say(key))

    def reason(self, *sites: str) -> str:
        """Why something is not there, from the trace's own list: the first of `sites` that has a reason."""
        key = next((self.trace.lacks[site] for site in sites if site in self.trace.lacks), "lack.not_recorded")
        return self.say(key)

    # --- where -------------------------------------------------------------------------------------------------------

    @property
    def stack(self) -> str:
        """ "decoder": whose tokens look."""
        return self.site.split(".")[0]

    @property
    def layer(self) -> int:
        return int(self.site.split(".")[1])

    @property
    def place(self) -> str:
        """ "decoder.9": the block that is looked at."""
        return f"{self.stack}.{self.layer}"

    @property
    def query(self) -> int:
        return self.selection.query

    @property
    def key(self) -> int:
        return self.selection.key

    @property
    def head(self) -> int:
        return self.selection.head

    def layer_name(self, site: str) -> str:
        """ "3", or "decoder 3 · cross" where a model has more than one kind of attention."""
        stack, layer, kind = site.split(".")
        return layer if len(self.trace.encodings) == 1 else self.say(f"explore.layer.{stack}.{kind}", layer=layer)

    @property
    def about(self) -> tuple[str, str]:
        """What every block depends on."""
        return self.trace.key, self.language

    # --- the chosen head ---------------------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> Array:
        """(query, key) of the chosen head: a click shows them as map, lines, row and cell, and makes them once."""
        return self.trace.weights(self.site, self.selection.head)

    @cached_property
    def row(self) -> Array:
        """(key,) weights of the chosen query: all that a click on a long text needs."""
        return self.trace.weights(self.site, self.selection.head, slice(self.query, self.query + 1))[0]

    @property
    def corner(self) -> str:
        """What rows and columns of a map are."""
        return f"{self.say('figure.looks')} ↓ · {self.say('figure.looked_at')} →"

    @property
    def is_vast(self) -> bool:
        """A text whose whole map is never made: blocks and windows of it are shown."""
        return max(len(self.queries), len(self.keys)) > WHOLE_UP_TO

    @property
    def hides_some(self) -> bool | None:
        """Whether the mask forbids any cell; None where the model hides its mask."""
        if f"{self.site}.allowed" in self.trace.lacks:
            return None
        allowed = self.how.allowed
        return self.how.causal if allowed is None else not bool(allowed.all())

    @cached_property
    def allowed(self) -> Array | None:
        """(query, key) bool of the chosen head; None where the model hides its mask."""
        hidden = f"{self.site}.allowed" in self.trace.lacks
        return None if hidden else self.trace.allowed(self.site, self.selection.head)

    # --- the answer --------------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """The token after which the next one is told: the chosen query, or the last where the source is looked at."""
        if self.trace.is_classified:
            return 0  # one answer for the whole input
        last = len(self.trace.encodings[list(self.trace.encodings)[-1]]) - 1
        return self.selection.query if self.site.startswith(list(self.trace.encodings)[-1]) else last

    @property
    def reads_images(self) -> bool:
        return isinstance(next(iter(self.trace.encodings.values())), ImageEncoding)

    @property
    def drawn(self) -> bool:
        """Whether there is ink on the image."""
        return any(pixels_of(next(iter(self.trace.encodings.values()))))

    # --- the seal ----------------------------------------------------------------------------------------------------

    def seal_line(self, words: str, seal: replay.Seal, *, only_sums: bool = False) -> str:
        """ "✓ <words> recomputed in NumPy · ≤ 3e-7 apart"; `words` is the key of a message."""
        return figures.seal_line(self.say(words), seal, only_sums=only_sums, language=self.language)


def joined(sentences: list[str]) -> str:
    """Sentences one after the other; a wide full stop or colon brings its own space."""
    return "".join(one if unicodedata.east_asian_width(one[-1]) in "WF" else f"{one} " for one in sentences).strip()


def heading(title: str, lead: str = "") -> str:
    """`title` is escaped here, `lead` where it was made."""
    told = f'<p class="stt-lead">{lead}</p>' if lead else ""
    return f'<h2 class="stt-title">{escape(title)}</h2>{told}'


def note(words: str) -> str:
    """A hint below what it explains; escaped here."""
    return f'<p class="stt-hint">{escape(words)}</p>'


def empty(reason: str) -> str:
    """HTML of a panel or figure that has nothing to show, and why; `reason` is escaped here."""
    return f'<p class="stt-empty">{escape(reason)}</p>'
