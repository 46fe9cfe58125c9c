"""Add & norm: the panel shows the run's own numbers on every kind of model, and says why where it has none."""

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.viz.pages.conftest import ShelfEngine, figure
from tests.viz.pages.whole_panel import SHELF, TEXTS
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.engine import Engine
from transformer.norm_numbers import norm_numbers
from transformer.residual_stream import ResidualStream
from transformer.runner import run
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import wrap
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot
from viz.pages.links import View
from viz.pages.panels import norm
from viz.pages.panels.norm_vector import DIMENSION, NORM, Chosen
from viz.pages.pick import Pick
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection

Make = Callable[..., Scene]


@pytest.fixture(scope="module")
def catalog() -> Engine:
    return Engine("untrained", packs=False)


@pytest.fixture
def scenes(catalog: Engine, scene_of: Make) -> Make:
    """`scenes("mini-gpt", "en", {NORM: "norm2"})`: a model of the catalog or of the shelf, with options set."""

    def make(name: str, language: str = "en", options: dict | None = None, view: View | None = None) -> Scene:
        if name in SHELF:
            scene = scene_of(name, view or View(), language=language)
        else:
            text, target = TEXTS[name]
            trace = catalog.trace(name, text, target)
            chosen = move.first_look(trace, Selection(name, text, target), view or View())
            scene = Scene(catalog, trace, chosen, language)
        return with_options(scene, options or {})

    return make


def with_options(scene: Scene, options: dict) -> Scene:
    chosen = scene.selection
    for option, value in options.items():
        chosen = move.with_option(chosen, option, value)
    return Scene(scene.engine, scene.trace, chosen, scene.language)


def blocks(scene: Scene) -> Iterator[Block]:
    for column in norm.PANEL.columns(scene):
        yield from column


def block(scene: Scene, name: str) -> Block:
    return next(one for one in blocks(scene) if one.name == name)


def plain(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).replace("−", "-").split())


def drawn(scene: Scene, name: str) -> dict:
    one = block(scene, name)
    assert isinstance(one, Plot)
    return figure(figure_json(one.draw()))


@pytest.mark.parametrize("show", ["norm", "stream"])
@pytest.mark.parametrize("name", [*TEXTS, *SHELF])
def test_every_block_is_made_on_every_model(scenes: Make, name: str, show: str) -> None:
    for language in ("en", "zh"):
        scene = scenes(name, language, {norm.SHOW: show})
        names, weight = [], 0
        for one in blocks(scene):
            names.append(one.name)
            value = one.make() if isinstance(one, Piece) else figure_json(one.draw()) or ""
            weight += len(value)
            assert value and len(value) < 150_000, one.name
            if isinstance(one, Plot) and one.seal is not None:
                assert "stt-seal-good" in one.seal(), one.name
            if one.name == "stream-seal":
                assert "stt-seal-good" in value and "stt-seal-bad" not in value
        assert len(set(names)) == len(names) > 5 and weight < 500_000
        assert norm.PANEL.spoken(scene)


@pytest.mark.parametrize("name", ["mini-gpt", "t5", "bert"])
def test_the_code_draws_the_same_figures(scenes: Make, name: str) -> None:
    for show in ("norm", "stream"):
        scene = scenes(name, options={norm.SHOW: show, DIMENSION: 3})
        for one in blocks(scene):
            if isinstance(one, Plot):
                names = {"trace": scene.trace, "figures": figures, "np": np, "model": scene.engine.load(name)}
                exec(one.code(), names)
                assert names["figure"].to_json() == one.draw().to_json(), one.name


@pytest.mark.parametrize("name", [*TEXTS, *SHELF])
def test_tables_hold_what_is_drawn(scenes: Make, name: str) -> None:
    for show in ("norm", "stream"):
        scene = scenes(name, options={norm.SHOW: show})
        for one in blocks(scene):
            if isinstance(one, Plot):
                data = one.data()
                assert np.shape(data.values) == (len(data.rows), len(data.columns)), one.name
    scene = scenes(name)
    values = block(scene, "norm-rows").data().values
    assert figures.rows_block(len(values)) == 1  # these models are narrow: every dimension has its own cell
    np.testing.assert_array_equal(
        drawn(scene, "norm-rows")["data"][0]["customdata"][..., 0], values.T.astype(np.float32)
    )


def test_the_deviation_before_a_norm_is_read_at_once(scenes: Make) -> None:
    """ "What is the std before norm 2 of layer 3?" """
    scene = scenes("mini-gpt", options={NORM: "norm2"}, view=View(site="decoder.3.self", cell=(5, 1)))
    said = plain(block(scene, "norm-title").make())
    one = norm_numbers(scene.trace, "decoder.3.norm2", 5)
    assert said.startswith(f"In layer 3: norm 2 LayerNorm on token {scene.queries[5]} (position 5 )")
    assert re.search(rf"Standard deviation before the norm, σ = √\(variance \+ ε\), ε = \S+ {one.std:.4f}", said)
    assert f"Mean before the norm, μ {one.mean:.4f}" in said
    assert f"{one.std:.4g}" in norm.PANEL.spoken(scene) and "layer 3" in norm.PANEL.spoken(scene)


def test_the_arithmetic_and_its_numpy_give_the_norms_output(scenes: Make) -> None:
    for name in ("mini-gpt", "t5", "bert"):
        scene = scenes(name, options={DIMENSION: 11})
        html = block(scene, "norm-cell").make()
        site = Chosen(scene).site
        expected = scene.trace[f"{site}.output"][scene.query, 11]
        result = re.search(r"stt-result'>([^<]*)<", html).group(1).replace("−", "-")
        assert float(result) == pytest.approx(float(expected), abs=6e-4) and "stt-bad" not in html
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(unescape(re.search(r'data-copy="([^"]*)"', html).group(1)), {})
        assert float(out.getvalue()) == pytest.approx(float(expected), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "norms"),
    [
        ("mini-gpt", ["norm1", "norm2", "final"]),
        ("bert", ["embed", "norm1", "norm2"]),
        ("t5", ["norm1", "norm2", "norm3", "final"]),
        ("bloom", ["embed", "norm1", "norm2", "final"]),
    ],
)
def test_every_norm_of_the_stack_can_be_chosen(scenes: Make, name: str, norms: list[str]) -> None:
    scene = scenes(name)
    shown = re.findall('data-norm="(.*?)" aria-pressed="(.*?)"', block(scene, "norm-which").make())
    assert [one for one, _ in shown] == norms and [one for one, pressed in shown if pressed == "true"] == ["norm1"]
    for one in norms:
        chosen = norm.PANEL.pick(scene, "norm-which", Pick(data={"norm": one}))
        moved = Scene(scene.engine, scene.trace, chosen, "en")
        assert Chosen(moved).site.split(".", 1)[1] in (f"{scene.layer}.{one}", f"{one}.norm")
        assert "stt-facts" in block(moved, "norm-title").make()
    assert norm.PANEL.pick(scene, "norm-which", Pick(data={"norm": "norm9"})) is None


def test_a_norm_that_the_model_has_not_is_the_first_one(scenes: Make) -> None:
    assert Chosen(scenes("mini-gpt", options={NORM: "norm4"})).site.endswith(".norm1")
    assert Chosen(scenes("bert", options={NORM: "<b>"})).site.endswith(".norm1")


def test_a_click_chooses_a_token_and_a_dimension(scenes: Make) -> None:
    scene = scenes("mini-gpt", view=View(cell=(2, 1)))
    assert norm.PANEL.pick(scene, "norm-tokens", Pick(x=0.5, y=4.3, column=0, row=4)).query == 4
    for name, pick in (("norm-rows", Pick(column=17, row=0)), ("norm-spread", Pick(custom=17.0))):
        assert DIMENSION.of(norm.PANEL.pick(scene, name, pick)) == 17
    assert DIMENSION.of(norm.PANEL.pick(scene, "norm-spread", Pick(custom=1e9))) == 127
    assert norm.PANEL.pick(scene, "norm-spread", Pick()) is None
    assert Chosen(scenes("mini-gpt", options={DIMENSION: 5000})).dimension == 127


def test_a_click_chooses_a_layer_of_the_same_stack(scenes: Make) -> None:
    scene = scenes("t5", options={norm.SHOW: "stream"}, view=View(site="decoder.0.cross"))
    sites = scene.trace.attention_sites()
    for name, column, row in (("stream-norms", 2, 0), ("stream-added", 1, 0), ("stream-similarity", 2, 2)):
        chosen = norm.PANEL.pick(scene, name, Pick(column=column, row=row))
        assert sites[chosen.attention] == "decoder.1.cross", name
    up = scenes("t5", options={norm.SHOW: "stream"}, view=View(site="encoder.1.self"))
    moved = norm.PANEL.pick(up, "stream-similarity", Pick(column=2, row=0))  # from (2, 1), one up
    assert sites[moved.attention] == "encoder.0.self"
    assert norm.PANEL.pick(up, "stream-norms", Pick(column=99)) == up.selection
    assert norm.PANEL.pick(up, "stream-norms", Pick()) is None
    first = norm.PANEL.pick(up, "stream-norms", Pick(column=0))  # what enters layer 0
    assert sites[first.attention] == "encoder.0.self"


def test_a_box_of_the_diagram_opens_its_norm_or_the_stream(scenes: Make) -> None:
    scene = scenes("t5", options={norm.SHOW: "stream"}, view=View(site="decoder.1.cross"))
    sites = scene.trace.attention_sites()

    def opened(site: str) -> tuple[str, str]:
        chosen = norm.PANEL.entered(scene, move.to_site(scene.trace, scene.selection, site), site)
        there = Scene(scene.engine, scene.trace, chosen, "en")
        return norm.SHOW.of(chosen), Chosen(there).site if norm.SHOW.of(chosen) == "norm" else sites[chosen.attention]

    assert opened("decoder.0.norm3") == ("norm", "decoder.0.norm3")
    assert opened("decoder.final.norm") == ("norm", "decoder.final.norm")
    assert opened("encoder.final.norm") == ("norm", "encoder.final.norm")
    assert opened("encoder.2.norm2") == ("norm", "encoder.2.norm2")
    assert opened("decoder.0.norm2.input") == ("stream", "decoder.0.cross")
    assert opened("encoder.1.resid.after") == ("stream", "encoder.1.self")
    bert = scenes("bert")
    chosen = norm.PANEL.entered(bert, bert.selection, "encoder.embed.norm")
    assert Chosen(Scene(bert.engine, bert.trace, chosen, "en")).site == "encoder.embed.norm"
    added = norm.PANEL.entered(bert, bert.selection, "encoder.embed.sum")
    assert norm.SHOW.of(added) == "stream"


def test_the_stream_is_that_of_the_chosen_token(scenes: Make) -> None:
    scene = scenes("mini-translator", options={norm.SHOW: "stream"})
    of = ResidualStream(scene.trace, "decoder")
    chosen = next(one for one in drawn(scene, "stream-norms")["data"] if one.get("mode") == "lines+markers")
    np.testing.assert_array_equal(chosen["y"], of.lengths[:, scene.query].astype(np.float32))
    bars = drawn(scene, "stream-added")["data"]
    for bar, part in zip(bars, ("self", "cross", "ffn"), strict=True):
        np.testing.assert_array_equal(bar["y"], of.added[part][:, scene.query].astype(np.float32))
    steps = plain(block(scene, "stream-steps").make())
    assert all(f"{step.added:.3f}" in steps for step in of.steps(scene.layer, scene.query))


def test_moving_to_another_layer_makes_only_what_is_of_this_layer(scenes: Make) -> None:
    scene = scenes("mini-gpt", options={norm.SHOW: "stream"})
    other = Scene(scene.engine, scene.trace, norm.PANEL.pick(scene, "stream-added", Pick(column=0)), "en")
    anew = {one.name for one, two in zip(blocks(scene), blocks(other), strict=True) if one.of != two.of}
    assert anew == {"norm-order", "stream-steps", "stream-seal"}
    assert block(other, "stream-added").select == (0, 0) and block(other, "stream-similarity").select == (1, 0)


def test_a_post_norm_model_says_what_its_lengths_mean(scenes: Make) -> None:
    said = [
        plain(block(scenes(name, options={norm.SHOW: "stream"}), "stream-title").make()) for name in ("bert", "bloom")
    ]
    assert "post-norm" in said[0] and "post-norm" not in said[1]


def test_a_model_whose_blocks_are_not_told_apart_says_so() -> None:
    scene = _run_without_blocks()
    for show in ("norm", "stream"):
        shown = with_options(scene, {norm.SHOW: show})
        texts = [one.make() for one in blocks(shown) if isinstance(one, Piece)]
        assert not [one for one in blocks(shown) if isinstance(one, Plot)]
        assert any("could not be told apart" in text for text in texts)
        assert norm.PANEL.spoken(shown)


def _run_without_blocks() -> Scene:
    from tests.transformer.families import build

    module = build("gpt2")
    module.transformer.h.insert(1, torch.nn.Identity())  # a sibling without attention: a hybrid
    module.transformer.h[1].forward = lambda hidden, *_, **__: hidden  # type: ignore[method-assign]
    model = wrap(module, ByteTokenizer() if module.config.vocab_size >= 256 else None, "hybrid")
    trace = run(model, ids=[5, 7, 9, 7])
    selection = move.within(trace, Selection("hybrid", ""))
    return Scene(SimpleNamespace(load=lambda _: model), trace, selection, "en")  # type: ignore[arg-type]


def test_a_long_text_is_looked_at_through_a_window() -> None:
    config = ModelConfig(vocab_size=ByteTokenizer.vocab_size, d_model=28, n_layers=2, n_heads=7, max_positions=331)
    model = wrap(DecoderLM(config, generator=torch.Generator().manual_seed(3)), ByteTokenizer(), "long")
    engine = ShelfEngine({"long": model})
    trace = engine.trace("long", "a b" * 99)
    scene = Scene(engine, trace, move.first_look(trace, Selection("long", "a b" * 99), View(cell=(200, 3))), "en")
    rows = drawn(scene, "norm-tokens")["data"][1]["y"]
    assert rows.tolist() == list(range(168, 232)) and "168 to 231" in plain(block(scene, "norm-tokens-window").make())
    assert norm.PANEL.pick(scene, "norm-tokens", Pick(y=170.2)).query == 170
    stream = with_options(scene, {norm.SHOW: "stream"})
    assert "168 to 231" in plain(block(stream, "stream-title").make())
    chosen = next(one for one in drawn(stream, "stream-norms")["data"] if one.get("mode") == "lines+markers")
    whole = ResidualStream(trace, "decoder")
    np.testing.assert_allclose(chosen["y"], whole.lengths[:, 200], rtol=1e-6)


@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_large_models_send_little(name: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(f"{name}_folder")
    assert folder.exists()
    engine = Engine(name)
    trace = engine.trace(name, "The cat chased the mouse because it was hungry and the dog slept in the garden all day")
    scene = Scene(engine, trace, move.first_look(trace, Selection(name, ""), View()), "en")
    for show in ("norm", "stream"):
        shown = with_options(scene, {norm.SHOW: show, DIMENSION: 300})
        made = (one.make() if isinstance(one, Piece) else figure_json(one.draw()) or "" for one in blocks(shown))
        assert sum(map(len, made)) < 200_000
    window = drawn(with_options(scene, {DIMENSION: 300}), "norm-window")["data"][0]["customdata"]
    assert window[0, :, 1].tolist() == list(range(284, 316))
    pick = norm.PANEL.pick(with_options(scene, {DIMENSION: 300}), "norm-window", Pick(column=3))
    assert DIMENSION.of(pick) == 287
