"""Whether a page that is used for long grows: the JavaScript heap, DOM nodes and listeners over many updates."""

from tests.browser.explore_page import ExplorePage

Counts = dict[str, float]
UPDATES, WARM = 300, 100  # the first updates fill caches of the browser and of plotly.js
# The middles of two heads of the mosaic, in pixels of the window.
_HEADS = """() => { const plot = document.querySelector('#mosaic .stt-plot-live');
   plot.scrollIntoView({block: 'center', behavior: 'instant'});
   const edge = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
   return [0, 1].map((at) => [edge.x + xaxis._offset + xaxis.l2p(at), edge.y + yaxis._offset + yaxis.l2p(at)]); }"""


def grown(page: ExplorePage, updates: int = UPDATES, warm: int = WARM) -> tuple[Counts, Counts]:
    """(before, after) so many heads were clicked: bytes of the JavaScript heap, DOM nodes, event listeners."""
    session = page.page.context.new_cdp_session(page.page)
    session.send("Performance.enable")

    def measured() -> Counts:
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        told = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        return {name: told[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}

    places = page.page.evaluate(_HEADS)

    def click(times: int) -> None:
        for number in range(times):
            n = page.page.evaluate("() => document.querySelector('.stt-stage').dataset.n")
            page.page.mouse.click(*places[number % 2])
            page.visitor.wait(f"document.querySelector('.stt-stage').dataset.n !== '{n}'")

    click(warm)
    before = measured()
    click(updates)
    page.page.wait_for_timeout(300)
    return before, measured()


def tell(page: ExplorePage) -> None:
    before, after = grown(page)
    print(f"memory    after {UPDATES} heads were clicked, and the garbage was collected:")
    for name, unit, scale in (("JSHeapUsedSize", " MB", 1e6), ("Nodes", "", 1), ("JSEventListeners", "", 1)):
        one, other = before[name] / scale, after[name] / scale
        each = (after[name] - before[name]) / UPDATES
        print(f"memory      {name}: {one:,.1f}{unit} → {other:,.1f}{unit} ({each:+,.1f} per click)")
