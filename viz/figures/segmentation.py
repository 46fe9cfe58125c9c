"""A text on its way to tokens, whatever the tokenizer: as typed, normalised, split into words, each word in pieces."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Protocol

from transformer.messages import message
from transformer.visible import visible
from viz.figures.pieces import boxes, direction, row, say, steps_list

MOST_WORDS = 200


class Word(Protocol):
    """What is needed of a `SegmentedWord` (see `transformer/segmentation_steps.py`)."""

    @property
    def text(self) -> str: ...
    @property
    def pieces(self) -> Sequence[str]: ...
    @property
    def added(self) -> bool: ...
    @property
    def dropped(self) -> Sequence[str]: ...


class Segmented(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def normalized(self) -> Sequence[str]: ...
    @property
    def words(self) -> Sequence[Word]: ...
    @property
    def name(self) -> Callable[[str], str]: ...


def segmentation_overview(made: Segmented, *, selected: int | None = None, language: str = "en") -> str:
    """HTML: the text as typed, as normalised, and its words with their tokens.

    Each word is a button with its index in `data-word`; `selected` is the one that is looked into. Of very many words
    those around it are shown.
    """
    side = direction(made.text)
    first = max(0, min((selected or 0) - MOST_WORDS // 2, len(made.words) - MOST_WORDS))
    shown = range(first, min(first + MOST_WORDS, len(made.words)))
    words = "".join(_word(made, index, index == selected, language) for index in shown)
    rows = [
        _line("typed", f'<span class="stt-text" {side}><bdi>{escape(visible(made.text))}</bdi></span>', language),
        _line("normalized", _normalized(made, side, language), language),
        _line("words", f'<span class="stt-step-words" {side}>{words}</span>', language),
    ]
    left_out = len(made.words) - len(shown)
    return steps_list(rows, say("figure.segmentation.cut", language, count=left_out) if left_out else "")


def _line(key: str, content: str, language: str) -> str:
    return row(f"<b>{say(f'figure.segmentation.{key}', language)}</b>", content)


def _normalized(made: Segmented, side: str, language: str) -> str:
    if list(made.normalized) == [made.text]:
        return f'<span class="stt-muted">{say("figure.segmentation.same", language)}</span>'
    parts = " ".join(f"<bdi>{escape(visible(part))}</bdi>" for part in made.normalized)
    return f'<span class="stt-text" {side}>{parts}</span>'


def _word(made: Segmented, index: int, selected: bool, language: str) -> str:
    word = made.words[index]
    whole, pieces = made.name(word.text), list(map(made.name, word.pieces))
    facts = [message("figure.segmentation.word", language, index=index, word=whole, count=len(pieces))]
    facts += [message("figure.segmentation.added", language)] if word.added else []
    if word.dropped:
        lost_characters = " ".join(map(made.name, word.dropped))
        facts.append(message("figure.segmentation.dropped", language, characters=lost_characters))
    title = escape(" | ".join(facts))
    lost = " stt-lost" if word.dropped else ""
    return (
        f'<button type="button" class="stt-cut" data-word="{index}" title="{title}" aria-label="{title}"'
        f' aria-pressed="{"true" if selected else "false"}">'
        f'<span class="stt-cut-word{lost}"><bdi>{escape(whole)}</bdi></span>'
        f'<span class="stt-joined" {direction(whole)}>{boxes(pieces, [0] if word.added else [])}</span></button>'
    )
