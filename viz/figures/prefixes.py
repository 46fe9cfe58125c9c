"""WordPiece as a picture: the prefixes that were looked up, longest first, until one was in the vocabulary."""

from collections.abc import Sequence
from html import escape
from typing import Protocol

from viz.figures.pieces import Name, box, boxes, direction, readable, row, say, steps_list

MOST_MISSES = 7  # per piece; more are told by their number
MOST_STEPS = 60


class Tried(Protocol):
    """What is needed of a `PrefixStep` (see `transformer/wordpiece.py`)."""

    @property
    def start(self) -> int: ...
    @property
    def tried(self) -> Sequence[str]: ...
    @property
    def found(self) -> bool: ...
    @property
    def pieces(self) -> Sequence[str]: ...


def prefix_tries(
    steps: Sequence[Tried], word: str, *, name: Name = readable, notice: str | None = None, language: str = "en"
) -> str:
    """HTML: one row per piece of `word`: what was covered already, the tries that failed, the piece that was found.

    The last sentence is WordPiece's, or `notice` (plain words) of another tokenizer that tries the longest first.
    """
    side = direction(word)
    shown = steps[:MOST_STEPS]
    rows = [_row(step, word, name, side, language) for step in shown]
    if left_out := len(steps) - len(shown):
        skipped = say("figure.prefixes.skipped", language, count=left_out)
        rows.append(row("", f'<span class="stt-muted">{skipped}</span>'))
    tokens = [name(piece) for piece in steps[-1].pieces]
    joined = f'<span class="stt-joined" {side}>{boxes(tokens)}</span>'
    rows.append(row(f"<b>{say('figure.prefixes.tokens', language)}</b>", joined))
    return steps_list(rows, _end(steps[-1], name, language) if notice is None else escape(notice))


def _row(step: Tried, word: str, name: Name, side: str, language: str) -> str:
    covered, rest = name(word[: step.start]) if step.start else "", name(word[step.start :])
    what = f'<span {side}><bdi class="stt-covered">{escape(covered)}</bdi><bdi><b>{escape(rest)}</b></bdi></span>'
    misses = [name(piece) for piece in (step.tried[:-1] if step.found else step.tried)]
    hidden = len(misses) - MOST_MISSES
    head, tail = (misses[: MOST_MISSES - 2], misses[-2:]) if hidden > 0 else (misses, [])
    tries = _missed(head)
    if hidden > 0:
        more = say("figure.prefixes.more", language, count=hidden)
        tries += f'<span class="stt-muted">{more}</span>{_missed(tail)}'
    if step.found:
        tries += box(name(step.tried[-1]), "stt-piece-hit")
    return row(what, f'<span class="stt-step-words">{tries}</span>')


def _missed(names: Sequence[str]) -> str:
    return "".join(box(name, "stt-piece-miss") for name in names)


def _end(last: Tried, name: Name, language: str) -> str:
    """Why it ended, and how the picture is read."""
    if last.found:
        return say("figure.prefixes.read", language)
    key = "figure.prefixes.lost" if last.tried else "figure.prefixes.too_long"
    return say(key, language, unknown=name(last.pieces[0]))
