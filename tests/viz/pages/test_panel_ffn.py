"""Feed-forward: every model's neurons on the page, clicks that choose them, and why where there are none."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from html import unescape
from pathlib import Path

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
from transformer.neurons import Neurons
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import wrap
from viz.pages.blocks import Plot
from viz.pages.links import View as Link
from viz.pages.panels.ffn import PANEL
from viz.pages.panels.ffn_view import MAPPED, NEURON, SHOWN, STRENGTH, VIEW, View
from viz.pages.pick import Pick
from viz.pages.scene import Scene

Make = Callable[..., Scene]
ALL = {"ffn-bars", "ffn-curve", "ffn-map", "ffn-neuron", "ffn-tokens", "ffn-title"}


@pytest.fixture(scope="module")
def catalog() -> Engine:
    return Engine("untrained", packs=False)


@pytest.fixture
def scenes(catalog: Engine, scene_of: Make) -> Make:
    def make(name: str, language: str = "en", view: Link | None = None) -> Scene:
        if name in SHELF:
            return scene_of(name, view or Link(), language=language)
        return scene_on(catalog, name, *TEXTS[name], language, view)

    return make


@pytest.fixture(scope="module")
def tiny() -> ShelfEngine:
    """A gated part of ours, experts whose formula is not known, and a text that is long."""
    vocabulary = {"vocab_size": ByteTokenizer.vocab_size}
    sizes = ModelConfig(
        max_positions=331, d_model=28, n_layers=2, n_heads=7, d_ff=31, activation="swiglu", **vocabulary
    )
    gated = DecoderLM(sizes, generator=torch.Generator().manual_seed(2))
    made = {"gated": gated, "mixtral": build("mixtral", **vocabulary)}
    return ShelfEngine({name: wrap(module, ByteTokenizer(), name) for name, module in made.items()})


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", EVERY)
def test_every_model_shows_its_neurons(scenes: Make, name: str, language: str) -> None:
    scene = scenes(name, language)
    assert check_panel(PANEL, scene).keys() >= ALL
    strongest = Neurons.of(scene.trace, f"{scene.place}.ffn").strongest(scene.query, 1)[0]
    assert str(strongest) in PANEL.spoken(scene)
    check_panel(PANEL, with_options(scene, {STRENGTH: "output", NEURON: 7}))


def test_both_stacks_and_the_block_of_a_cross_attention(scenes: Make) -> None:
    for site in ("encoder.0.self", "decoder.1.cross"):
        scene = scenes("mini-translator", view=Link(site=site))
        stack, layer, _ = site.split(".")
        assert f"Neurons of {stack} layer {layer}The" in plain(html_of(PANEL, scene, "ffn-title"))
        plot = check_panel(PANEL, scene)["ffn-tokens"]
        assert isinstance(plot, Plot) and plot.data is not None and tuple(plot.data().rows) == scene.queries


def test_a_gate_has_a_picture_of_its_own(tiny: ShelfEngine) -> None:
    scene = scene_on(tiny, "gated", "the cat\n the")
    assert check_panel(PANEL, scene).keys() >= ALL and "a value" in plain(html_of(PANEL, scene, "ffn-title"))
    gate = with_options(scene, {VIEW: "gate"})
    found = check_panel(PANEL, gate)
    assert "ffn-gate" in found and "ffn-curve" not in found
    plot = found["ffn-gate"]
    assert isinstance(plot, Plot) and plot.data is not None
    hidden = Neurons.of(scene.trace, f"{scene.place}.ffn").hidden(scene.query)
    np.testing.assert_allclose(plot.data().values.prod(1), hidden, atol=1e-9)


def test_plain_models_have_no_gate_to_show(scenes: Make) -> None:
    scene = with_options(scenes("mini-gpt"), {VIEW: "gate"})
    found = blocks_of(PANEL, scene)
    assert "ffn-curve" in found and VIEW.name not in html_of(PANEL, scene, "ffn-by")


def test_experts_say_why_they_are_not_shown(tiny: ShelfEngine) -> None:
    scene = scene_on(tiny, "mixtral", "the cat\n the")
    found = check_panel(PANEL, scene)
    assert found.keys() == {"chooser", "ffn-missing"} and PANEL.spoken(scene) == ""
    assert "not one that is known here" in plain(html_of(PANEL, scene, "ffn-missing"))
    assert PANEL.pick(scene, "ffn-map", Pick(column=1, row=1)) is None


def test_clicks_choose_neurons_and_tokens(scenes: Make) -> None:
    scene = scenes("mini-gpt")
    for block in ("ffn-bars", "ffn-curve", "ffn-gate"):
        chosen = PANEL.pick(scene, block, Pick(x=1.0, y=2.0, custom=17.0))
        assert chosen is not None and NEURON.of(chosen) == 17 and chosen.query == scene.query
        for odd in (Pick(), Pick(custom=-1.0), Pick(custom=0.5), Pick(x=1.0)):
            assert PANEL.pick(scene, block, odd) is None
    token = PANEL.pick(scene, "ffn-tokens", Pick(x=2.4, y=0.0))
    assert token is not None and token.query == 2
    ids, strengths = View(scene).of_map
    cell = PANEL.pick(scene, "ffn-map", Pick(column=3, row=1, x=3.0, y=1.0))
    assert cell is not None and NEURON.of(cell) == ids[3] and cell.query == 1 and len(ids) == MAPPED
    shown = Scene(scene.engine, scene.trace, cell, "en")
    drawn = blocks_of(PANEL, shown)["ffn-map"]
    assert isinstance(drawn, Plot)
    assert drawn.draw().layout.meta["select"]["at"] == [3, 1], "walking the map does not shuffle it"
    assert float(strengths[1, 3]) == pytest.approx(Neurons.of(scene.trace, f"{scene.place}.ffn").hidden(1)[ids[3]])
    assert PANEL.pick(scene, "ffn-map", Pick(column=99, row=1)) is None
    assert PANEL.pick(scene, "ffn-neuron", Pick(x=1.0, y=1.0)) is None


def test_the_card_and_its_code_give_the_hidden_number(scenes: Make) -> None:
    for name in ("mini-gpt", "t5", "copycat", "digit-vit"):
        scene = with_options(scenes(name), {NEURON: 5})
        html = html_of(PANEL, scene, "ffn-neuron")
        code = unescape(re.search('data-copy="([^"]*)"', html)[1])  # type: ignore[index]
        said = io.StringIO()
        with redirect_stdout(said):
            exec(code, {})
        hidden = Neurons.of(scene.trace, f"{scene.place}.ffn").hidden(scene.query)[5]
        assert float(said.getvalue()) == pytest.approx(hidden, rel=1e-9, abs=1e-12)
        assert "Neuron 5" in plain(html) and "do not agree" not in html


def test_a_neuron_that_the_part_has_not_falls_back_to_the_strongest(scenes: Make) -> None:
    scene = with_options(scenes("copycat"), {NEURON: 90_000})
    assert View(scene).neuron == View(scene).strongest[0]
    check_panel(PANEL, scene)


def test_only_what_changed_is_made_anew(scenes: Make) -> None:
    scene = scenes("mini-gpt")
    before, after = blocks_of(PANEL, scene), blocks_of(PANEL, with_options(scene, {NEURON: 3}))
    assert {name for name in before if before[name].of == after[name].of} == {"chooser", "ffn-title", "ffn-by"}


def test_a_long_text_is_drawn_in_part(tiny: ShelfEngine) -> None:
    scene = scene_on(tiny, "gated", "the cat\n the " * 22)
    assert len(scene.queries) > 256
    scene = with_options(scene, {}, query=150, key=1)
    found = check_panel(PANEL, scene)
    grid, bars = found["ffn-map"], found["ffn-tokens"]
    assert isinstance(grid, Plot) and isinstance(bars, Plot) and grid.data is not None
    assert grid.data().values.shape == (64, MAPPED)
    assert len(bars.draw().data[0].x) == 64 and "118 to 181" in bars.draw().layout.meta["caption"]
    row = 150 - View(scene).rows.start
    chosen = PANEL.pick(scene, "ffn-map", Pick(column=0, row=row + 1))
    assert chosen is not None and chosen.query == 151


@pytest.mark.weights
def test_the_packs_are_shown_within_their_bounds(smollm2_folder: Path, minilm_folder: Path) -> None:
    engine = Engine("untrained", packs=False)
    text = (
        "The cat chased the mouse because it was hungry and the mouse ran away from the small house to the big garden"
    )
    for folder in (smollm2_folder, minilm_folder):
        scene = scene_on(engine, str(folder), text)
        found = check_panel(PANEL, scene, most=120_000)
        assert found.keys() >= ALL and len(View(scene).strongest) == SHOWN
