"""The columns of `text_levels`: every byte of a text once, from its start to its end, and which token stands for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from viz.figures.tokens import Encoded

AROUND = 40  # tokens on either side of the chosen one; longer texts are cut to them
LONG_SIGN = 20  # tokens by which the cut moves so as not to break a sign

Shown = tuple[int, int]  # [first, last) columns
Run = tuple[int, int, int | None]  # [first, last) columns that belong to one thing of a level; None: to nothing


@dataclass(frozen=True)
class Column:
    """One byte, or a token that stands for none: the narrowest thing of the picture."""

    byte: int | None = None
    character: int | None = None  # its index in the text
    token: int | None = None  # None: no token stands for this byte


def text_columns(encoding: Encoded) -> Iterator[Column]:
    """All columns from the start of the text to its end, each byte once; specials where the tokenizer put them."""
    if encoding.text is None:
        for token, piece in enumerate(encoding.bytes):
            yield from (Column(byte, token=token) for byte in piece) if piece else [Column(token=token)]
        return
    data = [(byte, at) for at, character in enumerate(encoding.text) for byte in character.encode("utf-8")]
    behind = max((token for token, span in enumerate(encoding.spans) if span is not None), default=-1)
    done = 0
    for token, (span, piece) in enumerate(zip(encoding.spans, encoding.bytes, strict=True)):
        if span is not None:
            while done < len(data) and data[done][1] < span[0]:
                yield Column(*data[done])
                done += 1
            covered = list(_covered(data, done, span[1], piece, token))
            yield from covered or [Column(None, _neighbour(data, done, span), token)]
            done += sum(column.byte is not None for column in covered)
        else:
            yield Column(token=token)
        if token == behind:
            yield from (Column(*one) for one in data[done:])
            done = len(data)
    if behind < 0:
        yield from (Column(*one) for one in data)


def _covered(data: Sequence[tuple[int, int]], done: int, end: int, piece: bytes, token: int) -> Iterator[Column]:
    """The bytes of one token where they lie in the text; a byte that the vocabulary lacks may lie between them."""
    for wanted in piece:
        at = next((at for at in range(done, len(data)) if data[at][1] >= end or data[at][0] == wanted), len(data))
        if at == len(data) or data[at][1] >= end:
            return
        yield from (Column(*one) for one in data[done:at])
        yield Column(*data[at], token)
        done = at + 1


def _neighbour(data: Sequence[tuple[int, int]], done: int, span: tuple[int, int]) -> int:
    """The character beside which a token stands whose text another token holds: "fi" read from one sign."""
    return span[0] if done < len(data) and data[done][1] < span[1] else span[1] - 1


def runs(things: Sequence[int | None], shown: Shown) -> list[Run]:
    found, done = [], shown[0]
    for thing, run in groupby(things[slice(*shown)]):
        count = sum(1 for _ in run)
        found.append((done, done + count, thing))
        done += count
    return found


def filled(things: Sequence[int | None]) -> list[int | None]:
    """Without the holes inside one thing: a token stays one where a byte of its text was dropped."""
    found: list[int | None] = list(things)
    before: int | None = None
    for place, thing in enumerate(things):
        if thing is None:
            continue
        if before is not None and things[before] == thing:
            found[before + 1 : place] = [thing] * (place - before - 1)
        before = place
    return found


def window(group: Sequence[int], selected: int | None) -> tuple[int, int]:
    """[first, last) tokens that are shown. `group`: equal for the tokens of one sign: it is not cut if it is short."""
    count, most = len(group), 2 * AROUND + 1
    first = max(0, min((selected or 0) - AROUND, count - most))
    last = min(first + most, count)
    start = next((at for at in range(first, 0, -1) if group[at] != group[at - 1]), 0)
    end = next((at for at in range(last, count) if group[at] != group[at - 1]), count)
    return start if first - start <= LONG_SIGN else first, end if end - last <= LONG_SIGN else last


def part_of(columns: Sequence[Column], tokens: tuple[int, int], count: int) -> Shown:
    """The columns of the tokens [first, last) of `count`, with the text between them, and at the ends of the text."""
    first, last = tokens
    owned = [place for place, one in enumerate(columns) if one.token is not None and first <= one.token < last]
    start = 0 if first == 0 or not owned else owned[0]
    return start, len(columns) if last == count or not owned else owned[-1] + 1
