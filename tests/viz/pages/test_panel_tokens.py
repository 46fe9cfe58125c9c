"""The tokens panel: each text on its levels, the steps of the chosen token's word, or why there are none."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
import torch

from tests.viz.figures.test_text_levels import Table, check
from tests.viz.pages.conftest import ShelfEngine
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.engine import Engine
from transformer.hf_tokenizer import HuggingFaceTokenizer
from transformer.messages import LANGUAGES, message
from transformer.wrapped import LoadedModel, wrap
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece
from viz.pages.inputs import first_text
from viz.pages.links import View
from viz.pages.options import with_option
from viz.pages.panels.tokens import PANEL
from viz.pages.panels.word_view import WORDS, switch
from viz.pages.pick import Pick
from viz.pages.scene import Scene
from viz.pages.selection import Selection

CASES = json.loads((Path(__file__).parents[2] / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] for case in CASES if case.get("text")]
STRANGE = ["a\x00b\x1b[0m", "\ufeffé", "The unbelievable 小明 isn't 👩‍👩‍👧 here.", "\U000f0000 x"]
SHIPPED = ["mini-gpt", "mini-translator", "rule-classifier", "digit-vit", "copycat"]
NO_WISH = View()
Make = Callable[..., Scene]


@pytest.fixture(scope="module")
def shipped() -> Engine:
    return Engine(packs=False)


def scene(engine: Engine, name: str, text: str | None = None, view: View = NO_WISH, language: str = "en") -> Scene:
    text = first_text(engine, name) if text is None else text
    target = text if engine.load(name).encoder_decoder else None
    trace = engine.trace(name, text, target)
    return Scene(engine, trace, move.first_look(trace, Selection(name, text, target), view), language)


def tiny(tokenizer: object, name: str = "tiny") -> LoadedModel:
    """The smallest model that reads what a tokenizer says."""
    sizes = {"d_model": 4, "n_layers": 1, "n_heads": 2, "max_positions": 512}
    config = ModelConfig(vocab_size=tokenizer.vocab_size, **sizes)  # type: ignore[attr-defined]
    return wrap(DecoderLM(config, generator=torch.Generator().manual_seed(3)), tokenizer, name)


def pieces(of: Scene) -> dict[str, str]:
    """All blocks, made."""
    blocks: list[Block] = [block for column in PANEL.columns(of) for block in column]
    assert len({block.name for block in blocks}) == len(blocks)
    assert all(isinstance(block, Piece) for block in blocks)
    return {block.name: block.make() for block in blocks if isinstance(block, Piece)}


def said(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", " ", html))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_model_shows_its_tokens(shipped: Engine, name: str, language: str) -> None:
    here = scene(shipped, name, language=language)
    made = pieces(here)
    assert sum(len(one.encode()) for one in made.values()) < 500_000
    for stack, encoding in here.trace.encodings.items():
        table = Table(made[f"tokens-levels-{stack}"])
        assert [cell.text for cell in table.rows["tokens"] if cell.button] == list(encoding.tokens)
    assert message("figure.levels.tokens", language) in made[f"tokens-levels-{here.stack}"]
    assert here.queries[here.query] in PANEL.spoken(here)


@pytest.mark.parametrize("name", ["grouped", "t5", "bert", "bloom"])
def test_every_family_shows_its_tokens(scene_of: Make, name: str) -> None:
    here = scene_of(name)
    made = pieces(here)
    for stack, encoding in here.trace.encodings.items():
        check(encoding, Table(made[f"tokens-levels-{stack}"]), cut=False)
        assert "stt-seal-good" in made[f"tokens-seal-{stack}"]
    assert "UTF-8" in made[f"tokens-steps-{here.stack}"], "our bytes"


@pytest.mark.parametrize("text", TEXTS + STRANGE)
def test_every_text_comes_back_on_mini_gpt(shipped: Engine, text: str) -> None:
    check_text(scene(shipped, "mini-gpt", text))


def test_every_text_comes_back_on_the_packs(smollm2_folder: Path, minilm_folder: Path) -> None:
    """Their tokenizers before the smallest model: what a model does to the tokens is not asked here."""
    from transformers import AutoTokenizer

    folders = {"smollm2": smollm2_folder, "minilm": minilm_folder}
    made = {name: HuggingFaceTokenizer(AutoTokenizer.from_pretrained(folder)) for name, folder in folders.items()}
    engine = ShelfEngine({name: tiny(tokenizer, name) for name, tokenizer in made.items()})
    for name in made:
        for text in [text for text in TEXTS + STRANGE if text.strip() or name == "smollm2"]:
            check_text(scene(engine, name, text))


def check_text(here: Scene) -> None:
    (stack, encoding), *_ = here.trace.encodings.items()
    made = pieces(here)
    check(encoding, Table(made[f"tokens-levels-{stack}"]), cut=len(encoding) > 81)
    written = list(csv.reader(io.StringIO(copied(made[f"tokens-csv-{stack}"]))))
    assert len(written) == 1 + len(encoding)
    assert [row[1] for row in written[1:]] == list(encoding.tokens)
    assert [row[7] for row in written[1:]] == [encoding.text[slice(*span)] if span else "" for span in encoding.spans]  # type: ignore[index]
    assert [bytes.fromhex(row[6]) for row in written[1:]] == list(encoding.bytes)
    assert "stt-seal-good" in made[f"tokens-seal-{stack}"]
    assert not re.search(
        r"<(?!/?(p|div|span|b|i|bdi|small|button|table|thead|tbody|tr|td|th|h2|ol|li|label|input)\b)",
        "".join(made.values()),
    )


def copied(html: str) -> str:
    (text,) = re.findall(r'data-copy="([^"]*)"', html)
    return unescape(text)


def test_the_chosen_token_names_the_word_whose_steps_are_shown(shipped: Engine) -> None:
    here = scene(shipped, "mini-gpt", "the cat\n the cat")
    encoding = here.trace.encodings["decoder"]
    for token in range(1, len(encoding)):
        at = Scene(shipped, here.trace, move.to_query(here.trace, here.selection, token), "en")
        made = pieces(at)
        assert encoding.tokens[token] in said(made["tokens-steps-decoder"]).split("”")[0]
        (pressed,) = re.findall(r'data-word="(\d+)"[^>]*aria-pressed="true"', made["tokens-cut-decoder"])
        assert int(pressed) == token - 1
        assert re.findall(r'data-token="(\d+)"[^>]*aria-pressed="true"', made["tokens-table-decoder"]) == [str(token)]
    first = Scene(shipped, here.trace, move.to_query(here.trace, here.selection, 0), "en")
    assert message("tokens.steps.none") in said(pieces(first)["tokens-steps-decoder"])


def test_a_word_that_is_picked_chooses_its_first_token(shipped: Engine) -> None:
    here = scene(shipped, "mini-gpt", "the 小 cat")
    chosen = PANEL.pick(here, "tokens-cut-decoder", Pick(data={"word": "1"}))
    assert chosen is not None and here.queries[chosen.query] == "·"
    later = PANEL.pick(here, "tokens-steps-decoder", Pick(data={"word": "3"}))
    assert later is not None and here.queries[later.query] == "·cat"
    for block, word in [
        ("tokens-cut-decoder", "99"),
        ("tokens-cut-decoder", "x"),
        ("tokens-cut-encoder", "1"),
        ("chooser", "1"),
    ]:
        assert PANEL.pick(here, block, Pick(data={"word": word})) is None


def test_two_texts_have_each_their_own_levels_words_and_steps(shipped: Engine) -> None:
    here = scene(shipped, "mini-translator", view=View(site="decoder.1.cross", cell=(3, 2)))
    made = pieces(here)
    for stack, token in (("encoder", 2), ("decoder", 3)):
        levels = made[f"tokens-levels-{stack}"]
        assert f'data-stack="{stack}"' in levels
        assert re.findall(r'data-token="(\d+)"[^>]*aria-pressed="true"', levels) == [str(token)]
        assert message(f"tokens.title.{stack}") in made[f"tokens-title-{stack}"]
    chosen = PANEL.pick(here, "tokens-cut-encoder", Pick(data={"word": "4"}))
    assert chosen is not None and (chosen.query, chosen.key) == (3, 5), "seen from the decoder: a key"


def test_an_image_has_patches_and_no_words(shipped: Engine) -> None:
    here = scene(shipped, "digit-vit")
    assert len(PANEL.columns(here)) == 1
    made = pieces(here)
    assert next(iter(Table(made["tokens-levels-encoder"]).rows)).startswith("pixels")
    assert "16" in said(made["tokens-how-encoder"])
    assert "switch" not in "".join(made.values())


def test_the_numbers_of_the_text_are_told(shipped: Engine) -> None:
    told = said(pieces(scene(shipped, "mini-gpt", "the é cat"))["tokens-how-decoder"])
    assert re.sub(r"\s+", " ", told).endswith(
        "characters 9 , bytes 10 , tokens 6 ; tokens that stand for no part of it: 1 . "
    )


def custom_tokenizers() -> Iterator[HuggingFaceTokenizer]:
    """One of a kind that is not followed, and one that reads long words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"[UNK]": 0, "a": 1, "b": 2, "aa": 3}
    for model in (models.WordLevel(vocabulary, unk_token="[UNK]"), models.WordPiece(vocabulary, unk_token="[UNK]")):
        backend = Tokenizer(model)
        backend.pre_tokenizer = pre_tokenizers.Whitespace()
        yield HuggingFaceTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_cannot_be_followed_says_why(language: str) -> None:
    strange, patient = custom_tokenizers()
    engine = ShelfEngine({"strange": tiny(strange, "strange"), "patient": tiny(patient, "patient")})
    made = pieces(scene(engine, "strange", "a b", language=language))
    assert message("error.no_segmentation_steps", language, kind="WordLevel") in said(made["tokens-how-decoder"])
    assert made["tokens-cut-decoder"] == made["tokens-steps-decoder"] == ""
    assert PANEL.pick(scene(engine, "strange", "a b"), "tokens-cut-decoder", Pick(data={"word": "0"})) is None
    made = pieces(scene(engine, "patient", "b" * 401, language=language))
    assert "401" in said(made["tokens-how-decoder"]) and made["tokens-steps-decoder"] == ""
    made = pieces(scene(engine, "patient", "b" * 80, language=language))
    assert "[UNK]" in said(made["tokens-steps-decoder"])


def test_texts_of_equal_ids_are_not_taken_for_each_other() -> None:
    *_, patient = custom_tokenizers()
    engine = ShelfEngine({"patient": tiny(patient, "patient")})
    for text in ("a  ab", "a \u4e00", "a b?"):
        here = scene(engine, "patient", text)
        assert here.trace.encodings["decoder"].ids in ((1, 0), (1, 2, 0))
        check_text(here)
        assert here.trace.encodings["decoder"].text == text


def test_ids_without_a_text_have_no_steps_and_no_seal() -> None:
    from transformer.runner import run
    from transformer.trace import Trace

    strange, _ = custom_tokenizers()
    engine = ShelfEngine({"strange": tiny(strange, "strange")})
    trace = run(engine.load("strange"), ids=[1, 2, 1])
    assert isinstance(trace, Trace)
    made = pieces(Scene(engine, trace, Selection("strange", ""), "en"))
    for name in ("tokens-how-decoder", "tokens-seal-decoder"):
        assert message("tokens.no_text") in said(made[name])
    assert made["tokens-steps-decoder"] == made["tokens-cut-decoder"] == ""


def test_a_seal_that_does_not_hold_says_so(scene_of: Make) -> None:
    here = scene_of("grouped")
    before = here.trace.encodings["decoder"]
    changed = replace(before, bytes=(*before.bytes[:-1], b"x"))
    wrong = Scene(here.engine, replace(here.trace, encodings={"decoder": changed}), here.selection, "en")
    assert "stt-seal-bad" in pieces(wrong)["tokens-seal-decoder"]


def test_the_switch_of_words_tells_its_rule(scene_of: Make) -> None:
    here = scene_of("grouped", language="zh")
    html = switch(here)
    assert 'data-set="words"' in html and message("words.rule", "zh") in said(html)
    assert not WORDS.of(here.selection)
    assert WORDS.of(replace(here.selection, options=with_option((), WORDS, "on")))
    assert WORDS in PANEL.options


def test_long_texts_stay_small(shipped: Engine, scene_of: Make) -> None:
    here = scene_of("grouped", text="the 小 cat " * 25, view=View(cell=(200, 0)))
    made = pieces(here)
    assert sum(len(one.encode()) for one in made.values()) < 200_000
    assert "160 to 240" in said(made["tokens-levels-decoder"])
    assert 'data-token="200"' in made["tokens-table-decoder"]
