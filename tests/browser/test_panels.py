"""All eight panels in the real page: each shows the engine's own numbers, and one choice holds in all of them."""

import re
from collections.abc import Callable, Iterator
from math import erf, sqrt
from urllib.parse import quote

import numpy as np
import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import ExplorePage
from transformer.full_logits import full_logits
from transformer.messages import message
from transformer.parts import FeedForwardPart
from transformer.trace import Trace
from viz.pages.panels.registry import PANELS
from viz.pages.stage import plots

pytestmark = pytest.mark.browser

TEXT = "The dog chased the cat and it"
LAST = 7  # its last token
BARS = "generate-bars"


@pytest.fixture(scope="module")
def tab(stay: Callable[..., Visitor], site: Site) -> ExplorePage:
    page = ExplorePage(stay(f"{site.address}/?model=mini-gpt&text={quote(TEXT)}&layer=3&head=0"), site)
    page.until(lambda: page.link().text == TEXT, "mini-gpt has run")
    return page


@pytest.fixture
def page(tab: ExplorePage) -> Iterator[ExplorePage]:
    """mini-gpt at its last token and last layer; nothing may have gone wrong afterwards."""
    if tab.link().text != TEXT:
        tab.type(TEXT)
        tab.until(lambda: tab.link().text == TEXT, "the text again")
    _at_token(tab, LAST)
    if tab.link().site != "decoder.3.self":
        tab.page.click("#diagram [data-layer='3']")
        tab.until(lambda: tab.link().site == "decoder.3.self", "the last layer")
    yield tab
    assert tab.problems() == [] and tab.words("notice .stt-html").strip() == ""


def _at_token(page: ExplorePage, token: int) -> None:
    if page.link().cell is None or page.link().cell[0] != token:
        page.page.click(f"#token-strip [data-token='{token}']")
        page.until(lambda: page.link().cell is not None and page.link().cell[0] == token, f"token {token}")


def _trace(page: ExplorePage) -> Trace:
    return page.trace(TEXT, "mini-gpt")


def _result(page: ExplorePage, name: str) -> float:
    """The last result of an arithmetic."""
    return float(page.page.locator(f"#{name} .stt-result").last.text_content().replace("−", "-"))


# --- every panel, on every model -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PANELS))
def test_a_panel_opens_by_its_tab(page: ExplorePage, name: str) -> None:
    page.open_panel(name)
    assert page.page.get_attribute(f"#panels [data-panel={name}]", "aria-selected") == "true"
    assert message(f"panel.{name}.lead") in page.words("panels")
    assert page.figures() == list(plots(page.scene())), "the figures of this panel, and no other"
    assert set(page.seals()) == ({"✓"} if name != "generate" else set()), "nothing is generated yet"
    assert page.spoken() == PANELS[name].spoken(page.scene())


MODELS = {
    "mini-translator": "The red cup on the table is new.",
    "rule-classifier": "12 45 7 99 30",
    "digit-vit": "",
    "smollm2": "The capital of France is",
    "minilm": "The cat sat on the mat.",
}


@pytest.mark.parametrize("model", [
    *list(MODELS)[:3], *(pytest.param(one, marks=pytest.mark.weights) for one in list(MODELS)[3:]),
])  # fmt: skip
def test_all_panels_on_another_model(
    stay: Callable[..., Visitor], site: Site, request: pytest.FixtureRequest, model: str
) -> None:
    if model in ("smollm2", "minilm"):
        request.getfixturevalue(f"{model}_folder")
    text = f"&text={quote(MODELS[model])}" if MODELS[model] else ""
    page = ExplorePage(stay(f"{site.address}/?model={model}{text}"), site)
    page.until(lambda: page.link().model == model and page.link().cell is not None, f"{model} has run")
    for name in PANELS:
        page.open_panel(name)
        assert page.figures() == list(plots(page.scene())), name
        assert set(page.seals()) <= {"✓"}, name
        assert page.words("stage").strip(), f"{name} says nothing"
        assert page.words("notice .stt-html").strip() == "", name
    assert page.problems() == []


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_tokens_have_their_ids_and_bytes(page: ExplorePage) -> None:
    page.open_panel("tokens")
    encoding = _trace(page).encodings["decoder"]
    ids = page.page.locator("#tokens-levels-decoder .stt-level-tokens .stt-token-id").all_inner_texts()
    assert [int(one) for one in ids] == list(encoding.ids)
    shown = page.page.locator("#tokens-levels-decoder .stt-level-bytes td").all_inner_texts()
    assert bytes.fromhex("".join(shown)) == TEXT.encode()


def test_what_stands_for_the_same_bytes_is_marked_together(page: ExplorePage) -> None:
    page.open_panel("tokens")
    levels = page.page.locator("#tokens-levels-decoder")
    levels.locator(".stt-level-characters td[data-tie]").nth(TEXT.index("g")).hover()
    page.visitor.wait("document.querySelector('#tokens-levels-decoder .stt-tied')")
    tied = levels.locator(".stt-tied").evaluate_all("nodes => nodes.map(node => node.innerText.trim())")
    assert tied == ["g", "g", "67", "·dog\n380", "·dog"]
    page.page.hover("#panels")
    page.visitor.wait("!document.querySelector('#tokens-levels-decoder .stt-tied')")


def test_a_dimension_of_the_embedding(page: ExplorePage) -> None:
    page.open_panel("embedding")
    page.click("embed-rows", 45, 0)
    page.until(lambda: page.option("embed-dimension") == "45", "dimension 45")
    value = _trace(page)["decoder.embed.token"][LAST, 45]
    page.until(lambda: _result(page, "embed-cell") == pytest.approx(value, abs=6e-5), "its value")
    assert page.trace_of("embed-rows")["z"][-1][45] == pytest.approx(value, rel=1e-6)


def test_a_forbidden_cell_names_its_rule(page: ExplorePage) -> None:
    page.open_panel("masks")
    page.click("mask-map", 5, 3)
    page.until(lambda: page.link().cell == (3, 5), "the cell")
    page.says("mask-cell", message("figure.mask.causal"))
    assert _result(page, "mask-cell") == 0
    assert f"({message('figure.mask.causal')})" in page.spoken()
    page.click("mask-map", 2, 7)
    page.until(lambda: page.link().cell == (7, 2), "an allowed cell")
    weight = _trace(page).weights("decoder.3.self", page.link().head)[7, 2]
    page.until(lambda: _result(page, "mask-cell") == pytest.approx(weight, abs=6e-4), "its weight")


def test_the_spread_before_a_norm(page: ExplorePage) -> None:
    page.open_panel("norm")
    page.page.click("#norm-which [data-norm=norm2]")
    page.until(lambda: page.option("norm") == "norm2", "the second norm")
    before = _trace(page)["decoder.3.norm2.input"][LAST]
    spread = sqrt(before.astype(np.float64).var() + 1e-5)
    page.says("norm-title", f"{spread:.4f}")
    page.says("norm-tokens", f"{spread:.3g}")
    assert f"{spread:.4g}" in page.spoken()
    assert page.page.get_attribute("#diagram [data-site='decoder.3.norm2']", "aria-pressed") == "true"


def test_the_strongest_neuron(page: ExplorePage) -> None:
    page.open_panel("ffn")
    trace, gelu = _trace(page), np.vectorize(lambda z: 0.5 * z * (1 + erf(z / sqrt(2))))
    part = trace.parts["decoder.3.ffn"]
    assert isinstance(part, FeedForwardPart) and part.up.bias is not None
    x = trace["decoder.3.ffn.input"][LAST].astype(np.float64)
    hidden = gelu(part.up.weight @ x + part.up.bias)
    strongest = int(np.abs(hidden).argmax())
    bars = page.trace_of("ffn-bars")
    assert (bars["customdata"][0], bars["x"][0]) == (strongest, pytest.approx(hidden[strongest], abs=1e-4))
    assert _result(page, "ffn-neuron") == pytest.approx(hidden[strongest], abs=6e-4)
    page.click("ffn-bars", bars["x"][3] / 2, bars["y"][3])
    other = int(bars["customdata"][3])
    page.until(lambda: page.option("neuron") == str(other), "another neuron")
    page.until(lambda: _result(page, "ffn-neuron") == pytest.approx(hidden[other], abs=6e-4), "its number")


def test_a_turned_dial_gives_the_softmax_of_turned_logits(page: ExplorePage) -> None:
    page.open_panel("output")
    _at_token(page, 3)
    logits = full_logits(_trace(page), 3).astype(np.float64)
    slider = page.page.locator("#output-dials [data-set=temperature]")
    slider.evaluate("(node) => { node.value = 2; node.dispatchEvent(new Event('input', {bubbles: true})); }")
    page.until(lambda: page.option("temperature") == "2", "temperature 2")
    shares = np.exp((logits - logits.max()) / 2)
    top = float((shares / shares.sum()).max())
    words = page.page.locator("#output-dials output[data-shows=temperature]")
    page.until(lambda: words.inner_text() == "2" and _shown_top(page) == pytest.approx(top, abs=1e-6), "the top bar")
    assert page.seals() == "✓"
    slider.evaluate("(node) => { node.value = 1; node.dispatchEvent(new Event('input', {bubbles: true})); }")
    page.until(lambda: page.option("temperature") in (None, "1"), "as it was")


def _shown_top(page: ExplorePage) -> float:
    """The largest probability among the bars."""
    return max(page.trace_of("output-bars")["x"], default=0.0)


def test_the_last_row_of_the_lens_is_the_models_answer(page: ExplorePage) -> None:
    page.open_panel("output")
    page.press_tab("output", "lens")
    trace = _trace(page)
    tops = [trace.probabilities(position)[1][0] for position in range(LAST + 1)]
    page.until(lambda: np.allclose(page.numbers("lens-map")[-1], tops, rtol=1e-5), "the last row")
    assert page.numbers("lens-map").shape == (4, LAST + 1)
    page.press_tab("output", "parts")
    assert set(page.seals()) == {"✓"} and set(page.figures()) == set(plots(page.scene()))
    page.press_tab("output", "words")


# --- one choice for all ----------------------------------------------------------------------------------------------


def test_a_choice_is_the_same_in_every_panel(page: ExplorePage) -> None:
    page.open_panel("norm")
    page.click("norm-tokens", 0, 4)
    page.until(lambda: page.link().cell[0] == 4, "a token of the norms")
    page.page.click("#diagram [data-layer='1']")
    page.until(lambda: page.link().site == "decoder.1.self", "a layer of the rail")
    page.open_panel("attention")
    page.set("head", "2")
    page.until(lambda: page.link().head == 2, "a head of the chooser")
    chosen = (page.link().site, page.link().head, page.link().cell)
    for name in PANELS:
        page.open_panel(name)
        assert (page.link().site, page.link().head, page.link().cell) == chosen, name
        assert page.page.get_attribute("#token-strip [aria-pressed=true]", "data-token") == "4", name
        assert page.page.get_attribute("#diagram [aria-current=true]", "data-layer") == "1", name
        for control, value in (("attention", "1"), ("head", "2")):
            for node in page.page.locator(f"#stage select[data-set={control}]").all():
                assert node.input_value() == value, f"{control} in {name}"
    page.open_panel("tokens")
    page.page.click("#tokens-levels-decoder [data-token='6']")
    page.until(lambda: page.link().cell[0] == 6, "a token of the levels")
    page.open_panel("ffn")
    assert page.tokens()[6] in page.words("ffn-title")


@pytest.mark.parametrize(("box", "panel"), [
    ("decoder.tokens", "tokens"), ("decoder.embed.token", "embedding"), ("decoder.2.norm1", "norm"),
    ("decoder.2.self", "attention"), ("decoder.2.ffn", "ffn"), ("decoder.2.resid.after", "norm"), ("logits", "output"),
])  # fmt: skip
def test_a_box_of_the_diagram_opens_its_panel(page: ExplorePage, box: str, panel: str) -> None:
    page.open_panel("masks")
    page.page.click("#diagram [data-layer='2']")
    page.until(lambda: page.link().site == "decoder.2.self", "layer 2")
    page.page.click(f"#diagram [data-site='{box}']")
    page.visitor.wait(f"document.documentElement.dataset.panel === '{panel}'")
    page.until(lambda: page.page.get_attribute(f"#diagram [data-site='{box}']", "aria-pressed") == "true", "its mark")
    assert page.page.locator("#diagram [aria-pressed=true]").count() == 1
    assert page.link().panel == panel and page.link().site == "decoder.2.self"
    if panel == "norm":
        assert page.option("norm-show") in ("stream" if box.endswith("after") else "norm", None)
    assert page.figures() == list(plots(page.scene()))


# --- by keyboard, and for a screen reader ----------------------------------------------------------------------------


def test_arrow_keys_walk_cells_and_the_weight_is_spoken(page: ExplorePage) -> None:
    page.open_panel("attention")
    page.press_tab("show", "map")
    page.set("head", "0")
    page.until(lambda: page.link().head == 0, "head 0")
    page.click_cell(7, 1)
    page.until(lambda: page.link().cell == (7, 1), "a cell")
    page.page.focus("#head-map .stt-plot")
    page.page.keyboard.press("ArrowRight")
    page.until(lambda: page.link().cell == (7, 2), "the cell beside it")
    weight = _trace(page).weights("decoder.3.self", 0)[7, 2]
    told = message("attention.spoken", query="·it", key="·dog", weight=f"{weight:.3f}")
    page.until(lambda: page.spoken() == told, told)
    assert re.fullmatch(r"query ·it, key ·dog, weight 0\.\d{3}", told)
    assert page.page.get_attribute("#stage .stt-unseen", "aria-live") == "polite"


def test_controls_work_by_keyboard(page: ExplorePage) -> None:
    keyboard = page.page.keyboard
    page.open_panel("output")
    page.page.focus("#output-dials [data-set=top-k]")
    for _ in range(3):
        keyboard.press("ArrowRight")
    page.until(lambda: page.option("top-k") == "3", "the slider")
    assert page.page.evaluate("document.activeElement.dataset.set") == "top-k", "it stays in the hand"
    page.page.focus("[data-set=word]")
    keyboard.type("cat")
    keyboard.press("Enter")
    page.until(lambda: page.option("word") == "cat", "the text line")
    page.page.focus("#output-dials [data-set=top-k]")
    keyboard.press("Home")
    page.until(lambda: page.option("top-k") in (None, "0"), "as it was")
    page.open_panel("attention")
    page.page.focus("#chooser [data-set=attention]")
    keyboard.press("ArrowUp")
    page.until(lambda: page.link().site == "decoder.2.self", "the list")
    page.open_panel("tokens")
    page.page.focus("#tokens-switch [data-set=words]")
    for value in ("on", "off"):
        keyboard.press("Space")
        page.until(lambda value=value: (page.option("words") or "off") == value, f"the switch, {value}")
    page.open_panel("norm")
    page.page.focus("#norm-show [data-value=norm]")
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    page.until(lambda: page.option("norm-show") == "stream", "buttons")
    page.press_tab("norm-show", "norm")
    page.page.fill("#norm-channel [data-set=channel]", "17")
    keyboard.press("Enter")
    page.until(lambda: page.option("channel") == "17", "a number")


# --- generating ------------------------------------------------------------------------------------------------------


def _new_tokens(page: ExplorePage) -> list[str]:
    return page.page.locator("#generate-strip [data-step] .stt-token-text").all_text_contents()


def test_a_text_is_written_branched_searched_and_opened(page: ExplorePage) -> None:
    page.open_panel("generate")
    page.page.click("#generate-actions [data-grow='1']")
    page.until(lambda: _new_tokens(page) == ["·barked"], "one more token")
    share = _trace(page).probabilities(LAST)[1][0]
    page.until(lambda: page.trace_of(BARS)["x"][0] == pytest.approx(share, abs=1e-6), "with the run's probability")
    assert f"{share:.3f}" in page.spoken()
    page.page.click("#generate-actions [data-play]")
    page.until(lambda: page.page.locator("#stage [data-finished]").count() == 1, "it plays to the end")
    assert _new_tokens(page) == ["·barked", ".", "<eos>"]
    page.until(lambda: page.page.get_attribute("[data-play]", "aria-pressed") == "false", "nothing plays")
    assert set(page.seals()) == {"✓"}

    page.page.click("#generate-strip [data-step='0']")
    page.until(lambda: page.page.get_attribute("#generate-strip [data-step='0']", "aria-pressed") == "true", "step 0")
    page.page.locator("#generate-candidate [data-candidate]").nth(1).click()
    page.page.click("#generate-candidate [data-branch]")
    page.until(lambda: _new_tokens(page) == ["·howled"], "another token, and what stood behind it gone")
    page.page.click("#generate-actions [data-grow='1']")
    page.until(lambda: len(_new_tokens(page)) == 2, "and on from there")
    page.page.click("#generate-notice [data-unbranch]")
    page.until(lambda: _new_tokens(page)[:1] == ["·barked"], "the model's own again")

    page.page.click("#stage [data-ask=open]")
    page.until(lambda: page.link().panel == "attention", "the text in all panels")
    page.until(lambda: page.link().text == f"{TEXT} barked.", "the longer text")
    assert page.page.input_value("#text textarea") == f"{TEXT} barked."


def test_several_texts_grow_side_by_side(page: ExplorePage) -> None:
    page.open_panel("generate")
    page.set("gen-mode", "beam")
    for count in (1, 2, 3):
        page.page.click("#generate-actions [data-grow='1']")
        page.until(lambda count=count: page.option("gen-count") == str(count), f"pass {count}")
    page.until(lambda: page.figures() == ["generate-tree"], "the tree")
    assert set(page.seals()) == {"✓"}
    best = page.words("generate-node")
    page.page.locator("#generate-texts [data-node]").last.click()
    page.until(lambda: page.words("generate-node") != best, "another text of the tree")
    page.page.click("#generate-actions [data-anew]")
    page.until(lambda: page.option("gen-count") is None, "begun anew")
    page.set("gen-mode", "greedy")
    page.until(lambda: page.option("gen-mode") in (None, "greedy"), "one text again")
