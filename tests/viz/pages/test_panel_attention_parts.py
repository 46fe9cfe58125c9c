"""The row taken apart, for every kind of model: each block is made, its code draws the same figure, a pick chooses."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest

from tests.transformer.families import SOURCES, family
from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer.engine import Engine
from transformer.runner import run
from transformer.trace import Trace
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot
from viz.pages.links import View
from viz.pages.panels import attention_output as output
from viz.pages.panels import attention_products as products
from viz.pages.panels.attention_row import DIMENSION, SHOWN, Row
from viz.pages.pick import Pick
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection

SHIPPED = {
    "mini-gpt": ("Tom has a red ball.", None),
    "mini-translator": ("The red cup is new.", "红杯子是新的。"),
    "rule-classifier": ("4 99 12 4 33", None),
    "copycat": ("copy hello", "hel"),
    "untrained": (TEXT, None),
    "digit-vit": ("0123456789abcdefg"[5:] + "0" * 52, None),  # a patch is a key, too
}


def blocks(scene: Scene) -> dict[str, Block]:
    return {one.name: one for one in [*products.blocks(scene), *output.blocks(scene)]}


def drawn(block: Block) -> str | None:
    assert isinstance(block, Plot)
    return figure_json(block.draw())


def check(scene: Scene) -> dict[str, Block]:
    """Every block is made, seals what it shows, and its code draws the same."""
    found = blocks(scene)
    assert len(found) == len([*products.blocks(scene), *output.blocks(scene)])  # no name twice
    for block in found.values():
        if isinstance(block, Piece):
            assert not re.search(r"\bnan\b", block.make(), re.IGNORECASE)
            continue
        assert block.seal and block.code and block.data
        known: dict[str, Any] = {"trace": scene.trace, "figures": figures, "np": np}
        exec(block.code(), known)
        assert figure_json(known["figure"]) == drawn(block)
        assert "stt-seal-good" in block.seal()
        data = block.data()
        assert data.values.shape == (len(data.rows), len(data.columns))
        assert block.draw().layout.meta["select"]["at"] == list(block.select)
    return found


@pytest.fixture(scope="module")
def shipped() -> Engine:
    return Engine("mini-gpt", packs=False)


def of_shipped(shipped: Engine, name: str, language: str = "en") -> Scene:
    text, target = SHIPPED[name]
    trace = shipped.trace(name, text, target)
    return Scene(shipped, trace, move.first_look(trace, Selection(name, text, target), View()), language)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_block_of_the_shipped_models(shipped: Engine, name: str) -> None:
    found = check(of_shipped(shipped, name))
    assert {"products-map", "row-stages", "mix-map", "head-parts"} <= found.keys()
    assert "head-groups" not in found  # every head has its own keys


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("name", "site"), [("grouped", "decoder.1.self"), ("bert", "encoder.0.self"), ("t5", "encoder.2.self"),
                       ("t5", "decoder.1.self"), ("t5", "decoder.0.cross")],
)  # fmt: skip
def test_every_block_of_other_families(scene_of: Callable[..., Scene], name: str, site: str, language: str) -> None:
    scene = scene_of(name, View(site=site, head=2, cell=(1, 0)), language=language)
    found = check(scene)
    assert ("head-groups" in found) == (name == "grouped")
    assert ("biased" in found["row-stages-title"].make()) == (name == "t5")  # type: ignore[union-attr]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_family_that_hides_its_vectors_is_told_so(scene_of: Callable[..., Scene], language: str) -> None:
    scene = scene_of("bloom", language=language)
    for one in blocks(scene).values():
        assert isinstance(one, Piece) and scene.say("lack.weights_only") in unescape(one.make())
    assert products.pick(scene, "products-map", Pick(column=1, row=0)) is None
    assert output.pick(scene, "mix-map", Pick(column=1, row=0)) is None


def test_a_sink_and_its_share_are_told(shelf: ShelfEngine) -> None:
    trace = run(family("gpt_oss").model, ids=SOURCES[0])
    assert isinstance(trace, Trace)
    scene = Scene(shelf, trace, Selection("gpt_oss", "", attention=1, head=3, query=4, key=2), "en")
    found = check(scene)
    share = figures.percent(Row(scene).mix.sink)
    assert share != "0.0 %"
    assert share in found["mix-title"].make() and share in drawn(found["row-stages"])  # type: ignore[union-attr,operator]


def test_a_norm_before_the_stream_is_told(shelf: ShelfEngine) -> None:
    said = {}
    for name in ("gemma2", "gpt2"):
        trace = run(family(name).model, ids=SOURCES[0])
        assert isinstance(trace, Trace)
        scene = Scene(shelf, trace, Selection(name, "", query=3), "en")
        title = check(scene)["head-parts-title"]
        assert isinstance(title, Piece)
        said[name] = title.make()
    assert "a norm or another step" in said["gemma2"] and "is added to the residual stream" in said["gpt2"]
    assert "bias of W_O" in said["gpt2"] and "bias of W_O" not in said["gemma2"]


def test_what_the_weights_are_needed_for_is_withheld_once_they_are_others(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("grouped")
    fields = {name: getattr(scene.trace, name) for name in Trace.__dataclass_fields__}
    trained = Trace(**fields | {"weights_changed": lambda: True})
    found = blocks(Scene(scene.engine, trained, scene.selection, "en"))
    assert "head-parts" not in found and "mix-map" in found
    title = found["head-parts-title"]
    assert isinstance(title, Piece) and "trained further" in title.make()
    unknown = Trace(**fields | {"parts": {}, "lacks": {f"{scene.site}.projection": "lack.formula_unknown"}})
    title = blocks(Scene(scene.engine, unknown, scene.selection, "en"))["head-parts-title"]
    assert isinstance(title, Piece) and scene.say("lack.formula_unknown") in title.make()


def test_a_cell_is_picked_with_its_key_and_dimension(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("t5", View(site="decoder.1.cross", head=2, cell=(3, 5)))
    for part, block in ((products, "products-map"), (output, "mix-map")):
        found = part.pick(scene, block, Pick(column=4, row=7))
        assert found is not None and (found.query, found.key, DIMENSION.of(found)) == (3, 7, 4)
        assert part.pick(scene, block, Pick(column=4, row=len(scene.keys))) is None
        assert part.pick(scene, block, Pick(x=1.0, y=2.0)) is None
    shown = blocks(Scene(scene.engine, scene.trace, found, "en"))
    assert shown["products-map"].select == shown["mix-map"].select == (4, 7)  # type: ignore[union-attr]
    assert "v<sub>4</sub>" in shown["mix-cell"].make()  # type: ignore[union-attr]
    wide = move.with_option(scene.selection, DIMENSION, 999)  # from a link, of a model with more dimensions
    assert blocks(Scene(scene.engine, scene.trace, wide, "en"))["mix-map"].select == (4, 5)  # type: ignore[union-attr]


def test_a_step_is_picked_and_marked(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("t5", View(site="decoder.1.self", head=2, cell=(3, 1)))
    found = products.pick(scene, "row-stages", Pick(column=2, row=0))
    assert found is not None and (found.key, products.STEP.of(found)) == (0, "biased")
    page = blocks(Scene(scene.engine, scene.trace, found, "en"))["row-stages-cell"].make()  # type: ignore[union-attr]
    assert 'class="stt-now">+ bias' in page
    assert products.pick(scene, "row-stages", Pick(column=5, row=0)) is None
    other = move.with_option(scene.selection, products.STEP, "capped")  # a step of another model
    assert blocks(Scene(scene.engine, scene.trace, other, "en"))["row-stages"].select == (4, 1)  # type: ignore[union-attr]


def test_a_head_is_picked_from_bars_and_brackets(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("grouped")
    assert output.pick(scene, "head-parts", Pick(column=0, row=5)) == replace(scene.selection, head=5)
    assert output.pick(scene, "head-groups", Pick(data={"head": "4"})) == replace(scene.selection, head=4)
    for block, pick in (("head-parts", Pick(column=0, row=6)), ("head-groups", Pick(data={"head": "x"}))):
        assert output.pick(scene, block, pick) is None
    assert output.pick(scene, "other", Pick(column=0, row=1)) is None


def test_the_choice_decides_what_cells_hold(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("grouped", View(site="decoder.1.self", head=4, cell=(6, 3)))
    chosen = move.with_option(scene.selection, products.CELLS, "keys")
    chosen = move.with_option(chosen, output.CELLS, "values")
    found = check(Scene(scene.engine, scene.trace, chosen, "en"))
    k, v = (scene.trace[f"{scene.site}.{part}"][1] for part in "kv")  # head 4 of 6 uses the second of two pairs
    for name, wanted in (("products-map", k), ("mix-map", v)):
        block = found[name]
        assert isinstance(block, Plot) and block.data is not None
        np.testing.assert_allclose(block.draw().data[0].z, wanted, rtol=1e-6)
        np.testing.assert_allclose(block.data().values[: len(k), : k.shape[1]], wanted, rtol=1e-6)


def test_a_long_text_shows_the_keys_around_the_chosen_one(scene_of: Callable[..., Scene]) -> None:
    text = "".join(chr(97 + index * 7 % 26) for index in range(299))
    scene = scene_of("grouped", View(layer=2, head=3, cell=(280, 140)), text=text)
    found = check(scene)
    for name in ("products-map", "row-stages", "mix-map"):
        block = found[name]
        assert isinstance(block, Plot)
        fig = block.draw()
        assert len(fig.data[0].z) == SHOWN and fig.data[0].y0 == Row(scene).shown.start
        assert len(drawn(block) or "") < 150_000
    start = Row(scene).shown.start
    moved = products.pick(scene, "products-map", Pick(column=0, row=12))
    assert moved is not None and moved.key == start + 12
    near = Scene(scene.engine, scene.trace, replace(scene.selection, key=141), "en")
    assert Row(near).shown.start == start  # it stands still while one walks in it
    for key in (0, 299):
        ends = Row(Scene(scene.engine, scene.trace, replace(scene.selection, key=key), "en"))
        assert key in range(len(scene.keys))[ends.shown]
