"""The Explore page asked without a browser: what a click costs the server, and what it sends back."""

import json
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from transformer.engine import Engine
from transformer.errors import TooManyTokens
from transformer.rows import encode
from viz.pages import selection as move
from viz.pages.explore import Explore
from viz.pages.inputs import question
from viz.pages.links import View
from viz.pages.scene import Scene
from viz.pages.selection import Selection
from viz.pages.stage import stage_value

WORDS = "The old man saw that the cat sat on the mat and the dog ran after the cat "  # for texts of any length


@dataclass(frozen=True)
class Answer:
    """`seconds` of the server; bytes of the whole stage, and of each block that came with its content."""

    seconds: float
    sent: int
    blocks: dict[str, int]

    @property
    def largest(self) -> tuple[str, int]:
        return max(self.blocks.items(), key=lambda one: one[1], default=("", 0))


class Desk:
    """One visitor of the page's own handlers, with a browser's memory of what it shows."""

    def __init__(self, page: Explore, model: str, text: str, *, panel: str = "attention") -> None:
        self.page, self.engine = page, page.engine
        asked = question(self.engine, model, text, None, Selection(model, text))
        self.trace = self.engine.trace(model, asked.text, asked.target)
        begun = Selection(model, asked.text, asked.target, panel=panel)
        self.selection = move.first_look(self.trace, begun, View())
        self.have: dict[str, str] = {}

    def show(self) -> Answer:
        """The first stage of a run."""
        start = time.perf_counter()
        value = stage_value(Scene(self.engine, self.trace, self.selection, self.page.language))
        return self._taken(time.perf_counter() - start, value)

    def pick(self, **data: Any) -> Answer:
        """What a browser tells when something is clicked: `column=`, `row=`, `x=`, `y=`, `block=`; `panel=`, …"""
        event: Any = SimpleNamespace(_data={"have": self.have, "turn": 1, **data})
        start = time.perf_counter()
        updates = self.page.on_pick(self.selection, event)
        seconds = time.perf_counter() - start
        assert self.page.stage in updates, f"{data} chose nothing"
        self.selection = updates[self.page.state]
        return self._taken(seconds, updates[self.page.stage])

    def nothing(self) -> Answer:
        """The round trip without a change: the chosen head once more."""
        return self.pick(set="head", value=str(self.selection.head))

    def head(self, attention: int, head: int) -> Answer:
        return self.pick(block="mosaic", column=head, row=attention, x=head, y=attention)

    def cell(self, query: int, key: int) -> Answer:
        return self.pick(block="head-map", column=key, row=query, x=key, y=query)

    def _taken(self, seconds: float, value: str) -> Answer:
        told = [block for column in json.loads(value)["columns"] for block in column]
        self.have = {block["name"]: block["key"] for block in told}
        sent = {block["name"]: len((block["value"] or "").encode()) for block in told if "value" in block}
        return Answer(seconds, len(value.encode()), sent)


def page_of(engine: Engine) -> Explore:
    return Explore("en", engine)


def text_of(engine: Engine, model: str, tokens: int) -> str:
    """A text that a model reads as about so many tokens: never more, and one more word would be."""
    loaded, words = engine.load(model), (WORDS * (tokens // len(WORDS.split()) + 1)).split()

    def fits(count: int) -> bool:
        try:
            return len(encode(loaded, " ".join(words[:count]))) <= tokens
        except TooManyTokens:
            return False

    low, high = 1, tokens
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return " ".join(words[:low])
