"""The token strip: one button per token, in the direction of the text, the pieces of one character held together."""

import unicodedata
from html import escape
from itertools import groupby
from typing import Protocol

from transformer.messages import message
from transformer.visible import visible


class Encoded(Protocol):
    """What is needed of an `Encoding` (see `transformer/tokenizer.py`)."""

    @property
    def ids(self) -> tuple[int, ...]: ...
    @property
    def tokens(self) -> tuple[str, ...]: ...
    @property
    def spans(self) -> tuple[tuple[int, int] | None, ...]: ...
    @property
    def bytes(self) -> tuple[bytes, ...]: ...
    @property
    def special(self) -> tuple[bool, ...]: ...
    @property
    def words(self) -> tuple[int | None, ...]: ...
    @property
    def groups(self) -> tuple[int, ...]: ...
    @property
    def text(self) -> str | None: ...


def token_strip(
    encoding: Encoded, *, selected: int | None = None, stack: str | None = None, language: str = "en"
) -> str:
    """HTML of all tokens: readable token above its id, words underlined together, special tokens and padding marked.

    Tokens that share one character (a grapheme: "👩‍👩‍👧", "ṩ") stand under that character, a token for unknown text
    under the text it lost. Text that no token stands for (`gaps`) is shown muted in its place. Each button carries
    `data-token`, its index, and `data-stack` where a model has two texts (`stack`). A text that begins right to left
    is laid out right to left.
    """
    direction = "rtl" if reads_right_to_left(encoding.text or "".join(encoding.tokens)) else "ltr"
    clusters = [list(part) for _, part in groupby(range(len(encoding.ids)), key=lambda index: encoding.groups[index])]
    words = groupby(clusters, key=lambda cluster: (encoding.words[cluster[0]], *_alone(encoding, cluster)))
    gaps = _gaps(encoding, language)
    parts = "".join(_word(encoding, list(part), gaps, selected, language) for _, part in words)
    parts += gaps.get(len(encoding.ids), "")
    label = escape(message("figure.tokens.label", language, count=len(encoding.ids)))
    if stack is not None:
        parts = parts.replace(' data-token="', f' data-stack="{escape(stack)}" data-token="')
    return f'<div class="stt-strip" role="group" aria-label="{label}" dir="{direction}">{parts}</div>'


def reads_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is a right-to-left one (Unicode UAX 9, rule P2)."""
    strong = (unicodedata.bidirectional(character) for character in text)
    return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def _alone(encoding: Encoded, cluster: list[int]) -> tuple[int, ...]:
    """Tokens that belong to no word stand by themselves."""
    return () if encoding.words[cluster[0]] is not None else (cluster[0],)


def _gaps(encoding: Encoded, language: str) -> dict[int, str]:
    """HTML of the text that no token stands for, by the token before which it is shown."""
    starts = [(span[0], index) for index, span in enumerate(encoding.spans) if span is not None]
    behind = starts[-1][1] + 1 if starts else len(encoding.ids)  # before the specials that close the text
    found: dict[int, str] = {}
    for start, end in getattr(encoding, "gaps", ()):
        title = escape(message("figure.tokens.gap", language, start=start, end=end))
        text = escape(visible((encoding.text or "")[start:end]))
        before = next((index for first, index in starts if first >= end), behind)
        found[before] = found.get(before, "") + f'<span class="stt-gap" title="{title}"><bdi>{text}</bdi></span>'
    return found


def _word(
    encoding: Encoded, clusters: list[list[int]], gaps: dict[int, str], selected: int | None, language: str
) -> str:
    parts = [
        ("".join(gaps.get(index, "") for index in cluster), _cluster(encoding, cluster, selected, language))
        for cluster in clusters
    ]
    inside = parts[0][1] + "".join(gap + cluster for gap, cluster in parts[1:])
    several = sum(map(len, clusters)) > 1
    return f'{parts[0][0]}<span class="stt-word{" stt-word-several" if several else ""}">{inside}</span>'


def _cluster(encoding: Encoded, cluster: list[int], selected: int | None, language: str) -> str:
    buttons = "".join(_button(encoding, index, index == selected, language) for index in cluster)
    lost = any(_marked(encoding, "unknown", index) for index in cluster)
    if len(cluster) == 1 and not lost:
        return buttons
    return (
        f'<span class="stt-grapheme"><span class="stt-whole{" stt-lost" if lost else ""}">'
        f"<bdi>{escape(_whole(encoding, cluster))}</bdi></span>"
        f'<span class="stt-pieces">{buttons}</span></span>'
    )


def _whole(encoding: Encoded, cluster: list[int]) -> str:
    """The characters that the tokens of `cluster` make up together."""
    spans = [span for index in cluster if (span := encoding.spans[index]) is not None]
    if encoding.text is not None and spans:
        return visible(encoding.text[min(start for start, _ in spans) : max(end for _, end in spans)].strip(" "))
    return b"".join(encoding.bytes[index] for index in cluster).decode("utf-8", "backslashreplace").strip()


def _button(encoding: Encoded, index: int, selected: bool, language: str) -> str:
    marks = token_marks(encoding, index)
    classes = " ".join(["stt-token", *(f"stt-{mark}" for mark in marks)])
    title = escape(token_title(encoding, index, marks, language))
    return (
        f'<button type="button" role="button" tabindex="0" class="{classes}" data-token="{index}" title="{title}"'
        f' aria-label="{title}" aria-pressed="{"true" if selected else "false"}">'
        f'<bdi class="stt-token-text">{escape(encoding.tokens[index])}</bdi>'
        f'<span class="stt-token-id">{encoding.ids[index]}</span></button>'
    )


def token_marks(encoding: Encoded, index: int) -> list[str]:
    """What is special about a token: "special", "padding", "unknown"."""
    return [name for name in ("special", "padding", "unknown") if _marked(encoding, name, index)]


def _marked(encoding: Encoded, name: str, index: int) -> bool:
    """Whether token `index` is `special`, `padding` or `unknown`; what an encoding does not say is not so."""
    marks = getattr(encoding, name, ())
    return index < len(marks) and bool(marks[index])


def token_title(encoding: Encoded, index: int, marks: list[str], language: str) -> str:
    """ "token 3: ·cat | id 2644 | bytes 20 63 61 74 | characters 3 to 7", and what is special about it."""
    span, data = encoding.spans[index], encoding.bytes[index]
    token = {"index": index, "token": encoding.tokens[index], "id": encoding.ids[index]}
    facts = [message("figure.tokens.token", language, **token)]
    if data:
        facts.append(message("figure.tokens.bytes", language, bytes=data.hex(" ").upper()))
    if span is not None:
        facts.append(message("figure.tokens.span", language, start=span[0], end=span[1]))
    facts += [message(f"figure.tokens.{mark}", language) for mark in marks]
    return " | ".join(facts)
