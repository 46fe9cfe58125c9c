"""One logit and its probability with their numbers in it: hidden · row of the head, then exp ÷ Σ exp."""

from html import escape

import numpy as np

from transformer.messages import message
from viz.figures.arithmetic import next_token_arithmetic, number
from viz.figures.sums import sum_arithmetic


def logit_arithmetic(
    hidden: np.ndarray,
    row: np.ndarray,
    *,
    bias: float = 0.0,
    scale: float = 1.0,
    softcap: float | None = None,
    logit: float,
    logsumexp: float,
    token: str = "",
    n_vocabulary: int,
    language: str = "en",
) -> str:
    """HTML: from `hidden` · `row` (d_model,), both of the last position, over bias, scale and soft-cap to `logit`; then
    with the log-sum-exp over all `n_vocabulary` tokens to the probability of `token`, and the same as NumPy code."""
    products = scale * np.asarray(hidden, np.float64) * np.asarray(row, np.float64)
    terms = np.append(products, scale * bias) if bias else products
    names = [f"d{index}" for index in range(len(products))]
    names += [message("figure.logit.bias", language)] if bias else []
    name = f"<sub><bdi>{escape(token.strip('·') or token)}</bdi></sub>"
    formula = f'logit{name} = <span class="stt-residual">h</span> · w{name}'
    formula += " + b" if bias else ""
    formula += f" &nbsp; × {scale:.6g}" if scale != 1.0 else ""
    raw = logit if softcap is None else float(terms.sum())
    code = logit_as_numpy(hidden, row, bias=bias, scale=scale, softcap=softcap, logsumexp=logsumexp)
    summed = sum_arithmetic(terms, names=names, total=raw, formula_html=formula, code=code, language=language)
    capped = "" if softcap is None else _capped(raw, softcap)
    share = float(np.exp(logit - logsumexp))
    below = next_token_arithmetic(logit, logsumexp, share, token, n_vocabulary=n_vocabulary, language=language)
    return f'{summed}{capped}<div class="stt-panel">{below}</div>'


def _capped(raw: float, softcap: float) -> str:
    value = softcap * float(np.tanh(raw / softcap))
    line = f"{softcap:g} · tanh({number(raw)} ÷ {softcap:g}) = <b>{number(value)}</b>"
    return f'<div class="stt-panel"><div class="stt-arithmetic"><div>{line}</div></div></div>'


def logit_as_numpy(
    hidden: np.ndarray, row: np.ndarray, *, bias: float, scale: float, softcap: float | None, logsumexp: float
) -> str:
    """Runnable code that prints the logit and the probability."""
    lines = ["import numpy as np", ""]
    for name, vector in (("h", hidden), ("w", row)):
        listed = ", ".join(str(value) for value in np.asarray(vector, np.float32))
        lines.append(f"{name} = np.array([{listed}])")
    lines.append(f"logit = (h @ w + {float(bias)!r}) * {float(scale)!r}")
    if softcap is not None:
        lines.append(f"logit = {float(softcap)!r} * np.tanh(logit / {float(softcap)!r})")
    lines.append(f"print(logit, np.exp(logit - {float(logsumexp)!r}))")
    return "\n".join(lines) + "\n"
