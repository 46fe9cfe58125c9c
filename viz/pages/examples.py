"""The examples: texts with a purpose, from `assets/examples.json`, and the view that each opens on a model."""

import json
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

from transformer.image import LEVELS, ImageShape, NotAnImage, image_of
from transformer.messages import message
from viz.pages.links import View

_FILE = Path(__file__).parents[2] / "assets" / "examples.json"
ANY_TEXT = "*"  # an example for every model that reads text and has none of its own


@dataclass(frozen=True)
class Example:
    """A text, what it asks in each language, the models it is for, and where to look for the answer, by model name."""

    words: dict[str, str]
    text: str
    models: tuple[str, ...] = (ANY_TEXT,)
    views: dict[str, View] = field(default_factory=dict)


@cache
def examples() -> tuple[Example, ...]:
    return tuple(_example(one) for one in json.loads(_FILE.read_text(encoding="utf-8")))


def _example(one: dict) -> Example:
    views = {
        model: View(site=at.get("site"), layer=at.get("layer"), head=at["head"], cell=(at["query"], at["key"]))
        for model, at in one["views"].items()
    }
    words = {language: one[language] for language in ("en", "zh")}
    return Example(words, one["text"], tuple(one["models"]), views)


def examples_for(model: str) -> tuple[Example, ...]:
    """A model's own examples, else those for any text."""
    own = tuple(one for one in examples() if model in one.models)
    return own or tuple(one for one in examples() if ANY_TEXT in one.models)


def is_meant_for(text: str, model: str, image: ImageShape | None = None) -> bool:
    """Whether a text says something to a model: its own example, or what no example brought. A reader of images (of the
    size `image`) reads images only, and nobody else does."""
    if image is not None:
        return _spells_image(text, image)
    if is_image(text):
        return False
    brought = [one for one in examples() if one.text == text]
    return not brought or any(one in examples_for(model) for one in brought)


def _spells_image(text: str, image: ImageShape) -> bool:
    try:
        image_of(text, image)
    except NotAnImage:
        return False
    return True


def is_image(text: str) -> bool:
    """Whether a text is a square of pixels that were written down (`transformer.image.text_of`)."""
    rows = text.split("\n")
    return len(rows) > 3 and all(len(row) == len(rows) and not set(row) - set(LEVELS) for row in rows)


def example_buttons(model: str, language: str, *, reads_images: bool = False) -> str:
    """HTML: one button per example of the model; each carries `data-example`, its number. Images are drawn instead."""
    if reads_images:
        return ""
    buttons = "".join(
        f'<button type="button" class="stt-pill" data-example="{examples().index(one)}">'
        f"{escape(one.words[language])}</button>"
        for one in examples_for(model)
    )
    return f'<div class="stt-examples">{escape(message("explore.try", language))} {buttons}</div>'


def view_on(text: str, model: str) -> View:
    """The view an example opens on a model; the page's own choice for any other text."""
    return next((one.views[model] for one in examples() if one.text == text and model in one.views), View())
