"""Byte-pair encoding as a picture: the words of the training texts merge by merge, or one word on its way to tokens."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from viz.figures.axes import width
from viz.figures.pieces import Name, box, boxes, direction, is_raw, readable, row, say, steps_list

MOST_STEPS = 60  # rows; more are not read, and a sentence says how many are left out
MOST_WORDS = 8  # per row, the most frequent ones
NARROWEST = 2.6  # of a box with one piece, in widths of a "0"
RAW = 0.8  # how much smaller parts of characters are written; see components.css


class Word(Protocol):
    @property
    def pieces(self) -> tuple[bytes, ...]: ...
    @property
    def count(self) -> int: ...


class Training(Protocol):
    """What is needed of a `MergeStep` (see `transformer/bpe.py`)."""

    @property
    def words(self) -> Sequence[Word]: ...
    @property
    def pair(self) -> tuple[bytes, bytes] | None: ...
    @property
    def count(self) -> int: ...
    @property
    def rivals(self) -> Sequence[tuple[tuple[bytes, bytes], int]]: ...
    @property
    def changed(self) -> Sequence[int]: ...


class Encoding(Protocol):
    """What is needed of an `EncodeStep`."""

    @property
    def pieces(self) -> tuple[Any, ...]: ...
    @property
    def pair(self) -> tuple[Any, Any] | None: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def at(self) -> int | None: ...
    @property
    def whole(self) -> bool: ...


def merge_table(steps: Sequence[Training], *, language: str = "en") -> str:
    """HTML: one row per training step: the pair, how often it stood in the texts, the words that it changed."""
    left_out = max(0, len(steps) - MOST_STEPS - 1)
    rows = (_training_row(number, step, language) for number, step in enumerate(steps[: MOST_STEPS + 1]))
    return steps_list(rows, say("figure.merges.cut", language, count=f"{left_out:,}") if left_out else "")


def _training_row(number: int, step: Training, language: str) -> str:
    if step.pair is None:
        what = f"<b>{say('figure.merges.start', language)}</b>"
        indices = list(range(len(step.words)))
    else:
        what = f"{_sum(number, step.pair, readable)} <b>{step.count:,}×</b>{_runner_up(step, language)}"
        indices = list(step.changed)
    indices.sort(key=lambda index: -step.words[index].count)
    words = "".join(_word(step.words[index], step.pair) for index in indices[:MOST_WORDS])
    if more := len(indices[MOST_WORDS:]):
        words += f'<span class="stt-muted">{say("figure.merges.more", language, count=f"{more:,}")}</span>'
    return row(what, f'<span class="stt-step-words">{words}</span>')


def _word(word: Word, pair: tuple[bytes, bytes] | None) -> str:
    names = map(readable, word.pieces)
    new = (place for place, piece in enumerate(word.pieces) if pair and piece == pair[0] + pair[1])
    side = direction(readable(b"".join(word.pieces)))
    return f'<span class="stt-joined" {side}>{boxes(names, new)}<span class="stt-muted">{word.count:,}×</span></span>'


def _sum(number: int, pair: tuple[Any, Any], name: Name) -> str:
    left, right = (box(name(piece)) for piece in pair)
    return f'<span class="stt-step-number">{number}</span> {left} + {right}'


def _runner_up(step: Training, language: str) -> str:
    """The pair that came second; where it was as frequent, the rule that decided."""
    if len(step.rivals) < 2:
        return ""
    pair, count = step.rivals[1]
    key = "tie" if count == step.count else "next"
    words = say(f"figure.merges.{key}", language, left=readable(pair[0]), right=readable(pair[1]), count=f"{count:,}")
    return f"<small><bdi>{words}</bdi></small>"


def merge_stack(steps: Sequence[Encoding], *, name: Name = readable, language: str = "en") -> str:
    """HTML: one word, from its smallest pieces (top) to its tokens (bottom); a box is as wide as all that it joined.

    `name` gives the readable form of a piece. Of very many steps the first ones and the last are shown.
    """
    spans = list(_spans(steps))
    last = [name(piece) for piece in steps[-1].pieces]
    side = direction("".join(last))
    shown = sorted({*range(min(len(steps), MOST_STEPS)), len(steps) - 1})
    rows = [_encoding_row(number, steps[number], spans[number], name, side, language) for number in shown]
    if left_out := len(steps) - len(shown):
        skipped = say("figure.merges.skipped", language, count=left_out)
        rows.insert(-1, row("", f'<span class="stt-muted">{skipped}</span>'))
    end = say(f"figure.merges.{'whole' if steps[-1].whole else 'end'}", language, count=len(last))
    return steps_list(rows, end, f"--atoms:{sum(spans[0])};--atom:{_atom(steps, spans, name):.1f}ch")


def _encoding_row(number: int, step: Encoding, spans: Sequence[int], name: Name, side: str, language: str) -> str:
    if step.pair is None:
        what = f"<b>{say('figure.merges.whole_word' if step.whole else 'figure.merges.smallest', language)}</b>"
    else:
        rank = say("figure.merges.rank", language, rank=f"{step.rank:,}")
        what = f"{_sum(number, step.pair, name)} <small>{rank}</small>"
    made = (
        box(name(piece), "stt-piece-new" if place == step.at else "", style=f"grid-column:span {wide}")
        for place, (piece, wide) in enumerate(zip(step.pieces, spans, strict=True))
    )
    return row(what, f'<span class="stt-atoms" {side}>{"".join(made)}</span>')


def _spans(steps: Sequence[Encoding]) -> Iterator[list[int]]:
    """How many of the smallest pieces each piece has joined, step by step."""
    now = [1] * len(steps[0].pieces)
    for step in steps:
        if step.at is not None:
            now[step.at : step.at + 2] = [sum(now[step.at : step.at + 2])]
        yield list(now)


def _atom(steps: Sequence[Encoding], spans: Sequence[Sequence[int]], name: Name) -> float:
    """The width of a smallest piece, so that the name of every piece fits its box."""
    pieces = (
        (name(piece), wide)
        for step, of_step in zip(steps, spans, strict=True)
        for piece, wide in zip(step.pieces, of_step, strict=True)
    )
    needed = (((width(label) * (RAW if is_raw(label) else 1)) + 1.6) / wide for label, wide in pieces)
    return max([NARROWEST, *needed])
