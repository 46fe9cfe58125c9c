"""The real page in headless Chromium with a clock in it: from the pointer to the frame after the last thing drawn."""

import contextlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from playwright.sync_api import Browser, TimeoutError, sync_playwright

from tests.browser.conftest import FLAGS, Site, running, visiting
from tests.browser.explore_page import ExplorePage
from viz.pages import explore

QUIET = 120  # ms without anything new: the answer is on the screen
MISSED = 6000  # ms without an answer: the click was not heard
# `first`: the frame after the panel has its answer; `last`: after the last figure or text of it was drawn.
_CLOCK = """() => {
  if (window.sttBench) return;
  const clock = window.sttBench = {start: 0, first: 0, last: 0, begun: 0, done: 0};
  addEventListener("pointerup", () => { Object.assign(clock, {start: performance.now(), first: 0, last: 0}); }, true);
  new MutationObserver((records) => {
    const answered = records.some((one) => one.target.classList.contains("stt-stage"));
    clock.begun++;
    stt.nextFrame().then(() => {
      clock.done++;
      if (!clock.first && !answered) return;
      clock.last = performance.now();
      clock.first ||= clock.last;
    });
  }).observe(document.querySelector("#stage"), {subtree: true, attributes: true, attributeFilter: ["data-n"]});
}"""
_SETTLED = f"""() => {{ const clock = window.sttBench;
  const drawn = [...document.querySelectorAll("#stage .stt-plot")].every((plot) => plot.dataset.n);
  return clock.first && drawn && clock.begun === clock.done && performance.now() - clock.last > {QUIET}; }}"""


@dataclass
class Timed:
    """ms from the pointer: to the panel's answer on the screen, and to the last of its figures."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.last)

    @property
    def most(self) -> float:
        """95 % are at most this."""
        return sorted(self.last)[min(len(self.last) - 1, int(len(self.last) * 0.95))]


class Stopwatch:
    """Does something to the page and reads the clock when everything is drawn."""

    def __init__(self, page: ExplorePage) -> None:
        self.page = page
        page.page.evaluate(_CLOCK)

    def time(self, act: Callable[[], None], into: Timed) -> None:
        for tries in range(3):  # a page that moves under the pointer hears no click
            self.page.page.evaluate("() => { window.sttBench.first = 0; }")
            act()
            with contextlib.suppress(TimeoutError if tries < 2 else ()):
                self.page.page.wait_for_function(_SETTLED, timeout=MISSED)
                break
        start, first, last = self.page.page.evaluate("() => { const c = sttBench; return [c.start, c.first, c.last]; }")
        into.first.append(first - start)
        into.last.append(last - start)

    def __call__(self, acts: Sequence[Callable[[], None]]) -> Timed:
        found = Timed()
        for act in acts:
            self.time(act, found)
        return found


@contextlib.contextmanager
def chromium(path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, "--enable-precise-memory-info"])
        yield browser
        browser.close()


@contextlib.contextmanager
def serving() -> Iterator[Site]:
    engine = explore.open_engine(model="untrained", packs=False)
    with running(lambda language: explore.build(language, engine)) as address:
        yield Site(address, engine)


@contextlib.contextmanager
def opened(browser: Browser, site: Site, model: str, text: str) -> Iterator[ExplorePage]:
    """The page on a run of this model, which is loaded already."""
    with visiting(browser) as visit:
        page = ExplorePage(visit(f"{site.address}/?model={model}&text={quote(text)}"), site)
        page.until(lambda: page.link().model == model and page.link().cell is not None, f"{model} has run")
        yield page
