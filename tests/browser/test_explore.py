"""Type, click, press: everything on the page follows, and every number is the run's own."""

import contextlib
import io
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import FIGURES, ExplorePage
from transformer.trace import Trace
from viz.pages.examples import examples, examples_for

pytestmark = pytest.mark.browser

TEXT = "the cat\tthe"  # 12 tokens on "untrained": numbers still fit the cells
VIEWS = ("status", "token-strip", "diagram", "head-title", "arithmetic", "next-title", "seal")


@pytest.fixture(scope="module")
def tab(stay: Callable[..., Visitor], site: Site) -> ExplorePage:
    """One tab for all tests of this file: loading plotly.js takes longer than any of them."""
    return ExplorePage(stay(site.address), site)


@pytest.fixture
def page(tab: ExplorePage) -> Iterator[ExplorePage]:
    yield tab
    assert tab.problems() == []


@pytest.fixture
def ran(page: ExplorePage) -> tuple[ExplorePage, Trace]:
    """The page with `TEXT` run on it, layer 2, head 0, last token; and the trace that it shows."""
    trace = page.trace(TEXT)
    if page.link().text != TEXT:
        page.type(TEXT)
        page.until(lambda: page.link().text == TEXT, f"{TEXT!r} in the address")
    page.click_head(2, 0)
    page.until(lambda: (page.link().site, page.link().head) == ("decoder.2.self", 0), "layer 2, head 0")
    page.page.click("#token-strip [data-token='11']")
    page.shows(trace, "decoder.2.self", 0, (11, int(trace.weights("decoder.2.self", 0)[11].argmax())))
    return page, trace


def test_typing_and_enter_changes_everything(page: ExplorePage) -> None:
    before = {name: page.words(name) for name in VIEWS}
    drawn = {name: page.page.evaluate(_DATA, name) for name in FIGURES}
    page.type(TEXT)
    first = page.shows_run(page.trace(TEXT))
    for name in set(VIEWS) - {"diagram", "seal", "next-title", "head-title"}:
        assert page.words(name) != before[name], name
    for name in FIGURES:
        assert page.page.evaluate(_DATA, name) != drawn[name], name
    bars = page.page.evaluate("[...document.querySelector('#next-tokens .stt-plot-live')._fullData[0].x]")
    assert bars == pytest.approx(page.trace(TEXT).probabilities(first.query)[1][:10])
    assert page.page.url.partition("?")[2].startswith("model=untrained&text=")


_DATA = """(name) => JSON.stringify(document.querySelector('#' + name + ' .stt-plot-live').data,
   (key, value) => ArrayBuffer.isView(value) ? [...value] : value)"""


def test_the_run_button_runs(page: ExplorePage) -> None:
    page.page.fill("#text textarea", "run")
    page.page.click("#run")
    page.shows_run(page.trace("run"))


def test_a_head_of_the_mosaic(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    before = page.link().cell
    page.click_head(3, 2)
    page.shows(trace, "decoder.3.self", 2, before)
    assert page.page.get_attribute("#diagram [aria-pressed=true]", "data-site") == "decoder.3.self"


def test_a_cell_and_its_numpy_code(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click_cell(7, 4)
    page.shows(trace, "decoder.2.self", 0, (7, 4))
    page.page.click("#arithmetic .stt-copy")
    page.until(lambda: page.page.evaluate("document.querySelector('#stt-said')?.textContent"), "the page says: copied")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(page.page.evaluate("navigator.clipboard.readText()"), {})
    assert float(printed.getvalue()) == pytest.approx(trace.weights("decoder.2.self", 0)[7, 4], abs=1e-6)


def test_a_forbidden_cell_has_weight_0(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    page.click_cell(2, 9)
    page.shows(trace, "decoder.2.self", 0, (2, 9))
    assert page.result() == 0


def test_a_token_a_line_and_a_box(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    weights = trace.weights("decoder.2.self", 0)
    page.page.click("#token-strip [data-token='5']")
    page.shows(trace, "decoder.2.self", 0, (5, int(weights[5].argmax())))
    page.click("head-lines", 0, 8)
    page.shows(trace, "decoder.2.self", 0, (8, int(weights[8].argmax())))
    page.click("head-lines", 1, 3)
    page.shows(trace, "decoder.2.self", 0, (8, 3))
    page.click_head(0, 1)
    page.shows(trace, "decoder.0.self", 1, (8, 3))
    page.page.click("#diagram [data-site='decoder.0.self']")
    page.shows(trace, "decoder.0.self", 1, (8, 3))


def test_arrow_keys_walk_cells_and_heads(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    page.click_cell(6, 2)
    page.shows(trace, "decoder.2.self", 0, (6, 2))
    page.page.focus("#head-map .stt-plot")
    for key, cell in (("ArrowRight", (6, 3)), ("ArrowUp", (5, 3)), ("Home", (5, 0)), ("ArrowDown", (6, 0))):
        page.page.keyboard.press(key)
        page.shows(trace, "decoder.2.self", 0, cell)
    page.page.focus("#mosaic .stt-plot")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Enter")
    page.shows(trace, "decoder.3.self", 1, (6, 0))


def test_tokens_are_walked_by_keys_too(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    page.page.focus("#token-strip [data-token='11']")
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("Enter")
    page.shows(trace, "decoder.2.self", 0, (10, int(trace.weights("decoder.2.self", 0)[10].argmax())))
    assert page.page.evaluate("document.activeElement.dataset.token") == "10"


def test_layer_and_head_can_be_chosen_from_lists(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    cell = page.link().cell
    page.set("attention", "1")
    page.shows(trace, "decoder.1.self", 0, cell)
    page.set("head", "3")
    page.shows(trace, "decoder.1.self", 3, cell)
    select = "document.querySelector('#mosaic .stt-plot-live')._fullLayout.meta.select.at"
    page.until(lambda: page.page.evaluate(select) == [3, 1], "the mosaic marks the chosen head")


def test_every_example_runs(ran: tuple[ExplorePage, Trace]) -> None:
    page, _ = ran
    for one in reversed(examples_for("untrained")):
        page.page.click(f"#examples [data-example='{examples().index(one)}']")
        page.shows_run(page.trace(one.text))
        assert page.page.input_value("#text textarea") == one.text


def test_the_table_tells_the_same_weights(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    page.page.click("#head-map .stt-as-table")
    page.says("head-map-table", "<bos>")
    rows = page.page.locator("#head-map-table tbody tr")
    assert rows.count() == 12
    numbers = [float(cell) for cell in rows.nth(7).locator("td").all_inner_texts()[:8]]
    assert numbers == pytest.approx(trace.weights("decoder.2.self", 0)[7, :8].tolist(), abs=6e-4)
    page.click_head(1, 1)
    page.shows(trace, "decoder.1.self", 1, page.link().cell)
    page.until(
        lambda: (
            float(rows.nth(7).locator("td").nth(3).inner_text())
            == pytest.approx(trace.weights("decoder.1.self", 1)[7, 3], abs=6e-4)
        ),
        "the table follows another head",
    )
    page.page.click("#head-map .stt-as-table")
    page.visitor.wait("!document.querySelector('#head-map-table')")


def test_another_sentence_is_seen_by_the_chosen_head(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    page.click_head(1, 3)
    page.shows(trace, "decoder.1.self", 3, page.link().cell)
    page.type("tac")
    page.until(lambda: page.link().text == "tac", "another text in the address")
    other = page.trace("tac")
    page.shows(other, "decoder.1.self", 3, (3, int(other.weights("decoder.1.self", 3)[3].argmax())))


def test_what_is_typed_during_a_run_runs_next(
    ran: tuple[ExplorePage, Trace], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, _ = ran
    real, started = site.engine.trace, threading.Event()

    def slow(name: str, text: str, target: str | None = None) -> Trace:
        if text == "slow":
            started.set()
            time.sleep(0.7)
        return real(name, text, target)

    monkeypatch.setattr(site.engine, "trace", slow)
    page.type("slow")
    page.until(started.is_set, "the slow run has started")
    page.type("quick")
    page.until(lambda: page.link().text == "quick", "the second text has run")
    monkeypatch.undo()
    page.shows_run(page.trace("quick"))
    page.page.focus("#model input")
    page.page.focus("#text textarea")
    page.click_cell(3, 1)
    page.shows(page.trace("quick"), "decoder.2.self", 0, (3, 1))


def test_fast_clicks_end_at_the_last_one(ran: tuple[ExplorePage, Trace]) -> None:
    page, trace = ran
    cell = page.link().cell
    for layer, head in ((0, 0), (1, 2), (3, 3), (0, 2), (2, 1)):
        page.click_head(layer, head)
    page.shows(trace, "decoder.2.self", 1, cell)
