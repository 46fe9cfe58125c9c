"""A text on five levels, one below the other: what is read, its characters, bytes, tokens and words. Of an image: its
patches. Whatever stands for the same bytes is marked together while one of it is pointed at (`data-tie`)."""

import unicodedata
from collections.abc import Callable, Sequence
from html import escape
from typing import Protocol

import regex

from transformer.messages import message
from transformer.visible import visible
from viz.figures.axes import shorten
from viz.figures.patch_rows import patch_rows
from viz.figures.pieces import direction, is_raw, say
from viz.figures.text_columns import Column, Run, Shown, filled, part_of, runs, text_columns, window
from viz.figures.tokens import Encoded, token_marks, token_title

LONGEST_WORD = 40  # character widths of a word's name; the text stands whole on the first level


class Words(Protocol):
    """What is needed of `Words` (see `transformer/words.py`)."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def of_token(self) -> Sequence[int]: ...


def text_levels(
    encoding: Encoded,
    words: Words | None = None,
    *,
    selected: int | None = None,
    stack: str | None = None,
    language: str = "en",
) -> str:
    """HTML table: a row per level, a column per byte; what covers several bytes is as wide as they are.

    Signs (graphemes) are whole on the first level. Tokens are buttons as in `token_strip`; text that no token stands
    for is hatched. `words` are those of `transformer.words`, without them the last row is left out. Of a long text 40
    tokens on either side of `selected` are shown, and a sentence says so. Ids without a text have their tokens only,
    an image (`encoding.image`) has its patches and their pixels.
    """
    columns = list(text_columns(encoding))
    tokens = window(encoding.groups, selected)
    shown = part_of(columns, tokens, len(encoding.ids))
    if (image := getattr(encoding, "image", None)) is not None:
        grid, words = encoding.shape.grid, None  # type: ignore[attr-defined]
        rows = patch_rows(image, grid, len(encoding.ids), tokens, language=language)
    else:
        rows = _text_rows(encoding, columns, shown, language) + _byte_row(columns, shown, language)
    rows += _token_row(encoding, columns, shown, selected, stack, language)
    rows += _word_row(encoding, words, columns, shown, language) if words is not None else ""
    side = direction(encoding.text or "".join(encoding.tokens))
    label = escape(message("figure.levels.label", language, count=len(encoding.ids)))
    table = f'<table class="stt-levels"><tbody>{rows}</tbody></table>'
    below = _below(encoding, columns[slice(*shown)], tokens, language)
    return f'<div class="stt-levels-box" role="group" aria-label="{label}" tabindex="0" {side}>{table}</div>{below}'


def _text_rows(encoding: Encoded, columns: Sequence[Column], shown: Shown, language: str) -> str:
    """What a reader sees, and below it the characters that it is made of."""
    if encoding.text is None:
        return ""
    text, signs = encoding.text, regex.findall(r"\X", encoding.text)
    sign_of = [number for number, sign in enumerate(signs) for _ in sign]
    here = columns[slice(*shown)]
    lost = {sign_of[one.character] for one in here if one.character is not None and _is_lost(encoding, one)}

    def sign(number: int) -> tuple[str, str]:
        return visible(signs[number]), ' class="stt-lost"' if number in lost else ""

    def character(at: int) -> tuple[str, str]:
        return visible(text[at]), f' title="{escape(_called(text[at]))}"'

    of_sign = [None if one.character is None else sign_of[one.character] for one in columns]
    upper = _row("text", len(signs), _cells(runs(of_sign, shown), sign), language)
    lower = _cells(runs([one.character for one in columns], shown), character)
    return upper + _row("characters", len(text), lower, language)


def _byte_row(columns: Sequence[Column], shown: Shown, language: str) -> str:
    cells = []
    for place, one in enumerate(columns[slice(*shown)], shown[0]):
        lost = ' class="stt-no-token"' if one.token is None else ""
        cells.append(f'<td{lost} data-tie="{place}">{one.byte:02X}</td>' if one.byte is not None else "<td></td>")
    count = sum(one.byte is not None for one in columns)
    return _row("bytes", count, "".join(cells), language) if count else ""


def _token_row(
    encoding: Encoded, columns: Sequence[Column], shown: Shown, selected: int | None, stack: str | None, language: str
) -> str:
    cells = []
    for first, last, token in runs(filled([one.token for one in columns]), shown):
        if token is None:
            title = say("figure.levels.no_token", language)
            cells.append(f'<td class="stt-no-token"{_wide(first, last)} title="{title}"></td>')
        else:
            button = _button(encoding, token, token == selected, stack, _tie(first, last), language)
            cells.append(f"<td{_wide(first, last)}>{button}</td>")
    return _row("tokens", len(encoding.ids), "".join(cells), language)


def _button(encoding: Encoded, index: int, selected: bool, stack: str | None, tie: str, language: str) -> str:
    marks, name = token_marks(encoding, index), encoding.tokens[index]
    title = escape(token_title(encoding, index, marks, language))
    classes = " ".join(["stt-token", *(f"stt-{mark}" for mark in marks), *(["stt-raw"] if is_raw(name) else [])])
    where = f' data-stack="{escape(stack)}"' if stack is not None else ""
    return (
        f'<button type="button" class="{classes}" data-token="{index}"{where} data-tie="{tie}" title="{title}"'
        f' aria-label="{title}" aria-pressed="{"true" if selected else "false"}">'
        f'<bdi class="stt-token-text">{escape(name)}</bdi><span class="stt-token-id">{encoding.ids[index]}</span>'
        "</button>"
    )


def _word_row(encoding: Encoded, words: Words, columns: Sequence[Column], shown: Shown, language: str) -> str:
    of_word = filled([None if one.token is None else words.of_token[one.token] for one in columns])
    alone = {words.of_token[token] for token in range(len(encoding.ids)) if encoding.words[token] is None}

    def word(number: int) -> tuple[str, str]:
        name = words.names[number]
        kind = ' class="stt-muted"' if number in alone else ""
        return shorten(name, LONGEST_WORD), f'{kind} title="{escape(name)}"'

    return _row("words", len(words.names), _cells(runs(of_word, shown), word), language)


def _row(level: str, count: int, cells: str, language: str) -> str:
    name = say(f"figure.levels.{level}", language)
    title = say(f"figure.levels.{level}.title", language)
    head = f'<th scope="row" title="{title}"><bdi>{name}</bdi> <small>{count:,}</small></th>'
    return f'<tr class="stt-level-{level}">{head}{cells}</tr>'


def _cells(found: Sequence[Run], made: Callable[[int], tuple[str, str]]) -> str:
    """`made` gives what stands in a cell, as plain text, and its attributes, as HTML."""
    cells = []
    for first, last, thing in found:
        if thing is None:
            cells.append(f"<td{_wide(first, last)}></td>")
        else:
            inside, attributes = made(thing)
            tie = f' data-tie="{_tie(first, last)}"'
            cells.append(f"<td{_wide(first, last)}{attributes}{tie}><bdi>{escape(inside)}</bdi></td>")
    return "".join(cells)


def _wide(first: int, last: int) -> str:
    return f' colspan="{last - first}"' if last - first > 1 else ""


def _tie(first: int, last: int) -> str:
    """Two things belong together where they share a column."""
    return " ".join(map(str, range(first, last)))


def _is_lost(encoding: Encoded, column: Column) -> bool:
    return column.token is None or "unknown" in token_marks(encoding, column.token)


def _called(character: str) -> str:
    """ "U+200D ZERO WIDTH JOINER"."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


def _below(encoding: Encoded, columns: Sequence[Column], tokens: tuple[int, int], language: str) -> str:
    """What is not shown, and what the marks in this picture mean."""
    said = []
    if tokens != (0, len(encoding.ids)):
        ends = {"first": tokens[0], "last": tokens[1] - 1, "count": f"{len(encoding.ids):,}"}
        said.append(say("figure.levels.cut", language, **ends))
    if encoding.text is None:
        said.append(say(f"figure.levels.{'image' if hasattr(encoding, 'image') else 'no_text'}", language))
    marks = {mark for token in range(*tokens) for mark in token_marks(encoding, token)}
    marks |= {"no_token"} if any(one.token is None for one in columns) else set()
    legend = "".join(
        f'<span><i class="stt-mark-{mark}"></i>{say(f"figure.levels.mark.{mark}", language)}</span>'
        for mark in ("special", "padding", "unknown", "no_token")
        if mark in marks
    )
    notices = "".join(f'<p class="stt-notice">{one}</p>' for one in said)
    return notices + (f'<p class="stt-levels-legend">{legend}</p>' if legend else "")
