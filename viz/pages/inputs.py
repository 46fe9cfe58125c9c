"""What a model is asked: what was typed where it can be, else a text of the kind that the chosen model reads."""

from dataclasses import dataclass

from transformer.engine import Engine
from viz.pages.draw_pad import SIDE, in_rows, ready_texts
from viz.pages.examples import examples_for, is_meant_for
from viz.pages.selection import Selection


@dataclass(frozen=True)
class Question:
    """A text (or an image that is written down), and the second text of a model that reads two."""

    text: str
    target: str | None = None


def question(engine: Engine, model: str, text: str, target: str | None, before: Selection) -> Question:
    """The question for a model that is loaded already.

    A text that was typed is kept. One that an example brought, and that says nothing to the model chosen now (an image
    to a reader of text, a sentence to a reader of images), makes room for that model's own first example.
    """
    if model != before.model and not is_meant_for(text, model, engine.image_shape(model)):
        text = first_text(engine, model)
    if not engine.load(model).encoder_decoder:
        return Question(text)
    typed = target if target and (target != before.target or (model, text) == (before.model, before.text)) else None
    return Question(text, typed or engine.answer(model, text))


def first_text(engine: Engine, model: str) -> str:
    """A model's first example: of a vision model a ready digit, or an empty image of the size it reads."""
    shape = engine.image_shape(model)
    if shape is None:
        return examples_for(model)[0].text
    if shape.shape == (1, SIDE, SIDE):
        return in_rows(ready_texts()[0])
    return "\n".join(["0" * shape.width] * (shape.channels * shape.height))
