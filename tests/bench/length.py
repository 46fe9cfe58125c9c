"""What a longer text costs: recording it, showing it first, and a click on it. Each row beside the row before."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from tests.bench.desk import Desk, page_of, text_of
from tests.bench.table import kilobytes, lines, milliseconds, times
from transformer.engine import Engine
from transformer.errors import SeeThroughError
from transformer.rows import encode, forward_inputs
from transformer.runner import run
from transformer.wrapped import LoadedModel
from viz.pages.explore import Explore

LENGTHS = {"mini-gpt": (64, 256, 1024, 4096), "smollm2": (64, 256, 1024)}
SECONDS = 70  # for all rows
CLICKS = 5


@dataclass(frozen=True)
class Row:
    model: str
    tokens: int
    bare: float  # seconds of a pass that nobody listens to
    ratio: float  # of a recorded one to it
    kept: int  # bytes of the recording
    first: int  # bytes of the first stage
    show: float  # seconds of the server for it
    cell: float  # and for a click on a cell, with another query
    head: float


def measure(page: Explore, model: str, tokens: int) -> Row:
    """One text of about so many tokens. Raises TooManyTokens where it is longer than this model or server takes."""
    text = text_of(page.engine, model, tokens)
    loaded = page.engine.load(model)
    desk = Desk(page, model, text)
    first = desk.show()
    sites, count = desk.trace.attention_sites(), len(desk.trace.encodings["decoder"])
    heads = desk.trace.attention[sites[0]].heads
    cells = [desk.cell(count - 1 - number, count // 3).seconds for number in range(CLICKS)]
    jumps = [desk.head(number * 7 % len(sites), number % heads).seconds for number in range(1, CLICKS + 1)]
    bare, ratio = _pass(loaded, text, 9 if count < 200 else 3)
    medians = (statistics.median(cells), statistics.median(jumps))
    return Row(model, count, bare, ratio, desk.trace.nbytes, first.sent, first.seconds, *medians)


def _pass(model: LoadedModel, text: str, rounds: int) -> tuple[float, float]:
    """(seconds of a bare pass, recorded / bare); the two take turns."""
    inputs, bare, ratios = forward_inputs(model, [encode(model, text)], None), [], []
    for _ in range(rounds):
        start = time.perf_counter()
        with torch.inference_mode():
            model.module(**inputs)
        middle = time.perf_counter()
        run(model, text)
        bare.append(middle - start)
        ratios.append((time.perf_counter() - middle) / bare[-1])
    return statistics.median(bare), statistics.median(ratios)


def report() -> None:
    engine, until = Engine("untrained", packs=False), time.monotonic() + SECONDS
    page, rows = page_of(engine), list[Row]()
    for model, lengths in LENGTHS.items():
        if not engine.is_here(model):
            print(f"length    {model}: not here (python -m transformer.packs add {model})")
            continue
        run(engine.load(model), text_of(engine, model, 16))  # the first pass of a model takes longer than any other
        spent = 0.0
        for tokens in lengths:
            if time.monotonic() + 5 * spent > until:  # four times the tokens, and a map grows with their square
                print(
                    f"length    {model}, {tokens:,} tokens: left out, it would take longer than is left of {SECONDS} s"
                )
                break
            start = time.monotonic()
            try:
                rows.append(measure(page, model, tokens))
            except SeeThroughError as error:
                print(f"length    {model}, {tokens:,} tokens: {error}")
            spent = time.monotonic() - start
    head = (
        "length",
        "tokens",
        "bare pass",
        "recorded",
        "kept",
        "",
        "1st stage",
        "",
        "made in",
        "",
        "cell",
        "",
        "head",
        "",
    )
    for line in lines(head, _told(rows)):
        print(line)
    print("          recorded: ratio to the bare pass of the same run; ×: to the row before")


def _told(rows: list[Row]) -> Iterator[tuple[str, ...]]:
    for number, row in enumerate(rows):
        before = rows[number - 1] if number and rows[number - 1].model == row.model else None
        grown = [
            times(getattr(row, name), getattr(before, name, None)) for name in ("kept", "first", "show", "cell", "head")
        ]
        yield (
            row.model, f"{row.tokens:,}", milliseconds(row.bare), f"{row.ratio:.2f}",
            f"{row.kept / 1e6:,.1f} MB", grown[0], kilobytes(row.first), grown[1], milliseconds(row.show), grown[2],
            milliseconds(row.cell), grown[3], milliseconds(row.head), grown[4],
        )  # fmt: skip
