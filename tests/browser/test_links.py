"""A link restores a panel with all its settings, and `hide` leaves out what a teacher does not want to show."""

from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, quote, urlencode

import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import DRAWN, ExplorePage
from transformer.messages import message
from viz.pages.panels.registry import OPTIONS
from viz.pages.stage import plots, settings_of

pytestmark = pytest.mark.browser

TEXT = "The dog chased the cat and it"
HOME = f"model=mini-gpt&text={quote(TEXT)}&site=decoder.2.self&head=1&query=6&key=3"
STATES = [
    ("tokens", {"words": "on"}),
    ("embedding", {"embed": "positions", "embed-dimension": "9"}),
    ("attention", {"show": "together", "together": "sinks", "without-sink": "on"}),
    ("attention", {"show": "several", "heads": "1,3", "least-weight": "0.25", "words": "on"}),
    ("masks", {"mask-view": "batch", "batch": "The cat", "batch-row": "1", "batch-query": "2", "batch-key": "1"}),
    ("norm", {"norm": "norm2", "channel": "77"}),
    ("ffn", {"neuron": "17", "neuron-by": "output"}),
    ("output", {"temperature": "0.6", "top-k": "7", "top-p": "0.9", "word": "cat"}),
    ("generate", {"gen-mode": "sample", "gen-seed": "7", "gen-count": "4", "gen-step": "1", "gen-temperature": "1.5"}),
]
# What every control shows, and every figure as plotly.js was given it.
SHOWN = """() => { const shown = {}, valueOf = one => one.type !== 'checkbox' ? one.value : one.checked ? 'on' : 'off';
   for (const one of document.querySelectorAll('#stage [data-set]'))
     if (!one.matches('button')) shown[one.dataset.set] = valueOf(one);
     else if (one.getAttribute('aria-pressed') === 'true') shown[one.dataset.set] = one.dataset.value;
   const plain = (key, value) => ArrayBuffer.isView(value) ? [...value] : value;
   const data = [...document.querySelectorAll('#stage .stt-plot-live')].map(plot => JSON.stringify(plot.data, plain));
   return [shown, data]; }"""


@pytest.fixture(scope="module")
def tab(stay: Callable[..., Visitor], site: Site) -> Visitor:
    return stay(f"{site.address}/?{HOME}")


def _opened(tab: Visitor, site: Site, query: str, panel: str = "attention", path: str = "/") -> ExplorePage:
    tab.page.goto(f"{site.address}{path}?{query}", wait_until="commit")
    page = ExplorePage(tab, site, panel)
    page.until(lambda: page.link().model == "mini-gpt" and page.link().cell is not None, "mini-gpt has run")
    tab.wait(f"({DRAWN})()")
    return page


@pytest.mark.parametrize(("panel", "options"), STATES)
def test_a_link_restores_a_panel_and_its_settings(tab: Visitor, site: Site, panel: str, options: dict) -> None:
    page = _opened(tab, site, f"{HOME}&panel={panel}&{urlencode(options)}", panel)
    assert dict(page.link().options) == options and page.link().panel == panel
    assert (page.link().site, page.link().head, page.link().cell) == ("decoder.2.self", 1, (6, 3))
    scene = page.scene()
    assert page.figures() == list(plots(scene))
    shown, data = tab.page.evaluate(SHOWN)
    settings = settings_of(scene)
    assert shown == {name: settings[name] for name in shown} and set(shown) & (set(options) | {"attention"})
    tab.page.reload(wait_until="commit")
    again = ExplorePage(tab, site, panel)
    assert again.link() == page.link()
    assert tab.page.evaluate(SHOWN) == [shown, data], "the same controls and figures"
    assert page.problems() == [] and set(page.seals()) <= {"✓"}


def test_a_setting_that_fits_nothing_is_as_if_it_had_not_been_said(tab: Visitor, site: Site) -> None:
    wrong = dict.fromkeys(OPTIONS, "<img src=x onerror=alert(1)>") | {"heads": "9,99", "norm": "nothing"}
    page = _opened(tab, site, f"{HOME}&panel=norm&{urlencode(wrong)}", "norm")
    assert page.figures() == list(plots(page.scene())) and page.problems() == []
    assert tab.page.locator("#stage img").count() == 0


# --- hide ------------------------------------------------------------------------------------------------------------


def _visible(tab: Visitor, selector: str) -> bool:
    return tab.page.locator(selector).first.is_visible()


def test_hide_leaves_out_parts_panels_and_seals(tab: Visitor, site: Site) -> None:
    page = _opened(tab, site, f"{HOME}&hide=inputs,examples,seal,norm")
    gone = ("#inputs", "#examples", "#stage .stt-seal", "#panels [data-panel=norm]", "#seal-all")

    def holds(page: ExplorePage) -> None:
        for selector in gone:
            assert page.page.locator(selector).count() > 0 and not _visible(tab, selector), selector
        assert _visible(tab, "#panels [data-panel=ffn]") and _visible(tab, "#token-strip")
        assert parse_qs(page.page.url.partition("?")[2])["hide"] == ["inputs,examples,seal,norm"]

    holds(page)
    page.page.click("#token-strip [data-token='4']")
    page.until(lambda: page.link().cell[0] == 4, "a click")
    holds(page)
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.page.click("[data-stt=link]")
    page.until(lambda: page.page.evaluate("document.querySelector('#stt-said')?.textContent"), "the page says: copied")
    assert "hide=inputs" in page.page.evaluate("navigator.clipboard.readText()").replace("%2C", ",")
    page.page.click("#language")
    tab.wait("document.documentElement?.lang === 'zh-CN'")
    other = ExplorePage(tab, site)
    other.until(lambda: other.link().cell is not None and other.link().cell[0] == 4, "the same view in Chinese")
    assert message("panel.ffn", "zh") in other.words("panels")
    tab.wait(f"({DRAWN})()")
    holds(other)
    assert page.problems() == []


@pytest.mark.parametrize("hide", [
    "nothing-here,zzz,,  ,-,9", "*{}", "</style><img src=x onerror=alert(1)>", "constructor,__proto__",
    "a{}b,x]y,#inputs", 'x"],*{display:none}', ",".join(f"name-{number}" for number in range(500)),
])  # fmt: skip
def test_a_name_that_is_none_hides_nothing(tab: Visitor, site: Site, hide: str) -> None:
    page = _opened(tab, site, f"{HOME}&hide={quote(hide + ',examples')}")
    assert all(_visible(tab, one) for one in ("#inputs", "#panels", "#token-strip", "#diagram", "#head-map", "#seal"))
    assert _visible(tab, "#examples") == (hide.count(",") > 40), "the first 40 names that are names count"
    assert tab.page.locator("img[onerror]").count() == 0 and page.problems() == []


def test_hidden_parts_never_flash_before_the_page_has_started(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit(f"{site.address}/?hide=controls", block="**/assets/index-*.js")
    visitor.wait("document.querySelectorAll('#stt-stand-in canvas').length > 0")
    for name in ("inputs", "examples", "panels"):
        assert visitor.page.locator(f"#stt-stand-in [data-part={name}]").count() == 1
        assert not _visible(visitor, f"#stt-stand-in [data-part={name}]"), name


@pytest.fixture(autouse=True)
def _nothing_from_outside(tab: Visitor) -> Iterator[None]:
    yield
    assert tab.outside == [] and tab.dialogs == []
