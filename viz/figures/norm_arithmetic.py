"""One cell of a norm with its own numbers, (x − μ) ÷ σ · γ + β, and as NumPy code; and one + of the residual stream."""

from collections.abc import Sequence
from html import escape
from typing import Protocol

import numpy as np

from transformer.messages import message
from viz.figures.arithmetic import number
from viz.figures.stream_norms import part_name

LISTED_UP_TO = 1024  # dimensions: of a longer vector the code holds mean and std instead of all its numbers
AGREES = 1e-4


class Numbers(Protocol):
    """What is needed of a `NormNumbers` (see `transformer/norm_numbers.py`)."""

    @property
    def kind(self) -> str: ...
    @property
    def eps(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def before(self) -> np.ndarray: ...
    @property
    def normalized(self) -> np.ndarray: ...
    @property
    def after(self) -> np.ndarray: ...
    @property
    def gamma(self) -> np.ndarray | None: ...
    @property
    def beta(self) -> np.ndarray | None: ...
    @property
    def normalized_moments(self) -> tuple[float, float]: ...
    @property
    def after_moments(self) -> tuple[float, float]: ...


def norm_summary(numbers: Numbers, *, language: str = "en") -> str:
    """HTML: mean and standard deviation before, after normalising, after γ and β, each in words with its number."""
    rms = numbers.kind == "rmsnorm"
    rows = [] if rms else [("mean_before", {"mean": number(numbers.mean, 4)})]
    eps = f"{numbers.eps:.0e}".replace("e-0", "e−").replace("e-", "e−")
    rows.append(("rms_before" if rms else "std_before", {"std": number(numbers.std, 4), "eps": eps}))
    moments = [("normalized", numbers.normalized_moments)]
    if numbers.gamma is not None or numbers.beta is not None:
        moments.append(("after" if numbers.beta is not None else "after_gamma", numbers.after_moments))
    for name, (mean, std) in moments:
        rows.append((name, {"mean": number(_settled(mean), 4), "std": number(std, 4)}))
    listed_rows = "".join(_summary_row(name, values, language) for name, values in rows)
    lacks = _lacking(numbers, language)
    return f'<dl class="stt-facts">{listed_rows}</dl>{lacks}'


def _settled(mean: float) -> float:
    """Rounding of float32 around 0 is no mean."""
    return 0.0 if abs(mean) < 5e-7 else mean


def _summary_row(name: str, values: dict[str, str], language: str) -> str:
    words = escape(message(f"norm.summary.{name}", language, **({"eps": values["eps"]} if "eps" in values else {})))
    if name in ("mean_before", "std_before", "rms_before"):
        told = f"<b>{values.get('mean', values.get('std'))}</b>"
    else:
        pair = message("norm.summary.pair", language, mean="{mean}", std="{std}")
        told = escape(pair).format(mean=f"<b>{values['mean']}</b>", std=f"<b>{values['std']}</b>")
    strong = ' class="stt-facts-strong"' if name in ("std_before", "rms_before") else ""
    return f"<div{strong}><dt>{words}</dt><dd>{told}</dd></div>"


def _lacking(numbers: Numbers, language: str) -> str:
    """What this kind of norm does not have, said in words."""
    found = ["norm.summary.rms"] if numbers.kind == "rmsnorm" else []
    found += ["norm.summary.no_gamma"] if numbers.gamma is None else []
    found += ["norm.summary.no_beta"] if numbers.beta is None and numbers.kind != "rmsnorm" else []
    return "".join(f'<p class="stt-note">{escape(message(key, language))}</p>' for key in found)


def norm_arithmetic(numbers: Numbers, dimension: int, *, language: str = "en") -> str:
    """HTML: the chosen dimension from x to the norm's output, step by step; says so where it is not what was given."""
    x, mean, std = float(numbers.before[dimension]), numbers.mean, numbers.std
    gamma = None if numbers.gamma is None else float(numbers.gamma[dimension])
    beta = None if numbers.beta is None else float(numbers.beta[dimension])
    rms, count = numbers.kind == "rmsnorm", len(numbers.before)
    sub = f"<sub>{dimension}</sub>"
    steps = [f'<span class="stt-residual">x{sub}</span> = <b>{number(x)}</b>']
    steps += _statistics(mean, std, count, numbers.eps, rms, language)
    scaled = (x - mean) / std
    top = f"{number(x)}" if rms else f"({_minus(x, mean)})"
    steps.append(f"{top} ÷ {number(std)} = <b>{number(scaled)}</b>")
    total, formula = scaled, number(scaled)
    if gamma is not None:
        total, formula = total * gamma, f"{formula} · γ{sub} {number(gamma)}"
    if beta is not None:
        total, formula = total + beta, f"{formula} + β{sub} {_bracketed(beta)}"
    steps.append(f"{formula} = <b class='stt-result'>{number(total)}</b>")
    recorded = float(numbers.after[dimension])
    if abs(total - recorded) > AGREES * max(1.0, abs(recorded)):
        words = message("figure.arithmetic.differs", language, recomputed=number(total), recorded=number(recorded))
        steps.append(f'<span class="stt-bad">{escape(words)}</span>')
    return f'<div class="stt-arithmetic">{"".join(f"<div>{step}</div>" for step in steps)}</div>'


def _minus(x: float, mean: float) -> str:
    return f"{number(x)} − {_bracketed(mean)}"


def _bracketed(value: float) -> str:
    return f"({number(value)})" if value < 0 else number(value)


def _statistics(mean: float, std: float, count: int, eps: float, rms: bool, language: str) -> list[str]:
    """How mean and standard deviation come about."""
    small = f"{eps:.0e}".replace("e-0", "e−").replace("e-", "e−")
    over = escape(message("norm.over", language, count=count))
    if rms:
        return [f'√(Σ x² ÷ {count} + {small}) = <b>{number(std)}</b> <span class="stt-muted">{over}</span>']
    return [
        f'μ = Σ x ÷ {count} = <b>{number(mean)}</b> <span class="stt-muted">{over}</span>',
        f"σ = √(Σ (x − μ)² ÷ {count} + {small}) = <b>{number(std)}</b>",
    ]


def norm_as_numpy(numbers: Numbers, dimension: int) -> str:
    """Runnable code that prints the norm's output in one dimension, from the whole vector that came in."""
    lines, rms = ["import numpy as np", ""], numbers.kind == "rmsnorm"
    if len(numbers.before) <= LISTED_UP_TO:
        lines.append(f"x = np.array({_listed(numbers.before)})")
        lines.append(f"mean = {'0.0  # RMSNorm takes none away' if rms else 'x.mean()'}")
        lines.append(f"std = np.sqrt(((x - mean) ** 2).mean() + {numbers.eps!r})")
        lines.append(f"value = (x[{dimension}] - mean) / std")
    else:
        lines += [
            f"mean = {numbers.mean!r}",
            f"std = {numbers.std!r}  # √(variance + eps) over {len(numbers.before)} dimensions",
        ]
        lines.append(f"value = ({float(numbers.before[dimension])!r} - mean) / std")
    if numbers.gamma is not None:
        lines.append(f"value = value * {float(numbers.gamma[dimension])!r}  # gamma")
    if numbers.beta is not None:
        lines.append(f"value = value + {float(numbers.beta[dimension])!r}  # beta")
    return "\n".join([*lines, "print(value)"]) + "\n"


def _listed(values: np.ndarray) -> str:
    """Float32 numbers in the fewest digits that keep each exact."""
    return "[" + ", ".join(str(value) for value in np.asarray(values, np.float32)) + "]"


class Step(Protocol):
    """One + for one token (see `transformer/residual_stream.py`)."""

    @property
    def part(self) -> str: ...
    @property
    def stream(self) -> float: ...  # ‖what it was added to‖
    @property
    def added(self) -> float: ...
    @property
    def cosine(self) -> float: ...
    @property
    def total(self) -> float: ...


def stream_steps(steps: Sequence[Step], *, language: str = "en") -> str:
    """HTML table, a column for each part of a layer: the length of the stream before, of what was added, of the sum."""
    head = "".join(f'<th scope="col">{escape(part_name(step.part, language))}</th>' for step in steps)
    rows = {name: [getattr(step, name) for step in steps] for name in ("stream", "added", "cosine", "total")}
    body = "".join(
        f'<tr><th scope="row">{escape(message(f"norm.steps.{name}", language))}</th>'
        f"{''.join(f'<td>{_told(value)}</td>' for value in values)}</tr>"
        for name, values in rows.items()
    )
    corner = escape(message("norm.steps.part", language))
    table = f'<thead><tr><th scope="col">{corner}</th>{head}</tr></thead><tbody>{body}</tbody>'
    return f'<div class="stt-table-box"><table class="stt-table stt-steps-of-layer">{table}</table></div>'


def _told(value: float) -> str:
    return "–" if np.isnan(value) else number(value)
