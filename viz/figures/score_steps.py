"""One key's way from q · k to its weight, a line per step with this cell's numbers in it."""

from collections.abc import Sequence
from html import escape

import numpy as np

from transformer.messages import message
from viz.figures.arithmetic import number


def score_steps(
    stages: Sequence[np.ndarray],
    names: Sequence[str],
    key: int,
    *,
    scale: float,
    d_head: int,
    softcap: float | None = None,
    bias: float = 0.0,
    sink: float | None = None,
    chosen: str | None = None,
    language: str = "en",
) -> str:
    """HTML for the key at index `key`; `stages` and `names` as `score_table` takes them, `sink` a logit.

    The line of the step `chosen` is marked.
    """
    values = {name: float(stage[key]) for name, stage in zip(names, stages, strict=True)}
    row = np.asarray(stages[list(names).index("masked")], np.float64)
    before = dict(zip(names[1:], names, strict=False))
    formulas = {
        "dot": lambda: f"Σ<sub>{d_head}</sub> <span class='stt-q'>q</span>·<span class='stt-k'>k</span>",
        "scaled": lambda: f"{number(values['dot'])} {_scaling(scale, d_head)}",
        "capped": lambda: f"{softcap:g} · tanh({number(values['scaled'])} ÷ {softcap:g})",
        "biased": lambda: f"{number(values[before['biased']])} {_added(bias)}",
        "masked": lambda: _masking(values, before["masked"], language),
        "weights": lambda: _softmax(row, values["masked"], sink, language),
    }
    lines = []
    for name in names:
        now = ' class="stt-now"' if name == chosen else ""
        result = number(values[name]) if np.isfinite(values[name]) else "−∞"
        lines.append(f"<b{now}>{_say(name, language)}</b><span{now}>{formulas[name]()} = <b>{result}</b></span>")
    return f'<div class="stt-panel stt-steps-of-score">{"".join(lines)}</div>'


def _say(key: str, language: str, /, **values: object) -> str:
    return escape(message(f"figure.score_row.{key}", language, **values))


def _scaling(scale: float, d_head: int) -> str:
    return f"÷ √{d_head}" if np.isclose(scale, d_head**-0.5, rtol=1e-6) else f"× {scale:.6g}"


def _added(bias: float) -> str:
    return f"− {number(-bias)}" if bias < 0 else f"+ {number(bias)}"


def _masking(values: dict[str, float], before: str, language: str) -> str:
    forbidden = np.isneginf(values["masked"])
    return f"{number(values[before])} {_say('forbidden' if forbidden else 'allowed', language)}"


def _softmax(row: np.ndarray, score: float, sink: float | None, language: str) -> str:
    """exp ÷ Σ exp, everything less the largest score, which changes no weight."""
    if not np.isfinite(row).any() and sink is None:
        return _say("nothing", language, count=len(row))
    everything = row if sink is None else np.append(row, sink)
    largest = float(everything.max())
    part = 0.0 if np.isneginf(score) else float(np.exp(score - largest))
    whole = float(np.exp(everything - largest).sum())
    sunk = "" if sink is None else f" {_say('with_sink', language)}"
    inside = "−∞" if np.isneginf(score) else f"{number(score)} {_added(-largest)}"
    return f"exp({inside}) ÷ Σ exp{sunk} = {number(part)} ÷ {number(whole)}"
