"""What every panel weighs, and how long the server takes to make it, on every model that is here."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.desk import Answer, Desk, page_of, text_of
from tests.bench.table import kilobytes, lines, milliseconds
from transformer.engine import Engine
from transformer.errors import SeeThroughError
from viz.pages.explore import Explore
from viz.pages.inputs import first_text
from viz.pages.options import Choice
from viz.pages.panels.registry import PANELS

MODELS = ("mini-gpt", "mini-translator", "rule-classifier", "digit-vit", "smollm2", "minilm")
ANY_TEXT, TOKENS = ("mini-gpt", "smollm2", "minilm"), 30  # the others are asked their own first example
MOST = 500_000  # bytes of a panel
MOST_OF_FIGURE = 150_000
SECONDS = 45  # for all models; the models behind are left out


@dataclass(frozen=True)
class Weighed:
    """A panel as it opens, and the setting of it that weighs most."""

    model: str
    panel: str
    opened: Answer
    setting: str
    heaviest: Answer
    slowest: float  # seconds of the slowest setting


def weigh(page: Explore, model: str, text: str | None = None) -> Iterator[Weighed]:
    """Every panel of a run, opened by a browser that has nothing yet; then each value of each of its settings."""
    desk = Desk(page, model, first_text(page.engine, model) if text is None else text)
    desk.show()
    begun = desk.selection
    for name, panel in PANELS.items():
        desk.selection, desk.have = begun, {}
        opened = desk.pick(panel=name)
        entered, tried = desk.selection, [("", opened)]
        choices = [option for option in panel.options if isinstance(option, Choice)]
        for setting, value in ((option.name, value) for option in choices for value in option.values[1:]):
            desk.selection, desk.have = entered, {}
            tried.append((f"{setting}={value}", desk.pick(set=setting, value=value)))
        heavy, heaviest = max(tried, key=lambda one: one[1].sent)
        yield Weighed(model, name, opened, heavy, heaviest, max(one.seconds for _, one in tried))


def report() -> None:
    engine, until = Engine("untrained", packs=False), time.monotonic() + SECONDS
    page, found = page_of(engine), []
    for model in MODELS:
        if not engine.is_here(model):
            print(f"views     {model}: not here (python -m transformer.packs add {model})")
        elif time.monotonic() > until:
            print(f"views     {model}: left out, the {SECONDS} s for this part are over")
        else:
            try:
                engine.load(model)
                found += weigh(page, model, text_of(engine, model, TOKENS) if model in ANY_TEXT else None)
            except SeeThroughError as error:
                print(f"views     {model}: {error}")
    head = ("views", "panel", "opens", "takes", "largest block", "", "heaviest setting", "weighs", "slowest", "")
    for line in lines(head, map(_row, found)):
        print(line)
    print(f"          over: a panel above {kilobytes(MOST)}, or a block above {kilobytes(MOST_OF_FIGURE)}")


def _row(one: Weighed) -> tuple[str, ...]:
    name, size = one.heaviest.largest
    over = one.heaviest.sent > MOST or size > MOST_OF_FIGURE
    return (
        one.model, one.panel, kilobytes(one.opened.sent), milliseconds(one.opened.seconds), name, kilobytes(size),
        one.setting or "as it opens", kilobytes(one.heaviest.sent), milliseconds(one.slowest), "OVER" if over else "",
    )  # fmt: skip
