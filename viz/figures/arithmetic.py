"""The formula of one cell with this cell's numbers in it; `copied.py` writes the same as NumPy code.

    weight = exp(score) ÷ Σ exp(scores of the row)        score = q·k · scale, soft-capped, + bias, + mask

(Vaswani et al. 2017, section 3.2.1; soft-cap: Gemma Team 2024; sink: an extra term of the sum, as in gpt-oss)
"""

from html import escape

import numpy as np

from transformer.messages import message

NAMED_TERMS = 3
AGREES = 1e-4  # largest difference between recorded and recomputed before the panel says that they do not agree
LOWEST = float(np.finfo(np.float32).min)


def attention_arithmetic(
    query_vector: np.ndarray,
    key_vector: np.ndarray,
    *,
    scale: float,
    row_scores: np.ndarray,
    key_index: int,
    weight: float,
    bias: float = 0.0,
    allowed: bool = True,
    softcap: float | None = None,
    sink: float | None = None,
    query: str = "",
    key: str = "",
    language: str = "en",
) -> str:
    """HTML: from `query_vector` · `key_vector` (d_head,) to `weight`, step by step.

    `row_scores` (key,) are the query's scores after scale, soft-cap, bias and mask; forbidden ones are −∞ or the lowest
    float. `query` and `key` name the tokens. Where the recomputed weight differs from `weight`, the panel says so.
    """
    q, k = np.asarray(query_vector, np.float64), np.asarray(key_vector, np.float64)
    products = q * k
    raw = float(products.sum())
    lines = [
        f'<span class="stt-q">q{_index(query)}</span> · <span class="stt-k">k{_index(key)}</span> = '
        + _say("figure.arithmetic.products", language, count=len(products)),
        _bars(products),
        f'<span class="stt-muted">{_say("figure.arithmetic.largest", language)} {_largest(products)}</span>',
        f"= <b>{number(raw)}</b>",
        _scaled(raw, scale, len(products)),
    ]
    score = raw * scale
    if softcap is not None:
        score = softcap * float(np.tanh(score / softcap))
        lines.append(f"{softcap:g} · tanh(… ÷ {softcap:g}) → <b>{number(score)}</b>")
    lines.append(_masked(score, bias, allowed, language))
    total = score + bias if allowed else LOWEST
    lines += _softmax(total, np.asarray(row_scores, np.float64), key_index, weight, sink, language)
    return f'<div class="stt-arithmetic">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def number(value: float, decimals: int = 3) -> str:
    """`decimals` digits behind the point, or four significant ones where that says too little."""
    size = abs(value)
    plain = f"{value:.{decimals}f}" if size == 0 or 0.01 <= size < 10_000 else f"{value:.4g}"
    return plain.replace("-", "−")


def _say(key: str, language: str, **values: object) -> str:
    return escape(message(key, language, **values))


def _index(token: str) -> str:
    """The token as an index, without the dot of its space, which would read as a product."""
    return f"<sub><bdi>{escape(token.strip('·') or token)}</bdi></sub>" if token else ""


def _largest(products: np.ndarray) -> str:
    order = np.argsort(-np.abs(products), kind="stable")[:NAMED_TERMS].tolist()
    terms = [f"d{index} {number(products[index], 2)}" for index in order]
    if len(products) > NAMED_TERMS:
        terms[-1] += " · …"  # on the same line as the term before
    return " · ".join(f'<span class="stt-term">{term}</span>' for term in terms)


def _bars(products: np.ndarray) -> str:
    """One bar per dimension, up for positive and down for negative products; each says its value."""
    top = float(np.abs(products).max(initial=0)) or 1.0
    bars = []
    for index, value in enumerate(products.tolist()):
        high = abs(value) / top * 30
        y, tone = (32 - high, "plus") if value >= 0 else (32, "minus")
        title = f"<title>d{index}: {number(value)}</title>"
        place = f'x="{index * 4}" y="{y:.2f}" width="3" height="{high:.2f}"'
        bars.append(f'<rect class="stt-{tone}" {place}>{title}</rect>')
    wide = len(products) * 4
    return (
        f'<svg class="stt-bars" viewBox="0 0 {wide} 64" preserveAspectRatio="none" role="img" aria-hidden="true">'
        f'<path class="stt-zero" d="M0 32H{wide}"/>{"".join(bars)}</svg>'
    )


def _scaled(raw: float, scale: float, d_head: int) -> str:
    usual = np.isclose(scale, d_head**-0.5, rtol=1e-6)
    how = f"÷ √{d_head}" if usual else f"× {scale:.6g}"
    return f"{how} → <b>{number(raw * scale)}</b>"


def _masked(score: float, bias: float, allowed: bool, language: str) -> str:
    steps = []
    if bias:
        steps.append(f"{_say('figure.arithmetic.bias', language, bias=number(bias))} → <b>{number(score + bias)}</b>")
    mask = "0" if allowed else "−∞"
    steps.append(_say("figure.arithmetic.mask", language, mask=mask))
    return " &nbsp; ".join(steps)


def _softmax(
    score: float, row: np.ndarray, key_index: int, weight: float, sink: float | None, language: str
) -> list[str]:
    """The last lines: exp ÷ Σ exp, and whether the result is what the model had."""
    row = np.maximum(row, LOWEST)
    row[key_index] = score
    if row.max() <= LOWEST:
        even = _say("figure.arithmetic.nothing", language, count=len(row))
        return [f"{even} <b class='stt-result'>{number(weight)}</b>"]
    if score <= LOWEST:
        forbidden = _say("figure.arithmetic.forbidden", language)
        return [f"{forbidden} <b class='stt-result'>0</b>", *_agreement(0.0, weight, language)]
    everything = row if sink is None else np.append(row, sink)
    # exp of a large score is no float: subtracting the largest score from all changes no weight.
    shift = float(everything.max()) if np.abs(everything[everything > LOWEST]).max() > 20 else 0.0
    part, whole = float(np.exp(score - shift)), float(np.exp(everything - shift).sum())
    inside = number(score) + (f" − {number(shift)}" if shift > 0 else f" + {number(-shift)}" if shift < 0 else "")
    keys = _say("figure.arithmetic.keys", language)
    sunk = "" if sink is None else f" + exp({_say('figure.arithmetic.sink', language)})"
    lines = [
        f"exp({inside}) ÷ (Σ<sub>{keys}</sub> exp{sunk})" if sunk else f"exp({inside}) ÷ Σ<sub>{keys}</sub> exp",
        f"= {number(part)} ÷ {number(whole)} = <b class='stt-result'>{number(weight)}</b>",
    ]
    return lines + _agreement(part / whole, weight, language)


def _agreement(recomputed: float, weight: float, language: str) -> list[str]:
    if abs(recomputed - weight) <= AGREES:
        return []
    words = _say("figure.arithmetic.differs", language, recomputed=number(recomputed), recorded=number(weight))
    return [f'<span class="stt-bad">{words}</span>']


def next_token_arithmetic(
    logit: float, logsumexp: float, probability: float, token: str, *, n_vocabulary: int, language: str = "en"
) -> str:
    """HTML: probability of `token` from its `logit` and the log-sum-exp over the whole vocabulary."""
    lines = [
        f"p(<bdi>{escape(token)}</bdi>) = exp({_say('figure.arithmetic.logit', language)}) ÷ "
        f"Σ<sub>{n_vocabulary:,}</sub> exp",
        f"= exp({number(logit)} − {number(logsumexp)}) = <b class='stt-result'>{number(probability)}</b>",
        f'<span class="stt-muted">ln Σ exp = {number(logsumexp)}</span>',
        *_agreement(float(np.exp(logit - logsumexp)), probability, language),
    ]
    return f'<div class="stt-arithmetic">{"".join(f"<div>{line}</div>" for line in lines)}</div>'
