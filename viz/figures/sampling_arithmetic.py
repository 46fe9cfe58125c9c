"""How probable one candidate of a step was, with its numbers: from its logit to what was drawn from.

p = exp(z − lse)        at the temperature: exp(z ÷ T − lse_T)        behind the cut: that ÷ what was kept
"""

from html import escape
from typing import Protocol

import numpy as np

from transformer.messages import message
from viz.figures.arithmetic import AGREES, number


class Candidates(Protocol):
    """What is needed of a `Distribution` (see `transformer/distribution.py`)."""

    @property
    def logits(self) -> np.ndarray: ...
    @property
    def ranks(self) -> np.ndarray: ...
    @property
    def p(self) -> np.ndarray: ...
    @property
    def scaled(self) -> np.ndarray: ...
    @property
    def final(self) -> np.ndarray: ...
    @property
    def place(self) -> int: ...
    @property
    def vocabulary(self) -> int: ...
    @property
    def mass_kept(self) -> float: ...
    @property
    def logsumexp(self) -> float: ...
    @property
    def scaled_logsumexp(self) -> float: ...
    @property
    def before(self) -> float: ...
    @property
    def cut_by(self) -> tuple[str, ...]: ...


def candidate_arithmetic(
    chosen: Candidates,
    row: int,
    *,
    token: str,
    temperature: float | None = None,
    draw: float | None = None,
    language: str = "en",
) -> str:
    """HTML of the candidate in `row`, named `token`. `temperature` None: nothing is drawn, and only the model's own
    probability counts. `draw`: where in [0, 1) the draw fell; it is said of the token that was drawn."""
    z, lse = float(chosen.logits[row]), chosen.logsumexp
    p, name = float(chosen.p[row]), f"<bdi>{escape(token)}</bdi>"
    lines = [
        f"p({name}) = exp({_say('figure.arithmetic.logit', language)}) ÷ Σ<sub>{chosen.vocabulary:,}</sub> exp",
        f"= exp({_difference(z, lse)}) = <b>{number(p)}</b>",
        *_agreement(float(np.exp(z - lse)), p, language),
    ]
    if temperature is not None:
        lines += _at_temperature(chosen, row, temperature, language) if temperature != 1 else []
        lines += _behind_the_cut(chosen, row, language)
        lines += _drawn(chosen, row, draw, language)
    return f'<div class="stt-arithmetic">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _at_temperature(chosen: Candidates, row: int, temperature: float, language: str) -> list[str]:
    z, lse, scaled = float(chosen.logits[row]), chosen.scaled_logsumexp, float(chosen.scaled[row])
    words = _say("figure.candidate.temperature", language, temperature=f"{temperature:g}")
    return [
        f"{words} exp({number(z)} ÷ {temperature:g} {_minus(lse)}) = <b>{number(scaled)}</b>",
        *_agreement(float(np.exp(z / temperature - lse)), scaled, language),
    ]


def _behind_the_cut(chosen: Candidates, row: int, language: str) -> list[str]:
    """What the dials left of it; nothing is said where they cut nothing."""
    if dial := chosen.cut_by[row]:
        return [f"{_say(f'figure.candidate.cut.{dial}', language)} <b class='stt-result'>0</b>"]
    scaled, final, kept = float(chosen.scaled[row]), float(chosen.final[row]), chosen.mass_kept
    if kept >= 1 - 1e-12:
        return []
    words = _say("figure.candidate.kept", language)
    line = f"{words} {number(scaled)} ÷ {number(kept)} = <b class='stt-result'>{number(final)}</b>"
    return [line, *_agreement(scaled / kept, final, language)]


def _drawn(chosen: Candidates, row: int, draw: float | None, language: str) -> list[str]:
    if draw is None or row != chosen.place:
        return []
    ends = {"start": number(chosen.before, 4), "end": number(chosen.before + float(chosen.final[row]), 4)}
    return [_say("figure.candidate.draw", language, draw=number(draw, 4), **ends)]


def candidate_code(chosen: Candidates, row: int, temperature: float | None = None) -> str:
    """NumPy code that prints the candidate's probability: the model's own, or what was drawn from."""
    lines = [
        "import numpy as np",
        "",
        f"logit, logsumexp = {float(chosen.logits[row])!r}, {float(chosen.logsumexp)!r}  # of the whole vocabulary",
        "p = np.exp(logit - logsumexp)",
    ]
    if temperature is None:
        return "\n".join([*lines, "print(p)"]) + "\n"
    lse = f"{float(chosen.scaled_logsumexp)!r}"
    lines.append(f"scaled = np.exp(logit / {float(temperature)!r} - {lse})  # at the temperature")
    cut = f"0.0  # cut by {chosen.cut_by[row].replace('_', '-')}" if chosen.cut_by[row] else None
    kept = f"scaled / {float(chosen.mass_kept)!r}  # what was kept"
    return "\n".join([*lines, f"final = {cut or kept}", "print(p, scaled, final)"]) + "\n"


def _difference(value: float, other: float) -> str:
    return f"{number(value)} {_minus(other)}"


def _minus(value: float) -> str:
    return f"− {number(value)}" if value >= 0 else f"+ {number(-value)}"


def _say(key: str, language: str, **values: object) -> str:
    return escape(message(key, language, **values))


def _agreement(recomputed: float, recorded: float, language: str) -> list[str]:
    if abs(recomputed - recorded) <= AGREES:
        return []
    words = _say("figure.arithmetic.differs", language, recomputed=number(recomputed), recorded=number(recorded))
    return [f'<span class="stt-bad">{words}</span>']
