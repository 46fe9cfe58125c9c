"""The clickable figure and the clickable HTML, on a small page of their own, in Chromium."""

import json
from collections.abc import Callable, Iterator

import gradio as gr
import numpy as np
import plotly.graph_objects as go
import pytest

from tests.browser.conftest import Visitor, running
from viz.figures import theme
from viz.figures.axes import frame, selectable
from viz.pages.links import from_query
from viz.pages.pick import data_of, picked
from viz.pages.plot_view import address_view, figure_json, html_view, move_selection, plot_view

pytestmark = pytest.mark.browser

LIVE = "document.querySelector('#map .stt-plot')?.dataset.n"
COUNT = 5, 7  # columns, rows
HOSTILE = "<img src=x onerror=window.hit=1> ${window.hit=2} {{window.hit=3}} &lt;"


def _figure(shift: int, at: tuple[int, int]) -> str:
    columns, rows = COUNT
    z = ((np.arange(rows * columns) + shift) % 35 / 35).astype(np.float32).reshape(rows, columns)
    axis = {"type": "linear", "showgrid": False, "zeroline": False}
    figure = theme.figure(
        [{"type": "heatmap", "z": z, "zmin": 0, "zmax": 1, "colorscale": theme.WEIGHTS, "showscale": False}],
        {
            "height": 300,
            "xaxis": axis | {"range": [-0.5, columns - 0.5]},
            "yaxis": axis | {"range": [rows - 0.5, -0.5], "tickvals": [0], "ticktext": [theme.LIGHT["ink"]]},
            "shapes": [frame(*at)],
            "meta": {"select": selectable((-0.5, -0.5), 1, COUNT, at)},
            "dragmode": "zoom",
        },
    )
    return figure_json(figure, zoom="same")


def _build(language: str) -> gr.Blocks:
    with gr.Blocks() as page:
        gr.Textbox(label="Text", elem_id="text")
        strip = html_view(
            "".join(f'<span class="stt-token" data-token="{index}">t{index}</span> ' for index in range(4))
            + '<button class="stt-copy" data-copy="import numpy">copy</button>',
            elem_id="strip",
            label="Tokens",
        )
        figure = plot_view(_figure(0, (1, 2)), elem_id="map", label="A map")
        other = plot_view(
            figure_json(go.Figure(go.Bar(x=[1, 2], y=[0, 1], orientation="h"))), elem_id="bars", label="Bars"
        )
        said = html_view("<p>nothing yet</p>", elem_id="said", label="Said", live=True)
        address = address_view("")

        def on_figure(event: gr.EventData) -> tuple[str, str, str, str]:
            pick = picked(event)
            at = (pick.column or 0, pick.row or 0)
            bars = figure_json(go.Figure(go.Bar(x=[1 + at[0], 2 + at[1]], y=[0, 1], orientation="h")))
            words = f"<p>{language} {pick.key or 'click'} {at[0]} {at[1]}</p>"
            return _figure(sum(at), at), bars, words, f"head={at[0]}&layer={at[1]}"

        def on_token(event: gr.EventData) -> tuple[str, object]:
            return f"<p>{json.dumps(data_of(event)).replace('<', '&lt;')}</p>", move_selection(4, 6)

        quick = {"show_progress": "hidden", "queue": False, "api_visibility": "private", "trigger_mode": "multiple"}
        figure.pick(on_figure, None, [figure, other, said, address], **quick)
        strip.pick(on_token, None, [said, figure], **quick)
    return page


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(_build) as address:
        yield address


@pytest.fixture
def live(visit: Callable[..., Visitor], address: str) -> Iterator[Visitor]:
    """A visitor whose figures are drawn by plotly.js; in the end nothing has failed and nothing was asked of others."""
    visitor = visit(address)
    visitor.wait(LIVE)
    visitor.wait("document.querySelector('#bars .stt-plot').dataset.n")
    yield visitor
    assert visitor.errors == [] and visitor.outside == []


def _said(visitor: Visitor, words: str) -> None:
    visitor.wait(f"document.querySelector('#said').innerText.includes({json.dumps(words)})")


def _click_cell(visitor: Visitor, column: int, row: int) -> None:
    x, y = visitor.page.evaluate(
        """([column, row]) => {
           const plot = document.querySelector('#map .stt-plot-live'), edge = plot.getBoundingClientRect();
           const {xaxis, yaxis} = plot._fullLayout;
           return [edge.x + xaxis._offset + xaxis.l2p(column), edge.y + yaxis._offset + yaxis.l2p(row)]; }""",
        [column, row],
    )
    visitor.page.mouse.click(x, y)


def test_the_page_is_readable_before_gradio_and_before_plotly(visit: Callable[..., Visitor], address: str) -> None:
    visitor = visit(address, block="**/assets/index-*.js")
    visitor.wait("document.querySelector('#stt-stand-in canvas')?.width > 100")
    text = visitor.page.inner_text("body")
    assert "See-Through Transformer" in text and "t3" in text and "nothing yet" in text
    assert _colours(visitor, "#stt-stand-in canvas") > 20


def test_the_first_picture_needs_no_plotly_and_can_be_clicked(visit: Callable[..., Visitor], address: str) -> None:
    visitor = visit(address, block="**/stt/plotly*")
    visitor.wait("document.querySelector('#map .stt-plot')?.dataset.first && !document.querySelector('#stt-stand-in')")
    assert _colours(visitor, "#map canvas") > 20
    box = visitor.page.locator("#map canvas").bounding_box()
    visitor.page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.9)
    _said(visitor, "en click 4 6")
    assert visitor.page.evaluate("window.Plotly === undefined")


def _colours(visitor: Visitor, canvas: str) -> int:
    """How many different colours a canvas shows."""
    return visitor.page.evaluate(
        """(name) => { const canvas = document.querySelector(name);
           const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
           return new Set(new Uint32Array(data.buffer)).size; }""",
        canvas,
    )


def test_nothing_jumps_when_plotly_takes_over(visit: Callable[..., Visitor], address: str) -> None:
    visitor = visit(address)
    visitor.wait("document.querySelector('#map .stt-plot')?.dataset.first && !document.querySelector('#stt-stand-in')")
    before = (
        visitor.page.locator("#map .stt-plot").bounding_box(),
        visitor.page.locator("#bars .stt-plot").bounding_box(),
    )
    visitor.wait(LIVE)
    after = (
        visitor.page.locator("#map .stt-plot").bounding_box(),
        visitor.page.locator("#bars .stt-plot").bounding_box(),
    )
    assert before == after


def test_a_click_reaches_every_view_and_the_address(live: Visitor) -> None:
    _click_cell(live, 3, 4)
    _said(live, "en click 3 4")
    live.wait("location.search.includes('head=3')")
    assert from_query(live.page.url.partition("?")[2]).layer == 4
    live.wait("document.querySelector('#bars .stt-plot-live').data[0].x[0] === 4")


def test_the_selection_moves_before_the_server_answers(live: Visitor) -> None:
    live.page.route("**/gradio_api/**", lambda route: route.abort())
    _click_cell(live, 2, 5)
    live.wait("document.querySelector('#map .stt-plot-live')._fullLayout.shapes[0].x0 === 1.5")
    assert live.page.evaluate("document.querySelector('#map .stt-plot-live')._fullLayout.shapes[0].y0") == 4.5


def test_keys_move_the_selection(live: Visitor) -> None:
    live.page.focus("#map .stt-plot")
    for key, at in (("ArrowRight", "2 2"), ("ArrowUp", "2 1"), ("End", "4 1"), ("ArrowRight", "4 1"), ("Home", "0 1")):
        live.page.keyboard.press(key)
        _said(live, f"en {key} {at}")
    assert live.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


RANGES = """(() => { const {xaxis, yaxis} = document.querySelector('#map .stt-plot-live')._fullLayout;
   return [...xaxis.range, ...yaxis.range]; })()"""
WHOLE = [-0.5, 4.5, 6.5, -0.5]


def _zoom(live: Visitor) -> float:
    """Drag a part of the map larger; where it begins now."""
    live.page.evaluate("Plotly.relayout(document.querySelector('#map .stt-plot-live'), {}).then(() => 0)")
    box = live.page.locator("#map .nsewdrag").first.bounding_box()
    live.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3)
    live.page.mouse.down()
    live.page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] * 0.8, steps=4)
    live.page.mouse.up()
    live.wait(f"{RANGES}[0] > 0.2")
    return live.page.evaluate(RANGES)[0]


def test_two_quick_clicks_are_no_double_click(live: Visitor) -> None:
    """plotly.js takes any two within 300 ms for one, and would change the axes."""
    for column, row in ((3, 4), (1, 5), (2, 2), (4, 6)):
        _click_cell(live, column, row)
    _said(live, "en click 4 6")
    live.wait("document.querySelector('#map .stt-plot-live')._fullLayout.shapes.length === 1")
    assert live.page.evaluate(RANGES) == WHOLE
    assert live.page.evaluate("document.querySelectorAll('#map .shapelayer path').length") == 1


def test_a_double_click_undoes_a_zoom(live: Visitor) -> None:
    zoomed = _zoom(live)
    _click_cell(live, 3, 4)
    _said(live, "en click 3 4")
    live.page.wait_for_timeout(500)
    _click_cell(live, 2, 3)  # another cell: still no double click
    assert live.page.evaluate(RANGES)[0] == pytest.approx(zoomed)
    live.page.wait_for_timeout(500)
    _click_cell(live, 2, 3)
    _click_cell(live, 2, 3)
    live.wait(f"{RANGES}[0] === -0.5")
    assert live.page.evaluate(RANGES) == WHOLE


def test_a_zoom_outlives_an_update(live: Visitor) -> None:
    start = _zoom(live)
    assert "nothing yet" in live.page.inner_text("#said")  # dragging is no click
    live.page.focus("#map .stt-plot")
    live.page.keyboard.press("ArrowRight")
    _said(live, "en ArrowRight 2 2")
    live.wait(f"+{LIVE} >= 2")
    assert live.page.evaluate(RANGES)[0] == pytest.approx(start)


def test_dark_swaps_colours_at_once_and_is_remembered(live: Visitor) -> None:
    fill = "document.querySelector('#map .stt-plot-live')._fullLayout.font.color"
    assert live.page.evaluate(fill) == theme.LIGHT["ink"]
    live.page.click("[data-stt=theme]")
    live.wait(f"{fill} === {json.dumps(theme.DARK_OF[theme.LIGHT['ink']])}")
    assert live.page.evaluate("document.body.classList.contains('dark')")
    live.page.reload(wait_until="commit")
    live.wait(LIVE)
    assert live.page.evaluate("document.body.classList.contains('dark')")


def test_dark_by_system_and_light_by_address(visit: Callable[..., Visitor], address: str) -> None:
    for query, dark in (("", True), ("?__theme=light", False)):
        visitor = visit(address + "/" + query, dark=True)
        visitor.wait(LIVE)
        assert visitor.page.evaluate("document.body.classList.contains('dark')") is dark


def test_html_is_picked_by_mouse_and_keys(live: Visitor) -> None:
    live.page.click("#strip [data-token='2']")
    _said(live, '"token": "2"')
    live.wait("document.querySelector('#map .stt-plot-live')._fullLayout.shapes[0].x0 === 3.5")
    live.page.focus("#strip [data-token='0']")
    live.page.keyboard.press("ArrowRight")
    live.page.keyboard.press("Enter")
    _said(live, '"token": "1"')
    assert live.page.evaluate("document.activeElement.dataset.token") == "1"


def test_copying_says_what_it_did_even_without_a_clipboard(live: Visitor) -> None:
    live.page.evaluate(
        "document.addEventListener('copy', () => { window.copied = String(document.activeElement.value); })"
    )
    live.page.click("#strip .stt-copy")
    live.wait("document.querySelector('#stt-said')?.textContent")
    assert live.page.inner_text("#stt-said") == "Copied."


def test_a_phone_does_not_scroll_sideways(visit: Callable[..., Visitor], address: str) -> None:
    visitor = visit(address + "/zh/", width=360, dark=True)
    visitor.wait(LIVE)
    assert visitor.page.evaluate("document.documentElement.scrollWidth") == 360
    visitor.page.set_viewport_size({"width": 800, "height": 900})
    visitor.wait("document.querySelector('#map .stt-plot-live')._fullLayout.width > 500")


def test_chinese_stays_chinese(visit: Callable[..., Visitor], address: str) -> None:
    visitor = visit(address + "/?head=3", locale="zh-CN")
    visitor.wait(LIVE)
    assert (
        visitor.page.url.endswith("/zh/?head=3") and visitor.page.evaluate("document.documentElement.lang") == "zh-CN"
    )
    _click_cell(visitor, 1, 1)
    _said(visitor, "zh click 1 1")
    visitor.page.click("#language")
    visitor.page.wait_for_url("**/?*lang=en*")
    assert "head=1" in visitor.page.url


def test_the_skip_link_leads_to_the_text_box(live: Visitor) -> None:
    live.page.focus(".stt-skip")
    live.page.keyboard.press("Enter")
    live.wait("document.activeElement.closest('#text')")
    assert "#text" not in live.page.url


def test_typed_text_cannot_run(live: Visitor) -> None:
    live.page.evaluate(
        """(text) => document.querySelector('#strip .stt-html').firstElementChild.dataset.token = text""", HOSTILE
    )
    live.page.locator("#strip .stt-token").first.click()
    _said(live, "onerror")
    assert live.page.evaluate("window.hit === undefined")


def test_fast_keys_end_at_the_last_one(live: Visitor) -> None:
    live.page.focus("#map .stt-plot")
    for _ in range(4):
        live.page.keyboard.press("ArrowDown")
    _said(live, "en ArrowDown 1 6")
    live.wait("document.querySelector('#map .stt-plot-live')._fullLayout.shapes[0].y0 === 5.5")
