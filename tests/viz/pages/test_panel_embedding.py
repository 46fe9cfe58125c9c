"""Embedding & positions: the panel shows the run's own numbers on every kind of model, and says why it has none."""

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import numpy as np
import pytest
import torch

from tests.transformer.families import build, scramble
from tests.transformer.tiny_hugging_face import vit
from tests.viz.pages.conftest import ShelfEngine, figure
from tests.viz.pages.whole_panel import SHELF, TEXTS
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.engine import Engine
from transformer.messages import message
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import LoadedModel, wrap
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot
from viz.pages.links import View
from viz.pages.panels import embedding
from viz.pages.panels.embedding_look import DIMENSION, PAGE, TAB, TABLE
from viz.pages.pick import Pick
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection

Make = Callable[..., Scene]
MADE = ("alibi", "none", "gptj", "gpt_neox", "qwen3", "gpt2", "gemma2", "vit")
SINUSOIDAL, LEARNED = {"mini-translator", "rule-classifier", "copycat"}, {"digit-vit", "untrained", "bert", "gpt2"}


def _made(name: str) -> LoadedModel:
    size = ByteTokenizer.vocab_size
    if name in ("alibi", "none"):
        config = ModelConfig(vocab_size=size, max_positions=331, d_model=36, n_layers=3, n_heads=6, positions=name)
        return wrap(scramble(DecoderLM(config)), ByteTokenizer(), name)
    if name == "vit":
        return wrap(scramble(vit()), None, name)
    more = {
        "gptj": {"n_embd": 24, "n_head": 2, "rotary_dim": 8},
        "gpt_neox": {"hidden_size": 32, "num_attention_heads": 2},
    }
    return wrap(build(name, vocab_size=size, **more.get(name, {})), ByteTokenizer(), name)


@pytest.fixture(scope="module")
def catalog() -> Engine:
    return Engine("untrained", packs=False)


@pytest.fixture(scope="module")
def others() -> ShelfEngine:
    return ShelfEngine({name: _made(name) for name in MADE})


@pytest.fixture
def scenes(catalog: Engine, others: ShelfEngine, scene_of: Make) -> Make:
    """`scenes("mini-gpt", {TAB: "positions"}, View(cell=(3, 1)))`: a run of any model, with options set."""

    def make(
        name: str, options: dict | None = None, view: View | None = None, *, language: str = "en", text: str = ""
    ) -> Scene:
        view = view or View()
        if name in SHELF:
            return with_options(scene_of(name, view, language=language, **({"text": text} if text else {})), options)
        engine, (given, target) = (others, ("the cat\n the", None)) if name in MADE else (catalog, TEXTS[name])
        given = "\n".join(["0" * 6] * 3 * 6) if name == "vit" else text or given
        trace = engine.trace(name, given, target)
        return with_options(
            Scene(engine, trace, move.first_look(trace, Selection(name, given, target), view), language), options
        )

    return make


def with_options(scene: Scene, options: dict | None) -> Scene:
    chosen = scene.selection
    for option, value in (options or {}).items():
        chosen = move.with_option(chosen, option, value)
    return Scene(scene.engine, scene.trace, chosen, scene.language)


def blocks(scene: Scene) -> Iterator[Block]:
    for column in embedding.PANEL.columns(scene):
        yield from column


def names(scene: Scene) -> list[str]:
    return [one.name for one in blocks(scene)]


def block(scene: Scene, name: str) -> Any:
    return next(one for one in blocks(scene) if one.name == name)


def html(scene: Scene, name: str) -> str:
    return block(scene, name).make()


def plain(words: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", words)).split())


def drawn(scene: Scene, name: str) -> dict:
    return figure(figure_json(block(scene, name).draw()))


def picked(scene: Scene, name: str, **where: Any) -> Selection:
    found = embedding.PANEL.pick(scene, name, Pick(**where))
    assert found is not None
    return found


@pytest.mark.parametrize("name", [*TEXTS, *SHELF, *MADE])
def test_every_block_is_made_on_every_model(scenes: Make, name: str) -> None:
    for language in ("en", "zh"):
        for options in ({}, {TAB: "positions"}, {TAB: "positions", TABLE: "table", DIMENSION: 5}):
            scene = scenes(name, options, language=language)
            found, weight = names(scene), 0
            for one in blocks(scene):
                value = one.make() if isinstance(one, Piece) else figure_json(one.draw()) or ""
                weight += len(value)
                assert value and len(value) < 150_000, one.name
                if isinstance(one, Plot):
                    assert one.label and one.data is not None and one.code is not None
                    data = one.data()
                    assert len(data.values) == len(data.rows) and data.values.size == len(data.rows) * len(data.columns)
                    if one.seal is not None:
                        assert "stt-seal-good" in one.seal(), one.name
            assert len(set(found)) == len(found) > 1 and weight < 500_000
            assert embedding.PANEL.spoken(scene)


@pytest.mark.parametrize(
    "name", ["mini-translator", "digit-vit", "untrained", "t5", "bert", "grouped", "alibi", "gptj"]
)
def test_the_code_draws_the_same_figures(scenes: Make, name: str) -> None:
    for options in ({DIMENSION: 7}, {TAB: "positions", DIMENSION: 7}, {TAB: "positions", TABLE: "table"}):
        scene = scenes(name, options, View(cell=(3, 2)))
        for one in blocks(scene):
            if isinstance(one, Plot) and one.code is not None:
                room = {"model": scene.engine.load(name), "trace": scene.trace, "figures": figures, "np": np}
                exec(one.code(), room)
                drawn_, wanted = room["figure"].to_dict()["data"], one.draw().to_dict()["data"]
                assert len(drawn_) == len(wanted)
                for ours, theirs in zip(drawn_, wanted, strict=True):
                    for key in {"x", "y", "z", "customdata"} & set(ours):
                        np.testing.assert_array_equal(np.asarray(ours[key]), np.asarray(theirs[key]))


def test_which_positions_a_model_has_is_shown_and_no_other(scenes: Make) -> None:
    for name in (*TEXTS, *SHELF, *MADE):
        shown = set(names(scenes(name, {TAB: "positions"})))
        assert ("position-table" in shown) == (name in SINUSOIDAL | LEARNED), name
        assert ("position-curves" in shown) == (name in SINUSOIDAL), name
        assert ("rotary-dials" in shown) == (name in {"mini-gpt", "grouped", "gptj", "gpt_neox", "gemma2"}), name
        assert ("bias-lines" in shown) == (name in {"alibi", "t5"}), name
        assert ("bias-slopes" in shown) == (name == "alibi") and ("bias-map" in shown) == (name == "t5"), name
        assert ("position-unknown" in shown) == (name in {"none", "bloom", "qwen3", "vit"}), name
        assert ("chooser" in shown) == ("rotary-dials" in shown or "bias-lines" in shown), name


# --- vectors ---------------------------------------------------------------------------------------------------------


def test_rows_hold_the_recorded_vectors(scenes: Make) -> None:
    scene = scenes("mini-translator", view=View(site="encoder.0.self", cell=(4, 0)))
    trace, z = scene.trace, drawn(scene, "embed-rows")["data"][0]["z"]
    wanted = [trace[f"encoder.embed.{part}"][4] for part in ("token", "position", "sum")]
    np.testing.assert_array_equal(z, np.stack(wanted).astype(np.float32))
    said = plain(html(scene, "embed-title"))
    assert scene.queries[4] in said and str(trace.encodings["encoder"].ids[4]) in said and "11.314" in said


def test_the_number_and_its_numpy_are_the_recorded_sum(scenes: Make) -> None:
    for name, dimension in (("mini-translator", 17), ("rule-classifier", 4), ("bert", 3), ("gpt2", 27), ("gemma2", 5)):
        scene = scenes(name, {DIMENSION: dimension}, View(cell=(2, 0)))
        cell, total = html(scene, "embed-cell"), scene.trace[f"{scene.stack}.embed.sum"][2, dimension]
        result = float(re.search(r"stt-result'>([^<]*)<", cell).group(1).replace("−", "-"))
        assert result == pytest.approx(float(total), abs=6e-4) and "stt-bad" not in cell
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(unescape(re.search(r'data-copy="([^"]*)"', cell).group(1)), {})
        assert float(out.getvalue()) == pytest.approx(float(total), abs=1e-5)


def test_a_wide_vector_has_an_overview_and_a_page(scenes: Make, minilm_folder: Any) -> None:
    engine = Engine("minilm", packs=True)
    trace = engine.trace("minilm", "the cat sat")
    chosen = move.first_look(trace, Selection("minilm", "the cat sat"), View(cell=(2, 0)))
    scene = with_options(Scene(engine, trace, chosen, "en"), {DIMENSION: 200})
    rows = drawn(scene, "embed-rows")
    np.testing.assert_array_equal(rows["data"][0]["z"][3], trace["encoder.embed.sum"][2, 192:256])
    assert rows["layout"]["meta"]["select"]["at"] == [8, 0]
    assert drawn(scene, "embed-all")["data"][0]["z"].shape == (4, 128)
    assert DIMENSION.of(picked(scene, "embed-all", column=127, row=0)) == 381
    assert DIMENSION.of(picked(scene, "embed-rows", column=3, row=0)) == 195
    assert PAGE == 64 and names(scene)[2:4] == ["embed-all", "embed-rows"]


def test_a_click_on_a_column_chooses_its_dimension(scenes: Make) -> None:
    scene = scenes("grouped", view=View(cell=(4, 1)))
    after = picked(scene, "embed-rows", column=35, row=0)
    assert DIMENSION.of(after) == 35 and after.query == 4
    assert embedding.PANEL.pick(scene, "embed-rows", Pick()) is None


def test_patches_are_called_patches(scenes: Make) -> None:
    patch, cls = (scenes("digit-vit", view=View(cell=(place, 0))) for place in (6, 0))
    labels = [drawn(scene, "embed-rows")["layout"]["yaxis"]["ticktext"][0] for scene in (patch, cls)]
    assert labels == [message("figure.embedding_rows.patch"), message("figure.embedding_rows.token")]


def test_vectors_that_are_not_seen_say_why(scenes: Make) -> None:
    scene = scenes("vit")
    assert names(scene) == ["embed-tabs", "embed-title"]
    assert "stt-empty" in html(scene, "embed-title")


# --- positions -------------------------------------------------------------------------------------------------------


def test_a_click_on_a_row_chooses_its_token(scenes: Make) -> None:
    scene = scenes("untrained", {TAB: "positions"}, View(cell=(7, 2)))
    after = picked(scene, "position-table", column=13, row=2)
    assert (after.query, DIMENSION.of(after)) == (2, 13)
    assert picked(scene, "position-similarity", column=4, row=5).query == 5
    assert picked(scene, "position-lengths", x=3.2).query == 3
    whole = with_options(scene, {TABLE: "table"})  # every fourth of 512 positions: only the run's can be chosen
    assert picked(whole, "position-table", column=13, row=2).query == 8
    assert DIMENSION.of(picked(whole, "position-table", column=9, row=100)) == 9
    assert embedding.PANEL.pick(whole, "position-similarity", Pick(column=0, row=100)) is None
    waves = scenes("rule-classifier", {TAB: "positions"}, View(cell=(1, 0)))
    assert picked(waves, "position-curves", x=3.9).query == 4
    assert embedding.PANEL.pick(waves, "position-curves", Pick(x=57.0)) is None


def test_tables_hold_the_recorded_rows_or_the_whole(scenes: Make) -> None:
    scene = scenes("untrained", {TAB: "positions"}, View(cell=(4, 2)))
    rows = scene.trace["decoder.embed.position"]
    np.testing.assert_array_equal(drawn(scene, "position-table")["data"][0]["z"], rows)
    whole = drawn(with_options(scene, {TABLE: "table"}), "position-table")["data"][0]["z"]
    weight = scene.engine.load("untrained").module.embedding.positions.weight
    np.testing.assert_array_equal(whole, weight.detach().numpy()[::4])
    unit = rows.astype(np.float64) / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(drawn(scene, "position-similarity")["data"][0]["z"], unit @ unit.T, atol=1e-6)


def test_a_patch_is_compared_where_the_patches_lie(scenes: Make) -> None:
    scene = scenes("digit-vit", {TAB: "positions"}, View(cell=(7, 0)))
    shown, rows = drawn(scene, "position-patches"), scene.trace["encoder.embed.position"].astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(shown["data"][0]["z"], (unit[1:] @ unit[7]).reshape(4, 4), atol=1e-6)
    assert shown["layout"]["meta"]["select"]["at"] == [2, 1]
    assert picked(scene, "position-patches", column=3, row=2).query == 12
    assert "position-similarity" in names(scenes("digit-vit", {TAB: "positions"}, View(cell=(0, 0))))


def test_the_rotation_is_that_of_the_chosen_cell(scenes: Make) -> None:
    scene = scenes("mini-gpt", {TAB: "positions"}, View(layer=2, head=3, cell=(6, 1)))
    mark = drawn(scene, "rotary-score")["data"][-1]
    assert mark["x"].tolist() == [5]
    assert float(mark["y"][0]) == pytest.approx(float(scene.trace.scores("decoder.2.self", 3)[6, 1]), abs=1e-5)
    said = plain(html(scene, "rotary-title"))
    assert "10,000" in said and "16" in said and "(0, 16)".replace(" ", "") in said.replace(" ", "")
    values = block(scene, "rotary-dials").data().values
    np.testing.assert_allclose(values[:, 0], (6 * 10_000.0 ** (-np.arange(16) / 16)) % (2 * np.pi), atol=1e-4)


def test_a_part_of_the_head_that_stays_is_told(scenes: Make) -> None:
    said = plain(html(scenes("gptj", {TAB: "positions"}), "rotary-title"))
    assert "(0, 1)".replace(" ", "") in said.replace(" ", "") and message("embedding.rotary.part", count=4) in said


def test_across_a_text_its_own_positions_are_shown(scenes: Make) -> None:
    scene = scenes("t5", {TAB: "positions"}, View(site="decoder.1.cross", head=5, cell=(3, 2)))
    assert names(scene)[1] == "position-across"
    bias = scene.trace["decoder.1.self.bias"]
    shown = drawn(scene, "bias-map")["data"][0]["z"]
    np.testing.assert_array_equal(shown[:, 2], bias[:, 3, 1])
    after = picked(scene, "bias-map", column=0, row=2)
    assert move.site_of(scene.trace, after) == "decoder.1.self" and (after.head, after.query) == (2, 3)


def test_a_click_on_a_slope_or_a_line_chooses_its_head(scenes: Make) -> None:
    scene = scenes("alibi", {TAB: "positions"}, View(layer=1, head=4, cell=(5, 2)))
    assert picked(scene, "bias-slopes", custom=1.0).head == 1 and picked(scene, "bias-lines", custom=3.0).head == 3
    assert embedding.PANEL.pick(scene, "bias-lines", Pick(custom=9.0)) is None
    assert embedding.PANEL.pick(scene, "bias-lines", Pick()) is None
    mark = drawn(scene, "bias-lines")["data"][-1]
    assert float(mark["y"][0]) == pytest.approx(float(scene.trace["decoder.1.self.bias"][4, 5, 2]), abs=1e-6)


def test_no_positions_and_unknown_positions_are_told_apart(scenes: Make) -> None:
    none, hidden = (plain(html(scenes(name, {TAB: "positions"}), "position-unknown")) for name in ("none", "bloom"))
    assert message("embedding.none.title") in none and message("lack.weights_only") in hidden
    assert message("lack.projection_unknown") in plain(html(scenes("qwen3", {TAB: "positions"}), "position-unknown"))
    assert message("embedding.none.title") not in hidden


def test_a_long_text_is_cut_around_the_chosen_token(scenes: Make) -> None:
    text = "".join(chr(97 + index * 7 % 26) for index in range(299))
    learned = scenes("untrained", {TAB: "positions"}, View(cell=(250, 3)), text=text)
    shown = drawn(learned, "position-table")
    assert shown["data"][0]["z"].shape == (128, 64) and shown["layout"]["meta"]["select"]["at"][1] == 250 - 172
    np.testing.assert_array_equal(shown["data"][0]["z"], learned.trace["decoder.embed.position"][172:300])
    assert picked(learned, "position-table", column=0, row=5).query == 177
    assert picked(learned, "position-lengths", x=180.0).query == 180
    far = drawn(scenes("alibi", {TAB: "positions"}, text=text), "bias-lines")["data"][1]
    assert far["x"].tolist() == list(range(129))


def test_weights_that_changed_since_say_so(others: ShelfEngine) -> None:
    model = _made("gptj")
    shelf = ShelfEngine({"gptj": model})
    trace = shelf.trace("gptj", "the cat")
    chosen = move.first_look(trace, Selection("gptj", "the cat"), View())
    scene = with_options(Scene(shelf, trace, chosen, "en"), {TAB: "positions"})
    assert "rotary-dials" in names(scene)
    with torch.no_grad():
        next(model.module.parameters()).add_(1)
    assert "rotary-dials" not in names(scene)
    assert message("embedding.rotary.changed") in plain(html(scene, "rotary-title"))


def test_a_click_changes_one_piece(scenes: Make) -> None:
    """A dimension moves a rectangle and makes one piece anew."""
    before = scenes("mini-gpt", {DIMENSION: 3})
    after = with_options(before, {DIMENSION: 4})
    same = [(one.name, one.of) for one in blocks(before)], [(one.name, one.of) for one in blocks(after)]
    assert set(same[0]) ^ set(same[1]) == {("embed-cell", ("decoder", before.query, d)) for d in (3, 4)}
    assert block(after, "embed-rows").select == (4, 0)
