"""The same maps in bertviz's views and in ours: bytes that a browser is given, and seconds to make them.

bertviz draws all heads in the browser, from every weight written as a decimal number; ours sends the chosen head
exactly and all others as a picture of 256 shades.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tests.bench.desk import Desk, page_of, text_of
from tests.bench.table import kilobytes, lines, milliseconds
from transformer.engine import Engine
from transformer.errors import SeeThroughError
from viz.pages.explore import Explore

TEXTS = (("mini-gpt", 30), ("mini-gpt", 128), ("smollm2", 30), ("smollm2", 128))
MOST_WEIGHTS = 6_000_000  # a text with more is left out: bertviz would write 130 MB
SECONDS = 40
TOO_LONG = 5  # seconds of one view
Make = Callable[[Desk], int]


@dataclass(frozen=True)
class Row:
    model: str
    tokens: int
    what: str
    sent: int
    seconds: float


def attentions(desk: Desk) -> list[Tensor]:
    """What `output_attentions` would give: (1, head, query, key) per layer."""
    return [torch.from_numpy(desk.trace.weights(site))[None] for site in desk.trace.attention_sites()]


def compare(page: Explore, model: str, text: str) -> Iterator[Row]:
    """Ours (all heads and the chosen one; another head), then bertviz's two views, where it is installed."""
    desk = Desk(page, model, text)
    count = len(desk.trace.encodings["decoder"])
    first = desk.show()
    maps = first.blocks["mosaic"] + first.blocks["head-map"]
    yield Row(model, count, "ours, map and mosaic", maps, first.seconds)
    other = desk.head(0, 1)
    yield Row(model, count, "ours, another head", other.blocks["head-map"], other.seconds)
    given, tokens = attentions(desk), list(desk.trace.encodings["decoder"].tokens)
    from bertviz import head_view, model_view

    for view in (head_view, model_view):
        start = time.perf_counter()
        html = view(given, list(tokens), html_action="return").data
        seconds = time.perf_counter() - start
        yield Row(model, count, f"bertviz {view.__name__}", len(html.encode()), seconds)
        if seconds > TOO_LONG:
            return  # the other view writes the same weights


def report() -> None:
    try:
        import bertviz  # noqa: F401
    except ImportError as error:
        print(f"bertviz   not measured ({error}); `make bench` installs it into .venv/bench")
        return
    engine, until, rows = Engine("untrained", packs=False), time.monotonic() + SECONDS, list[Row]()
    page = page_of(engine)
    for model, tokens in TEXTS:
        if not engine.is_here(model):
            print(f"bertviz   {model}: not here (python -m transformer.packs add {model})")
            continue
        loaded_heads = _heads(engine, model)
        if loaded_heads * tokens**2 > MOST_WEIGHTS or time.monotonic() > until:
            print(f"bertviz   {model}, {tokens} tokens: left out, {loaded_heads * tokens**2:,} weights take too long")
            continue
        try:
            rows += compare(page, model, text_of(engine, model, tokens))
        except SeeThroughError as error:
            print(f"bertviz   {model}, {tokens} tokens: {error}")
    ours = {(row.model, row.tokens): row for row in rows if row.what == "ours, map and mosaic"}
    head = ("bertviz", "tokens", "view", "bytes", "to ours", "made in", "to ours")
    told = [(row, ours[row.model, row.tokens]) for row in rows]
    for line in lines(head, [_row(row, own) for row, own in told]):
        print(line)
    print(
        "          ours made in: the whole first stage of the page; bertviz asks cdnjs.cloudflare.com for its scripts"
    )


def _heads(engine: Engine, model: str) -> int:
    trace = engine.trace(model, "a")
    return sum(how.heads for how in trace.attention.values())


def _row(row: Row, ours: Row) -> tuple[str, ...]:
    ratios = (f"{row.sent / ours.sent:.1f}", f"{row.seconds / ours.seconds:.1f}")
    return (row.model, str(row.tokens), row.what, kilobytes(row.sent), ratios[0], milliseconds(row.seconds), ratios[1])
