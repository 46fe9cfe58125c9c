"""The pad and the image in patches, on a small page of their own, in Chromium: pen, keys, ready digits, undo."""

import json
from collections.abc import Callable, Iterator

import gradio as gr
import numpy as np
import pytest

from tests.browser.conftest import Visitor, running
from transformer.image import ImageShape, image_of, patch_names, text_of
from transformer.strokes import RULE, picture_of, ready_digits, rule_and_digits
from viz.figures import theme
from viz.figures.image import image_patches
from viz.pages.draw_pad import BLANK, draw_pad, drawn_image, ready_texts
from viz.pages.pick import whole_of
from viz.pages.plot_view import html_view

pytestmark = pytest.mark.browser

SHAPE = ImageShape(1, 8, 8, 2)
START = ready_texts()[6]  # a 3
OTHER = ready_texts()[11]  # a 5, which a button of the page shows
IMAGE = "document.querySelector('gradio-app .stt-pad').dataset.image"
READY = "document.querySelector('gradio-app .stt-pad')?.dataset.image && !document.querySelector('#stt-stand-in')"
PIXEL = "(at) => +document.querySelectorAll('#pad .stt-pixel')[at].getAttribute('fill-opacity')"


def _patches(text: str, selected: int, language: str) -> str:
    weights = np.arange(SHAPE.n_tokens) / SHAPE.n_tokens
    options = {"selected": selected, "weights": weights / weights.sum(), "language": language}
    return image_patches(image_of(text, SHAPE), SHAPE.grid, patch_names(SHAPE), **options)


def _build(language: str) -> gr.Blocks:
    with gr.Blocks() as page:
        gr.Textbox(label="Text", elem_id="text")
        pad = draw_pad(START, elem_id="pad", language=language)
        patches = html_view(_patches(START, 6, language), elem_id="patches", label="Patches")
        said = html_view("<p>nothing yet</p>", elem_id="said", label="Said", live=True)
        other = gr.Button("another", elem_id="other")

        def on_drawn(event: gr.EventData) -> tuple[str, str]:
            text = drawn_image(event)
            return f"<p>drawn {text}</p>", _patches(text or BLANK, 6, language)

        def on_token(event: gr.EventData) -> tuple[str, str]:
            token = whole_of(event, "token")
            return f"<p>token {token}</p>", _patches(START, token or 0, language)

        quick = {"show_progress": "hidden", "queue": False, "api_visibility": "private", "trigger_mode": "multiple"}
        pad.drawn(on_drawn, None, [said, patches], **quick)
        patches.pick(on_token, None, [said, patches], **quick)
        other.click(lambda: OTHER, None, pad, show_progress="hidden", queue=False)
    return page


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(_build) as address:
        yield address


@pytest.fixture
def live(visit: Callable[..., Visitor], address: str) -> Iterator[Visitor]:
    visitor = visit(address, width=700)
    visitor.wait(READY)
    yield visitor
    assert visitor.errors == [] and visitor.outside == [] and visitor.console == []


def _said(visitor: Visitor, words: str) -> None:
    visitor.wait(f"document.querySelector('#said').innerText.includes({json.dumps(words)})")


def _draw(visitor: Visitor, points: list[tuple[float, float]]) -> None:
    """With the mouse, in shares of the paper."""
    box = _still(visitor, "paper")
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    visitor.page.mouse.move(*at[0])
    visitor.page.mouse.down()
    for point in at[1:]:
        visitor.page.mouse.move(*point, steps=5)
    visitor.page.mouse.up()


def _still(visitor: Visitor, name: str) -> dict[str, float]:
    """Where this part of the pad lies, once nothing moves it any more."""
    part = visitor.page.locator(f"#pad .stt-pad-{name}")
    part.hover()
    return part.bounding_box()


def _image(visitor: Visitor) -> str:
    return visitor.page.evaluate(IMAGE)


def test_browser_and_python_make_the_same_pixels(live: Visitor) -> None:
    rng = np.random.default_rng(53)
    scribbles = [
        [np.round(rng.random((rng.integers(1, 9), 2)) * rng.random(), 3).tolist() for _ in range(rng.integers(1, 4))]
        for _ in range(200)
    ]
    strokes = [*scribbles, [], [[]], [[[0.5, 0.5]]], [[[0, 0.3], [1, 0.3]]], *(one.strokes for one in ready_digits())]
    shown = live.page.evaluate(
        "([all, kit]) => all.map(strokes => stt.digitLevels(strokes, JSON.parse(kit).rule))",
        [[[list(map(list, stroke)) for stroke in one] for one in strokes], rule_and_digits()],
    )
    ours = [(picture_of(one) * RULE.cell**2).ravel().astype(int).tolist() for one in strokes]
    assert shown == ours


def test_it_opens_with_the_picture_and_its_strokes(live: Visitor) -> None:
    assert _image(live) == START
    assert live.page.locator("#pad [aria-pressed=true]").get_attribute("data-ready") == "6"
    assert live.page.get_attribute("#pad .stt-pad-ink", "d").startswith("M")
    assert live.page.is_disabled("#pad .stt-pad-undo") and "nothing yet" in live.page.inner_text("#said")


def test_drawing_with_the_mouse_is_seen_and_told(live: Visitor) -> None:
    live.page.click("#pad .stt-pad-clear")
    _said(live, BLANK)
    line = [(0.4, 0.2), (0.4, 0.8)]
    _draw(live, line)
    text = "".join(text_of(picture_of([line])).split())
    assert _image(live) == text
    _said(live, f"drawn {text}")
    _draw(live, [(0.4, 0.5), (0.7, 0.5)])
    assert live.page.get_attribute("#pad .stt-pad-ink", "d").count("M") == 2
    assert _image(live) != text and live.page.locator("#pad [aria-pressed=true]").count() == 0


def test_the_pixels_follow_while_the_pen_is_down(live: Visitor) -> None:
    box = _still(live, "paper")
    live.page.mouse.move(box["x"] + 9, box["y"] + 9)
    live.page.mouse.down()
    live.page.mouse.move(box["x"] + box["width"] + 40, box["y"] + 60, steps=8)  # also beyond the paper
    live.wait(f"{IMAGE} !== {json.dumps(START)}")
    assert "nothing yet" in live.page.inner_text("#said")
    live.page.mouse.up()
    _said(live, "drawn")
    assert live.page.evaluate("document.querySelector('#pad .stt-pad-ink').getBBox().x") >= 0


def test_undo_goes_back_step_by_step(live: Visitor) -> None:
    _draw(live, [(0.1, 0.1), (0.9, 0.1)])
    live.page.click("#pad .stt-pad-clear")
    assert _image(live) == BLANK and live.page.is_disabled("#pad .stt-pad-clear")
    live.page.click("#pad .stt-pad-undo")
    assert _image(live) not in (BLANK, START)
    live.page.focus("#pad .stt-pad-pixels")
    live.page.keyboard.press("Control+z")
    assert _image(live) == START and live.page.is_disabled("#pad .stt-pad-undo")
    _said(live, START)


def test_keys_paint_pixel_by_pixel(live: Visitor) -> None:
    live.page.focus("#pad .stt-pad-pixels")
    for key in ("Delete", "ArrowDown", "ArrowRight", "ArrowRight", " ", "-", "-", "End", "+", "ArrowRight"):
        live.page.keyboard.press(key)
    expected = ["0"] * 64
    expected[8 + 2], expected[8 + 7] = "e", "1"
    assert _image(live) == "".join(expected)
    assert "row 2, column 8: 1/16" in live.page.inner_text("#pad .stt-pad-said")
    _said(live, "".join(expected))
    cursor = "getComputedStyle(document.querySelector('#pad .stt-pad-cursor')).visibility"
    assert live.page.evaluate(cursor) == "visible"
    live.page.keyboard.press("Tab")
    assert live.page.evaluate(cursor) == "hidden"


def test_a_click_touches_a_pixel_up_and_the_pen_starts_anew(live: Visitor) -> None:
    box = _still(live, "pixels")
    live.page.mouse.click(box["x"] + box["width"] * 0.95, box["y"] + box["height"] * 0.4)
    assert _image(live) == START[: 3 * 8 + 7] + "g" + START[3 * 8 + 8 :]
    assert live.page.evaluate(PIXEL, 3 * 8 + 7) == 1
    _draw(live, [(0.9, 0.1), (0.9, 0.2)])  # the strokes of the 3 are still there
    assert live.page.get_attribute("#pad .stt-pad-ink", "d").count("M") == 2


@pytest.mark.parametrize("number", [0, 9, 19])
def test_a_ready_digit_is_taken(live: Visitor, number: int) -> None:
    live.page.click(f"#pad [data-ready='{number}']")
    _said(live, f"drawn {ready_texts()[number]}")
    assert live.page.locator("#pad [aria-pressed=true]").get_attribute("data-ready") == str(number)


def test_ready_digits_are_one_stop_of_the_tab_key(live: Visitor) -> None:
    live.page.focus("#pad .stt-pad-clear")
    live.page.keyboard.press("Tab")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        live.page.keyboard.press(key)
    _said(live, ready_texts()[5])  # the second 2
    live.page.keyboard.press("Tab")
    assert live.page.evaluate("document.activeElement.closest('#pad')") is None


def test_the_page_can_show_another_picture(live: Visitor) -> None:
    live.page.click("#other")
    live.wait(f"{IMAGE} === {json.dumps(OTHER)}")
    assert live.page.locator("#pad [aria-pressed=true]").get_attribute("data-ready") == "11"
    assert "nothing yet" in live.page.inner_text("#said")
    live.page.click("#pad .stt-pad-undo")
    assert _image(live) == START


def test_fast_changes_end_at_the_last_one(live: Visitor) -> None:
    for number in (1, 3, 5, 7):
        live.page.click(f"#pad [data-ready='{number}']")
    _said(live, ready_texts()[7])
    assert _image(live) == ready_texts()[7]


def test_what_a_browser_makes_up_is_nothing(live: Visitor) -> None:
    live.page.evaluate(
        "document.querySelector('#pad .stt-pad').dataset.image = '<img src=x onerror=window.hit=1>${window.hit=2}'"
    )
    live.page.evaluate("stt.LEVELS = '<img src=x one'.padEnd(17, '$')")
    live.page.click("#pad .stt-pad-clear")
    _said(live, "drawn None")
    assert live.page.evaluate("window.hit === undefined")


def test_a_patch_is_picked_by_mouse_and_keys(live: Visitor) -> None:
    live.page.click("#patches [data-token='7']")
    _said(live, "token 7")
    live.wait("document.querySelector('#patches [data-token=\"7\"]').getAttribute('aria-pressed') === 'true'")
    live.page.focus("#patches [data-token='7']")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowLeft", "Enter"):
        live.page.keyboard.press(key)
    _said(live, "token 10")
    live.page.keyboard.press("Home")
    live.page.keyboard.press("Enter")
    _said(live, "token 0")
    live.wait("document.querySelector('#patches .stt-special').getAttribute('aria-pressed') === 'true'")


@pytest.mark.parametrize("dark", [False, True])
def test_ink_and_shades_follow_light_and_dark(visit: Callable[..., Visitor], address: str, dark: bool) -> None:
    visitor = visit(address, width=700, dark=dark)
    visitor.wait(READY)

    def colour(selector: str, name: str) -> str:
        return visitor.page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{name}")

    side = 1 if dark else 0
    assert colour("#pad .stt-pad-ink", "stroke") == _rgb(theme.TONES["ink"][side])
    assert colour("#pad .stt-pixel", "fill") == _rgb(theme.TONES["ink"][side])
    shades = [visitor.page.evaluate(_SHADE, token) for token in (1, 16)]  # 1/16 and all of the scale
    ends = [theme.WEIGHTS[0][1], theme.WEIGHTS[1][1], theme.WEIGHTS[-1][1]]
    low, next_one, full = (np.array(_parts(theme.DARK_OF[end] if dark else end)) for end in ends)
    assert np.abs(np.array(shades[0]) - (low + (next_one - low) * 0.625)).max() < 1.5
    assert np.abs(np.array(shades[1]) - full).max() < 1.5
    visitor.page.click("[data-stt=theme]")
    visitor.wait(f"document.documentElement.classList.contains('dark') === {json.dumps(not dark)}")
    assert colour("#pad .stt-pad-ink", "stroke") == _rgb(theme.TONES["ink"][1 - side])


_SHADE = """(token) => {
   const shade = getComputedStyle(document.querySelector(`#patches [data-token="${token}"] .stt-patch-back`)).fill;
   const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d');
   context.fillStyle = shade;
   context.fillRect(0, 0, 1, 1);
   return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3); }"""


def _parts(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _rgb(colour: str) -> str:
    return f"rgb({', '.join(map(str, _parts(colour)))})"


@pytest.mark.parametrize("path", ["/?lang=en", "/zh/"])
def test_a_phone_has_room_for_all_of_it(visit: Callable[..., Visitor], address: str, path: str) -> None:
    visitor = visit(address + path, width=320)
    visitor.wait(READY)
    assert visitor.page.evaluate("document.documentElement.scrollWidth") == 320
    assert visitor.page.locator("#pad .stt-pad-paper").bounding_box()["width"] > 150
    for name in ("#pad [data-ready='19']", "#patches [data-token='16']"):
        box = visitor.page.locator(name).bounding_box()
        assert min(box["width"], box["height"]) >= 24 and box["x"] + box["width"] <= 320, name
    assert visitor.errors == []


def test_a_finger_draws_and_does_not_scroll(visit: Callable[..., Visitor], address: str) -> None:
    visitor = visit(address, width=340)
    visitor.wait(READY)
    touch = "getComputedStyle(document.querySelector('#pad .stt-pad-paper')).touchAction"
    assert visitor.page.evaluate(touch) == "none"
    box = _still(visitor, "paper")
    session = visitor.page.context.new_cdp_session(visitor.page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    x, y = box["x"] + box["width"] / 2, box["y"] + 10
    for kind, down in (("touchStart", 0), ("touchMove", 60), ("touchMove", 120), ("touchEnd", None)):
        points = [] if down is None else [{"x": x, "y": y + down}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    _said(visitor, "drawn")
    assert visitor.page.evaluate("scrollY") == 0 and _image(visitor) != START


def test_before_any_script_the_picture_stands(visit: Callable[..., Visitor], address: str) -> None:
    visitor = visit(address, block="**/assets/index-*.js")
    squares = "[...document.querySelectorAll('#stt-stand-in .stt-pad .stt-pixel')]"
    visitor.wait(f"{squares}.length === 64")
    shown = visitor.page.evaluate(f"{squares}.map(one => +one.getAttribute('fill-opacity'))")
    assert shown == image_of(START, SHAPE).ravel().tolist()
