"""The panels of Explore: each chooses its arrays from the run and calls one figure. Nothing is computed here.

A panel whose input the run has not says so, and why.
"""

import unicodedata
from collections.abc import Iterator
from functools import cached_property
from html import escape
from weakref import WeakKeyDictionary

import plotly.graph_objects as go

from transformer import replay
from transformer.engine import Engine
from transformer.familiar import unfamiliar
from transformer.image import ImageEncoding, pixels_of
from transformer.messages import message
from transformer.parts import Array
from transformer.trace import Trace
from viz import figures
from viz.pages.links import to_query
from viz.pages.plot_view import figure_json
from viz.pages.selection import Selection, is_long, site_of, view_of, window

SHOWN_NEXT = 10  # tokens
SEALS_AT_ONCE = 40  # between two reports of a whole recomputation
_NEXT_SEALS: WeakKeyDictionary[Trace, dict[int, replay.Seal]] = WeakKeyDictionary()  # by position


class Panels:
    """The panels of one run in one language."""

    def __init__(self, engine: Engine, trace: Trace, selection: Selection, language: str) -> None:
        self.engine, self.trace, self.selection, self.language = engine, trace, selection, language
        self.site = site_of(trace, selection)
        self.how = trace.attention[self.site]
        self.queries, self.keys = (trace.tokens(self.site, axis) for axis in ("query", "key"))

    def say(self, key: str, /, **values: object) -> str:
        return message(f"explore.{key}", self.language, **values)

    def html(self, key: str, /, **values: object) -> str:
        """Words with values from outside: everything is escaped, and only then set in bold."""
        bold = {name: f"<b><bdi>{escape(str(value))}</bdi></b>" for name, value in values.items()}
        return escape(self.say(key)).format(**bold) if values else escape(self.say(key))

    # --- the whole run -----------------------------------------------------------------------------------------------

    def strip(self) -> str:
        """All tokens, of the source and of the target where there is one; or the image, and what its patch looks at."""
        if self.reads_images:
            return self._image()
        encodings = self.trace.encodings
        own, two = self.site.split(".")[0], len(encodings) > 1
        rows = []
        for stack, encoding in encodings.items():
            chosen = self.selection.query if stack == own else None
            name = f'<p class="stt-lead">{self.html("stack." + stack)}</p>' if two else ""
            marked = stack if two else None
            rows.append(name + figures.token_strip(encoding, selected=chosen, stack=marked, language=self.language))
        return "".join(rows)

    @property
    def reads_images(self) -> bool:
        return isinstance(next(iter(self.trace.encodings.values())), ImageEncoding)

    @property
    def _drawn(self) -> bool:
        return any(pixels_of(next(iter(self.trace.encodings.values()))))

    def _image(self) -> str:
        encoding = next(iter(self.trace.encodings.values()))
        assert isinstance(encoding, ImageEncoding) and encoding.shape is not None
        shown = figures.image_patches(
            encoding.image,
            encoding.shape.grid,
            encoding.tokens,
            selected=self.selection.query,
            weights=self._weights[self.selection.query],
            language=self.language,
        )
        return f"{self._read_as()}{shown}"

    def _read_as(self) -> str:
        """The most probable class in words, beside what was drawn."""
        if self.trace.top is None or not self.trace.is_classified:
            return ""
        ids, shares = self.trace.probabilities(0)
        name = self.engine.class_name(self.selection.model, int(ids[0]), self.language)
        return f'<p class="stt-lead">{self.html("read_as", name=name, share=figures.percent(float(shares[0])))}</p>'

    def diagram(self, box: str | None = None) -> str:
        """The model with the block that is looked at; `box` is marked, or else the chosen attention."""
        layer = int(self.site.split(".")[1])
        return figures.architecture_diagram(
            self.trace.structure, layer=layer, selected=box or self.site, language=self.language
        )

    def status(self) -> str:
        count = sum(len(encoding) for encoding in self.trace.encodings.values())
        seconds = f"{self.trace.seconds:.2f}" if self.trace.seconds >= 0.005 else "<0.01"
        said = escape(self.say("status", count=count, seconds=seconds))
        card = self.engine.load(self.selection.model).card
        told = f'<p class="stt-hint">{escape(card.limits[self.language])}</p>' if card is not None else ""
        return f'<p class="stt-hint">{said}</p>{told}{self._unfamiliar()}'

    def _unfamiliar(self) -> str:
        """A warning where the text is not of the kind that the model was trained on."""
        if self.reads_images and not self._drawn:
            return f'<p class="stt-unfamiliar">{self.html("unfamiliar.blank")}</p>'
        found = unfamiliar(self.engine.load(self.selection.model), self.trace.encodings)
        if found is None:
            return ""
        said = []
        if found.count:
            said.append(self.html("unfamiliar.tokens", tokens=" ".join(found.tokens[:5]), count=found.count))
        if found.longest:
            said.append(self.html("unfamiliar.long", longest=found.longest))
        return f'<p class="stt-unfamiliar">{_joined([*said, self.html("unfamiliar.so")])}</p>'

    def mosaic_title(self) -> str:
        count = sum(how.heads for how in self.trace.attention.values())
        return _heading(self.say("mosaic.title", count=count), self.html("mosaic.lead"))

    def mosaic(self) -> str | None:
        sites = self.trace.attention_sites()
        lengths = [(len(self.trace.tokens(site, "query")), len(self.trace.tokens(site, "key"))) for site in sites]
        n_heads = sum(how.heads for how in self.trace.attention.values())
        block = figures.mosaic_block(n_heads, max(q for q, _ in lengths), max(k for _, k in lengths))
        maps = self.engine.small_maps(self.trace, block)
        names = [self.layer_name(site) for site in sites] if len(self.trace.encodings) > 1 else None
        selected = (self.selection.attention, self.selection.head)
        return self._shown(
            figures.attention_mosaic(maps, selected=selected, layers=names, block=block, language=self.language)
        )

    def layer_name(self, site: str) -> str:
        """ "3", or "decoder 3 · cross" where a model has more than one kind of attention."""
        stack, layer, kind = site.split(".")
        return layer if len(self.trace.encodings) == 1 else self.say(f"layer.{stack}.{kind}", layer=layer)

    # --- one head ----------------------------------------------------------------------------------------------------

    def head_title(self) -> str:
        many = len(self.trace.encodings) > 1
        title = self.say(
            "head.title_of_stack" if many else "head.title", layer=self.layer_name(self.site), head=self.selection.head
        )
        return _heading(title, _joined(self._head_sentences()))

    def _head_sentences(self) -> list[str]:
        row = self._weights[self.selection.query]
        most = {"token": self.keys[int(row.argmax())], "weight": f"{row.max():.3f}"}
        parts = [self.html("head.row", query=self.queries[self.selection.query], **most)]
        if self._allowed is None:
            parts.append(escape(message(self.trace.lacks[f"{self.site}.allowed"], self.language)))
        elif not self._allowed.all():
            parts.append(self.html("head.causal" if self.how.hides_the_future(self.selection.head) else "head.masked"))
        parts.append(self.html("head.sinks" if self.how.sinks is not None else "head.sums"))
        if self.how.kv_heads < self.how.heads:
            share = self.how.heads // self.how.kv_heads
            first = self.selection.head // share * share
            parts.append(escape(self.say("head.shared", first=first, last=first + share - 1)))
        return parts

    @cached_property
    def _weights(self) -> Array:
        """(query, key) of the chosen head: a click shows them as map, lines, row and cell, and makes them once."""
        return self.trace.weights(self.site, self.selection.head)

    @cached_property
    def _allowed(self) -> Array | None:
        """(query, key) bool of the chosen head; None where the model hides its mask."""
        hidden = f"{self.site}.allowed" in self.trace.lacks
        return None if hidden else self.trace.allowed(self.site, self.selection.head)

    def head_map(self) -> str | None:
        chosen = self.selection
        cut = is_long(self.trace, chosen) and chosen.exact
        return self._shown(
            figures.attention_heatmap(
                self._weights,
                self.queries,
                self.keys,
                allowed=self._allowed,
                selected=(chosen.query, chosen.key),
                rows=window(chosen.query, len(self.queries)) if cut else None,
                columns=window(chosen.key, len(self.keys)) if cut else None,
                language=self.language,
            )
        )

    def head_lines(self) -> str | None:
        return self._shown(
            figures.attention_lines(
                self._weights, self.queries, self.keys, selected_query=self.selection.query, language=self.language
            )
        )

    def table(self) -> str:
        """The same map for those who read with ears or fingers."""
        rows = window(self.selection.query, len(self.queries))
        columns = window(self.selection.key, len(self.keys))
        return figures.matrix_table(
            self._weights[rows, columns],
            self.queries[rows],
            self.keys[columns],
            allowed=None if self._allowed is None else self._allowed[rows, columns],
            language=self.language,
        )

    # --- one cell ----------------------------------------------------------------------------------------------------

    def arithmetic(self) -> str:
        heading = _heading(
            self.say("cell.title"),
            self.html("cell.lead", query=self.queries[self.selection.query], key=self.keys[self.selection.key]),
        )
        if self.how.weights is not None:
            reason = escape(message("lack.weights_only", self.language))
            return f'{heading}<p class="stt-empty">{reason}</p>'
        cell = self._cell()
        panel = figures.attention_arithmetic(
            cell["query_vector"],
            cell["keys"][self.selection.key],
            scale=cell["scale"],
            row_scores=cell["row_scores"],
            key_index=self.selection.key,
            weight=float(self._weights[self.selection.query, self.selection.key]),
            bias=0.0 if cell["bias"] is None else float(cell["bias"][self.selection.key]),
            allowed=bool(cell["allowed"][self.selection.key]),
            softcap=cell["softcap"],
            sink=cell["sink"],
            query=self.queries[self.selection.query],
            key=self.keys[self.selection.key],
            language=self.language,
        )
        code = escape(
            figures.as_numpy(cell.pop("query_vector"), cell.pop("keys"), key_index=self.selection.key, **cell)
        )
        button = f'<button type="button" class="stt-copy" data-copy="{code}">{self.html("cell.copy")}</button>'
        return f'{heading}<div class="stt-panel">{panel}{button}</div>'

    @property
    def _row(self) -> slice:
        return slice(self.selection.query, self.selection.query + 1)

    def _cell(self) -> dict:
        """What the chosen weight was made of, by the names of `figures.as_numpy`."""
        head, query = self.selection.head, self.selection.query
        kv_head = head * self.how.kv_heads // self.how.heads
        bias = None if self.how.bias is None else self.trace[f"{self.site}.bias"][head, query]
        return {
            "query_vector": self.trace[f"{self.site}.q"][head, query],
            "keys": self.trace[f"{self.site}.k"][kv_head],
            "scale": self.how.scale,
            "row_scores": self.trace.masked(self.site, head, self._row)[0],
            "allowed": self.trace.allowed(self.site, head, self._row)[0],
            "bias": bias,
            "softcap": self.how.softcap,
            "sink": None if self.how.sinks is None else float(self.how.sinks[head]),
        }

    # --- what comes next ---------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """The token after which the next one is told: the chosen query, or the last where the source is looked at."""
        if self.trace.is_classified:
            return 0  # one answer for the whole input
        last = len(self.trace.encodings[list(self.trace.encodings)[-1]]) - 1
        return self.selection.query if self.site.startswith(list(self.trace.encodings)[-1]) else last

    def next_title(self) -> str:
        if self.trace.top is None:
            reason = escape(message(self.trace.lacks.get("logits", "lack.not_recorded"), self.language))
            return _heading(self.say("next.title"), "") + f'<p class="stt-empty">{reason}</p>'
        if self.trace.is_classified:
            return _heading(self.say("class.title"), self.html("class.lead", count=self.trace.top.vocabulary))
        stack = list(self.trace.encodings)[-1]
        token = self.trace.encodings[stack].tokens[self.position]
        kind = "next" if stack == "decoder" else "here"
        lead = escape(self.say("next.lead", count=f"{self.trace.top.vocabulary:,}"))
        return _heading(self.say(f"{kind}.title"), f"{self.html(f'{kind}.after', token=token)} {lead}")

    def next_tokens(self) -> str | None:
        if self.trace.top is None:
            return None
        ids, shares = self.trace.probabilities(self.position)
        if self.trace.is_classified:
            return self._shown(self._classes(ids, shares))
        names = [self.engine.token(self.selection.model, int(one)) for one in ids[:SHOWN_NEXT]]
        return self._shown(
            figures.next_tokens(
                shares[:SHOWN_NEXT], names, n_vocabulary=self.trace.top.vocabulary, language=self.language
            )
        )

    def _classes(self, ids: Array, shares: Array) -> go.Figure:
        """The classes in their own order; of very many, the most probable."""
        assert self.trace.top is not None
        count = self.trace.top.vocabulary
        order = sorted(range(len(ids)), key=lambda rank: int(ids[rank])) if count == len(ids) else [*range(SHOWN_NEXT)]
        names = [self.engine.class_name(self.selection.model, int(ids[rank]), self.language) for rank in order]
        return figures.class_probabilities(shares[order], names, n_classes=count, language=self.language)

    # --- the seal ----------------------------------------------------------------------------------------------------

    def seal(self) -> str:
        """The chosen head, and what comes next, recomputed in NumPy; and the offer to recompute everything."""
        of_head = replay.seal(self.trace, self.site, self.selection.head)
        lines = [self._seal_line("seal.head", of_head, only_sums=self.how.weights is not None)]
        if self._knows_head:
            lines.append(self._seal_line("seal.next", self._next_seal()))
        offer = f'<button type="button" class="stt-copy" data-seal="all">{self.html("seal.all")}</button>'
        return "".join(lines) + offer

    def seal_all(self) -> Iterator[str]:
        """Every number of the run recomputed: how far it is, then the largest difference and where it is."""
        found: list[replay.Seal] = []
        for number, one in enumerate(replay.seals(self.trace), 1):
            found.append(one)
            if number % SEALS_AT_ONCE == 0:
                yield f'<p class="stt-seal">{escape(self.say("seal.so_far", count=number))}</p>'
        worst = max(found, key=lambda one: (not one.holds, one.difference))
        whole = replay.Seal(worst.site, worst.difference, sum(one.compared for one in found))
        place = escape(self.say("seal.where", count=len(found), site=worst.site))
        yield self._seal_line("seal.whole", whole) + f'<p class="stt-note">{place}</p>'

    def _next_seal(self) -> replay.Seal:
        """The logits of the whole vocabulary again: once per position, not with every head that is looked at."""
        known = _NEXT_SEALS.setdefault(self.trace, {})
        if self.position not in known:
            known[self.position] = replay.seal_probabilities(self.trace, self.position)
        return known[self.position]

    def _seal_line(self, words: str, seal: replay.Seal, *, only_sums: bool = False) -> str:
        return figures.seal_line(self.say(words), seal, only_sums=only_sums, language=self.language)

    @property
    def _knows_head(self) -> bool:
        """Whether the way from the last hidden state to the logits is known."""
        return self.trace.top is not None and any(leaves == "logits" for _, leaves in self.trace.part_inputs.values())

    # --- the page ----------------------------------------------------------------------------------------------------

    def address(self) -> str:
        return to_query(view_of(self.trace, self.selection, self.language))

    def _shown(self, figure: go.Figure) -> str | None:
        return figure_json(figure, zoom=f"{self.trace.key} {self.selection.exact}")


def _joined(sentences: list[str]) -> str:
    """Sentences one after the other; a wide full stop brings its own space."""
    return "".join(one if unicodedata.east_asian_width(one[-1]) == "W" else f"{one} " for one in sentences).strip()


def _heading(title: str, lead: str) -> str:
    """`title` is escaped here, `lead` where it was made."""
    return f'<h2 class="stt-title">{escape(title)}</h2><p class="stt-lead">{lead}</p>'
