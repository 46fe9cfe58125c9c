"""Whatever a visitor takes along of a figure is what the page shows: pictures, page, numbers, and code that runs."""

import csv
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Download

from tests.browser.conftest import WAIT_MS, Site, Visitor
from tests.browser.explore_page import ExplorePage
from transformer.trace import Trace
from viz.figures import theme
from viz.pages.stage import plots
from viz.pages.taking import caption

pytestmark = pytest.mark.browser

TEXT = "=1 & <b> $x"  # what HTML, spreadsheets and LaTeX would take for their own
SITE, HEAD, NAME = "decoder.2.self", 1, "head-map"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tab(stay: Callable[..., Visitor], site: Site) -> ExplorePage:
    address = f"{site.address}/?model=mini-gpt&text={quote(TEXT, safe='')}&site={SITE}&head={HEAD}"
    page = ExplorePage(stay(address), site)
    page.until(lambda: page.link().text == TEXT and page.link().cell is not None, "mini-gpt has run")
    page.until(lambda: page.numbers(NAME).shape == page.trace(TEXT, "mini-gpt").weights(SITE, HEAD).shape, "the map")
    page.page.click(f"#{NAME} .stt-take > summary")
    return page


@pytest.fixture
def page(tab: ExplorePage) -> Iterator[ExplorePage]:
    yield tab
    assert tab.problems() == []


@pytest.fixture
def trace(page: ExplorePage) -> Trace:
    return page.trace(TEXT, "mini-gpt")


def _take(page: ExplorePage, kind: str) -> Download:
    with page.page.expect_download(timeout=WAIT_MS) as waiting:
        page.page.click(f"#{NAME} [data-take={kind}]")
    return waiting.value


def test_every_figure_of_the_panel_offers_what_it_has(page: ExplorePage) -> None:
    for name, plot in plots(page.scene()).items():
        kinds = page.page.locator(f"#{name} [data-take]").evaluate_all("all => all.map(one => one.dataset.take)")
        expected = ["png", "svg", "html", *(["csv", "npz"] if plot.data else []), *(["py"] if plot.code else [])]
        assert kinds == expected, name
        assert page.page.locator(f"#{name} .stt-as-table").count() == (plot.data is not None)


def test_a_picture_in_points(page: ExplorePage, tmp_path: Path) -> None:
    taken = _take(page, "png")
    assert taken.suggested_filename == f"{NAME}.png"
    taken.save_as(tmp_path / "map.png")
    picture = Image.open(tmp_path / "map.png").convert("RGB")
    shown = page.page.locator(f"#{NAME} .stt-plot").bounding_box()
    assert picture.width == pytest.approx(2 * shown["width"], abs=4)
    assert 2 * shown["height"] < picture.height < 2 * shown["height"] + 200, "the figure, and its caption below"
    pixels = np.asarray(picture)
    colours = set(map(tuple, np.unique(pixels.reshape(-1, 3), axis=0).tolist()))
    strong, paper = _rgb(theme.WEIGHTS[-1][1]), _rgb(theme.LIGHT["paper"])
    assert paper in colours and min(_far(colour, strong) for colour in colours) < 60, "paper, and strong weights"
    assert len(np.unique(pixels[-60:].reshape(-1, 3), axis=0)) > 8, "words below the figure"


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def _far(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def test_a_picture_in_lines_holds_tokens_and_caption(page: ExplorePage, trace: Trace, tmp_path: Path) -> None:
    _take(page, "svg").save_as(tmp_path / "map.svg")
    read = page.page.evaluate(
        """(text) => { const svg = new DOMParser().parseFromString(text, 'image/svg+xml');
           const outside = [...svg.querySelectorAll('image')].filter(one => !one.href.baseVal.startsWith('data:'));
           return [svg.documentElement.nodeName, svg.querySelectorAll('script, foreignObject').length + outside.length,
             [...svg.querySelectorAll('text')].map(node => node.textContent)]; }""",
        (tmp_path / "map.svg").read_text(encoding="utf-8"),
    )
    kind, foreign, texts = read
    assert (kind, foreign) == ("svg", 0)
    assert set(trace.tokens(SITE, "key")) <= set(texts)
    told = "".join("".join(texts).split())
    assert "".join(caption(page.scene()).split()) in told and TEXT in caption(page.scene())


def test_a_page_that_needs_no_network(page: ExplorePage, browser: Browser, tmp_path: Path) -> None:
    _take(page, "html").save_as(tmp_path / "map.html")
    context, asked = browser.new_context(offline=True, viewport={"width": 900, "height": 800}), []
    try:
        alone = context.new_page()
        alone.on("request", lambda request: asked.append(request.url))
        errors: list[str] = []
        alone.on("pageerror", lambda error: errors.append(str(error)))
        alone.goto((tmp_path / "map.html").as_uri(), timeout=WAIT_MS)
        alone.wait_for_function("document.querySelector('#figure .main-svg')", timeout=WAIT_MS)
        z = alone.evaluate("document.querySelector('#figure')._fullData[0].z.map(row => [...row].map(x => x ?? NaN))")
        np.testing.assert_array_equal(np.array(z, np.float64), page.numbers(NAME))
        assert caption(page.scene()) in alone.inner_text("body")
        assert alone.locator("b").count() == 0, "a text became an element"
    finally:
        context.close()
    assert errors == [] and [one for one in asked if not one.startswith(("file:", "data:", "blob:"))] == []


def test_the_numbers_as_a_spreadsheet_reads_them(page: ExplorePage, trace: Trace, tmp_path: Path) -> None:
    taken = _take(page, "csv")
    assert taken.suggested_filename == f"{NAME}-mini-gpt-decoder-2-self-head1.csv"
    taken.save_as(tmp_path / "map.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "map.csv").read_bytes().decode("utf-8-sig"))))
    weights, allowed = trace.weights(SITE, HEAD), trace.allowed(SITE, HEAD)
    assert [name.removeprefix("'") for name in rows[0][1:]] == list(trace.tokens(SITE, "key"))
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row), "a spreadsheet would run it"
    for query, row in enumerate(rows[1:]):
        assert row[0].removeprefix("'") == trace.tokens(SITE, "query")[query]
        found = [np.nan if cell == "" else float(cell) for cell in row[1:]]
        expected = np.where(allowed[query], weights[query], np.nan).astype(np.float64)
        np.testing.assert_array_equal(np.float32(found), np.float32(expected))


def test_the_numbers_for_numpy(page: ExplorePage, trace: Trace, tmp_path: Path) -> None:
    _take(page, "npz").save_as(tmp_path / "map.npz")
    with np.load(tmp_path / "map.npz", allow_pickle=False) as found:
        np.testing.assert_array_equal(found["values"], trace.weights(SITE, HEAD))
        np.testing.assert_array_equal(found["allowed"], trace.allowed(SITE, HEAD))
        assert found["rows"].tolist() == list(trace.tokens(SITE, "query"))
        assert str(found["caption"]) == caption(page.scene())


def test_code_that_draws_it_again(page: ExplorePage, tmp_path: Path) -> None:
    taken = _take(page, "py")
    taken.save_as(tmp_path / taken.suggested_filename)
    there = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    script = [sys.executable, taken.suggested_filename]
    ran = subprocess.run(script, cwd=tmp_path, env=there, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert "Plotly" in (tmp_path / f"{NAME}.html").read_text(encoding="utf-8")


def test_a_table_opens_and_closes_by_keyboard(page: ExplorePage) -> None:
    button = page.page.locator(f"#{NAME} .stt-as-table")
    for state in ("true", "false"):
        button.focus()
        page.page.keyboard.press("Enter")
        page.until(lambda state=state: button.get_attribute("aria-expanded") == state, f"expanded: {state}")
        assert page.page.locator(f"#{NAME}-table").count() == (state == "true")
