"""Boxes for pieces of words, as the pictures of all tokenizers draw them."""

from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from transformer.messages import message
from transformer.visible import visible, visible_bytes
from viz.figures.tokens import reads_right_to_left

Name = Callable[[Any], str]  # the readable form of a piece


def readable(piece: str | bytes) -> str:
    """A piece as it can be seen; what is readable already stays as it is."""
    return visible_bytes(piece) if isinstance(piece, bytes) else visible(piece)


def say(key: str, language: str, **values: object) -> str:
    """Words for readers, escaped."""
    return escape(message(key, language, **values))


def box(name: str, kind: str = "", *, style: str = "", below: str = "", title: str = "") -> str:
    """One piece. `kind` is a class that sets it apart, `below` a small line (HTML) under the name."""
    extra = (f' style="{style}"' if style else "") + (f' title="{escape(title)}"' if title else "")
    classes = " ".join(filter(None, ("stt-piece", kind, "stt-piece-raw" if is_raw(name) else "")))
    return f'<span class="{classes}"{extra}><bdi>{escape(name)}</bdi>{below}</span>'


def is_raw(name: str) -> bool:
    """Whether a piece is only a part of a character, "⟨E5 B0⟩": written smaller, for it takes much room."""
    return name.startswith("⟨") and name.endswith("⟩")


def boxes(names: Iterable[str], new: Iterable[int] = ()) -> str:
    """Pieces that belong together, those at the places `new` set apart."""
    apart = set(new)
    return "".join(box(name, "stt-piece-new" if place in apart else "") for place, name in enumerate(names))


def direction(text: str) -> str:
    """The attribute of what holds the pieces of `text`, in the direction of its letters."""
    return f'dir="{"rtl" if reads_right_to_left(text) else "ltr"}"'


def row(what: str, content: str) -> str:
    """One step in a list of steps: what was done, and what came out; below each other where the screen is narrow."""
    return f'<li class="stt-step-row"><span class="stt-step-what">{what}</span>{content}</li>'


def steps_list(rows: Iterable[str], notice: str = "", style: str = "") -> str:
    """The list of all steps, and a last sentence."""
    said = f'<p class="stt-notice">{notice}</p>' if notice else ""
    extra = f' style="{style}"' if style else ""
    return f'<div class="stt-steps" tabindex="0"{extra}><ol class="stt-step-list">{"".join(rows)}</ol>{said}</div>'
