"""The five models that this project ships: which task, which sizes, how long, from which seed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import torch
from torch import nn

from transformer.cards import CLASSES
from transformer.config import ModelConfig
from transformer.errors import ModelError
from transformer.settings import Settings
from transformer.tasks import FIRST_PIECE, Task


class UnknownRecipe(ModelError): ...


@dataclass(frozen=True)
class Recipe:
    """All that a training needs. `system`: which systems of the tutorials the model is (see README)."""

    name: str
    system: str
    task: Task
    class_name: str  # one of cards.CLASSES
    config: dict[str, Any]  # fields of ModelConfig
    settings: Settings
    arguments: dict[str, Any] = field(default_factory=dict)  # what the class takes besides
    pieces: tuple[str, ...] | None = None  # of its tokenizer; None: it reads no text
    seed: int = 1
    examined: tuple[int, int] = (32, 64)  # batches and rows in each that the card's quality is measured on

    def model(self, seed: int | None = None) -> nn.Module:
        """The model before its first step."""
        made = getattr(import_module(CLASSES[self.class_name]), self.class_name)
        generator = torch.Generator().manual_seed(self.seed if seed is None else seed)
        module: nn.Module = made(ModelConfig(**self.config), **self.arguments, generator=generator)
        return module


def recipe(name: str) -> Recipe:
    """The recipe of that name. Raises UnknownRecipe, which lists the names there are."""
    if name not in RECIPES:
        raise UnknownRecipe(name=name, known=", ".join(RECIPES))
    return RECIPES[name]()


def _copycat() -> Recipe:
    """The Annotated Transformer at reading size: post-norm, ReLU, √d_model, Xavier, its Adam."""
    from transformer.sequence_tasks import COPYCAT_PIECES, Copycat

    return Recipe(
        name="copycat",
        system="S3",
        task=Copycat(),
        class_name="EncoderDecoder",
        config={
            "vocab_size": FIRST_PIECE + len(COPYCAT_PIECES),
            "max_positions": 64,
            "d_model": 64,
            "n_layers": 2,
            "n_heads": 4,
            "norm": "post",
            "activation": "relu",
            "scale_embeddings": True,
            "init": "xavier",
        },
        settings=Settings(steps=4000, batch_size=64, learning_rate=1e-3, warmup_steps=200, betas=(0.9, 0.98)),
        pieces=COPYCAT_PIECES,
    )


def _rule_classifier() -> Recipe:
    """The encoder-only classifier of the tutorials: post-norm, 4 heads, d_ff 512, Adam at 1e-3."""
    from transformer.number_tasks import NUMBER_PIECES, Rule99

    return Recipe(
        name="rule-classifier",
        system="S2",
        task=Rule99(),
        class_name="EncoderClassifier",
        config={
            "vocab_size": FIRST_PIECE + len(NUMBER_PIECES),
            "max_positions": 64,
            "d_model": 128,
            "n_layers": 2,
            "n_heads": 4,
            "d_ff": 512,
            "norm": "post",
        },
        settings=Settings(steps=2000, batch_size=32, learning_rate=1e-3, warmup_steps=200, weight_decay=0.0),
        arguments={"n_classes": 2},
        pieces=NUMBER_PIECES,
    )


def _digit_vit() -> Recipe:
    """A Vision Transformer of 16 patches of 2 × 2 pixels."""
    from transformer.digit_task import Digits

    return Recipe(
        name="digit-vit",
        system="S6",
        task=Digits(),
        class_name="VisionTransformer",
        config={
            "vocab_size": 1,
            "max_positions": 17,
            "d_model": 64,
            "n_layers": 4,
            "n_heads": 4,
            "positions": "learned",
        },
        settings=Settings(steps=5000, batch_size=64, learning_rate=1e-3, warmup_steps=200, weight_decay=0.1),
        arguments={"image_size": 8, "patch_size": 2, "n_classes": 10},
        examined=(1, 10_000),  # every held-out picture once
    )


# Of these, some take longer to learn: whose thing a measure word belongs to, who of two is the other one.
HARDER_OFTENER = (
    "agreement", "agreement", "give", "give", "give", "cause", "cause", "cause", "bracket", "like", "repeat", "pronoun",
    "pronoun", "plain",
)  # fmt: skip


def _mini_gpt() -> Recipe:
    """GPT-2's form with rotary positions, on the small language and on random repeats."""
    from transformer.language_tasks import Language
    from transformer.small_language import SmallLanguage

    pieces = SmallLanguage.load().pieces()
    return Recipe(
        name="mini-gpt",
        system="S4",
        task=Language(kinds=HARDER_OFTENER),
        class_name="DecoderLM",
        config={
            "vocab_size": FIRST_PIECE + len(pieces),
            "max_positions": 4096,
            "d_model": 128,
            "n_layers": 4,
            "n_heads": 4,
            "positions": "rotary",
        },
        settings=Settings(
            steps=6000,
            batch_size=32,
            learning_rate=2e-3,
            warmup_steps=200,
            weight_decay=0.1,
            betas=(0.9, 0.95),
            attention_entropy=0.05,
        ),
        pieces=pieces,
    )


def _mini_translator() -> Recipe:
    """An encoder-decoder for pairs of sentences; pre-norm, since that trains more safely (Xiong et al. 2020)."""
    from transformer.language_tasks import Translation
    from transformer.small_language import SmallLanguage

    pieces = SmallLanguage.load().pieces()
    return Recipe(
        name="mini-translator",
        system="S1, S3",
        task=Translation(),
        class_name="EncoderDecoder",
        config={
            "vocab_size": FIRST_PIECE + len(pieces),
            "max_positions": 256,
            "d_model": 128,
            "n_layers": 2,
            "n_heads": 4,
            "scale_embeddings": True,
            "init": "xavier",
            "dropout": 0.1,
        },
        settings=Settings(
            steps=1800,
            batch_size=64,
            learning_rate=1e-3,
            warmup_steps=300,
            betas=(0.9, 0.98),
            attention_entropy=0.03,
        ),
        pieces=pieces,
    )


RECIPES: dict[str, Callable[[], Recipe]] = {
    "mini-gpt": _mini_gpt,
    "mini-translator": _mini_translator,
    "rule-classifier": _rule_classifier,
    "digit-vit": _digit_vit,
    "copycat": _copycat,
}
