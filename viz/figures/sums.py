"""A sum with its numbers in it: the terms as bars, the largest by name, the total, and the same as NumPy code."""

from collections.abc import Sequence
from html import escape

import numpy as np

from transformer.messages import message
from viz.figures.arithmetic import number
from viz.figures.predictions import percent

NAMED_TERMS = 4
BARS_UP_TO = 256  # terms: more bars are thinner than a pixel
AGREES = 1e-4  # of the largest number in the sum, between the terms' sum and the total that was recorded


def sum_arithmetic(
    terms: np.ndarray,
    *,
    names: Sequence[str],
    total: float,
    formula_html: str,
    chosen: int | None = None,
    code: str | None = None,
    language: str = "en",
) -> str:
    """HTML: `formula_html` (escaped where it was made), a bar per term, the largest `terms` by `names`, the sum.

    `total` is what was recorded or computed another way: where the terms do not add up to it, the panel says so.
    `chosen` marks one term and tells its share of the sum. `code` is copied instead of the plain list of terms. Raises
    ValueError where the shapes do not fit.
    """
    terms = np.asarray(terms, np.float64)
    if terms.shape != (len(names),):
        raise ValueError(f"terms {terms.shape} do not fit {len(names)} names")
    lines = [formula_html]
    if len(terms) <= BARS_UP_TO:
        lines.append(term_bars(terms, names, chosen))
    if chosen is not None:
        lines.append(_chosen(terms, names, chosen, language))
    lines.append(f'<span class="stt-muted">{_say("largest", language)} {_largest(terms, names)}</span>')
    lines.append(f"Σ = <b class='stt-result'>{number(total)}</b>")
    lines += _agreement(terms, total, language)
    copied = escape(sum_as_numpy(terms) if code is None else code)
    button = f'<button type="button" class="stt-copy" data-copy="{copied}">{_say("copy", language)}</button>'
    rows = "".join(f"<div>{line}</div>" for line in lines)
    return f'<div class="stt-panel"><div class="stt-arithmetic">{rows}</div>{button}</div>'


def sum_as_numpy(terms: np.ndarray) -> str:
    """Runnable code that holds the terms and prints their sum."""
    listed = ", ".join(repr(float(term)) for term in np.asarray(terms))
    return f"import numpy as np\n\nterms = np.array([{listed}])\nprint(terms.sum())\n"


def dot_as_numpy(left: np.ndarray, right: np.ndarray, names: tuple[str, str], *, at: int | None = None) -> str:
    """Runnable code for Σ left · right, two vectors of float32 numbers; `at`: it also prints that product."""
    lines = ["import numpy as np", ""]
    for name, vector in zip(names, (left, right), strict=True):
        # In the fewest digits that keep a float32 exact: twice as many would say nothing more.
        lines.append(f"{name} = np.array([{', '.join(str(value) for value in np.asarray(vector, np.float32))}])")
    lines.append(f"products = {names[0]} * {names[1]}")
    lines += [] if at is None else [f"print(products[{at}])"]
    return "\n".join([*lines, "print(products.sum())"]) + "\n"


def term_bars(terms: np.ndarray, names: Sequence[str], chosen: int | None = None) -> str:
    """SVG: a bar per term, up for positive and down for negative ones; each says its name and value."""
    top = float(np.abs(terms).max(initial=0)) or 1.0
    bars = []
    for place, value in enumerate(np.asarray(terms).tolist()):
        high = abs(value) / top * 30
        y, tone = (32 - high, "plus") if value >= 0 else (32, "minus")
        mark = " stt-chosen" if place == chosen else ""
        spot = f'x="{place * 4}" y="{y:.2f}" width="3" height="{high:.2f}"'
        bars.append(
            f'<rect class="stt-{tone}{mark}" {spot}><title>{escape(names[place])}: {number(value)}</title></rect>'
        )
    wide = len(terms) * 4
    return (
        f'<svg class="stt-bars" viewBox="0 0 {wide} 64" preserveAspectRatio="none" role="img" aria-hidden="true">'
        f'<path class="stt-zero" d="M0 32H{wide}"/>{"".join(bars)}</svg>'
    )


def _say(key: str, language: str, /, **values: object) -> str:
    return escape(message(f"figure.sum.{key}", language, **values))


def _name(name: str) -> str:
    return f"<bdi>{escape(name)}</bdi>"


def _chosen(terms: np.ndarray, names: Sequence[str], chosen: int, language: str) -> str:
    """The chosen term, and what part of the sum it is. Terms of both signs may cancel: then it is not a part."""
    value, whole = float(terms[chosen]), float(terms.sum())
    said = f"{_name(names[chosen])}: <b>{number(value)}</b>"
    if abs(whole) < 1e-3 * float(np.abs(terms).sum()):
        return f"{said} · {_say('cancels', language)}"
    if not 0 <= value / whole <= 1:  # a share of more than everything, or of less than nothing, tells nobody anything
        return f"{said} · {_say('others', language, others=number(whole - value))}"
    return f"{said} · {_say('share', language, share=percent(value / whole))}"


def _largest(terms: np.ndarray, names: Sequence[str]) -> str:
    order = np.argsort(-np.abs(terms), kind="stable")[:NAMED_TERMS].tolist()
    said = [f"{_name(names[place])} {number(float(terms[place]))}" for place in order]
    if len(terms) > NAMED_TERMS:
        said[-1] += " · …"  # on the same line as the term before
    return " · ".join(f'<span class="stt-term">{one}</span>' for one in said)


def _agreement(terms: np.ndarray, total: float, language: str) -> list[str]:
    largest = max(1.0, float(np.abs(terms).max(initial=0)), abs(total))
    found = float(terms.sum())
    if abs(found - total) <= AGREES * largest:
        return []
    words = _say("differs", language, recomputed=number(found), recorded=number(total))
    return [f'<span class="stt-bad">{words}</span>']
