"""A norm with its own numbers: what is written adds up, and the copied code prints the same number."""

import contextlib
import io
import re
from html import unescape
from types import SimpleNamespace as Some

import numpy as np
import pytest

from viz.figures import norm_arithmetic, norm_as_numpy, norm_summary, stream_steps


def numbers(
    kind: str = "layernorm", size: int = 7, eps: float = 1e-5, *, gamma: bool = True, beta: bool = True
) -> Some:
    rng = np.random.default_rng(size)
    x, weight, bias = (rng.normal(1, 3, size).astype(np.float32) for _ in range(3))
    mean = float(x.mean(dtype=np.float64)) if kind == "layernorm" else 0.0
    std = float(np.sqrt(((x.astype(np.float64) - mean) ** 2).mean() + eps))
    normalized = (x - mean) / std
    after = normalized * (weight if gamma else 1) + (bias if beta and kind == "layernorm" else 0)
    return Some(
        kind=kind, eps=eps, mean=mean, std=std, before=x, normalized=normalized, after=after.astype(np.float32),
        gamma=weight if gamma else None, beta=bias if beta and kind == "layernorm" else None,
        normalized_moments=(float(normalized.mean()), float(normalized.std())),
        after_moments=(float(after.mean()), float(after.std())),
    )  # fmt: skip


def plain(html: str) -> str:
    return unescape(re.sub("<[^>]*>", " ", html)).replace("−", "-")


def printed(code: str) -> float:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return float(out.getvalue())


@pytest.mark.parametrize("dimension", range(7))
@pytest.mark.parametrize("one", [numbers(), numbers("rmsnorm"), numbers(gamma=False), numbers(beta=False)])
def test_the_last_line_is_what_the_norm_gave(one: Some, dimension: int) -> None:
    html = norm_arithmetic(one, dimension)
    result = re.search(r"stt-result'>([^<]*)<", html).group(1).replace("−", "-")
    assert float(result) == pytest.approx(float(one.after[dimension]), abs=6e-4) and "stt-bad" not in html
    assert printed(norm_as_numpy(one, dimension)) == pytest.approx(float(one.after[dimension]), rel=1e-5, abs=1e-6)


def test_the_formula_by_hand() -> None:
    one = numbers(size=2)
    one.before, one.mean, one.std = np.array([3.0, -1.0], np.float32), 1.0, 2.0
    one.gamma, one.beta, one.after = np.array([0.5, 1.0]), np.array([-2.0, 0.0]), np.array([-1.5, -1.0])
    said = " ".join(plain(norm_arithmetic(one, 0)).split())
    assert "(3.000 - 1.000) ÷ 2.000 = 1.000" in said and "+ β 0 (-2.000) = -1.500" in said
    rms = numbers("rmsnorm")
    assert "μ" not in norm_arithmetic(rms, 1) and "β" not in norm_arithmetic(rms, 1)


def test_no_row_names_what_the_norm_does_not_have() -> None:
    assert "<dt>After γ and β</dt>" in norm_summary(numbers())
    for one in (numbers("rmsnorm"), numbers(beta=False)):
        assert "<dt>After γ</dt>" in norm_summary(one) and "After γ and β" not in norm_summary(one)
    assert "<dt>After" not in norm_summary(numbers(gamma=False, beta=False))


def test_a_number_that_does_not_come_out_is_said() -> None:
    one = numbers()
    one.after = one.after + 1
    assert "stt-bad" in norm_arithmetic(one, 3)


def test_a_long_vector_is_copied_by_its_statistics() -> None:
    one = numbers(size=1031)
    code = norm_as_numpy(one, 1000)
    assert len(code) < 500 and printed(code) == pytest.approx(float(one.after[1000]), rel=1e-5)


def test_mean_and_deviation_before_the_norm_are_read_in_words() -> None:
    one = numbers()
    said = " ".join(plain(norm_summary(one)).split())
    assert f"Mean before the norm, μ {one.mean:.4f}" in said
    assert f"ε = 1e-5 {one.std:.4f}" in said and "Standard deviation before the norm" in said
    assert f"mean {one.after_moments[0]:.4f} , standard deviation {one.after_moments[1]:.4f}" in said


def test_what_a_norm_has_not_is_said() -> None:
    rms = plain(norm_summary(numbers("rmsnorm")))
    assert "Root mean square before the norm" in rms and "no β" in rms and "Mean before" not in rms
    assert "no γ" in plain(norm_summary(numbers(gamma=False))) and "no β" in plain(norm_summary(numbers(beta=False)))
    assert "no " not in plain(norm_summary(numbers()))


def test_steps_are_a_column_for_each_part() -> None:
    steps = [
        Some(part="self", stream=12.5, added=3.25, cosine=-0.5, total=11.0),
        Some(part="ffn", stream=float("nan"), added=1.0, cosine=float("nan"), total=1.0),
    ]
    html = stream_steps(steps)
    assert re.findall('<th scope="col">(.*?)</th>', html)[1:] == ["attention", "feed-forward"]
    assert re.findall("<td>(.*?)</td>", html) == ["12.500", "–", "3.250", "1.000", "−0.500", "–", "11.000", "1.000"]
    assert stream_steps(steps, language="zh") != html
