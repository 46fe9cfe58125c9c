"""What is asked of a model that was just chosen: the typed text where it can be, else one that the model reads."""

import pytest
import torch

from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer import wrap
from transformer.config import ModelConfig
from transformer.image import image_of
from transformer.vision import VisionTransformer
from viz.pages.draw_pad import in_rows, ready_texts
from viz.pages.examples import examples_for
from viz.pages.inputs import first_text, question
from viz.pages.selection import Selection


@pytest.fixture(scope="module")
def engine(shelf: ShelfEngine) -> ShelfEngine:
    """The shelf with two models that read images, of 8 × 8 and of 6 × 6 pixels."""
    models = dict(shelf.models)
    for name, size in (("digits", 8), ("other", 6)):
        config = ModelConfig(1, 1 + (size // 2) ** 2, d_model=28, n_layers=2, n_heads=7, positions="learned")
        module = VisionTransformer(config, image_size=size, generator=torch.Generator().manual_seed(1))
        models[name] = wrap(module, name=name)
    return ShelfEngine(models)


def test_a_typed_text_stays_when_the_model_changes(engine: ShelfEngine) -> None:
    asked = question(engine, "grouped", "my own words", None, Selection("bert", "my own words"))
    assert (asked.text, asked.target) == ("my own words", None)


def test_a_reader_of_images_gets_an_image_and_a_reader_of_text_a_text(engine: ShelfEngine) -> None:
    image = question(engine, "digits", "my own words", None, Selection("grouped", "my own words")).text
    assert image == in_rows(ready_texts()[0])
    assert image_of(image, engine.image_shape("digits")).shape == (1, 8, 8)
    assert question(engine, "grouped", image, None, Selection("digits", image)).text == examples_for("grouped")[0].text


def test_an_unknown_size_gets_an_empty_image(engine: ShelfEngine) -> None:
    assert image_of(first_text(engine, "other"), engine.image_shape("other")).sum() == 0


def test_a_drawn_image_stays(engine: ShelfEngine) -> None:
    drawn = in_rows(ready_texts()[7])
    assert question(engine, "digits", drawn, None, Selection("digits", "x")).text == drawn


def test_the_second_text_is_the_models_answer_unless_it_was_typed(engine: ShelfEngine) -> None:
    answer = engine.answer("t5", TEXT)
    assert question(engine, "t5", TEXT, None, Selection("grouped", TEXT)).target == answer
    assert question(engine, "t5", TEXT, "mine", Selection("t5", TEXT, answer)).target == "mine"
    shown = Selection("t5", "other words", "an old answer")
    assert question(engine, "t5", TEXT, "an old answer", shown).target == answer, "a new text makes a new answer"
    assert question(engine, "t5", TEXT, answer, Selection("t5", TEXT, answer)).target == answer
