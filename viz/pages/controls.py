"""Controls as HTML. They hold no value: the page sets each `[data-set]` to what is chosen, also when a link or another
panel changed it, so that a slider is never taken out of a visitor's hand.

A change reaches the server as {set: name, value: …}; the names are those of `options.py`, and "attention", "head",
"query", "key" of the selection itself.
"""

from collections.abc import Iterable, Sequence
from html import escape

from viz.pages.options import Real, Whole


def choice(name: str, label: str, choices: Iterable[tuple[str, str]]) -> str:
    """A list to choose from: (value, words)."""
    options = "".join(f'<option value="{escape(value)}">{escape(words)}</option>' for value, words in choices)
    return _labelled(label, f'<select data-set="{escape(name)}">{options}</select>')


def tabs(name: str, label: str, choices: Sequence[tuple[str, str]]) -> str:
    """The same as a row of buttons, for few values that are looked at one after the other."""
    buttons = "".join(
        f'<button type="button" class="stt-tab" data-set="{escape(name)}" data-value="{escape(value)}">'
        f"{escape(words)}</button>"
        for value, words in choices
    )
    return f'<div class="stt-tabs" role="group" aria-label="{escape(label)}">{buttons}</div>'


def slider(option: Real | Whole, label: str, *, step: float = 1, most: float | None = None) -> str:
    """A number to pull; the number stands beside it."""
    top = option.most if most is None else most
    pull = (
        f'<input type="range" data-set="{option.name}" min="{option.least:g}" max="{top:g}" step="{step:g}"'
        f' aria-label="{escape(label)}">'
    )
    return _labelled(label, f'{pull}<output data-shows="{option.name}"></output>')


def number(option: Whole, label: str) -> str:
    """A whole number to type."""
    box = f'<input type="number" data-set="{option.name}" min="{option.least}" max="{option.most}" step="1">'
    return _labelled(label, box)


def line(name: str, label: str, longest: int, empty: str = "") -> str:
    """A line of text; it counts when it is entered. `empty` stands in it until then."""
    box = f'<input type="text" data-set="{escape(name)}" maxlength="{longest}" autocomplete="off"'
    return _labelled(label, f'{box} placeholder="{escape(empty)}">' if empty else f"{box}>")


def switch(name: str, label: str) -> str:
    box = f'<input type="checkbox" data-set="{escape(name)}">'
    return f'<label class="stt-control stt-switch">{box}<span>{escape(label)}</span></label>'


def button(words: str, *, name: str, value: str, kind: str = "stt-pill", said: str = "") -> str:
    """A button that tells `data-<name>` to its panel's `pick`; a `name` of "ask" goes to the slow handlers."""
    label = f' aria-label="{escape(said)}" title="{escape(said)}"' if said else ""
    return f'<button type="button" class="{kind}" data-{name}="{escape(value)}"{label}>{escape(words)}</button>'


def row(*controls: str) -> str:
    """Controls side by side; on a phone below each other."""
    return f'<div class="stt-controls">{"".join(controls)}</div>'


def _labelled(label: str, control: str) -> str:
    return f'<label class="stt-control"><span>{escape(label)}</span>{control}</label>'


def copied(words: str, text: str) -> str:
    """A button that copies `text`."""
    return f'<button type="button" class="stt-copy" data-copy="{escape(text)}">{escape(words)}</button>'
