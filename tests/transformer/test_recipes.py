"""Recipes: every one can be trained, and its tokenizer, task and sizes belong together."""

from dataclasses import replace
from random import Random

import pytest

from transformer.cards import NAMES
from transformer.messages import LANGUAGES, message
from transformer.piece_tokenizer import PieceTokenizer
from transformer.recipes import RECIPES, UnknownRecipe, recipe
from transformer.training import train


def test_there_is_a_recipe_for_every_model_that_is_shipped():
    assert set(RECIPES) == set(NAMES)
    with pytest.raises(UnknownRecipe, match="copycat"):
        recipe("macro-gpt")


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_takes_its_first_step(name):
    made = recipe(name)
    assert made.name == name
    record = next(train(made.model(), made.task, replace(made.settings, batch_size=3), random=Random(made.seed)))
    assert record.step == 1 and record.gradient_norms["total"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_sizes_fit(name):
    made = recipe(name)
    model = made.model()
    if made.pieces is not None:
        assert PieceTokenizer(made.pieces).vocab_size == model.config.vocab_size
    assert 2 * sum(one.numel() for one in model.parameters()) < 4_000_000  # bytes of its file
    key = name.replace("-", "_")
    assert all(message(f"card.{what}.{key}", language) for what in ("data", "limits") for language in LANGUAGES)


def test_the_seed_makes_the_first_weights():
    made = recipe("copycat")
    one, same, other = (made.model(seed).head.weight for seed in (None, made.seed, made.seed + 1))
    assert one.equal(same) and not one.equal(other)
