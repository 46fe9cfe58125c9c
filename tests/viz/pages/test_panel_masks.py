"""Masks: every model's rules on the page, the cell that is explained, the padded batch, and clicks."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.transformer.families import build
from tests.viz.pages.conftest import ShelfEngine
from tests.viz.pages.whole_panel import (
    EVERY,
    SHELF,
    TEXTS,
    blocks_of,
    check_panel,
    html_of,
    plain,
    scene_on,
    with_options,
)
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.engine import Engine
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import wrap
from viz import figures
from viz.pages.blocks import Plot
from viz.pages.links import View
from viz.pages.panels.masks import PANEL, VIEW
from viz.pages.panels.masks_batch import BATCH, KEY, QUERY, ROW, second_text
from viz.pages.pick import Pick
from viz.pages.scene import Scene

Make = Callable[..., Scene]
IN_BATCH = {VIEW: "batch"}


@pytest.fixture(scope="module")
def catalog() -> Engine:
    return Engine("untrained", packs=False)


@pytest.fixture
def scenes(catalog: Engine, scene_of: Make) -> Make:
    def make(name: str, language: str = "en", view: View | None = None) -> Scene:
        if name in SHELF:
            return scene_of(name, view or View(), language=language)
        return scene_on(catalog, name, *TEXTS[name], language, view)

    return make


@pytest.fixture(scope="module")
def tiny() -> ShelfEngine:
    """Masks of all kinds: gemma2 (window 4 in every other layer), gpt_neo (hides its window), ours with a prefix."""
    vocabulary = {"vocab_size": ByteTokenizer.vocab_size}
    torch.manual_seed(3)
    prefix = ModelConfig(max_positions=331, d_model=28, n_layers=2, n_heads=7, window=3, prefix=2, **vocabulary)
    ours = DecoderLM(prefix, generator=torch.Generator().manual_seed(2))
    made = {"gemma2": build("gemma2", **vocabulary), "gpt_neo": build("gpt_neo", **vocabulary), "prefix": ours}
    return ShelfEngine({name: wrap(module, ByteTokenizer(), name) for name, module in made.items()})


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", EVERY)
def test_every_model_shows_its_mask(scenes: Make, name: str, language: str) -> None:
    scene = scenes(name, language)
    found = check_panel(PANEL, scene)
    assert {"mask-map", "mask-cell", "mask-layers", "mask-title"} <= found.keys()
    assert scene.queries[scene.query] in PANEL.spoken(scene)


@pytest.mark.parametrize("name", EVERY)
def test_every_model_in_a_batch_or_why_not(scenes: Make, name: str) -> None:
    scene = with_options(scenes(name), IN_BATCH)
    found = check_panel(PANEL, scene)
    if len(scene.trace.encodings) > 1 or scene.reads_images:
        reason = plain(html_of(PANEL, scene, "mask-refused"))
        assert ("patches" in reason) == scene.reads_images and "mask-first" not in found
        return
    assert {"mask-first", "mask-second", "mask-moved", "mask-cell"} <= found.keys()
    moved = plain(html_of(PANEL, scene, "mask-moved"))
    assert "Padding changes no real token" in moved and re.search(r"at most \d", moved)
    second = found["mask-second"]
    assert isinstance(second, Plot) and second.data is not None
    padding = np.array(
        scene.engine.batch(name, (scene.selection.text, second_text(scene)))[1].encoding(scene.site).padding
    )
    assert padding.any() and ((second.data().values & 2 > 0) == padding[None]).all(), "padding columns, and only they"


def test_the_sentences_of_each_kind(scenes: Make, tiny: ShelfEngine) -> None:
    def title(scene: Scene) -> str:
        return plain(html_of(PANEL, scene, "mask-title"))

    assert "Causal: no query looks at a later key. Forbidden: 28 of 64 cells." in title(scenes("mini-gpt"))
    assert "every token may look at every token" in title(scenes("rule-classifier"))
    across = scenes("mini-translator", view=View(site="decoder.1.cross"))
    assert "may look at the whole source" in title(across)
    gemma = scene_on(tiny, "gemma2", "the cat\n the", view=View(site="decoder.0.self"))
    assert "only the last 4 keys" in title(gemma)
    prefix = scene_on(tiny, "prefix", "the cat\n the")
    assert "only the last 3 keys" in title(prefix) and "before position 2" in title(prefix)
    check_panel(PANEL, prefix)


def test_all_layers_at_a_glance(scenes: Make, tiny: ShelfEngine) -> None:
    gemma = html_of(PANEL, scene_on(tiny, "gemma2", "the cat\n the", view=View(layer=1)), "mask-layers")
    rows = [plain(row) for row in gemma.split("<tr>")[2:]]
    assert rows == ["causal · window 40", "causal1"]
    assert re.search('aria-pressed="true" data-layer="1"', gemma)
    translator = html_of(PANEL, scenes("mini-translator"), "mask-layers")
    assert plain(translator).index("nothing is forbidden") < plain(translator).index("causal")
    smollm = html_of(PANEL, scenes("mini-gpt"), "mask-layers")
    assert smollm.count("data-layer") == 4 and smollm.count("<tr>") == 2


def test_a_hidden_mask_says_why(tiny: ShelfEngine) -> None:
    scene = scene_on(tiny, "gpt_neo", "the cat\n the", view=View(layer=1))
    found = check_panel(PANEL, scene)
    assert "mask-map" not in found and "does not hand out its mask" in plain(html_of(PANEL, scene, "mask-title"))
    assert "not handed out" in plain(html_of(PANEL, scene, "mask-layers")) and PANEL.spoken(scene) == ""
    batch = with_options(scene, IN_BATCH)
    assert "does not hand out its mask" in plain(html_of(PANEL, batch, "mask-refused"))


def test_the_card_says_why(scenes: Make) -> None:
    scene = with_options(scenes("mini-gpt"), {}, query=3, key=5)
    card = plain(html_of(PANEL, scene, "mask-cell"))
    assert (
        "·chased may not look at ·cat." in card
        and "✗ key 5 > query 3: it comes later (causal)" in card
        and "is 0.000" in card
    )
    assert PANEL.spoken(scene) == "·chased may not look at ·cat (causal)"
    allowed = with_options(scenes("mini-gpt"), {}, query=7, key=2)
    weight = allowed.weights[7, 2]
    assert f"attention weight: {figures.number(float(weight))}" in plain(html_of(PANEL, allowed, "mask-cell"))


def test_clicks_choose_cells_and_layers(scenes: Make) -> None:
    scene = scenes("mini-gpt")
    chosen = PANEL.pick(scene, "mask-map", Pick(column=5, row=3, x=5.2, y=2.8))
    assert chosen is not None and (chosen.query, chosen.key) == (3, 5)
    layer = PANEL.pick(scene, "mask-layers", Pick(data={"layer": "3"}))
    assert layer is not None and layer.attention == 3 and layer.query == scene.query
    batch = with_options(scene, IN_BATCH)
    there = PANEL.pick(batch, "mask-second", Pick(x=6.0, y=2.0))
    assert there is not None and (ROW.of(there), QUERY.of(there), KEY.of(there)) == (1, 2, 6)
    assert (there.query, there.key) == (scene.query, scene.key), "the run's own cell stays"
    shown = Scene(batch.engine, batch.trace, there, "en")
    assert "may not look at <pad>" in plain(html_of(PANEL, shown, "mask-cell"))
    first = PANEL.pick(batch, "mask-first", Pick(x=0.0, y=7.0))
    assert first is not None and "·it may look at <bos>" in plain(
        html_of(PANEL, Scene(batch.engine, batch.trace, first, "en"), "mask-cell")
    )
    for odd in (Pick(), Pick(x=-7.0, y=1.0), Pick(data={"layer": "x"}), Pick(x=1.0)):
        assert PANEL.pick(batch, "mask-second", odd) is None
    assert PANEL.pick(batch, "mask-moved", Pick(x=1.0, y=1.0)) is None
    far = PANEL.pick(batch, "mask-second", Pick(x=900.0, y=900.0))
    assert far is not None and "may not look" in plain(
        html_of(PANEL, Scene(batch.engine, batch.trace, far, "en"), "mask-cell")
    )


@pytest.mark.parametrize(
    ("text", "block", "said"),
    [
        ("The cat and it chased the dog", "mask-moved", "same number of tokens"),
        ("é" * 200, "mask-refused", "takes up to 256"),
    ],
)
def test_second_texts_of_all_kinds(scenes: Make, text: str, block: str, said: str) -> None:
    scene = with_options(scenes("mini-gpt"), IN_BATCH | {BATCH: text})
    assert said in plain(html_of(PANEL, scene, block))
    check_panel(PANEL, scene)


def test_a_batch_is_one_pass_however_often_it_is_looked_at(scenes: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = with_options(scenes("mini-gpt"), IN_BATCH | {BATCH: "The cat"})
    first = blocks_of(PANEL, scene)
    from transformer import runner

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a second pass")

    monkeypatch.setattr(runner, "run", refused)
    again = blocks_of(PANEL, with_options(scene, {ROW: 0, QUERY: 1, KEY: 1}))
    same = {name for name, block in first.items() if again[name].of == block.of}
    assert {"mask-second", "mask-row-0", "mask-moved"} <= same and "mask-cell" not in same


def long_scenes(tiny: ShelfEngine) -> Iterator[Scene]:
    scene = scene_on(tiny, "prefix", "the cat\n the " * 20)
    assert 256 < len(scene.queries) < 331
    yield scene
    yield Scene(scene.engine, scene.trace, with_options(scene, {}, query=200, key=150).selection, "zh")


def test_a_long_text_in_blocks_or_in_a_window(tiny: ShelfEngine) -> None:
    for scene in long_scenes(tiny):
        check_panel(PANEL, scene)
        assert 'data-exact="turn"' in html_of(PANEL, scene, "mask-map-legend")
        exact = Scene(scene.engine, scene.trace, replace(scene.selection, exact=True), scene.language)
        plot = check_panel(PANEL, exact)["mask-map"]
        assert isinstance(plot, Plot) and plot.data is not None and plot.data().values.shape == (64, 64)
        select = plot.draw().layout.meta["select"]
        column, row = select["at"]
        assert select["origin"][0] + 0.5 + column == exact.key and select["origin"][1] + 0.5 + row == exact.query
        batch = with_options(scene, IN_BATCH)
        assert "256" in plain(html_of(PANEL, batch, "mask-refused"))


@pytest.mark.weights
def test_the_packs_are_shown_within_their_bounds(smollm2_folder: Path, minilm_folder: Path) -> None:
    engine = Engine("untrained", packs=False)
    text = (
        "The cat chased the mouse because it was hungry and the mouse ran away from the small house to the big garden"
    )
    for folder in (smollm2_folder, minilm_folder):
        scene = scene_on(engine, str(folder), text)
        check_panel(PANEL, scene, most=60_000)
        check_panel(PANEL, with_options(scene, IN_BATCH), most=90_000)
