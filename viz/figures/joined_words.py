"""The words that consist of several tokens: what the view by words joins."""

from collections.abc import Sequence
from html import escape
from typing import Protocol

from transformer.messages import message
from viz.figures.pieces import boxes, direction, say

MOST_WORDS = 60


class Words(Protocol):
    """What is needed of `Words` (see `transformer/words.py`)."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def tokens(self) -> Sequence[Sequence[int]]: ...


def joined_words(
    words: Words,
    tokens: Sequence[str],
    *,
    selected: int | None = None,
    stack: str | None = None,
    language: str = "en",
) -> str:
    """HTML: each word of several `tokens` above them, a button that chooses its first one; or that there is none.

    `selected` is a token: the word that it is part of is marked. Of very many words those around it are shown.
    """
    several = [number for number, parts in enumerate(words.tokens) if len(parts) > 1]
    if not several:
        return f'<div class="stt-steps"><p class="stt-notice">{say("figure.words.none", language)}</p></div>'
    passed = sum(words.tokens[number][0] < (selected or 0) for number in several)
    first = max(0, min(passed - MOST_WORDS // 2, len(several) - MOST_WORDS))
    shown = several[first : first + MOST_WORDS]
    buttons = "".join(_word(words, number, tokens, selected, stack, language) for number in shown)
    left_out = len(several) - len(shown)
    notice = f'<p class="stt-notice">{say("figure.words.cut", language, count=left_out)}</p>' if left_out else ""
    said = say("figure.words.several", language, count=len(words.names), several=len(several))
    side = direction("".join(words.names))
    listed = f'<p class="stt-notice">{said}</p><div class="stt-step-words" {side}>{buttons}</div>{notice}'
    return f'<div class="stt-steps">{listed}</div>'


def _word(
    words: Words, number: int, tokens: Sequence[str], selected: int | None, stack: str | None, language: str
) -> str:
    parts, name = words.tokens[number], words.names[number]
    title = escape(message("figure.words.word", language, word=name, count=len(parts)))
    where = f' data-stack="{escape(stack)}"' if stack is not None else ""
    return (
        f'<button type="button" class="stt-cut" data-token="{parts[0]}"{where} title="{title}" aria-label="{title}"'
        f' aria-pressed="{"true" if selected in parts else "false"}">'
        f'<span class="stt-cut-word"><bdi>{escape(name)}</bdi></span>'
        f'<span class="stt-joined" {direction(name)}>{boxes(tokens[part] for part in parts)}</span></button>'
    )
