"""The seal of a view: whether a second computation gave the same numbers, and the largest difference."""

from html import escape
from typing import Protocol

from transformer.messages import message


class Sealed(Protocol):
    """What is needed of a `Seal` (see `transformer/replay.py`)."""

    @property
    def difference(self) -> float: ...
    @property
    def compared(self) -> int: ...
    @property
    def holds(self) -> bool: ...


def seal_line(what: str, seal: Sealed, *, only_sums: bool = False, language: str = "en") -> str:
    """HTML: ✓ or ✗, what was recomputed, and the largest difference; among how many numbers says the title.

    `only_sums`: there was nothing to recompute from, and only that rows sum to 1 was checked; then it says no more.
    """
    state, sign = ("good", "✓") if seal.holds else ("bad", "✗")
    words = escape(message(f"figure.{'sums' if only_sums else 'seal'}.{state}", language, what=what))
    key = "figure.seal.same" if seal.difference == 0 else "figure.seal.difference"
    difference = escape(message(key, language, difference=f"{seal.difference:.1e}"))
    title = escape(message("figure.seal.title", language, count=f"{seal.compared:,}"))
    return (
        f'<p class="stt-seal" title="{title}"><span class="stt-seal-{state}">{sign} {words}</span> · {difference}</p>'
    )


def compared_line(words: str, seal: Sealed, *, language: str = "en") -> str:
    """HTML: ✓ or ✗ before `words`, which say what two passes were compared for and how it came out."""
    state, sign = ("good", "✓") if seal.holds else ("bad", "✗")
    key = "figure.seal.same" if seal.difference == 0 else "figure.seal.difference"
    difference = escape(message(key, language, difference=f"{seal.difference:.1e}"))
    title = escape(message("figure.compared.title", language, count=f"{seal.compared:,}"))
    told = f'<span class="stt-seal-{state}">{sign} {escape(words)}</span>'
    return f'<p class="stt-seal" title="{title}">{told} · {difference}</p>'
