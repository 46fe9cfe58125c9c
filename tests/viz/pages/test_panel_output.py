"""The output panel: every view on every kind of model shows the run's own numbers, and says why where it has none."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import unescape

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer import full_logits as full_module
from transformer.distribution import choose
from transformer.engine import Engine
from transformer.full_logits import full_logits, rank_of
from transformer.logit_lens import logit_lens
from transformer.messages import LANGUAGES, message
from transformer.runner import run
from transformer.sampling import Dials
from transformer.sentence_similarity import similarity, token_cosines
from transformer.tokenizer import ByteTokenizer, Encoding
from transformer.trace import Trace
from transformer.wrapped import LoadedModel, wrap
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot, key_of
from viz.pages.links import View
from viz.pages.options import Option
from viz.pages.panels import output_sampling, output_similarity
from viz.pages.panels.output import PANEL, VIEW
from viz.pages.panels.output_answer import WORD, Answer
from viz.pages.panels.output_layers import MORE
from viz.pages.panels.output_sum import AGAINST
from viz.pages.pick import Pick
from viz.pages.scene import Scene
from viz.pages.selection import Selection, site_of

IMAGE = "\n".join(["0012g310"] * 8)
TEXTS = {"digit-vit": IMAGE, "rule-classifier": "4 3 2 1"}
OURS = ["mini-gpt", "mini-translator", "rule-classifier", "digit-vit", "copycat"]
TINY = ["grouped", "t5", "bert", "bloom", "gaps"]
TURNED: dict[Option, str] = {
    output_sampling.TEMPERATURE: "0.7", output_sampling.TOP_K: "5", output_sampling.TOP_P: "0.9",
    output_sampling.TYPED: "th", AGAINST: "mean", WORD: "1", output_similarity.PAIR: "third",
}  # fmt: skip
Make = Callable[..., Scene]


@dataclass(frozen=True)
class Gaps(ByteTokenizer):
    """Bytes, with a token that asks for a word wherever "_" stands."""

    NAMES = ("<pad>", "<bos>", "[MASK]")

    def encode(self, text: str) -> Encoding:
        return self.encoding_of_ids([1, *(2 if byte == ord("_") else 3 + byte for byte in text.encode())])


@pytest.fixture(scope="module")
def gaps() -> LoadedModel:
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(11)
    sizes = {"hidden_size": 28, "num_hidden_layers": 3, "num_attention_heads": 7, "intermediate_size": 31}
    config = BertConfig(vocab_size=259, max_position_embeddings=64, **sizes)
    return wrap(BertForMaskedLM(config).eval(), Gaps(), "gaps")


@pytest.fixture(scope="module")
def engines(shelf: ShelfEngine, gaps: LoadedModel) -> dict[str, Engine]:
    ours = Engine(packs=False)
    return dict.fromkeys(OURS, ours) | dict.fromkeys(TINY, ShelfEngine({**shelf.models, "gaps": gaps}))


@pytest.fixture
def scene_with(engines: dict[str, Engine]) -> Make:
    """`scene_with("t5", "lens", {OPTION: "value"}, View(…), text=…, language="zh")`."""

    def make(
        name: str,
        view: str = "words",
        options: dict[Option, str] | None = None,
        at: View | None = None,
        *,
        text: str | None = None,
        language: str = "en",
    ) -> Scene:
        engine, text = engines[name], text or TEXTS.get(name, TEXT)
        trace = engine.trace(name, text, "a tac" if engine.load(name).encoder_decoder else None)
        chosen = move.first_look(trace, Selection(name, text, panel="output"), at or View())
        for option, value in {VIEW: view, **(options or {})}.items():
            chosen = move.with_option(chosen, option, value)
        return Scene(engine, trace, chosen, language)

    return make


def blocks(scene: Scene) -> dict[str, Block]:
    found = [block for column in PANEL.columns(scene) for block in column]
    assert len({block.name for block in found}) == len(found) and 1 <= len(PANEL.columns(scene)) <= 3
    return {block.name: block for block in found}


def html(scene: Scene, name: str) -> str:
    block = blocks(scene)[name]
    assert isinstance(block, Piece)
    return block.make()


def inner(text: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", text))


def drawn(scene: Scene, name: str) -> go.Figure:
    block = blocks(scene)[name]
    assert isinstance(block, Plot)
    return block.draw()


def after(scene: Scene, block: str, **pick: object) -> Scene:
    chosen = PANEL.pick(scene, block, Pick(**pick))  # type: ignore[arg-type]
    assert chosen is not None
    return Scene(scene.engine, scene.trace, chosen, scene.language)


# --- everything, everywhere ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEW.values)
@pytest.mark.parametrize("name", [*OURS, *TINY])
def test_every_block_is_sound(scene_with: Make, name: str, view: str) -> None:
    for language, options in zip(LANGUAGES, ({}, TURNED), strict=True):
        scene = scene_with(name, view, options, language=language)
        for block in blocks(scene).values():
            check(scene, block)
        assert PANEL.spoken(scene).strip()


def check(scene: Scene, block: Block) -> None:
    if isinstance(block, Piece):
        made = block.make()
        assert not re.search(r"\{[a-z_]+\}", inner(made)), block.name
        assert "stt-bad" not in made
        return
    figure = block.draw()
    assert len(figure.to_json()) < 150_000 and block.label and block.data and block.code
    data = block.data()
    assert data.values.shape == ((len(data.rows),) if data.values.ndim == 1 else (len(data.rows), len(data.columns)))
    assert block.seal is None or "stt-seal-good" in block.seal(), block.name
    names = {"model": scene.engine.load(scene.selection.model), "trace": scene.trace, "figures": figures, "np": np}
    exec(block.code(), names)
    assert json.loads(names["figure"].to_json()) == json.loads(figure.to_json()), block.name


@pytest.mark.parametrize("name", ["grouped", "t5"])
def test_choosing_what_to_show_computes_nothing(scene_with: Make, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = scene_with(name)

    def refuse(*_: object) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr(full_module, "_computed", refuse)
    fresh = replace(scene.trace, key="another run")
    for view in VIEW.values:
        chosen = move.with_option(scene.selection, VIEW, view)
        assert len(PANEL.columns(Scene(scene.engine, fresh, chosen, "en"))) == 2


def test_a_block_is_made_anew_only_where_something_it_shows_has_changed(scene_with: Make) -> None:
    def keys(scene: Scene) -> dict[str, str]:
        return {name: key_of(block, scene.about) for name, block in blocks(scene).items()}

    one = keys(scene_with("grouped"))
    assert keys(scene_with("grouped", options={AGAINST: "mean"})) == one
    warm = keys(scene_with("grouped", options={output_sampling.TEMPERATURE: "0.5"}))
    assert {name for name in one if warm[name] != one[name]} == {"output-bars", "output-stages", "output-ranks"}
    other = keys(scene_with("grouped", at=View(cell=(3, 1))))
    assert {name for name in one if other[name] == one[name]} == {"output-tabs", "output-dials", "output-word"}


@pytest.mark.parametrize("name", [*OURS, *TINY])
def test_nonsense_from_the_browser_chooses_nothing_that_is_not_there(scene_with: Make, name: str) -> None:
    for view in VIEW.values:
        scene = scene_with(name, view)
        for block in [*blocks(scene), "no such block"]:
            for pick in nonsense():
                chosen = PANEL.pick(scene, block, pick)
                if chosen is not None:
                    assert chosen == move.within(scene.trace, chosen), (block, pick)
                    blocks(Scene(scene.engine, scene.trace, chosen, "en"))


def nonsense() -> Iterator[Pick]:
    yield Pick()
    for far in (-1e9, -1.0, 0.4, 1e9):
        yield Pick(x=far, y=far)
        yield Pick(column=int(far), row=int(far))
    for word in ("", "x", "-1", "99999999", "1e3", "best"):
        yield Pick(data={"word": word})


# --- probabilities ---------------------------------------------------------------------------------------------------


def test_bars_and_table_are_those_of_the_dials(scene_with: Make) -> None:
    dials = {output_sampling.TEMPERATURE: "0.5", output_sampling.TOP_K: "7", output_sampling.TOP_P: "0.9"}
    scene = scene_with("grouped", options=dials, at=View(cell=(4, 1)))
    wanted = choose(full_logits(scene.trace, 4), Dials(0.5, 7, 0.9), shown=10)
    bars = drawn(scene, "output-bars")
    np.testing.assert_allclose(
        sorted(np.concatenate([one.x for one in bars.data[:3]])), sorted(wanted.scaled), rtol=1e-6
    )
    rows = re.findall(r'data-word="(\d+)"', html(scene, "output-stages"))
    assert rows == [str(one) for one in wanted.ids]
    data = blocks(scene)["output-bars"].data()  # type: ignore[union-attr]
    np.testing.assert_allclose(data.values.sum(0), 1)
    assert data.rows[-1] == message("figure.sampling.others", count="249")
    ranks = blocks(scene)["output-ranks"].data()  # type: ignore[union-attr]
    assert ranks.more["own"].shape == (259,) and ranks.more["own"].sum() == pytest.approx(1)


def test_a_bar_a_row_and_a_typed_word_choose_the_token_that_is_explained(scene_with: Make) -> None:
    scene = scene_with("grouped", options={output_sampling.TYPED: "z"})
    ids = scene.trace.top.ids[scene.position].tolist()
    assert Answer(scene).token == ids[0]
    second = after(scene, "output-bars", y=1.0, x=0.0)
    assert Answer(second).token == ids[1]
    assert second.engine.token("grouped", ids[1]) in inner(html(second, "output-arithmetic"))
    assert 'data-word="best"' in html(second, "output-arithmetic")
    assert Answer(after(second, "output-arithmetic", data={"word": "best"})).token == ids[0]
    rare = full_logits(scene.trace, scene.position).argmin()
    last = after(scene, "output-word-found", data={"word": str(rare)})
    assert html(last, "output-stages").count("data-word") == 11
    assert [trace.marker.symbol for trace in drawn(last, "output-ranks").data][-1] == "diamond"
    assert PANEL.pick(scene, "output-bars", Pick(y=10.0, x=0.0)) is None  # the bar of all others
    assert Answer(after(scene, "output-bars", key="ArrowDown")).token == ids[1]
    assert Answer(after(second, "output-bars", key="ArrowUp")).token == ids[0]


def test_a_typed_word_has_its_exact_probability_and_rank(scene_with: Make) -> None:
    scene = scene_with("grouped", options={output_sampling.TYPED: "zoo"}, at=View(cell=(4, 1)))
    token, logits = 3 + ord("z"), full_logits(scene.trace, 4)
    shown = inner(html(scene, "output-word-found"))
    share = np.exp(logits[token] - scene.trace.top.logsumexp[4])
    assert f"{share:.4g}" in shown and f"{rank_of(logits, token) + 1:,}" in shown and "3 tokens" in shown
    assert not html(scene_with("grouped"), "output-word-found")
    half = scene_with("grouped", options={output_sampling.TYPED: "\ud800"})
    assert not html(half, "output-word-found")  # half a character is not read


def test_the_arithmetic_is_of_the_chosen_token(scene_with: Make) -> None:
    scene = scene_with("grouped", options={WORD: "31"}, at=View(cell=(4, 1)))
    shown = html(scene, "output-arithmetic")
    share = float(np.exp(full_logits(scene.trace, 4)[31] - scene.trace.top.logsumexp[4]))
    results = [float(one) for one in re.findall(r"stt-result'>([^<−]*)<", shown)]
    assert results[-1] == pytest.approx(share, rel=2e-3) and "stt-bad" not in shown


def test_an_unknown_head_leaves_what_was_recorded_and_says_why(scene_with: Make) -> None:
    scene = scene_with("grouped")
    parts = {name: part for name, part in scene.trace.parts.items() if not name.endswith(".head")}
    bare = Scene(scene.engine, replace(scene.trace, parts=parts), scene.selection, "en")
    found = blocks(bare)
    assert [*found] == ["output-tabs", "output-title", "output-recorded", "output-why"]
    assert message("lack.formula_unknown") in inner(html(bare, "output-why"))
    shares = scene.trace.probabilities(scene.position)[1][:10]
    np.testing.assert_allclose(drawn(bare, "output-recorded").data[0].x, shares, rtol=1e-6)


# --- masked words and classes ----------------------------------------------------------------------------------------


def test_a_model_that_fills_gaps_is_pointed_to_them(scene_with: Make) -> None:
    scene = scene_with("gaps", at=View(cell=(1, 1)), text="ab_de")
    title = html(scene, "output-title")
    assert re.findall(r'data-token="(\d+)"', title) == ["3"] and message("explore.here.title") in inner(title)
    here = html(scene_with("gaps", at=View(cell=(3, 1)), text="ab_de"), "output-title")
    assert message("output.gap.here") in inner(here) and "data-token" not in here
    none = html(scene_with("gaps", text="abc"), "output-title")
    assert message("output.gap.none") in inner(none)
    assert [*blocks(scene_with("gaps", "lens"))][-1] == "lens-why"


def test_classes_from_the_summary_to_the_softmax(scene_with: Make) -> None:
    scene = scene_with("digit-vit")
    ids, shares = scene.trace.probabilities(0)
    drawn_shares = drawn(scene, "output-classes").data[0].x
    np.testing.assert_allclose(drawn_shares[ids], shares, rtol=1e-6)
    table = html(scene, "output-softmax")
    assert re.findall(r'data-word="(\d+)"', table) == [str(one) for one in range(10)]
    assert re.findall(r'data-word="(\d+)"[^>]*aria-pressed="true"', table) == [str(ids[0])]
    assert "[CLS]" in inner(html(scene, "output-summary"))
    third = after(scene, "output-classes", y=3.0, x=0.1)
    assert Answer(third).token == 3
    lens = scene_with("digit-vit", "lens")
    assert drawn(lens, "lens-map").data[0].z.shape == (len(lens.trace.structure.stacks[0].blocks), 10)
    assert drawn(lens, "lens-map").layout.meta["select"]["at"][0] == ids[0]
    seventh = after(lens, "lens-map", column=7, row=1)
    assert Answer(seventh).token == 7 and seventh.site == "encoder.1.self"


# --- the lens --------------------------------------------------------------------------------------------------------


def test_the_lens_shows_each_layer_and_its_last_row_is_the_model(scene_with: Make) -> None:
    scene = scene_with("grouped", "lens", at=View(layer=1, cell=(4, 1)))
    table, fig = logit_lens(scene.trace, range(12)), drawn(scene, "lens-map")
    np.testing.assert_allclose(fig.data[0].z, table.probabilities, rtol=1e-6)
    for position in range(12):
        ids, shares = scene.trace.probabilities(position)
        name = scene.engine.token("grouped", int(ids[0]))
        assert fig.data[0].hovertext[-1][position] == figures.escape(name)
        assert fig.data[0].z[-1, position] == pytest.approx(float(shares[0]), rel=1e-5)
    assert fig.layout.meta["select"]["at"] == [4, 1]


def test_a_cell_of_the_lens_chooses_layer_and_token(scene_with: Make) -> None:
    scene = scene_with("grouped", "lens", at=View(layer=1, head=4, cell=(4, 1)))
    chosen = after(scene, "lens-map", x=2.2, y=1.7)
    assert (chosen.site, chosen.query, chosen.head) == ("decoder.2.self", 2, 4)
    assert after(scene, "lens-map", column=7, row=0).site == "decoder.0.self"
    assert after(scene, "lens-curve", x=2.0, y=0.1).site == "decoder.2.self"
    assert after(scene, "lens-curve", key="ArrowLeft").site == "decoder.0.self"
    assert message("output.lens.after", layer=2) in inner(html(chosen, "lens-cell"))
    cross = scene_with("t5", "lens", at=View(site="decoder.0.cross", cell=(2, 1)))
    assert after(cross, "lens-map", column=1, row=1).site == "decoder.1.cross"
    source = scene_with("t5", "lens", at=View(site="encoder.0.self", cell=(2, 1)))
    assert drawn(source, "lens-map").layout.meta["select"]["at"] == [5, 1]  # the target's last token, the last layer


def test_a_large_vocabulary_shows_few_tokens_until_more_are_asked_for(
    scene_with: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer.logit_lens.AT_ONCE", 1)
    scene = scene_with("grouped", "lens", at=View(cell=(4, 1)))
    assert drawn(scene, "lens-map").data[0].z.shape == (3, 1)
    title = html(scene, "lens-title")
    assert 'data-set="lens-more"' in title and "1" in title and "12" in title
    more = scene_with("grouped", "lens", {MORE: "on"}, at=View(cell=(11, 1)))
    assert drawn(more, "lens-map").data[0].z.shape == (3, 12)
    assert 'data-set="lens-more"' in html(more, "lens-title")
    monkeypatch.undo()
    assert "lens-more" not in html(scene_with("grouped", "lens"), "lens-title")


# --- parts -----------------------------------------------------------------------------------------------------------


def test_parts_sum_to_the_logit_and_to_differences(scene_with: Make) -> None:
    for mode in AGAINST.values:
        options = {AGAINST: mode, WORD: "31"}
        scene = scene_with("grouped", "parts", options, at=View(layer=1, cell=(4, 1)))
        data = blocks(scene)["parts-bars"].data()  # type: ignore[union-attr]
        logits = full_logits(scene.trace, 4)
        best = int(scene.trace.top.ids[4][0])
        other = {"alone": 0.0, "mean": logits.mean(), "next": logits[best]}[mode]
        assert data.values.sum() == pytest.approx(float(logits[31] - other), abs=1e-4)
        heads = blocks(scene)["parts-heads"].data()  # type: ignore[union-attr]
        assert heads.values.shape == (3, 6)
        np.testing.assert_allclose(heads.values.sum(1) + heads.more["biases"], heads.more["wholes"], atol=1e-5)


def test_a_bar_chooses_its_layer_and_a_cell_its_head(scene_with: Make) -> None:
    scene = scene_with("grouped", "parts", at=View(layer=1, head=3, cell=(4, 1)))
    assert after(scene, "parts-bars", x=1.8, y=0.0).site == "decoder.2.self"
    assert after(scene, "parts-bars", column=0, row=0, x=-1.2, y=0.0).site == "decoder.0.self"
    chosen = after(scene, "parts-heads", column=5, row=2)
    assert (chosen.site, chosen.head) == ("decoder.2.self", 5)
    two = scene_with("t5", "parts", at=View(site="decoder.0.cross", head=2, cell=(2, 1)))
    assert site_of(two.trace, after(two, "parts-heads", column=1, row=3).selection) == "decoder.1.cross"
    assert drawn(two, "parts-heads").layout.meta["select"]["at"] == [2, 1]


def test_where_there_is_no_sum_of_parts_it_says_why(scene_with: Make) -> None:
    post = scene_with("copycat", "parts")
    assert message("lack.norm_on_stream") in inner(html(post, "parts-why"))
    bloom = scene_with("bloom", "parts")
    assert message("lack.weights_only") in inner(html(bloom, "parts-no-heads"))
    assert "parts-heads" not in blocks(bloom) and "parts-bars" in blocks(bloom)


# --- two texts -------------------------------------------------------------------------------------------------------


def test_a_model_without_head_compares_texts(scene_with: Make, engines: dict[str, Engine]) -> None:
    typed = {output_similarity.OTHER: "the dog", output_similarity.THIRD: "qqq"}
    scene = scene_with("bert", options=typed, at=View(cell=(2, 1)))
    model = engines["bert"].load("bert")
    others: list[Trace] = [run(model, text) for text in ("the dog", "qqq")]
    wanted = [similarity(scene.trace, other) for other in others]
    np.testing.assert_allclose(drawn(scene, "texts-bars").data[0].x, wanted, rtol=1e-5)
    closer = inner(html(scene, "texts-closer"))
    assert ("the dog" if wanted[0] >= wanted[1] else "qqq") in closer and f"{wanted[0]:.3f}" in closer
    cosines = token_cosines(scene.trace, others[0])
    np.testing.assert_allclose(drawn(scene, "texts-map").data[0].z, cosines, atol=1e-6)
    assert drawn(scene, "texts-map").layout.meta["select"]["at"] == [int(cosines[2].argmax()), 2]
    assert after(scene, "texts-map", column=1, row=5).query == 5
    third = scene_with("bert", options=typed | {output_similarity.PAIR: "third"})
    assert drawn(third, "texts-map").data[0].z.shape[1] == 4


def test_until_something_is_typed_there_are_examples(scene_with: Make) -> None:
    scene = scene_with("bert")
    names = [words.text for words in drawn(scene, "texts-bars").layout.annotations[:2]]
    assert names == [message("output.texts.reworded"), message("output.texts.elsewhere")]


def test_a_text_that_cannot_be_run_says_why(scene_with: Make) -> None:
    scene = scene_with("bert", options={output_similarity.OTHER: "a" * 200})
    assert [*blocks(scene)][-1] == "texts-why" and "64" in inner(html(scene, "texts-why"))
    assert PANEL.spoken(scene) == ""


def test_no_head_and_no_texts_to_compare_is_a_reason(scene_with: Make) -> None:
    scene = scene_with("grouped")
    silent = run(scene.engine.load("grouped"), TEXT, record=("attention",))
    bare = Scene(scene.engine, silent, scene.selection, "zh")
    assert [*blocks(bare)] == ["output-why"]
    assert message("lack.not_recorded", "zh") in inner(html(bare, "output-why"))
    assert PANEL.spoken(bare) == message("lack.not_recorded", "zh")


# --- large models ----------------------------------------------------------------------------------------------------


def test_smollm2_at_thirty_tokens_stays_within_its_bounds(smollm2_folder: object) -> None:
    engine, text = Engine(), "The capital of France is the city of Paris, " * 3
    trace = engine.trace("smollm2", text)
    for view in VIEW.values:
        chosen = move.with_option(move.first_look(trace, Selection("smollm2", text), View()), VIEW, view)
        scene, total = Scene(engine, trace, chosen, "en"), 0
        for block in blocks(scene).values():
            total += len(block.make() if isinstance(block, Piece) else block.draw().to_json())
        assert total < 100_000
