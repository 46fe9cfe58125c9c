"""The generate panel: what it shows is the model's, a link restores it, and what cannot be is a sentence."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import numpy as np
import pytest

from tests.viz.pages.conftest import TEXT, ShelfEngine, figure
from transformer.beam import BeamSettings, beam_search, node_of, tree
from transformer.engine import Engine
from transformer.generate import GenerationSettings, generate
from transformer.next_pass import CannotGenerate, NotAGenerator
from viz import figures
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot
from viz.pages.inputs import first_text
from viz.pages.links import View
from viz.pages.panels import generated as of
from viz.pages.panels.generate import PANEL, opened_text
from viz.pages.panels.generate_picks import anew
from viz.pages.pick import Pick
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection

BY_NAME = {option.name.removeprefix("gen-"): option for option in of.OPTIONS}
WRITERS = ["grouped", "t5", "bloom"]
SHIPPED_WRITERS = ["mini-gpt", "mini-translator", "copycat"]
Make = Callable[..., Scene]


@pytest.fixture(scope="module")
def shipped() -> Engine:
    return Engine(packs=False)


def scene(engine: Engine, name: str, text: str | None = None, language: str = "en", **options: Any) -> Scene:
    """A run, and what was set in the panel: `branch="1:40"`, `top_k=5`."""
    text = first_text(engine, name) if text is None else text
    target = "a tac" if engine.load(name).encoder_decoder else None
    trace = engine.trace(name, text, target)
    chosen = move.first_look(trace, Selection(name, text, target), View())
    for option, value in options.items():
        chosen = move.with_option(chosen, BY_NAME[option.replace("_", "-")], value)
    return Scene(engine, trace, chosen, language)


def again(before: Scene, chosen: Selection | None) -> Scene:
    """The same run after a pick."""
    assert chosen is not None
    return Scene(before.engine, before.trace, chosen, before.language)


def told(before: Scene, block: str = "generate-actions", /, **data: str) -> Selection | None:
    return PANEL.pick(before, block, Pick(data=data))


def blocks(of_scene: Scene) -> dict[str, Block]:
    found = [block for column in PANEL.columns(of_scene) for block in column]
    assert len({block.name for block in found}) == len(found)
    return {block.name: block for block in found}


def html(of_scene: Scene, name: str) -> str:
    block = blocks(of_scene)[name]
    assert isinstance(block, Piece)
    return block.make()


def said(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def drawn(block: Block) -> dict[str, Any]:
    assert isinstance(block, Plot)
    return figure(figure_json(block.draw()))


def make_all(of_scene: Scene) -> dict[str, str]:
    """Every block with all that it gives; a figure's code draws the same figure."""
    found = {}
    for name, block in blocks(of_scene).items():
        if isinstance(block, Piece):
            found[name] = block.make()
            continue
        shown, data = drawn(block), block.data()
        assert data.values.shape == (len(data.rows), len(data.columns)) and figure_json(block.draw()).isprintable()
        held = {"model": of_scene.engine.load(of_scene.selection.model), "trace": of_scene.trace, "figures": figures}
        exec(block.code(), held := held | {"np": np})
        _same(shown["data"], figure(figure_json(held["figure"]))["data"])
        found[name] = "" if block.seal is None else block.seal()
        assert "✗" not in found[name]
    return found


def _same(ours: Any, theirs: Any) -> None:
    """All numbers and tokens; words may be of another language."""
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        for part in ("x", "y", "z", "customdata"):
            if one.get(part) is not None:
                np.testing.assert_array_equal(one[part], other[part])


# --- one token at a time ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("name", WRITERS)
def test_every_block_of_every_writer(shelf: ShelfEngine, name: str, count: int, language: str) -> None:
    found = make_all(scene(shelf, name, TEXT, language, count=count))
    assert ("generate-bars" in found) == (count > 0) and ("generate-open" in found) == (count > 0)
    assert len(re.findall('data-step="', found["generate-strip"])) == count
    assert not count or "✓" in found["generate-bars"]


@pytest.mark.parametrize("name", SHIPPED_WRITERS)
@pytest.mark.parametrize("options", [{}, {"mode": "sample", "top_k": 7, "temperature": 1.4}, {"mode": "beam"}], ids=str)
def test_every_block_of_our_models(shipped: Engine, name: str, options: dict[str, Any]) -> None:
    make_all(scene(shipped, name, count=3, **options))


def test_nothing_runs_until_it_is_asked_for(shelf: ShelfEngine) -> None:
    calls = []
    start = scene(shelf, "grouped", "a text of its own")
    hook = shelf.load("grouped").module.register_forward_hook(lambda *_: calls.append(1))
    make_all(start)
    assert not calls
    two = again(start, told(again(start, told(start, grow="1")), grow="1"))
    make_all_once = {name: block for name, block in blocks(two).items() if isinstance(block, Piece)}
    for block in make_all_once.values():
        block.make()
    assert len(calls) == 2, "each new token costs one pass, whatever is shown of it"
    hook.remove()


def test_the_steps_are_the_models(shelf: ShelfEngine) -> None:
    settings = GenerationSettings("sample", temperature=1.4, top_k=30, top_p=0.9, seed=5, max_new_tokens=4)
    expected = list(generate(shelf.load("grouped"), TEXT, settings=settings))
    now = scene(shelf, "grouped", TEXT, mode="sample", temperature=1.4, top_k=30, top_p=0.9, seed=5, count=4, step=2)
    strip = html(now, "generate-strip")
    shares = [f"probability {one.distribution.p[one.distribution.place]:.4g}" for one in expected]
    assert re.findall(r"probability [^ ]+", strip)[::2] == shares
    assert re.search(r'data-step="2"[^>]*aria-pressed="true"', strip)
    bars = drawn(blocks(now)["generate-bars"])
    values = np.concatenate([one["x"] for one in bars["data"][:-1]])
    assert np.sort(values) == pytest.approx(np.sort(expected[2].distribution.scaled), abs=1e-6)
    assert opened_text(now) == (shelf.spelled("grouped", expected[2].ids), None)


def test_the_first_step_is_sealed_by_the_recorded_run(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, count=2, step=0)
    seal = blocks(now)["generate-bars"].seal()
    assert seal.count("✓") == 2 and "recorded run" in seal
    assert blocks(again(now, told(now, step="1")))["generate-bars"].seal().count("✓") == 1


def test_a_pass_without_a_cache_is_made_only_where_it_is_wanted(shelf: ShelfEngine) -> None:
    for name in ("grouped", "t5"):
        off, on = (html(scene(shelf, name, TEXT, count=3, check=check), "generate-check") for check in ("off", "on"))
        assert "stt-seal" not in off and "✓" in on and 'data-set="gen-check"' in on


# --- what is picked --------------------------------------------------------------------------------------------------


def test_one_more_and_one_back_and_from_the_beginning(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, mode="sample", seed=3)
    for _ in range(3):
        now = again(now, told(now, grow="1"))
    three = of.Written(now).steps[-1].ids
    looked = again(now, told(now, "generate-strip", step="1"))
    assert of.Written(looked).looked_at.number == 1 and len(of.Written(looked).steps) == 3
    more = again(looked, told(looked, grow="1"))
    assert of.Written(more).looked_at.number == 3, "the newest is looked at"
    back = again(more, told(more, grow="-1"))
    assert of.Written(back).steps[-1].ids == three
    begun = again(back, told(back, anew="1"))
    assert (
        not of.Written(begun).steps
        and of.SEED.of(begun.selection) == 3
        and "gen-count" not in dict(begun.selection.options)
    )
    assert told(begun, grow="-1") is None
    for wrong in ("0", "2", "-2", "x", ""):
        assert told(now, grow=wrong) is None
    for wrong in ("3", "-1", "x", "99999999999"):
        assert told(now, "generate-strip", step=wrong) is None


def test_dials_keep_the_count(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, count=3)
    for option, value in (("mode", "sample"), ("temperature", 1.7), ("top_k", 5), ("seed", 9)):
        now = again(now, move.with_option(now.selection, BY_NAME[option.replace("_", "-")], value))
        assert len(of.Written(now).steps) == 3
    assert of.SEED.of(told(now, luck="1")) == 10


def test_a_branch_cuts_the_text_and_goes_on_from_it(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, count=5, step=2)
    free = of.Written(now).steps
    other = int(free[2].distribution.ids[4])
    bars = PANEL.pick(now, "generate-bars", Pick(x=0.01, y=4.2))
    looked = again(now, bars)
    candidate = html(looked, "generate-candidate")
    assert f'data-branch="2:{other}"' in candidate and "data-branch" not in html(now, "generate-candidate")
    assert candidate.index("data-branch") < candidate.index("stt-arithmetic"), "the way on stands under the candidates"
    assert told(now, "generate-candidate", candidate=str(other)) == bars
    cut = again(looked, told(looked, "generate-candidate", branch=f"2:{other}"))
    steps = of.Written(cut).steps
    assert [one.token for one in steps] == [free[0].token, free[1].token, other] and steps[-1].mode == "forced"
    assert "stt-forced" in html(cut, "generate-strip") and "You took" in said(html(cut, "generate-bars-title"))
    grown = again(cut, told(again(cut, told(cut, grow="1")), grow="1"))
    settings = GenerationSettings(max_new_tokens=2)
    expected = list(generate(shelf.load("grouped"), ids=steps[-1].ids, settings=settings))
    assert of.Written(grown).steps[-1].ids == expected[-1].ids
    make_all(grown)
    assert 'data-unbranch="2"' in html(grown, "generate-notice")
    undone = again(grown, told(grown, "generate-notice", unbranch="2"))
    assert [one.token for one in of.Written(undone).steps] == [one.token for one in free]


def test_a_branch_of_a_branch(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, count=6, branch="1:40,4:50")
    assert [one.mode == "forced" for one in of.Written(now).steps] == [False, True, False, False, True, False]
    earlier = told(now, branch="1:41")
    assert of.BRANCH.of(earlier) == "1:41" and of.COUNT.of(earlier) == 2, "what was taken behind it goes with it"
    later = told(now, branch="5:42")
    assert of.BRANCH.of(later) == "1:40,4:50,5:42"
    assert of.BRANCH.of(told(now, unbranch="4")) == "1:40" and of.BRANCH.of(told(now, unbranch="0")) == ""


@pytest.mark.parametrize(
    "odd", ["", "x", "1", "1:", ":5", "6:5", "-1:5", "1:-5", "1:5:7", "1:5,2:6", "100:5", "\u0661:5"]
)
def test_a_branch_that_cannot_be_read_changes_nothing(shelf: ShelfEngine, odd: str) -> None:
    assert told(scene(shelf, "grouped", TEXT, count=6), branch=odd) is None


@pytest.mark.parametrize("line", ["x", "1:5;2:6", "99:5", "1:5,x,2:6", ",,,", "1:5,1:6", "1" * 400])
def test_a_branch_of_a_link_is_read_as_far_as_it_can_be(shelf: ShelfEngine, line: str) -> None:
    make_all(scene(shelf, "grouped", TEXT, count=2, branch=line))


def test_a_token_of_another_models_branch_is_a_sentence_and_can_be_taken_back(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, count=3, branch="1:70000")
    found = make_all(now)
    assert "stt-error" in found["generate-notice"] and "70000" in said(found["generate-notice"])
    assert 'data-unbranch="1"' in found["generate-notice"] and "data-finished" in found["generate-notice"]
    undone = again(now, told(now, unbranch="1"))
    assert len(of.Written(undone).steps) == 3


def test_a_column_of_the_cache_leads_to_its_step_or_token(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, count=3)
    given = of.Written(now).steps[0].given
    new = PANEL.pick(now, "generate-cache", Pick(x=given + 0.2, y=1.0))
    assert of.STEP.of(new) == 0 and of.COUNT.of(new) == 3
    old = PANEL.pick(now, "generate-cache", Pick(x=2.0, y=1.0))
    assert old.query == 2 and old.options == now.selection.options
    assert (
        PANEL.pick(now, "generate-cache", Pick(x=-3.0)) is None
        and PANEL.pick(now, "generate-cache", Pick(x=99.0)) is None
    )


def test_other_picks_change_nothing(shelf: ShelfEngine) -> None:
    for now in (scene(shelf, "grouped", TEXT), scene(shelf, "grouped", TEXT, count=2), scene(shelf, "bert", TEXT)):
        for block, pick in (
            ("generate-bars", Pick(y=10.0)), ("generate-bars", Pick(y=-1.0)), ("generate-bars", Pick()),
            ("generate-notice", Pick(data={"finished": "end"})), ("generate-tree", Pick(custom=1.0)), ("", Pick()),
        ):  # fmt: skip
            assert PANEL.pick(now, block, pick) is None


# --- where it ends ---------------------------------------------------------------------------------------------------


def test_a_finished_text_says_so_and_grows_no_more(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, count=48, branch="2:2")  # 2 is its end token
    steps = of.Written(now).steps
    assert len(steps) == 3 and steps[-1].stop == "end"
    assert 'data-finished="end"' in html(now, "generate-notice") and told(now, grow="1") is None
    assert of.COUNT.of(told(now, grow="-1")) == 2, "one back of those that there are"
    spelt = scene(shelf, "grouped", TEXT, count=48, branch="0:100,1:101,2:2")
    assert opened_text(spelt) == (TEXT + "ab", None) and "very tokens" in html(spelt, "generate-open")
    assert "data-finished" not in html(scene(shelf, "grouped", TEXT, count=2), "generate-notice")


def test_a_text_without_end_stops_where_the_page_does(shipped: Engine) -> None:
    now = scene(shipped, "untrained", "ab", count=48)
    assert len(of.Written(now).steps) == 48 and 'data-finished="length"' in html(now, "generate-notice")
    assert len(figure_json(blocks(now)["generate-cache"].draw())) < 150_000


def test_a_long_text_is_shown_at_its_end(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", "ab " * 90, count=2)
    found = make_all(now)
    assert "tokens before …" in found["generate-strip"] and "last 96 of" in said(found["generate-cache-title"])
    assert blocks(now)["generate-cache"].data().values.shape == (3, 96)
    newest, given = PANEL.pick(now, "generate-cache", Pick(x=95.0)), PANEL.pick(now, "generate-cache", Pick(x=0.0))
    assert of.STEP.of(newest) == 0 and given.query == 272 - 96


@pytest.mark.parametrize("name", ["bert"])
def test_a_model_that_writes_nothing_says_why(shelf: ShelfEngine, name: str) -> None:
    for language in ("en", "zh"):
        for mode in ("greedy", "sample", "beam"):
            now = scene(shelf, name, TEXT, language, count=3, mode=mode)
            assert make_all(now) == {"generate-reason": figures_empty(NotAGenerator(model=name).text(language))}
            assert PANEL.spoken(now) and opened_text(now) is None and told(now, grow="1") is None


def figures_empty(reason: str) -> str:
    return f'<p class="stt-empty">{reason}</p>'


@pytest.mark.parametrize("name", ["rule-classifier", "digit-vit"])
def test_classifiers_of_ours_say_why(shipped: Engine, name: str) -> None:
    (reason,) = make_all(scene(shipped, name, count=3)).values()
    assert name in reason and "stt-empty" in reason


def test_a_text_that_leaves_no_room_is_a_sentence(shelf: ShelfEngine) -> None:
    (reason,) = make_all(scene(shelf, "grouped", "a" * 330, count=3)).values()
    assert "no room for another one" in reason


@pytest.mark.parametrize("mode", ["greedy", "beam"])
def test_what_fails_on_the_way_is_told_behind_what_there_is(shelf: ShelfEngine, mode: str) -> None:
    module, passes = shelf.load("grouped").module, []

    def fails(*_: object) -> None:
        passes.append(1)
        if len(passes) > 2:
            raise RuntimeError("no more today")

    start = scene(shelf, "grouped", f"a text for {mode}", mode=mode, count=4)
    hook = module.register_forward_pre_hook(fails)
    try:
        assert len(of.generated(start).steps) == 2
    finally:
        hook.remove()
    found = make_all(start)
    assert "no more today" in found["generate-notice"] and 'data-finished="problem"' in found["generate-notice"]
    assert told(start, grow="1") is None and of.COUNT.of(told(start, grow="-1")) == 1
    assert isinstance(of.generated(start).problem, CannotGenerate)


# --- opened in all panels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mini-gpt", "mini-translator", "copycat"])
def test_what_is_opened_is_the_pass_that_chose_the_next_token(shipped: Engine, name: str) -> None:
    now = scene(shipped, name, "Lily has a red ball and" if name == "mini-gpt" else None, count=4, step=2)
    text, target = opened_text(now)
    trace = shipped.trace(name, text, target)
    third = of.Written(now).steps[3]
    assert list(trace.encodings.values())[-1].ids == third.ids[:-1]
    ids, p = trace.probabilities(-1)
    assert ids[0] == third.token and p[0] == pytest.approx(third.distribution.p[0], abs=1e-5)
    assert "these very tokens" in html(now, "generate-open") and 'data-ask="open"' in html(now, "generate-open")


def test_of_an_encoder_decoder_the_written_text_is_the_second(shelf: ShelfEngine) -> None:
    now = scene(shelf, "t5", TEXT, count=3, branch="0:100,1:101,2:100")
    assert opened_text(now) == (TEXT, "aba")
    opened = shelf.trace("t5", TEXT, "aba")
    assert opened.encodings["decoder"].ids == of.Written(now).steps[-1].ids == (0, 100, 101, 100)


def test_tokens_that_spell_no_text_cannot_be_opened(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, count=1, branch="0:200")  # a byte that begins no character
    assert opened_text(now) is None and "data-ask" not in html(now, "generate-open")
    assert "spell no text" in html(now, "generate-open")


def test_a_text_that_is_read_otherwise_says_so(shipped: Engine) -> None:
    """Two byte tokens where the tokenizer would take one piece."""
    piece = shipped.load("mini-gpt").tokenizer
    a, b = (piece.encode(letter).ids[-1] for letter in "\x01\x02")
    same = scene(shipped, "mini-gpt", "Lily", count=2, branch=f"0:{a},1:{b}")
    assert "very tokens" in html(same, "generate-open")
    letters = [3 + byte for byte in b" ball"]
    line = ",".join(f"{step}:{token}" for step, token in enumerate(letters))
    other = scene(shipped, "mini-gpt", "Lily", count=5, branch=line)
    assert opened_text(other) == ("Lily ball", None) and "other tokens" in html(other, "generate-open")


# --- beam search -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_every_block_of_a_beam_search(shelf: ShelfEngine, name: str, count: int) -> None:
    now = scene(shelf, name, TEXT, "zh", mode="beam", count=count, beams=2)
    found = make_all(now)
    assert ("generate-tree" in found) == (count > 0) and PANEL.spoken(now)
    if count:
        assert found["generate-tree"].count("✓") == (1 if name == "t5" else 2)


def test_the_tree_is_that_of_the_search(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, mode="beam", count=4, beams=3, length_penalty=0.5)
    settings = BeamSettings(3, 0.5, max_new_tokens=4)
    *_, last = steps = list(beam_search(shelf.load("grouped"), TEXT, settings=BeamSettings(3, 0.5, max_new_tokens=16)))[
        :4
    ]
    nodes = tree(steps)
    assert settings.beams == 3 and [vars(one) for one in of.Search(now).nodes] == [vars(one) for one in nodes]
    data = blocks(now)["generate-tree"].data()
    assert data.values[:, 4] == pytest.approx([one.score for one in nodes]) and not data.allowed[0, 1]
    best = node_of(nodes, last.beams[0].ids[len(steps[0].parents[0].ids) :])
    assert of.Search(now).node == best and of.Search(now).ids == last.beams[0].ids
    texts = html(now, "generate-texts")
    assert texts.count("data-node") == len(last.beams) + len(last.finished) and "0.5" in texts
    spelt = shelf.spelled("grouped", last.beams[0].ids)
    assert opened_text(now) == ((spelt, None) if spelt.strip() else None)


def test_a_click_on_a_box_or_a_row_or_a_token_looks_at_its_text(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, mode="beam", count=3, beams=2)
    box = again(now, PANEL.pick(now, "generate-tree", Pick(x=0.0, y=1.0, custom=3.0)))
    assert of.Search(box).node == 3 and len(of.Search(box).way) == 2
    assert said(html(box, "generate-node")) != said(html(now, "generate-node"))
    row = again(now, told(now, "generate-texts", node="6"))
    assert of.Search(row).node == 6
    token = again(now, told(now, "generate-node", step="0"))
    assert of.Search(token).node == of.Search(now).way[1]
    grown = again(token, told(token, grow="1"))
    assert "gen-node" not in dict(grown.selection.options), "the best is looked at again"
    for wrong in ({"node": "-1"}, {"node": "999"}, {"node": "x"}, {"step": "7"}):
        assert told(now, "generate-texts", **wrong) is None


def test_a_search_ends_and_says_how(shipped: Engine) -> None:
    now = scene(shipped, "mini-translator", mode="beam", count=48)
    found = make_all(now)
    stop = of.Search(now).steps[-1].stop
    assert stop is not None and f'data-finished="{stop}"' in found["generate-notice"] and told(now, grow="1") is None
    assert of.COUNT.of(told(now, grow="-1")) == len(of.Search(now).steps) - 1
    assert "complete" in said(found["generate-texts"])
    greedy = scene(shipped, "mini-translator", count=48)
    _, translation = opened_text(greedy)
    assert opened_text(now)[1] == translation


def test_a_wide_and_deep_tree_is_not_too_heavy(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, mode="beam", count=16, beams=6)
    assert len(of.Search(now).steps) == of.MOST_PASSES
    value = figure_json(blocks(now)["generate-tree"].draw())
    assert len(value) < 150_000 and len(of.Search(now).nodes) > 12 * 15


# --- links and other things ------------------------------------------------------------------------------------------


def test_another_text_begins_anew_with_the_same_dials(shelf: ShelfEngine) -> None:
    now = scene(shelf, "grouped", TEXT, mode="sample", seed=7, count=3, step=1, branch="0:40", candidate=5, node=2)
    assert dict(anew(now.selection).options) == {"gen-mode": "sample", "gen-seed": "7"}


def test_what_was_made_with_other_settings_is_made_anew(shelf: ShelfEngine) -> None:
    """Two scenes whose blocks depend on the same things show the same."""
    seen: dict[tuple[str, str], str] = {}
    two, beams = {"count": 2}, {"count": 2, "mode": "beam"}
    for options in (
        {}, {"count": 1}, two, two | {"step": 0}, two | {"candidate": 40}, two | {"branch": "0:40"},
        two | {"check": "on"}, two | {"mode": "sample"}, two | {"mode": "sample", "seed": 3},
        two | {"mode": "sample", "temperature": 0.5}, beams, beams | {"node": 1}, beams | {"beams": 2},
        beams | {"length_penalty": 0},
    ):  # fmt: skip
        for name, block in blocks(scene(shelf, "grouped", TEXT, **options)).items():
            shown = block.make() if isinstance(block, Piece) else figure_json(block.draw())
            assert seen.setdefault((name, repr(block.of)), shown) == shown


def test_what_a_screen_reader_hears(shelf: ShelfEngine) -> None:
    assert "Nothing was generated" in PANEL.spoken(scene(shelf, "grouped", TEXT))
    assert PANEL.spoken(scene(shelf, "grouped", TEXT, count=3, step=1)).startswith("Step 2 of 3: ")
    assert "sum of log p −" in PANEL.spoken(scene(shelf, "grouped", TEXT, mode="beam", count=2)).replace("-", "−")


def test_tokens_are_never_markup(shelf: ShelfEngine) -> None:
    line = ",".join(f"{step}:{3 + byte}" for step, byte in enumerate(b"<b>&"))
    found = make_all(scene(shelf, "grouped", "<i>", count=4, branch=line))
    assert not any(tag in text for text in found.values() for tag in ("<i>", "<b>&", "<bdi><<"))


@pytest.mark.weights
@pytest.mark.parametrize("options", [{}, {"mode": "sample", "top_p": 0.9}, {"mode": "beam", "beams": 2}], ids=str)
def test_a_real_model(options: dict[str, Any]) -> None:
    make_all(scene(Engine(), "smollm2", "The cat sat on", count=2, **options))
    (reason,) = make_all(scene(Engine(), "minilm", "The cat sat on", count=2, **options)).values()
    assert "minilm" in reason
