"""The tokens of a text as a table, and as CSV to take along."""

import csv
import io
from collections.abc import Sequence
from html import escape
from typing import Protocol

from transformer.messages import message
from viz.figures.pieces import say
from viz.figures.tokens import Encoded, token_marks

MOST = 64  # rows; a longer table helps nobody
COLUMNS = ("index", "token", "id", "characters", "word", "mark", "bytes")


class Words(Protocol):
    """What is needed of `Words` (see `transformer/words.py`)."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def of_token(self) -> Sequence[int]: ...


def token_table(
    encoding: Encoded,
    words: Words,
    *,
    selected: int | None = None,
    stack: str | None = None,
    language: str = "en",
) -> str:
    """HTML: a row per token, with its id, the characters [from, to) of the text, its word, what is special, its bytes.

    The token is a button that chooses it. Of a long text 64 tokens around `selected` are shown, and a notice says so.
    """
    count = len(encoding.ids)
    first = max(0, min((selected or 0) - MOST // 2, count - MOST))
    shown = range(first, min(first + MOST, count))
    head = "".join(f'<th scope="col">{say(f"figure.token_table.{name}", language)}</th>' for name in COLUMNS)
    where = f' data-stack="{escape(stack)}"' if stack is not None else ""
    rows = "".join(_html_row(encoding, words, index, index == selected, where, language) for index in shown)
    notice = ""
    if len(shown) < count:
        cut = say("figure.token_table.cut", language, first=first, last=shown[-1], count=f"{count:,}")
        notice = f'<p class="stt-notice">{cut}</p>'
    table = f'<table class="stt-table stt-token-table"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="stt-table-box" tabindex="0">{notice}{table}</div>'


def token_csv(encoding: Encoded, words: Words, *, language: str = "en") -> str:
    """The same, of all tokens, and with the exact text of each, as CSV (RFC 4180)."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*(message(f"figure.token_table.{name}", language) for name in (*COLUMNS, "text"))])
    for index in range(len(encoding.ids)):
        span = encoding.spans[index]
        text = "" if span is None or encoding.text is None else encoding.text[slice(*span)]
        writer.writerow([*_cells(encoding, words, index, language), text])
    return out.getvalue()


def _cells(encoding: Encoded, words: Words, index: int, language: str) -> list[str]:
    span = encoding.spans[index]
    return [
        str(index),
        encoding.tokens[index],
        str(encoding.ids[index]),
        "" if span is None else f"{span[0]}–{span[1]}",
        words.names[words.of_token[index]],
        ", ".join(message(f"figure.token_table.{mark}", language) for mark in token_marks(encoding, index)),
        encoding.bytes[index].hex(" ").upper(),
    ]


def _html_row(encoding: Encoded, words: Words, index: int, selected: bool, where: str, language: str) -> str:
    number, token, *others = _cells(encoding, words, index, language)
    button = (
        f'<button type="button" class="stt-row-token" data-token="{index}"{where}'
        f' aria-pressed="{"true" if selected else "false"}"><bdi>{escape(token)}</bdi></button>'
    )
    cells = "".join(f"<td><bdi>{escape(one)}</bdi></td>" for one in others)
    return f'<tr><th scope="row">{number}</th><td>{button}</td>{cells}</tr>'
