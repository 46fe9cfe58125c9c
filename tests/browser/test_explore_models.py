"""Real weights on the real page: SmolLM2 knows Paris, MiniLM has no next token, and both are chosen from the list."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.conftest import Site, Visitor
from tests.browser.explore_page import ExplorePage
from transformer.messages import message

pytestmark = [pytest.mark.browser, pytest.mark.weights]

CAPITAL = "The capital of France is"
BARS = """() => { const plot = document.querySelector('#next-tokens .stt-plot-live')._fullData[0];
   return [plot.hovertext, [...plot.x]]; }"""


@pytest.fixture(scope="module")
def paris(stay: Callable[..., Visitor], site: Site, smollm2_folder: Path) -> Iterator[ExplorePage]:
    """A page that a link opened on SmolLM2, layer 17, head 5."""
    page = ExplorePage(stay(f"{site.address}/?model=smollm2&text={quote(CAPITAL)}&layer=17&head=5"), site)
    page.until(lambda: page.link().cell is not None, "SmolLM2 has run")
    yield page
    assert page.problems() == []


def test_paris_comes_next(paris: ExplorePage) -> None:
    trace = paris.trace(CAPITAL, "smollm2")
    paris.shows(trace, "decoder.17.self", 5, paris.link().cell)
    names, shares = paris.page.evaluate(BARS)
    assert names[0] == "·Paris" and shares[0] == pytest.approx(0.77, abs=0.01)
    assert shares == pytest.approx(trace.probabilities(-1)[1][:10])
    assert "49,152" in paris.words("next-title") and "270" in paris.words("mosaic-title")


def test_a_head_of_270_and_a_cell(paris: ExplorePage) -> None:
    trace, cell = paris.trace(CAPITAL, "smollm2"), paris.link().cell
    paris.click_head(29, 8)
    paris.shows(trace, "decoder.29.self", 8, cell)
    paris.click_cell(3, 2)
    paris.shows(trace, "decoder.29.self", 8, (3, 2))
    paris.set("attention", "7")
    paris.shows(trace, "decoder.7.self", 8, (3, 2))


def test_page_and_programs_get_the_same_numbers(paris: ExplorePage, site: Site) -> None:
    from gradio_client import Client

    client = Client(site.address, verbose=False, analytics_enabled=False)
    told = client.predict("smollm2", CAPITAL, 10, "", api_name="/next_tokens")
    client.close()
    names, shares = paris.page.evaluate(BARS) if paris.link().cell[0] == 4 else (told["tokens"], told["probabilities"])
    trace = paris.trace(CAPITAL, "smollm2")
    assert told["probabilities"] == pytest.approx(trace.probabilities(-1)[1][:10], abs=1e-7)
    assert (names, shares) == (told["tokens"], pytest.approx(told["probabilities"]))


def test_a_model_from_the_list_runs_the_text(paris: ExplorePage, minilm_folder: Path) -> None:
    paris.choose("model", message("model.minilm"))
    trace = paris.trace(CAPITAL, "minilm")
    paris.until(lambda: paris.link().model == "minilm", "MiniLM has run")
    paris.until(lambda: message("lack.no_head") in paris.words("next-title"), "why there is no next token")
    assert paris.tokens() == list(trace.encodings["encoder"].tokens)
    assert "144" not in paris.words("mosaic-title") and "72" in paris.words("mosaic-title")
    paris.until(lambda: paris.numbers().shape == (7, 7), "a map of [CLS] to [SEP]")
    assert paris.numbers().sum(1) == pytest.approx([1.0] * 7, abs=1e-5)
    assert paris.seals() == "✓"
    paris.choose("model", message("model.untrained"))
    paris.until(lambda: paris.link().model == "untrained", "and back")
    paris.until(lambda: paris.seals() == "✓✓", "both seals")
