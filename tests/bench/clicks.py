"""How long a visitor waits after a click, in the real page, and whether a page that is used for long grows."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Error

from tests.bench import memory
from tests.bench.browsing import Stopwatch, Timed, chromium, opened, serving
from tests.bench.desk import text_of
from tests.bench.table import lines
from tests.browser.explore_page import ExplorePage
from tests.conftest import NO_CHROMIUM, find_chromium
from viz.pages.panels.registry import PANELS

RUNS = (("mini-gpt", 8), ("smollm2", 30), ("mini-gpt", 30), ("smollm2", 8))
ROUNDS, SWITCHES = 10, 3
CLICK, SWITCH = 100, 150  # ms that they may take
SECONDS = 110  # for all of it


@dataclass(frozen=True)
class Waited:
    """ms: the median to the panel's answer, and to the last figure the median and what 95 % stay below."""

    what: str
    count: int
    first: float
    last: float
    most: float
    budget: int


def waits(page: ExplorePage, rounds: int = ROUNDS, switches: int = SWITCHES) -> list[Waited]:
    """Clicks on an Explore page that shows the attention panel of a decoder, each kind by itself."""
    timed, trace = Stopwatch(page), page.trace(page.link().text, page.link().model)
    sites = trace.attention_sites()
    count, heads = len(trace.tokens(sites[0], "query")), trace.attention[sites[0]].heads
    row, column = page.link().cell

    def cell(query: int, key: int) -> Callable[[], None]:
        return lambda: page.click_cell(query, key)

    def head(number: int) -> Callable[[], None]:
        return lambda: page.click_head(number * 7 % len(sites), number % heads)

    def token(number: int) -> Callable[[], None]:
        return lambda: page.page.click(f'#token-strip [data-token="{number}"]')

    def panel(name: str) -> Callable[[], None]:
        return lambda: page.page.click(f'#panels [data-panel="{name}"]')

    found: dict[str, tuple[Timed, int]] = {}
    found["nothing (the chosen cell)"] = timed([cell(row, column)] * rounds), CLICK
    found["a cell"] = timed([cell(count - 1 - n % (count - 1), n % 3 % count) for n in range(rounds)]), CLICK
    found["a head"] = timed([head(n) for n in range(1, rounds + 1)]), CLICK
    found["a token"] = timed([token(1 + n % (count - 1)) for n in range(rounds)]), CLICK
    found |= {f"panel {name}": (Timed(), SWITCH) for name in PANELS}
    for _ in range(switches):
        for name in [*(one for one in PANELS if one != "attention"), "attention"]:
            timed.time(panel(name), found[f"panel {name}"][0])
    return [
        Waited(what, len(one.last), statistics.median(one.first), one.median, one.most, budget)
        for what, (one, budget) in found.items()
    ]


def report() -> None:
    path = find_chromium()
    if path is None:
        print(f"clicks    not measured: {NO_CHROMIUM}")
        return
    until = time.monotonic() + SECONDS
    with serving() as site, chromium(path) as browser:
        for model, tokens in RUNS:
            if not site.engine.is_here(model):
                print(f"clicks    {model}: not here (python -m transformer.packs add {model})")
                continue
            if time.monotonic() > until:
                print(f"clicks    {model}, {tokens} tokens: left out, the {SECONDS} s for this part are over")
                continue
            try:
                with opened(browser, site, model, text_of(site.engine, model, tokens)) as page:
                    _print(f"{model}, {tokens} tokens", waits(page))
            except (Error, AssertionError) as error:  # the page did not answer: that is for a test to find out
                print(f"clicks    {model}, {tokens} tokens: not measured ({str(error).splitlines()[0]})")
        with opened(browser, site, "mini-gpt", text_of(site.engine, "mini-gpt", 8)) as page:
            memory.tell(page)


def _print(of: str, found: list[Waited]) -> None:
    nothing = found[0].last
    head = (f"clicks on {of}", "times", "answer", "drawn", "95 %", "to nothing", "budget", "")
    rows = [
        (
            one.what, str(one.count), f"{one.first:.0f} ms", f"{one.last:.0f} ms", f"{one.most:.0f} ms",
            f"{one.last / nothing:.1f}", f"{one.budget} ms", "OVER" if one.last > one.budget else "",
        )
        for one in found
    ]  # fmt: skip
    for line in lines(head, rows):
        print(line, flush=True)
