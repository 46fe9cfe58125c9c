"""The arithmetic of a cell: the formula holds the numbers of the cell, and the copied code gives the same weight."""

import contextlib
import io
import re
from html import unescape

import numpy as np
import pytest

from viz.figures import as_numpy, attention_arithmetic, next_token_arithmetic
from viz.figures.arithmetic import number

LOWEST = np.finfo(np.float32).min


def row_of(
    n_keys: int, d_head: int = 7, softcap: float | None = None, hidden: int = 0, sink: float | None = None
) -> dict:
    """A query's row: vectors, scale, bias, scores and weights as the engine would have them."""
    rng = np.random.default_rng(n_keys * 53 + d_head)
    q = rng.normal(size=d_head).astype(np.float32) * 2
    keys = rng.normal(size=(n_keys, d_head)).astype(np.float32) * 2
    bias = rng.normal(size=n_keys).astype(np.float32)
    scores = (keys @ q * 0.37).astype(np.float32)
    scores = scores if softcap is None else softcap * np.tanh(scores / softcap)
    allowed = np.arange(n_keys) < n_keys - hidden
    scores = np.where(allowed, scores + bias, LOWEST).astype(np.float32)
    everything = scores.astype(np.float64) if sink is None else np.append(scores, sink).astype(np.float64)
    parts = np.exp(everything - everything.max())
    weights = (parts / parts.sum())[:n_keys]
    return {"q": q, "keys": keys, "bias": bias, "scores": scores, "allowed": allowed, "weights": weights}


def words(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub("<title>.*?</title>|<[^>]*>", " ", page)))


def test_by_hand() -> None:
    q, k = np.array([0.0, np.sqrt(2)]), np.array([1.0, np.sqrt(2)])
    page = attention_arithmetic(
        q, k, scale=2**-0.5, row_scores=np.array([0, np.sqrt(2)]), key_index=1, weight=0.80443, query="·it", key="<b>"
    )
    text = words(page)
    assert "q it · k <b> = Σ of 2 products" in text and "largest: d1 2.00 · d0 0.00" in text
    assert "÷ √2 → 1.414" in text and "+ mask 0" in text
    assert "exp(1.414) ÷ Σ keys exp" in text and "= 4.113 ÷ 5.113 = 0.804" in text
    assert page.count("<rect") == 2 and "do not agree" not in text


def test_every_step_that_the_model_took_is_shown() -> None:
    row = row_of(11, softcap=5.0, sink=0.7)
    page = attention_arithmetic(
        row["q"], row["keys"][3], scale=0.37, row_scores=row["scores"], key_index=3, weight=row["weights"][3],
        bias=float(row["bias"][3]), softcap=5.0, sink=0.7,
    )  # fmt: skip
    text = words(page)
    assert "× 0.37" in text and "5 · tanh(… ÷ 5)" in text and "+ bias" in text and "exp(sink)" in text
    assert number(row["weights"][3]) in text and "do not agree" not in text


def test_large_scores_do_not_overflow() -> None:
    page = attention_arithmetic(
        np.array([100.0]), np.array([10.0]), scale=1.0, row_scores=np.array([999.0, 1000.0]), key_index=1, weight=0.731
    )
    assert "exp(1000.000 − 1000.000)" in words(page) and "do not agree" not in words(page)
    assert "inf" not in words(page) and "nan" not in words(page)


def test_a_weight_that_was_tampered_with_is_called_out() -> None:
    row = row_of(5)
    given = {"scale": 0.37, "row_scores": row["scores"], "key_index": 2, "bias": float(row["bias"][2])}
    right = attention_arithmetic(row["q"], row["keys"][2], weight=row["weights"][2], **given)
    wrong = attention_arithmetic(row["q"], row["keys"][2], weight=row["weights"][2] + 0.001, **given)
    assert "stt-bad" not in right and "stt-bad" in wrong


def test_forbidden_cells_say_so() -> None:
    row = row_of(5, hidden=2)
    given = {"scale": 0.37, "row_scores": row["scores"], "key_index": 4, "allowed": False}
    text = words(attention_arithmetic(row["q"], row["keys"][4], weight=0.0, **given))
    assert "+ mask −∞" in text and "Forbidden by the mask" in text and "do not agree" not in text
    assert "do not agree" in words(attention_arithmetic(row["q"], row["keys"][4], weight=0.2, **given))


@pytest.mark.parametrize("lowest", [LOWEST, -np.inf])
def test_a_query_that_may_look_at_nothing(lowest: float) -> None:
    text = words(
        attention_arithmetic(
            np.ones(2), np.ones(2), scale=1.0, row_scores=np.full(4, lowest), key_index=0, weight=0.25, allowed=False
        )
    )
    assert "may look at nothing" in text and "1 ÷ 4" in text and "0.250" in text


def test_next_token_by_hand() -> None:
    text = words(next_token_arithmetic(2.0, 3.0, np.exp(-1), "<s>", n_vocabulary=49152))
    assert "p( <s> )" in text and "exp(2.000 − 3.000) = 0.368" in text and "49,152" in text
    assert "ln Σ exp = 3.000" in text


def run(code: str) -> float:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "copied", "exec"), {})
    return float(out.getvalue())


@pytest.mark.parametrize("n_keys", [1, 5, 64, 131])
@pytest.mark.parametrize(("softcap", "sink"), [(None, None), (5.0, None), (None, 0.7), (5.0, 0.7)])
def test_copied_code_prints_the_weight(n_keys: int, softcap: float | None, sink: float | None) -> None:
    row = row_of(n_keys, softcap=softcap, sink=sink, hidden=n_keys // 3)
    for key_index in {0, n_keys // 2, n_keys - 1}:
        code = as_numpy(
            row["q"], row["keys"], scale=np.float64(0.37), row_scores=row["scores"], key_index=key_index,
            allowed=row["allowed"], bias=row["bias"], softcap=softcap, sink=sink,
        )  # fmt: skip
        assert code.startswith("import numpy as np\n") and code.endswith("print(weight)\n")
        assert abs(run(code) - row["weights"][key_index]) < 1e-6, code


def test_copied_code_holds_only_what_is_needed() -> None:
    row = row_of(131)
    given = {"scale": 0.125, "row_scores": row["scores"]}
    visible = np.arange(131) < 3
    assert as_numpy(row["q"], row["keys"], key_index=1, allowed=visible, **given).count("[") < 10
    long = as_numpy(row["q"], row["keys"], key_index=1, **given)
    assert "K =" not in long and len(long) < 3_000


def test_copied_code_of_a_query_that_may_look_at_nothing() -> None:
    code = as_numpy(
        np.ones(2), np.ones((4, 2)), scale=1.0, row_scores=np.full(4, LOWEST), key_index=2, allowed=np.zeros(4, bool)
    )
    assert run(code) == 0.25
