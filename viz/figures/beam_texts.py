"""The texts of a beam search, best first: what each has gathered, how long it is, and how it is compared.

rating = Σ log p ÷ length^α        (Wu et al. 2016, section 7, in the form of `transformers`)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from transformer.messages import message
from viz.figures.arithmetic import number


@dataclass(frozen=True)
class BeamText:
    """One row: `tokens` are those that were written, `node` is where its text ends in the tree."""

    tokens: Sequence[str]
    score: float  # Σ log p
    rating: float
    finished: bool
    node: int | None = None


def beam_texts(texts: Sequence[BeamText], *, selected: int | None = None, language: str = "en") -> str:
    """HTML table: texts, Σ log p, length, rating; the text is a button with `data-node`, and `selected` the node that
    is looked at."""
    names = ("text", "score", "length", "rating")
    head = "".join(f'<th scope="col">{_say(f"figure.beam.texts.{name}", language)}</th>' for name in names)
    body = "".join(_row(one, selected, language) for one in texts)
    table = f'<table class="stt-table stt-beam-texts"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="stt-table-box" tabindex="0">{table}</div>'


def _row(one: BeamText, selected: int | None, language: str) -> str:
    fate = _say(f"figure.beam.fate.{'finished' if one.finished else 'kept'}", language)
    words = "".join(f"<bdi>{escape(token)}</bdi>" for token in one.tokens)
    pressed = "true" if one.node is not None and one.node == selected else "false"
    shown = f'{words}<span class="stt-token-id">{fate}</span>'
    if one.node is not None:
        shown = (
            f'<button type="button" class="stt-cut" data-node="{one.node}" aria-pressed="{pressed}">{shown}</button>'
        )
    cells = (number(one.score), f"{len(one.tokens)}", number(one.rating))
    return f'<tr><th scope="row">{shown}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def beam_arithmetic(
    log_p: Sequence[float], tokens: Sequence[str], *, score: float, penalty: float, language: str = "en"
) -> str:
    """HTML: Σ log p of one text, token by token, and its rating; `penalty` is the exponent α of its length."""
    terms = [
        f'<span class="stt-term"><bdi>{escape(token)}</bdi> {number(value)}</span>'
        for value, token in zip(log_p, tokens, strict=True)
    ]
    lines = [
        f"{_say('figure.beam.sum', language)} {' · '.join(terms)}",
        f"Σ log p = <b>{number(score)}</b>",
    ]
    if terms:
        rating = score / len(terms) ** penalty
        lines.append(
            f"{_say('figure.beam.rating', language)} {number(score)} ÷ {len(terms)}<sup>{penalty:g}</sup>"
            f" = <b class='stt-result'>{number(rating)}</b>"
        )
    return f'<div class="stt-arithmetic">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def beam_code(log_p: Sequence[float], penalty: float) -> str:
    """NumPy code that prints Σ log p and the rating."""
    return (
        "import numpy as np\n\n"
        f"log_p = np.array({[float(one) for one in log_p]!r})\n"
        f"print(log_p.sum(), log_p.sum() / len(log_p) ** {float(penalty)!r})\n"
    )


def _say(key: str, language: str, **values: object) -> str:
    return escape(message(key, language, **values))
