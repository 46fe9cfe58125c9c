"""Whether a page that is used for long grows: the JavaScript heap, DOM nodes and listeners over many updates."""

import time

from tests.browser.explore_page import ExplorePage

Counts = dict[str, float]
UPDATES, WARM = 300, 100  # the first updates fill caches of the browser and of plotly.js
SECONDS = 60
# The middles of two heads of the mosaic, in pixels of the window.
_HEADS = """() => { const plot = document.querySelector('#mosaic .stt-plot-live');
   plot.scrollIntoView({block: 'center', behavior: 'instant'});
   const edge = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
   return [0, 1].map((at) => [edge.x + xaxis._offset + xaxis.l2p(at), edge.y + yaxis._offset + yaxis.l2p(at)]); }"""


def grown(page: ExplorePage, updates: int = UPDATES, warm: int = WARM) -> tuple[int, Counts, Counts]:
    """(clicks, before, after): bytes of the JavaScript heap, DOM nodes and event listeners around so many clicks on
    heads, or as many as there was time for."""
    session = page.page.context.new_cdp_session(page.page)
    session.send("Performance.enable")

    def measured() -> Counts:
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        told = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        return {name: told[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}

    places, until = page.page.evaluate(_HEADS), time.monotonic() + SECONDS

    def click(times: int) -> int:
        for number in range(times):
            if time.monotonic() > until:
                return number
            n = page.page.evaluate("() => document.querySelector('.stt-stage').dataset.n")
            page.page.mouse.click(*places[number % 2])
            page.visitor.wait(f"document.querySelector('.stt-stage').dataset.n !== '{n}'")
        return times

    click(warm)
    before = measured()
    done = click(updates)
    page.page.wait_for_timeout(300)
    return done, before, measured()


def tell(page: ExplorePage) -> None:
    done, before, after = grown(page)
    print(f"memory    after {done} heads were clicked, and the garbage was collected:")
    for name, unit, scale in (("JSHeapUsedSize", " MB", 1e6), ("Nodes", "", 1), ("JSEventListeners", "", 1)):
        one, other = before[name] / scale, after[name] / scale
        each = (after[name] - before[name]) / max(1, done)
        print(f"memory      {name}: {one:,.1f}{unit} → {other:,.1f}{unit} ({each:+,.1f} per click)")
