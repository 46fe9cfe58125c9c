"""Each panel shows the run's own numbers, and says why where it has none."""

import contextlib
import io
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from tests.viz.pages.conftest import ShelfEngine, blocks_of, made
from transformer import replay
from transformer.messages import LANGUAGES, message
from viz.figures import attention_mosaic
from viz.figures.axes import escape, shorten
from viz.pages import run_words
from viz.pages.layout import address
from viz.pages.links import View
from viz.pages.panels.next_token import SHOWN
from viz.pages.scene import Scene
from viz.pages.stage import table_of

Make = Callable[..., Scene]
CROSS = View(site="decoder.1.cross", head=5, cell=(3, 2))


def _table(scene: Scene) -> str:
    return table_of(blocks_of(scene)["head-map"], "en")


def _inner(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize(("name", "view"), [("grouped", View(layer=1, head=4)), ("t5", CROSS), ("bloom", View(head=2))])
def test_the_map_holds_the_weights_and_hides_only_forbidden_cells(scene_of: Make, name: str, view: View) -> None:
    scene = scene_of(name, view)
    shown = made(scene, "head-map")
    weights = scene.trace.weights(scene.site, scene.selection.head)
    allowed = scene.trace.allowed(scene.site, scene.selection.head)
    np.testing.assert_array_equal(shown["data"][0]["z"], np.where(allowed, weights, np.nan))
    axes = shown["layout"]["xaxis"], shown["layout"]["yaxis"]
    for axis, tokens in zip(axes, (scene.keys, scene.queries), strict=True):
        assert axis["ticktext"] == [escape(token) for token in tokens]
        assert axis["tickvals"] == list(range(len(tokens)))
    chosen = scene.selection
    assert shown["layout"]["meta"]["select"]["at"] == [chosen.key, chosen.query]


def test_a_long_text_is_pooled_and_its_window_is_exact(scene_of: Make) -> None:
    text = "".join(chr(97 + index * 7 % 26) for index in range(299))
    scene = scene_of("grouped", View(layer=2, head=3, cell=(280, 140)), text=text)
    weights, size = scene.trace.weights(scene.site, 3), 300
    pooled = made(scene, "head-map")
    block = pooled["layout"]["meta"]["block"]
    edges = range(0, size, block)
    largest = np.maximum.reduceat(np.maximum.reduceat(weights, edges, axis=0), edges, axis=1)
    seen = np.nan_to_num(pooled["data"][0]["z"])
    assert block > 1 and seen.shape == largest.shape
    np.testing.assert_array_equal(seen, largest)
    scene = Scene(scene.engine, scene.trace, replace(scene.selection, exact=True), "en")
    window = made(scene, "head-map")
    rows, columns = slice(236, 300), slice(108, 172)
    may = scene.trace.allowed(scene.site, 3)[rows, columns]
    np.testing.assert_array_equal(window["data"][0]["z"], np.where(may, weights[rows, columns], np.nan))
    assert window["layout"]["yaxis"]["tickvals"] == list(range(236, 300))
    assert window["layout"]["meta"]["select"]["at"] == [140 - 108, 280 - 236]


def test_the_mosaic_holds_every_head(scene_of: Make) -> None:
    scene = scene_of("grouped", View(layer=2, head=1))
    trace, shown = scene.trace, made(scene, "mosaic")
    maps = [trace.weights(site) for site in trace.attention_sites()]
    drawn, expected = shown["data"][0]["z"].astype(int), attention_mosaic(maps).data[0].z.astype(int)
    assert drawn.shape == expected.shape and np.abs(drawn - expected).max() <= 1
    assert shown["layout"]["meta"]["select"] | {"at": [1, 2], "count": [6, 3]} == shown["layout"]["meta"]["select"]
    assert "18" in _inner(made(scene, "mosaic-title"))


def test_lines_draw_the_chosen_head_from_queries_to_keys(scene_of: Make) -> None:
    scene = scene_of("t5", CROSS)
    shown = made(scene, "head-lines")
    weights = scene.trace.weights("decoder.1.cross", 5)
    assert str((weights >= 0.02).sum()) in re.findall(r"\d+", shown["layout"]["meta"]["caption"])
    texts = [_inner(text) for text in shown["layout"]["yaxis2"]["ticktext"]]
    assert set(texts) <= {shorten(token) for token in scene.keys} and len(texts) > 5


def test_next_tokens_are_the_largest_probabilities_of_the_whole_vocabulary(scene_of: Make) -> None:
    scene = scene_of("grouped", View(cell=(4, 1)))
    ids, shares = scene.trace.probabilities(4)
    bars = made(scene, "next-tokens")["data"][0]
    np.testing.assert_allclose(bars["x"], shares[:SHOWN], rtol=1e-6)
    assert bars["hovertext"] == [escape(scene.engine.token("grouped", int(one))) for one in ids[:SHOWN]]
    assert "259" in _inner(made(scene, "next-title")) and scene.trace.encodings["decoder"].tokens[4] in made(
        scene, "next-title"
    )


def test_what_comes_next_is_told_of_the_target_whatever_attention_is_looked_at(scene_of: Make) -> None:
    source, cross = scene_of("t5", View(site="encoder.0.self", cell=(2, 2))), scene_of("t5", CROSS)
    assert (source.position, cross.position) == (5, 3)


@pytest.mark.parametrize(("name", "view"), [("grouped", View(layer=1, head=4, cell=(6, 3))), ("t5", CROSS)])
def test_the_arithmetic_and_its_numpy_give_the_recorded_weight(scene_of: Make, name: str, view: View) -> None:
    scene = scene_of(name, view)
    html = made(scene, "arithmetic")
    weight = scene.trace.weights(scene.site, view.head)[view.cell]
    result = re.search(r"stt-result'>([^<]*)<", html).group(1)
    assert float(result) == pytest.approx(weight, abs=6e-4) and "stt-bad" not in html
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(unescape(re.search(r'data-copy="([^"]*)"', html).group(1)), {})
    assert float(printed.getvalue()) == pytest.approx(weight, abs=1e-6)


def test_the_arithmetic_names_its_head_and_a_row_of_cross_attention_the_token_it_serves(scene_of: Make) -> None:
    scene, source = scene_of("t5", CROSS), scene_of("t5", View(site="encoder.0.self"))
    assert "head 5" in _inner(made(scene, "arithmetic"))  # also beside maps of all heads together
    ids, _ = scene.trace.probabilities(scene.query)
    said = f"read up to {scene.queries[scene.query]}; this row serves to choose the next token, most probably"
    answer = scene.engine.token(scene.selection.model, int(ids[0]))
    assert f"{said} {answer}." in _inner(made(scene, "head-title"))
    assert "read up to" not in _inner(made(source, "head-title"))


def test_a_forbidden_cell_says_so(scene_of: Make) -> None:
    scene = scene_of("grouped", View(cell=(2, 7)))
    assert message("figure.arithmetic.forbidden") in _inner(made(scene, "arithmetic"))


def test_the_strip_shows_each_token_of_each_text_once(scene_of: Make) -> None:
    scene = scene_of("t5", CROSS)
    for stack, part in zip(
        scene.trace.encodings, run_words.strip(scene).split('<div class="stt-strip"')[1:], strict=True
    ):
        texts = [unescape(one) for one in re.findall(r'<bdi class="stt-token-text">([^<]*)</bdi>', part)]
        assert texts == list(scene.trace.encodings[stack].tokens)
        pressed = re.findall(r'data-token="(\d+)"[^>]*aria-pressed="true"', part)
        assert pressed == (["3"] if stack == "decoder" else [])


def test_the_diagram_marks_the_chosen_attention(scene_of: Make) -> None:
    html = run_words.diagram(scene_of("t5", CROSS))
    assert re.findall(r'data-site="([^"]*)"[^>]*aria-pressed="true"', html) == ["decoder.1.cross"]


def test_the_table_holds_the_weights(scene_of: Make) -> None:
    scene = scene_of("t5", CROSS)
    rows = re.findall(r"<tr>(.*?)</tr>", _table(scene))[1:]
    cells = [[float(one) for one in re.findall(r"<td[^>]*>([\d.e-]+)</td>", row)] for row in rows]
    np.testing.assert_allclose(cells, scene.trace.weights("decoder.1.cross", 5), atol=5e-4)


def test_the_seal_tells_what_was_recomputed_and_a_changed_number_breaks_it(scene_of: Make) -> None:
    scene = scene_of("grouped", View(layer=1, head=4))
    found = replay.seal(scene.trace, scene.site, 4)
    assert "stt-seal-good" in made(scene, "seal") and f"{found.difference:.1e}" in made(scene, "seal")
    assert "stt-seal-good" in blocks_of(scene)["next-tokens"].seal()
    name = f"{scene.site}.q"
    changed = np.array(scene.trace.arrays[name])
    changed[4, 3, 0] += 0.5
    trace = replace(scene.trace, arrays={**scene.trace.arrays, name: changed})
    broken = Scene(scene.engine, trace, scene.selection, "en")
    assert "stt-seal-bad" in made(broken, "seal") and "stt-seal-good" in blocks_of(broken)["next-tokens"].seal()


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_model_lacks_is_said_in_the_language_of_the_page(scene_of: Make, language: str) -> None:
    bert = scene_of("bert", language=language)
    assert message("lack.no_head", language) in _inner(made(bert, "next-title"))
    assert "next-tokens" not in blocks_of(bert) and "stt-seal-good" in made(bert, "seal")
    bloom = scene_of("bloom", language=language)
    assert message("lack.weights_only", language) in _inner(made(bloom, "arithmetic"))
    assert "stt-copy" not in made(bloom, "arithmetic") and "stt-seal-good" in made(bloom, "seal")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_mask_that_was_not_seen_is_not_drawn(scene_of: Make, language: str) -> None:
    scene = scene_of("bloom", language=language)
    lacks = {**scene.trace.lacks, f"{scene.site}.allowed": "lack.mask_unseen"}
    scene = Scene(scene.engine, replace(scene.trace, lacks=lacks), scene.selection, language)
    assert message("lack.mask_unseen", language) in _inner(made(scene, "head-title"))
    shown = made(scene, "head-map")["data"][0]["z"]
    np.testing.assert_array_equal(shown, scene.trace.weights(scene.site, scene.selection.head))
    assert "stt-forbidden" not in _table(scene)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_title_tells_layer_head_and_shared_keys(scene_of: Make, language: str) -> None:
    grouped = _inner(made(scene_of("grouped", View(layer=1, head=4), language=language), "head-title"))
    assert message("explore.head.title", language, layer=1, head=4) in grouped
    assert message("explore.head.shared", language, first=3, last=5) in grouped
    cross = _inner(made(scene_of("t5", CROSS, language=language), "head-title"))
    assert message("explore.layer.decoder.cross", language, layer=1) in cross
    assert message("explore.head.shared", language, first=5, last=5) not in cross


def test_tokens_that_are_markup_stay_text_in_every_panel(scene_of: Make) -> None:
    text = "<b>&lt;\"'{0}{html}"
    scene = scene_of("grouped", View(cell=(1, 1)), text=text)
    for html in (
        run_words.strip(scene),
        made(scene, "head-title"),
        made(scene, "arithmetic"),
        made(scene, "next-title"),
        _table(scene),
    ):
        assert "<b></b>" not in html and re.search(r"&lt;", html)
    tokens = scene.trace.encodings["decoder"].tokens
    assert list(tokens[1:]) == list(text)


def test_the_address_is_the_selection(scene_of: Make, shelf: ShelfEngine) -> None:
    scene = scene_of("t5", CROSS, language="zh")
    again = scene_of("t5", View(site="decoder.1.cross", head=5, cell=(3, 2)), language="zh")
    assert address(scene) == address(again)
    for part in ("model=t5", "target=a%20tac", "site=decoder.1.cross", "head=5", "query=3", "key=2", "lang=zh"):
        assert part in address(scene).split("&")
