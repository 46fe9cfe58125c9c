"""What a click changes on Explore: another head, cell, token or box of the same run. It never runs the model again."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from html import escape
from math import floor
from typing import Any

import gradio as gr

from transformer.errors import SeeThroughError
from transformer.trace import Trace
from viz import figures
from viz.pages import selection as move
from viz.pages.box_card import box_card
from viz.pages.layout import Layout
from viz.pages.panels import Panels
from viz.pages.plot_view import data_of, move_selection, picked, whole, whole_of
from viz.pages.selection import Selection

Updates = dict[Any, Any]


class Looks(Layout):
    """The handlers of the fast clock: a recorded run and a selection in, the panels that change out."""

    def on_mosaic(self, before: Selection, event: gr.EventData) -> Updates:
        found, trace = picked(event), self._trace(before)
        sites = trace.attention_sites()
        if found.column is None or found.row is None or not 0 <= found.row < len(sites):
            return self._nothing()
        if not 0 <= found.column < trace.attention[sites[found.row]].heads:
            return self._nothing()
        return self._show(before, move.to_head(trace, before, found.row, found.column))

    def on_chooser(self, layer: int, head: int, before: Selection) -> Updates:
        return self._show(before, move.to_head(self._trace(before), before, whole(layer) or 0, whole(head) or 0))

    def on_cell(self, before: Selection, event: gr.EventData) -> Updates:
        found = picked(event)
        if found.x is None or found.y is None:
            return self._nothing()
        return self._show(before, move.to_cell(self._trace(before), before, floor(found.y + 0.5), floor(found.x + 0.5)))

    def on_line(self, before: Selection, event: gr.EventData) -> Updates:
        found, trace = picked(event), self._trace(before)
        if found.x is None or found.y is None:
            return self._nothing()
        site = move.site_of(trace, before)
        sides = [len(trace.tokens(site, axis)) for axis in ("query", "key")]
        axis, index = figures.line_token(found.x, found.y, *sides)
        is_query = axis == "query"
        chosen = move.to_query(trace, before, index) if is_query else move.to_cell(trace, before, before.query, index)
        return self._show(before, chosen)

    def on_token(self, before: Selection, event: gr.EventData) -> Updates:
        index, trace = whole_of(event, "token"), self._trace(before)
        if index is None:
            return self._nothing()
        stack = str(data_of(event).get("stack", next(iter(trace.encodings))))
        return self._show(before, move.to_token(trace, before, stack, index))

    def on_box(self, before: Selection, event: gr.EventData) -> Updates:
        """A box of the diagram: an attention is shown as a head, any other part by what it did to the chosen token."""
        trace, name = self._trace(before), str(data_of(event).get("site", ""))
        if name in trace.attention:
            return self._show(before, move.to_head(trace, before, trace.attention_sites().index(name), before.head))
        card = box_card(trace, name, before.query, self.language)
        if card is None:
            return self._nothing()
        return {self.arithmetic: card, self.diagram: self._panels(trace, before).diagram(name)}

    def on_exact(self, before: Selection) -> Updates:
        trace = self._trace(before)
        return self._updates_of_head(self._panels(trace, replace(before, exact=not before.exact)))

    def on_seal(self, before: Selection) -> Iterator[Updates]:
        """Recompute the whole pass, and keep the lines of this view above the result."""
        try:
            panels = self._panels(self._trace(before), before)
            lines = panels.seal()
            yield from ({self.seal: lines + found} for found in panels.seal_all())
        except SeeThroughError as error:
            yield {self.notice: line("stt-error", error.text(self.language))}

    def on_table(self, before: Selection) -> Updates:
        panels = self._panels(self._trace(before), replace(before, table=True))
        return {self.state: panels.selection, **self._updates_of_table(panels)}

    def _nothing(self) -> Updates:
        """No change. Gradio takes an empty answer for empty values."""
        return {self.notice: gr.skip()}

    def _trace(self, chosen: Selection) -> Trace:
        """The run that is looked at; it is run again should it have left the store."""
        return self.engine.trace(chosen.model, chosen.text, chosen.target)

    def _show(self, before: Selection, chosen: Selection) -> Updates:
        """What must change on the page between two selections of one run, and nothing more."""
        panels = self._panels(self._trace(chosen), chosen)
        if (chosen.attention, chosen.head) != (before.attention, before.head):
            return self._updates_of_head(panels) | {self.mosaic: move_selection(chosen.head, chosen.attention)}
        updates = {
            self.state: chosen,
            self.diagram: panels.diagram(),
            self.head_map: panels.head_map(),
            self.arithmetic: panels.arithmetic(),
            self.address: panels.address(),
            **self._updates_of_table(panels),
        }
        return updates if chosen.query == before.query else updates | self._updates_of_row(panels)

    def _updates_of_table(self, panels: Panels) -> Updates:
        """A closed table is not made: it is the largest piece of the page."""
        return {self.table: panels.table()} if panels.selection.table else {}

    def _updates_of_row(self, panels: Panels) -> Updates:
        return {
            self.strip: panels.strip(),
            self.head_title: panels.head_title(),
            self.head_lines: panels.head_lines(),
            self.next_title: panels.next_title(),
            self.next_tokens: panels.next_tokens(),
            self.seal: panels.seal(),
        }

    def _updates_of_head(self, panels: Panels) -> Updates:
        return {
            self.state: panels.selection,
            **self._updates_of_row(panels),
            self.diagram: panels.diagram(),
            self.layer: gr.update(**self.layers(panels)),
            self.head: gr.update(**self.heads(panels)),
            self.exact: gr.update(**self.exactness(panels)),
            self.head_map: panels.head_map(),
            self.arithmetic: panels.arithmetic(),
            self.address: panels.address(),
            self.notice: "",
            **self._updates_of_table(panels),
        }

    def _panels(self, trace: Trace, chosen: Selection) -> Panels:
        return Panels(self.engine, trace, chosen, self.language)

    def _kindly(self, handler: Callable[..., Updates]) -> Callable[..., Updates]:
        """What goes wrong in the world is told in words, and the page stays as it is."""

        @wraps(handler)
        def kind(*given: Any) -> Updates:
            try:
                return handler(*given)
            except SeeThroughError as error:
                return {self.notice: line("stt-error", error.text(self.language))}

        return kind

    def _of_cell(self) -> list[Any]:
        """What a click on a head or cell may change."""
        return [
            self.state, self.strip, self.diagram, self.mosaic, self.head_title, self.layer, self.head, self.exact,
            self.head_map, self.head_lines, self.seal, self.table, self.arithmetic, self.next_title, self.next_tokens,
            self.address, self.notice,
        ]  # fmt: skip


def line(css_class: str, words: str) -> str:
    return f'<p class="{css_class}">{escape(words)}</p>'
