"""The Explore page as a visitor has it: how it is clicked, and what it shows, as numbers and words."""

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.browser.conftest import WAIT_MS, Site, Visitor
from transformer.messages import message
from transformer.trace import Trace
from viz.pages.links import View, from_query
from viz.pages.options import read_all
from viz.pages.panels.registry import OPTIONS
from viz.pages.scene import Scene
from viz.pages.selection import Selection, first_look, site_of

FIGURES = ("mosaic", "head-map", "head-lines", "next-tokens")
# All figures of the stage are drawn, by plotly.js, and its HTML stands.
DRAWN = """() => { const parts = [...document.querySelectorAll('#stage .stt-part')];
   const stands = (part) => ['plot', 'html'].some(kind => part.querySelector(`:scope > .stt-${kind}`)?.dataset.n);
   return parts.length && parts.every(stands); }"""
_NUMBERS = """(name) => { const z = document.querySelector('#' + name + ' .stt-plot-live')._fullData[0].z;
   return z.map(row => [...row].map(value => Number.isFinite(value) ? value : null)); }"""
_PIXEL = """async ([name, x, y]) => {
   const plot = document.querySelector('#' + name + ' .stt-plot-live');
   const pixel = () => { const edge = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
     return [edge.x + xaxis._offset + xaxis.l2p(x), edge.y + yaxis._offset + yaxis.l2p(y)]; };
   const rest = () => new Promise(done => setTimeout(done, 60));
   window.scrollBy({top: pixel()[1] - innerHeight / 2, behavior: 'instant'});
   // A figure that is being drawn anew under the mouse hears no click.
   for (let tries = 0, was = null, now = null; tries < 50; tries++, was = now) {
     now = [plot.parentElement.dataset.n, ...pixel()].join();
     if (now === was) break;
     await rest();
   }
   return pixel(); }"""
_TRACE = """([name, number]) => JSON.parse(JSON.stringify(
   document.querySelector('#' + name + ' .stt-plot-live')._fullData[number],
   (key, value) => key.startsWith('_') ? undefined : ArrayBuffer.isView(value) ? [...value] : value))"""


def _opened(panel: str) -> str:
    return f"document.documentElement?.dataset.panel === '{panel}' && ({DRAWN})()"


class ExplorePage:
    """One visitor on the page of `site`; all waits are bounded."""

    def __init__(self, visitor: Visitor, site: Site, panel: str = "attention") -> None:
        self.visitor, self.page, self.engine = visitor, visitor.page, site.engine
        visitor.wait(f"!document.querySelector('#stt-stand-in') && {_opened(panel)}")

    # --- what it shows -----------------------------------------------------------------------------------------------

    def until(self, is_so: Callable[[], Any], what: str) -> None:
        """Until `is_so()` holds; fails with `what` after `WAIT_MS`."""
        end = time.monotonic() + WAIT_MS / 1000
        while not is_so():
            assert time.monotonic() < end, f"not within {WAIT_MS} ms: {what}"
            self.page.wait_for_timeout(20)

    def words(self, name: str) -> str:
        return self.page.inner_text(f"#{name}")

    def says(self, name: str, words: str) -> None:
        self.until(lambda: words in self.words(name), f"#{name} says {words!r}")

    def numbers(self, name: str = "head-map") -> np.ndarray:
        """The numbers of the first trace that plotly.js has drawn, NaN where there is none."""
        return np.array(self.page.evaluate(_NUMBERS, name), np.float64)

    def seals(self) -> str:
        """ "✓✓": the signs of all seals of the panel."""
        told = self.page.locator("#stage .stt-seal").all_inner_texts()
        return "".join(sign for one in told for sign in one if sign in "✓✗")

    def trace_of(self, name: str, number: int = 0) -> dict[str, Any]:
        """One trace of a figure as plotly.js has it: what is not a number or text is left out."""
        return self.page.evaluate(_TRACE, [name, number])

    def figures(self) -> list[str]:
        """The names of the figures on the stage, each drawn."""
        self.visitor.wait(f"({DRAWN})()")
        return self.page.locator("#stage .stt-part-plot").evaluate_all("nodes => nodes.map(node => node.id)")

    def spoken(self) -> str:
        """What a screen reader was told last."""
        return self.page.text_content("#stage .stt-unseen") or ""

    def scene(self, language: str = "en") -> Scene:
        """What the address restores, made here."""
        view = self.link()
        trace = self.engine.trace(view.model, view.text, view.target)
        begun = Selection(view.model, view.text, view.target, options=read_all(dict(view.options), OPTIONS))
        return Scene(self.engine, trace, first_look(trace, begun, view), language)

    def link(self) -> View:
        """What the address bar would restore."""
        return from_query(self.page.url.partition("?")[2])

    def trace(self, text: str, model: str = "untrained") -> Trace:
        """The engine's own run: the page must show this one."""
        return self.engine.trace(model, text)

    def tokens(self) -> list[str]:
        return self.page.locator("#token-strip .stt-token-text").all_text_contents()

    def result(self) -> float:
        """The weight in the last line of the arithmetic."""
        return float(self.page.text_content("#arithmetic .stt-result"))

    def code(self) -> str:
        """The NumPy code that the page offers for copying."""
        return self.page.get_attribute("#arithmetic .stt-copy", "data-copy")

    def shows(self, trace: Trace, site: str, head: int, cell: tuple[int, int], language: str = "en") -> None:
        """Map, title, arithmetic, lines, seal, choosers and address tell this head and cell of this run."""
        weights, allowed = trace.weights(site, head), trace.allowed(site, head)
        expected = np.where(allowed, weights, np.nan)
        self.until(lambda: same(self.numbers(), expected), f"the map of {site}, head {head}")
        layer = trace.attention_sites().index(site)
        assert message("explore.head.title", language, layer=layer, head=head) in self.words("head-title")
        self.until(lambda: abs(self.result() - weights[cell]) <= 6e-4, f"the weight of {cell}")
        self.until(
            lambda: (self.link().site, self.link().head, self.link().cell) == (site, head, cell),
            f"{site}, head {head}, cell {cell} in the address",
        )
        chosen = [self.page.input_value(f"#chooser [data-set={name}]") for name in ("attention", "head")]
        assert chosen == [str(layer), str(head)]
        self.until(lambda: self.seals() == "✓✓", "both seals")
        pressed = self.page.get_attribute("#token-strip [aria-pressed=true]", "data-token")
        assert int(pressed) == cell[0]

    def shows_run(self, trace: Trace, layer: int = 2, head: int = 0, language: str = "en") -> Selection:
        """Every view tells this run, with the head that was chosen before; returns what is looked at."""
        text = trace.encodings["decoder"].text
        first = first_look(trace, Selection(trace.model, text), View(layer=layer, head=head))
        self.until(lambda: self.link().text == text, f"{text!r} in the address")
        self.shows(trace, site_of(trace, first), first.head, (first.query, first.key), language)
        assert self.tokens() == list(trace.encodings["decoder"].tokens)
        return first

    def problems(self) -> list[str]:
        """Everything that must not have happened."""
        visitor = self.visitor
        shown = self.page.inner_text("body")
        said = [word for word in ("Traceback", "Error:", "undefined", "NaN") if re.search(rf"\b{word}", shown)]
        return [*visitor.errors, *visitor.console, *visitor.outside, *visitor.dialogs, *said]

    # --- how it is used ----------------------------------------------------------------------------------------------

    def type(self, text: str) -> None:
        self.page.fill("#text textarea", text)
        self.page.press("#text textarea", "Enter")

    def choose(self, name: str, words: str) -> None:
        """An entry of a drop-down list, found by typing."""
        self.page.fill(f"#{name} input", words)
        self.page.press(f"#{name} input", "Enter")

    def set(self, name: str, value: str) -> None:
        """A list of the panel, set to one of its values."""
        self.page.select_option(f"#stage select[data-set={name}]", value)

    def open_panel(self, name: str) -> None:
        self.page.click(f"#panels [data-panel={name}]")
        self.visitor.wait(_opened(name))

    def press_tab(self, name: str, value: str) -> None:
        """One of a row of buttons that stand for the values of an option."""
        self.page.click(f"#stage button[data-set={name}][data-value={value}]")
        chosen = f"#stage button[data-set={name}][data-value={value}][aria-pressed=true]"
        self.visitor.wait(f"document.querySelector('{chosen}') && ({DRAWN})()")

    def option(self, name: str) -> str | None:
        """A setting as the address has it."""
        return dict(self.link().options).get(name)

    def click(self, name: str, x: float, y: float) -> None:
        """A click at (x, y), in the numbers of the figure's axes."""
        self.page.mouse.click(*self.page.evaluate(_PIXEL, [name, x, y]))

    def click_head(self, layer: int, head: int) -> None:
        self.click("mosaic", head, layer)

    def click_cell(self, query: int, key: int) -> None:
        self.click("head-map", key, query)


def same(shown: np.ndarray, expected: np.ndarray) -> bool:
    """Equal as float32, NaN in the same places."""
    return shown.shape == expected.shape and np.allclose(shown, expected, rtol=1e-6, atol=1e-7, equal_nan=True)
