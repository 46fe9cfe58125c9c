"""The models in `assets/weights`: card, weights and code belong together, and each does what it was trained for."""

from random import Random

import pytest
import torch

from transformer import load_model, run
from transformer.cards import NAMES, WEIGHTS, check_code, load_shipped, read_card
from transformer.catalog import choices, default_choice
from transformer.config import ModelConfig
from transformer.examination import examine_shipped
from transformer.messages import LANGUAGES, message
from transformer.recipes import recipe
from transformer.replay import replay
from transformer.settings import Settings
from transformer.store import TraceStore
from viz.pages.inputs import first_text

MOST_BYTES, MOST_OF_ALL = 4 << 20, 12 << 20
ASKED = {  # a text of each model, and what it must answer
    "mini-gpt": [
        ("The keys to the cabinet", " are"),
        ("The key to the cabinets", " is"),
        ("When Mary and John went to the shop, John gave a drink to", " Mary"),
        ("When Mary and John went to the shop, Mary gave a drink to", " John"),
        ("The dog chased the cat and it", " barked"),
        ("The cat chased the dog and it", " meowed"),
        ("( [ { cat", " }"),
        ("( [ { cat }", " ]"),
        ("red cup blue pen green box red cup blue pen green", " box"),
        ("小明因为考试得了满分，所以非常", "开心"),
        ("我喜欢你，你喜欢", "我"),
        ("你打我，我打", "你"),
    ]
}
TRANSLATED = {
    "I like you.": "我喜欢你。",
    "You like me.": "你喜欢我。",
    "The red cup on the table is new.": "桌子上的红杯子是新的。",
    "Mary gave John a book in the shop.": "玛丽在商店给了约翰一本书。",
}


def test_all_that_is_promised_is_shipped() -> None:
    assert {path.stem for path in WEIGHTS.glob("*.safetensors")} == set(NAMES)
    assert {path.stem for path in WEIGHTS.glob("*.json")} == set(NAMES)
    assert {choice.name for choice in choices()} >= set(NAMES)
    assert default_choice() == "mini-gpt"


def test_they_are_small() -> None:
    sizes = [path.stat().st_size for path in WEIGHTS.glob("*.safetensors")]
    assert max(sizes) <= MOST_BYTES and sum(sizes) <= MOST_OF_ALL


@pytest.mark.parametrize("name", NAMES)
def test_card_weights_and_code_belong_together(name: str) -> None:
    shipped = load_shipped(name)  # raises where the weights are not the card's
    check_code(shipped)
    assert shipped.card.parameters == sum(one.numel() for one in shipped.module.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_the_card_is_what_the_recipe_makes(name: str) -> None:
    """Whoever runs the card's command gets a model of this kind; a recipe that has moved on needs a new training."""
    card, made = read_card(name), recipe(name)
    assert (card.class_name, card.arguments) == (made.class_name, made.arguments)
    assert ModelConfig(**card.config) == ModelConfig(**made.config)
    assert (card.task, card.system, card.seed) == (repr(made.task), made.system, made.seed)
    assert Settings(**{**card.settings, "betas": tuple(card.settings["betas"])}) == made.settings
    assert (card.tokenizer or {}).get("pieces") == (None if made.pieces is None else list(made.pieces))


@pytest.mark.parametrize("name", NAMES)
def test_the_card_tells_how_it_was_made(name: str) -> None:
    card = read_card(name)
    for told in (card.data, card.limits):
        assert set(told) == set(LANGUAGES) and all(told.values())
    assert card.command.startswith(f"python -m transformer.train {name}") and card.seconds > 0 and card.quality


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_is_recorded_and_sealed(name: str) -> None:
    from transformer.engine import Engine

    engine = Engine(name, packs=False)
    text = first_text(engine, name)
    trace = engine.trace(name, text, engine.answer(name, text) if engine.load(name).encoder_decoder else None)
    assert all(one.holds for one in replay(trace)), name
    assert isinstance(engine.store, TraceStore)


@pytest.mark.parametrize("name", NAMES)
def test_it_reaches_what_was_asked_of_it(name: str) -> None:
    """A short examination; `python -m transformer.evaluate` gives the whole one, on any seed."""
    if name == "digit-vit":
        pytest.importorskip("sklearn")
    missed = [one for one in examine_shipped(load_shipped(name), seed=4_242, rows=240) if not one.holds]
    assert not missed, missed


@pytest.mark.parametrize(("text", "answer"), ASKED["mini-gpt"])
def test_mini_gpt_answers(text: str, answer: str) -> None:
    model = load_model("mini-gpt")
    trace = run(model, text)
    best = int(trace.probabilities(-1)[0][0])
    assert model.tokenizer.decode([best]) == answer


@pytest.mark.parametrize(("english", "chinese"), TRANSLATED.items())
def test_mini_translator_translates(english: str, chinese: str) -> None:
    from transformer.engine import Engine

    assert Engine("mini-translator", packs=False).answer("mini-translator", english) == chinese


def test_copycat_copies_and_reverses() -> None:
    from transformer.engine import Engine

    engine, random = Engine("copycat", packs=False), Random(3)
    for _ in range(5):
        word = "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(1, 12)))
        assert engine.answer("copycat", f"copy {word}") == word
        assert engine.answer("copycat", f"reverse {word}") == word[::-1]


def test_every_class_has_its_words() -> None:
    for language in LANGUAGES:
        assert message("class.rule-classifier.0", language) != message("class.rule-classifier.1", language)


def test_weights_are_kept_in_half_precision() -> None:
    from safetensors.torch import load_file

    for path in WEIGHTS.glob("*.safetensors"):
        assert {tensor.dtype for tensor in load_file(path).values()} == {torch.float16}
