"""Several heads at once and all heads together, for every kind of model: blocks, code, seals, picks and reasons."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.transformer.families import SOURCES, family
from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer.engine import Engine
from transformer.head_maps import summary
from transformer.runner import run
from transformer.trace import Trace
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot
from viz.pages.links import View
from viz.pages.panels import attention_several as several
from viz.pages.panels import attention_together as together
from viz.pages.panels import together_labels, together_sinks
from viz.pages.panels.registry import PANELS
from viz.pages.pick import Pick
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection, with_option

SHIPPED = {
    "mini-gpt": ("The dog chased the cat and it ran. The cat", None),
    "mini-translator": ("The red cup is new.", "红杯子是新的。"),
    "rule-classifier": ("4 99 12 4 33", None),
    "copycat": ("copy hello", "hel"),
    "untrained": (TEXT, None),
    "digit-vit": ("0123456789abcdefg"[5:] + "0" * 52, None),
}


def with_options(scene: Scene, **values: str) -> Scene:
    """The same scene with settings by name: `together="sinks"`."""
    known = {option.name: option for option in (*several.OPTIONS, *together.OPTIONS)}
    selection = scene.selection
    for name, value in values.items():
        selection = with_option(selection, known[name.replace("_", "-")], value)
    return Scene(scene.engine, scene.trace, selection, scene.language)


def views(scene: Scene) -> list[tuple[Scene, list[Block]]]:
    """Every view that these two modules have of a scene."""
    name = scene.selection.model
    scenes = [with_options(scene), with_options(scene, heads="0,1")]
    found = [(one, several.blocks(one)) for one in scenes]
    scenes = [with_options(scene, together=one, without_sink="on", labels=name) for one in together.TOGETHER.values]
    return found + [(one, together.blocks(one)) for one in scenes]


def check(scene: Scene) -> set[str]:
    """Every block is made, seals what it shows, and its code draws the same."""
    names = set()
    for one, blocks in views(scene):
        assert len({block.name for block in blocks}) == len(blocks)
        names |= {block.name for block in blocks}
        for block in blocks:
            if isinstance(block, Piece):
                assert not re.search(r"\bnan\b|\{|None", block.make()), block.name
            else:
                _check_plot(one, block)
    return names


def _check_plot(scene: Scene, block: Plot) -> None:
    assert block.data and block.code
    drawn = block.draw()
    go.Figure(drawn.to_dict())
    text = figure_json(drawn)
    assert text is not None and len(text) < 150_000
    known: dict[str, Any] = {"trace": scene.trace, "figures": figures, "np": np}
    if scene.selection.model in SHIPPED or block.name == "together-labels":
        known["model"] = scene.engine.load(scene.selection.model)
    if block.name != "together-labels" or scene.selection.model in SHIPPED:  # else it would be measured once more
        exec(block.code(), known)
        assert figure_json(known["figure"]) == text, block.name
    if block.seal is not None:
        assert "stt-seal-good" in block.seal(), block.name
    data = block.data()
    assert data.values.shape == (len(data.rows), len(data.columns))
    if block.select is not None:
        assert drawn.layout.meta["select"]["at"] == list(block.select)


@pytest.fixture(scope="module")
def shipped() -> Engine:
    return Engine("mini-gpt", packs=False)


def of_shipped(shipped: Engine, name: str, language: str = "en", **wishes: Any) -> Scene:
    text, target = SHIPPED[name]
    trace = shipped.trace(name, text, target)
    return Scene(shipped, trace, move.first_look(trace, Selection(name, text, target), View(**wishes)), language)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_block_of_the_shipped_models(shipped: Engine, name: str) -> None:
    names = check(of_shipped(shipped, name))
    assert {"several-lines", "together-map", "together-entropy", "together-sink-map"} <= names
    assert ("together-labels" in names) == (name != "digit-vit")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("name", "site"),
    [("grouped", "decoder.1.self"), ("bert", "encoder.2.self"), ("t5", "decoder.1.cross"), ("t5", "encoder.0.self"),
     ("bloom", "decoder.1.self")],
)  # fmt: skip
def test_every_block_of_other_families(scene_of: Callable[..., Scene], name: str, site: str, language: str) -> None:
    check(scene_of(name, View(site=site, head=2, cell=(1, 0)), language=language))


@pytest.mark.weights
def test_every_block_of_the_pack(minilm_folder: object) -> None:
    engine = Engine("minilm")
    trace = engine.trace("minilm", "The cat sat on the cat.")
    check(Scene(engine, trace, move.first_look(trace, Selection("minilm", ""), View(layer=3)), "en"))


def test_a_model_with_sinks_of_its_own(shelf: ShelfEngine) -> None:
    trace = run(family("gpt_oss").model, ids=SOURCES[0])
    assert isinstance(trace, Trace)
    scene = Scene(shelf, trace, Selection("grouped", "", attention=1, head=3, query=4, key=2), "en")
    for one in ("mean", "max", "rollout", "entropy", "sinks"):
        for block in together.blocks(with_options(scene, together=one)):
            _check_plot(scene, block) if isinstance(block, Plot) else block.make()
    lead = made(with_options(scene, together="mean"), "together-lead")
    assert "less than 1" in lead, "the rows do not sum to 1, and it says so"


def made(scene: Scene, name: str) -> str:
    block = next(one for one in [*together.blocks(scene), *several.blocks(scene)] if one.name == name)
    assert isinstance(block, Piece)
    return block.make()


def plot(scene: Scene, name: str) -> Plot:
    block = next(one for one in [*together.blocks(scene), *several.blocks(scene)] if one.name == name)
    assert isinstance(block, Plot)
    return block


def test_the_options_are_the_panels_own() -> None:
    names = [option.name for panel in PANELS.values() for option in panel.options]
    for option in (*several.OPTIONS, *together.OPTIONS):
        assert names.count(option.name) == 1, option.name


def test_blocks_are_lazy(scene_of: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    scene = scene_of("grouped")
    monkeypatch.setattr(Trace, "weights", lambda *_: pytest.fail("choosing blocks computes nothing"))
    for one in together.TOGETHER.values:
        together.blocks(with_options(scene, together=one))
    several.blocks(scene)


# --- several heads ---------------------------------------------------------------------------------------------------


def test_heads_that_nobody_chose_are_the_chosen_one_and_the_sharpest(shipped: Engine) -> None:
    scene = of_shipped(shipped, "mini-gpt", layer=1, head=1)
    found = summary(scene.trace, scene.site)
    others = [int(head) for head in np.argsort(found.relative) if head != 1]
    assert several.shown_heads(scene) == tuple(sorted([1, *others[:2]]))
    assert several.shown_heads(with_options(scene, heads="3, 0,9,x")) == (0, 3), "what this layer has not is left out"
    assert several.shown_heads(with_options(scene, heads="77")) == several.shown_heads(scene)


def test_toggles_add_and_take_away(scene_of: Callable[..., Scene]) -> None:
    scene = with_options(scene_of("grouped"), heads="0,2")
    added = several.pick(scene, "several-heads", Pick(data={"toggle": "5"}))
    taken = several.pick(scene, "several-heads", Pick(data={"toggle": "2"}))
    assert added is not None and several.HEADS.of(added) == "0,2,5"
    assert taken is not None and several.HEADS.of(taken) == "0"
    last = with_options(scene, heads="2")
    assert several.pick(last, "several-heads", Pick(data={"toggle": "2"})) is None, "one stays"
    assert several.pick(scene, "several-heads", Pick(data={"toggle": "6"})) is None, "there are six heads"
    every = several.pick(scene, "several-controls", Pick(data={"heads": "all"}))
    assert every is not None and several.HEADS.of(every) == "0,1,2,3,4,5"
    few = several.pick(scene, "several-controls", Pick(data={"heads": "few"}))
    assert few is not None and several.HEADS.of(few) == ""


def test_a_token_of_either_column_is_chosen(shipped: Engine) -> None:
    scene = of_shipped(shipped, "mini-translator", site="decoder.1.cross")
    looks = several.pick(scene, "several-lines", Pick(x=0.0, y=1.1, custom=2.0))
    looked_at = several.pick(scene, "several-lines", Pick(x=1.0, y=1.1, custom=3.0))
    line = several.pick(scene, "several-lines", Pick(x=0.4, y=1.1, custom=1.0))
    assert looks is not None and (looks.query, looks.attention) == (2, scene.selection.attention)
    assert looked_at is not None and (looked_at.query, looked_at.key) == (scene.query, 3)
    assert line is not None and line.query == 1
    assert several.pick(scene, "several-lines", Pick(x=0.4)) is None


def test_the_threshold_is_the_visitors(shipped: Engine) -> None:
    scene = with_options(of_shipped(shipped, "mini-gpt", layer=2), heads="0,1,2,3")
    few, many = (
        len(plot(with_options(scene, least_weight=one), "several-lines").data().rows) for one in ("0.5", "0.02")
    )  # type: ignore[misc]
    weights = scene.trace.weights(scene.site)
    assert (few, many) == (int((weights >= 0.5).sum()), int((weights >= 0.02).sum()))


def test_a_long_text_is_a_window_and_says_so(shelf: ShelfEngine) -> None:
    text = "abcdefghij" * 29
    trace = shelf.trace("grouped", text)
    chosen = move.to_cell(trace, Selection("grouped", text, attention=1), 200, 190)
    scene = Scene(shelf, trace, chosen, "en")
    lines = plot(scene, "several-lines")
    assert lines.draw().layout.yaxis.range == (63.5, -0.5)
    _check_plot(scene, lines)
    assert "<b><bdi>168</bdi></b> to <b><bdi>231</bdi></b>" in made(scene, "several-title")
    found = several.pick(scene, "several-lines", Pick(x=0.0, custom=3.0))
    assert found is not None and found.query == 171
    found = several.pick(scene, "several-lines", Pick(x=1.0, custom=3.0))
    assert found is not None and found.key == 161
    for one in together.TOGETHER.values:
        for block in together.blocks(with_options(scene, together=one, without_sink="on")):
            _check_plot(scene, block) if isinstance(block, Plot) else block.make()
    refused = made(with_options(scene, together="rollout"), "together-lead")
    assert "256" in refused and "stt-empty" in refused


# --- all heads together ----------------------------------------------------------------------------------------------


def test_mean_and_maximum_are_those_of_the_heads(shipped: Engine) -> None:
    scene = of_shipped(shipped, "mini-gpt", layer=1)
    weights = scene.trace.weights(scene.site)
    for kind, wanted in (("mean", weights.mean(0)), ("max", weights.max(0))):
        data = plot(with_options(scene, together=kind), "together-map").data()  # type: ignore[misc]
        np.testing.assert_allclose(data.values, wanted, atol=1e-6)
        assert data.allowed is not None and not data.values[~data.allowed].any()


def test_cross_attention_has_no_rollout_and_says_why(shipped: Engine) -> None:
    scene = with_options(of_shipped(shipped, "mini-translator", site="decoder.1.cross"), together="rollout")
    assert [block.name for block in together.blocks(scene)] == ["together-tabs", "together-lead"]
    assert scene.say("lack.rollout_cross") in made(scene, "together-lead")
    own = with_options(of_shipped(shipped, "mini-translator", site="decoder.1.self"), together="rollout")
    assert own.say("attention.together.rollout.cross") in made(own, "together-lead")
    assert scene.say("attention.together.rollout.cross") not in made(
        with_options(of_shipped(shipped, "mini-gpt", layer=1), together="rollout"), "together-lead"
    )


def test_a_cell_a_head_and_a_sink_are_chosen(shipped: Engine) -> None:
    scene = of_shipped(shipped, "mini-gpt", layer=1, head=1, cell=(4, 2))
    cell = together.pick(with_options(scene, together="mean"), "together-map", Pick(x=3.2, y=5.9))
    assert cell is not None and (cell.query, cell.key, cell.head) == (6, 3, 1)
    for name in ("entropy", "labels"):
        head = together.pick(with_options(scene, together=name), f"together-{name}", Pick(column=3, row=2))
        assert head is not None and (head.attention, head.head, head.query) == (2, 3, 4)
    sinks = with_options(scene, together="sinks")
    key = together.pick(sinks, "together-sinks", Pick(data={"sink": "5"}))
    assert key is not None and (key.query, key.key) == (4, 4 + 1)
    row = together.pick(sinks, "together-sink-map", Pick(column=6, row=3))
    assert row is not None and (row.attention, row.head, row.key) == (1, 3, 6)
    for block in ("together-map", "together-entropy", "together-labels", "together-sink-map"):
        assert together.pick(scene, block, Pick()) is None


def test_sinks_are_told_with_their_numbers(shipped: Engine) -> None:
    scene = with_options(of_shipped(shipped, "mini-gpt", layer=0), together="sinks")
    told = made(scene, "together-sinks")
    assert 'data-sink="0"' in told and scene.say("attention.together.sinks.sink") in told
    busy = with_options(of_shipped(shipped, "rule-classifier", layer=0), together="sinks")
    assert busy.say("attention.together.sinks.busy") in made(busy, "together-sinks"), (
        "the 99 is looked at and carried on"
    )
    assert together_sinks.watermark(busy) is None
    on = with_options(busy, without_sink="on")
    assert "together-rescaled" not in {block.name for block in together.blocks(on)}
    assert on.say("attention.together.rescaled.none") in made(on, "together-sink-switch")


def test_what_is_rescaled_is_marked_and_sums_to_one(shipped: Engine) -> None:
    scene = with_options(of_shipped(shipped, "mini-gpt", layer=0, head=2), together="sinks")
    assert "together-rescaled" not in {block.name for block in together.blocks(scene)}
    on = with_options(scene, without_sink="on")
    block = plot(on, "together-rescaled")
    assert block.draw().layout.meta["watermark"] == "rescaled without <bos>: not the model's weights"
    weights, allowed = together_sinks.rescaled(on)
    assert allowed is not None and not allowed[:, 0].any() and not allowed[0].any()
    np.testing.assert_allclose(weights[1:].sum(-1), 1, atol=1e-6)
    np.testing.assert_allclose(weights[3, 1:4], scene.weights[3, 1:4] / scene.weights[3, 1:4].sum(), atol=1e-6)
    assert not np.array_equal(scene.weights, weights), "the model's own stay as they are"


def test_a_hidden_mask_is_a_reason(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of("bert", View(site="encoder.0.self"))
    lacks = {**scene.trace.lacks, "encoder.0.self.allowed": "lack.mask_unseen"}
    hidden = Scene(scene.engine, dataclasses.replace(scene.trace, lacks=lacks), scene.selection, "en")
    assert hidden.say("attention.together.sinks.unseen") in made(
        with_options(hidden, together="sinks"), "together-sinks"
    )
    entropy = with_options(hidden, together="entropy")
    assert hidden.say("attention.together.entropy.unseen") in made(entropy, "together-entropy-lead")
    _check_plot(entropy, plot(entropy, "together-entropy"))


def test_labels_are_measured_only_when_asked(scene_of: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    scene = with_options(scene_of("grouped"), together="labels")
    with monkeypatch.context() as patch:
        patch.setattr("transformer.kept_heads.measure", lambda _: pytest.fail("nobody asked"))
        lead = made(scene, "together-labels-lead")
        assert 'data-measure="heads"' in lead and "<bdi>26</bdi>" in lead
        assert [block.name for block in together.blocks(scene)] == ["together-tabs", "together-labels-lead"]
        other = with_options(scene, labels="mini-gpt")
        assert 'data-measure="heads"' in made(other, "together-labels-lead"), "another model was asked for"
    asked = together.pick(scene, "together-labels-lead", Pick(data={"measure": "heads"}))
    assert asked is not None and together_labels.LABELS.of(asked) == "grouped"
    measured = Scene(scene.engine, scene.trace, asked, "en")
    assert {"together-labels", "together-labels-head"} <= {block.name for block in together.blocks(measured)}
    assert "data-measure" not in made(measured, "together-labels-lead")


def test_shipped_labels_need_no_measuring(shipped: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer.kept_heads.measure", lambda _: pytest.fail("it was measured beforehand"))
    scene = with_options(of_shipped(shipped, "mini-gpt", layer=1, head=2), together="labels")
    assert scene.say("attention.together.labels.shipped") in made(scene, "together-labels-lead")
    grid = plot(scene, "together-labels").draw()
    said = {(row, head): text for trace in grid.data if trace.text for row, line in enumerate(trace.text)
            for head, text in enumerate(line) if text.strip()}  # fmt: skip
    assert said[1, 2] == scene.say("head_label.previous.short") and said[3, 0] == scene.say(
        "head_label.induction.short"
    )
    assert "<b>1.00 ± 0.02</b>" in made(scene, "together-labels-head")


def test_images_have_no_labels_and_say_why(shipped: Engine) -> None:
    scene = with_options(of_shipped(shipped, "digit-vit"), together="labels")
    assert scene.say("attention.together.labels.image") in made(scene, "together-labels-lead")
