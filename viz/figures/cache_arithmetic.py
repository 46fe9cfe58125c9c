"""What the KV cache takes and saves, with its numbers: bytes by the formula and measured, work with and without it."""

from html import escape
from typing import Protocol

from transformer.messages import message
from viz.figures.cache import Formula


class State(Protocol):
    """What is needed of a `CacheState` (see `transformer/cache_state.py`)."""

    @property
    def tokens(self) -> int: ...
    @property
    def why(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def formula(self) -> Formula | None: ...
    @property
    def source_nbytes(self) -> int: ...
    @property
    def source_formula(self) -> Formula | None: ...
    @property
    def windowed(self) -> bool: ...
    @property
    def layers(self) -> int: ...


class Done(Protocol):
    """What is needed of a `Work`."""

    @property
    def last(self) -> int: ...
    @property
    def last_with(self) -> int: ...
    @property
    def last_without(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def total_with(self) -> int: ...
    @property
    def total_without(self) -> int: ...


def cache_arithmetic(state: State, work: Done, *, texts: int = 1, language: str = "en") -> str:
    """HTML: what is kept after a pass, by the formula and measured, and what would be computed again without a cache.

    `texts`: how many rows the pass had (the beams of a beam search); the formula is of one.
    """
    lines = [] if state.why else _bytes(state.formula, state.nbytes, texts, "own", state.windowed, language)
    if not state.why and state.source_nbytes:
        lines += _bytes(state.source_formula, state.source_nbytes, texts, "source", False, language)
    lines += _work(state, work, language)
    return f'<div class="stt-arithmetic">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _bytes(formula: Formula | None, measured: int, texts: int, whose: str, windowed: bool, language: str) -> list[str]:
    told = _say(f"figure.cache.bytes.{whose}", language)
    if formula is None:
        return [
            told,
            f"{_say('figure.cache.measured', language, bytes=f'{measured:,}')} {_say('figure.cache.unlike', language)}",
        ]
    factors = [
        "2",
        *(_say(f"figure.cache.factor.{name}", language, count=f"{getattr(formula, name):,}") for name in _FACTORS),
        *([_say("figure.cache.factor.texts", language, count=texts)] if texts > 1 else []),
    ]
    by_formula = formula.nbytes * texts
    lines = [
        f"{told} {' · '.join(factors)}",
        f"= <b class='stt-result'>{_say('figure.cache.amount', language, bytes=f'{by_formula:,}')}</b>",
    ]
    sign = "✓" if measured == by_formula else "≠"
    lines.append(f"{_say('figure.cache.measured', language, bytes=f'{measured:,}')} {sign}")
    if measured != by_formula:
        key = "figure.cache.let_go" if windowed and measured < by_formula else "figure.cache.unexplained"
        lines.append(_say(key, language))
    return lines


_FACTORS = ("layers", "kv_heads", "tokens", "d_head", "number")


def _work(state: State, work: Done, language: str) -> list[str]:
    """Tokens times layers, in this pass and in all so far."""
    facts = {name: f"{getattr(work, name):,}" for name in ("last", "last_with", "last_without")}
    facts |= {name: f"{getattr(work, name):,}" for name in ("total", "total_with", "total_without")}
    kind = "again" if state.why else "kept"
    of_pass = _say(f"figure.cache.work.{kind}", language, tokens=f"{state.tokens:,}", layers=state.layers, **facts)
    return [of_pass, _say(f"figure.cache.work_total.{kind}", language, **facts)]


def cache_code(formula: Formula) -> str:
    """NumPy code that makes such a cache and prints its bytes."""
    kind = {2: "float16", 4: "float32", 8: "float64"}.get(formula.number, "float32")
    shape = f"({formula.layers}, {formula.kv_heads}, {formula.tokens}, {formula.d_head})"
    return (
        "import numpy as np\n\n"
        f"keys = np.zeros({shape}, np.{kind})  # (layer, kv_head, token, d_head)\n"
        "values = np.zeros_like(keys)\n"
        "print(keys.nbytes + values.nbytes)\n"
    )


def _say(key: str, language: str, **values: object) -> str:
    return escape(message(key, language, **values))
