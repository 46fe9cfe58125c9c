"""The examples: texts with a purpose, from `assets/examples.json`, and the view that each opens on a model."""

import json
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

from transformer.messages import message
from viz.pages.links import View

_FILE = Path(__file__).parents[2] / "assets" / "examples.json"


@dataclass(frozen=True)
class Example:
    """A text, what it asks in each language, and where to look for the answer, by model name."""

    words: dict[str, str]
    text: str
    views: dict[str, View] = field(default_factory=dict)


@cache
def examples() -> tuple[Example, ...]:
    return tuple(_example(one) for one in json.loads(_FILE.read_text(encoding="utf-8")))


def _example(one: dict) -> Example:
    views = {
        model: View(layer=at["layer"], head=at["head"], cell=(at["query"], at["key"]))
        for model, at in one["views"].items()
    }
    return Example({language: one[language] for language in ("en", "zh")}, one["text"], views)


def example_buttons(language: str) -> str:
    """HTML: one button per example; each carries `data-example`, its number."""
    buttons = "".join(
        f'<button type="button" class="stt-pill" data-example="{number}">{escape(one.words[language])}</button>'
        for number, one in enumerate(examples())
    )
    return f'<div class="stt-examples">{escape(message("explore.try", language))} {buttons}</div>'


def view_on(text: str, model: str) -> View:
    """The view an example opens on a model; the page's own choice for any other text."""
    return next((one.views[model] for one in examples() if one.text == text and model in one.views), View())
