"""Each panel shows the run's own numbers, and says why where it has none."""

import contextlib
import io
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from tests.viz.pages.conftest import ShelfEngine, figure
from transformer import replay
from transformer.messages import LANGUAGES, message
from viz.figures import attention_mosaic
from viz.figures.axes import escape, shorten
from viz.pages.links import View
from viz.pages.panels import SHOWN_NEXT, Panels

Make = Callable[..., Panels]
CROSS = View(site="decoder.1.cross", head=5, cell=(3, 2))


def _inner(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize(("name", "view"), [("grouped", View(layer=1, head=4)), ("t5", CROSS), ("bloom", View(head=2))])
def test_the_map_holds_the_weights_and_hides_only_forbidden_cells(panels_of: Make, name: str, view: View) -> None:
    panels = panels_of(name, view)
    shown = figure(panels.head_map())
    weights = panels.trace.weights(panels.site, panels.selection.head)
    allowed = panels.trace.allowed(panels.site, panels.selection.head)
    np.testing.assert_array_equal(shown["data"][0]["z"], np.where(allowed, weights, np.nan))
    axes = shown["layout"]["xaxis"], shown["layout"]["yaxis"]
    for axis, tokens in zip(axes, (panels.keys, panels.queries), strict=True):
        assert axis["ticktext"] == [escape(token) for token in tokens]
        assert axis["tickvals"] == list(range(len(tokens)))
    chosen = panels.selection
    assert shown["layout"]["meta"]["select"]["at"] == [chosen.key, chosen.query]


def test_a_long_text_is_pooled_and_its_window_is_exact(panels_of: Make) -> None:
    text = "".join(chr(97 + index * 7 % 26) for index in range(299))
    panels = panels_of("grouped", View(layer=2, head=3, cell=(280, 140)), text=text)
    weights, size = panels.trace.weights(panels.site, 3), 300
    pooled = figure(panels.head_map())
    block = pooled["layout"]["meta"]["block"]
    edges = range(0, size, block)
    largest = np.maximum.reduceat(np.maximum.reduceat(weights, edges, axis=0), edges, axis=1)
    seen = np.nan_to_num(pooled["data"][0]["z"])
    assert block > 1 and seen.shape == largest.shape
    np.testing.assert_array_equal(seen, largest)
    panels.selection = replace(panels.selection, exact=True)
    window = figure(panels.head_map())
    rows, columns = slice(236, 300), slice(108, 172)
    may = panels.trace.allowed(panels.site, 3)[rows, columns]
    np.testing.assert_array_equal(window["data"][0]["z"], np.where(may, weights[rows, columns], np.nan))
    assert window["layout"]["yaxis"]["tickvals"] == list(range(236, 300))
    assert window["layout"]["meta"]["select"]["at"] == [140 - 108, 280 - 236]


def test_the_mosaic_holds_every_head(panels_of: Make) -> None:
    panels = panels_of("grouped", View(layer=2, head=1))
    trace, shown = panels.trace, figure(panels.mosaic())
    maps = [trace.weights(site) for site in trace.attention_sites()]
    drawn, expected = shown["data"][0]["z"].astype(int), attention_mosaic(maps).data[0].z.astype(int)
    assert drawn.shape == expected.shape and np.abs(drawn - expected).max() <= 1
    assert shown["layout"]["meta"]["select"] | {"at": [1, 2], "count": [6, 3]} == shown["layout"]["meta"]["select"]
    assert "18" in _inner(panels.mosaic_title())


def test_lines_draw_the_chosen_head_from_queries_to_keys(panels_of: Make) -> None:
    panels = panels_of("t5", CROSS)
    shown = figure(panels.head_lines())
    weights = panels.trace.weights("decoder.1.cross", 5)
    assert str((weights >= 0.02).sum()) in re.findall(r"\d+", shown["layout"]["meta"]["caption"])
    texts = [_inner(text) for text in shown["layout"]["yaxis2"]["ticktext"]]
    assert set(texts) <= {shorten(token) for token in panels.keys} and len(texts) > 5


def test_next_tokens_are_the_largest_probabilities_of_the_whole_vocabulary(panels_of: Make) -> None:
    panels = panels_of("grouped", View(cell=(4, 1)))
    ids, shares = panels.trace.probabilities(4)
    bars = figure(panels.next_tokens())["data"][0]
    np.testing.assert_allclose(bars["x"], shares[:SHOWN_NEXT], rtol=1e-6)
    assert bars["hovertext"] == [escape(panels.engine.token("grouped", int(one))) for one in ids[:SHOWN_NEXT]]
    assert "259" in _inner(panels.next_title()) and panels.trace.encodings["decoder"].tokens[4] in panels.next_title()


def test_what_comes_next_is_told_of_the_target_whatever_attention_is_looked_at(panels_of: Make) -> None:
    source, cross = panels_of("t5", View(site="encoder.0.self", cell=(2, 2))), panels_of("t5", CROSS)
    assert (source.position, cross.position) == (5, 3)


@pytest.mark.parametrize(("name", "view"), [("grouped", View(layer=1, head=4, cell=(6, 3))), ("t5", CROSS)])
def test_the_arithmetic_and_its_numpy_give_the_recorded_weight(panels_of: Make, name: str, view: View) -> None:
    panels = panels_of(name, view)
    html = panels.arithmetic()
    weight = panels.trace.weights(panels.site, view.head)[view.cell]
    result = re.search(r"stt-result'>([^<]*)<", html).group(1)
    assert float(result) == pytest.approx(weight, abs=6e-4) and "stt-bad" not in html
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(unescape(re.search(r'data-copy="([^"]*)"', html).group(1)), {})
    assert float(printed.getvalue()) == pytest.approx(weight, abs=1e-6)


def test_a_forbidden_cell_says_so(panels_of: Make) -> None:
    panels = panels_of("grouped", View(cell=(2, 7)))
    assert message("figure.arithmetic.forbidden") in _inner(panels.arithmetic())


def test_the_strip_shows_each_token_of_each_text_once(panels_of: Make) -> None:
    panels = panels_of("t5", CROSS)
    for stack, part in zip(panels.trace.encodings, panels.strip().split('<div class="stt-strip"')[1:], strict=True):
        texts = [unescape(one) for one in re.findall(r'<bdi class="stt-token-text">([^<]*)</bdi>', part)]
        assert texts == list(panels.trace.encodings[stack].tokens)
        pressed = re.findall(r'data-token="(\d+)"[^>]*aria-pressed="true"', part)
        assert pressed == (["3"] if stack == "decoder" else [])


def test_the_diagram_marks_the_chosen_attention(panels_of: Make) -> None:
    html = panels_of("t5", CROSS).diagram()
    assert re.findall(r'data-site="([^"]*)"[^>]*aria-pressed="true"', html) == ["decoder.1.cross"]


def test_the_table_holds_the_weights(panels_of: Make) -> None:
    panels = panels_of("t5", CROSS)
    rows = re.findall(r"<tr>(.*?)</tr>", panels.table())[1:]
    cells = [[float(one) for one in re.findall(r"<td[^>]*>([\d.e-]+)</td>", row)] for row in rows]
    np.testing.assert_allclose(cells, panels.trace.weights("decoder.1.cross", 5), atol=5e-4)


def test_the_seal_tells_what_was_recomputed_and_a_changed_number_breaks_it(panels_of: Make) -> None:
    panels = panels_of("grouped", View(layer=1, head=4))
    found = replay.seal(panels.trace, panels.site, 4)
    assert panels.seal().count("stt-seal-good") == 2 and f"{found.difference:.1e}" in panels.seal()
    name = f"{panels.site}.q"
    changed = np.array(panels.trace.arrays[name])
    changed[4, 3, 0] += 0.5
    panels.trace = replace(panels.trace, arrays={**panels.trace.arrays, name: changed})
    assert panels.seal().count("stt-seal-bad") == 1 and panels.seal().count("stt-seal-good") == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_model_lacks_is_said_in_the_language_of_the_page(panels_of: Make, language: str) -> None:
    bert = panels_of("bert", language=language)
    assert message("lack.no_head", language) in _inner(bert.next_title())
    assert bert.next_tokens() is None and bert.seal().count("stt-seal-good") == 1
    bloom = panels_of("bloom", language=language)
    assert message("lack.weights_only", language) in _inner(bloom.arithmetic())
    assert "stt-copy" not in bloom.arithmetic() and "stt-seal-good" in bloom.seal()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_mask_that_was_not_seen_is_not_drawn(panels_of: Make, language: str) -> None:
    panels = panels_of("bloom", language=language)
    lacks = {**panels.trace.lacks, f"{panels.site}.allowed": "lack.mask_unseen"}
    panels.trace = replace(panels.trace, lacks=lacks)
    assert message("lack.mask_unseen", language) in _inner(panels.head_title())
    shown = figure(panels.head_map())["data"][0]["z"]
    np.testing.assert_array_equal(shown, panels.trace.weights(panels.site, panels.selection.head))
    assert "stt-forbidden" not in panels.table()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_title_tells_layer_head_and_shared_keys(panels_of: Make, language: str) -> None:
    grouped = _inner(panels_of("grouped", View(layer=1, head=4), language=language).head_title())
    assert message("explore.head.title", language, layer=1, head=4) in grouped
    assert message("explore.head.shared", language, first=3, last=5) in grouped
    cross = _inner(panels_of("t5", CROSS, language=language).head_title())
    assert message("explore.layer.decoder.cross", language, layer=1) in cross
    assert message("explore.head.shared", language, first=5, last=5) not in cross


def test_tokens_that_are_markup_stay_text_in_every_panel(panels_of: Make) -> None:
    text = "<b>&lt;\"'{0}{html}"
    panels = panels_of("grouped", View(cell=(1, 1)), text=text)
    for html in (panels.strip(), panels.head_title(), panels.arithmetic(), panels.next_title(), panels.table()):
        assert "<b></b>" not in html and re.search(r"&lt;", html)
    tokens = panels.trace.encodings["decoder"].tokens
    assert list(tokens[1:]) == list(text)


def test_the_address_is_the_selection(panels_of: Make, shelf: ShelfEngine) -> None:
    panels = panels_of("t5", CROSS, language="zh")
    again = panels_of("t5", View(site="decoder.1.cross", head=5, cell=(3, 2)), language="zh")
    assert panels.address() == again.address()
    for part in ("model=t5", "target=a%20tac", "site=decoder.1.cross", "head=5", "query=3", "key=2", "lang=zh"):
        assert part in panels.address().split("&")
