"""One candidate's numbers: right by hand, the same in the code that is copied, and a wrong one is told."""

import re
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest

from transformer.distribution import Distribution, choose
from transformer.sampling import Dials
from viz.figures import candidate_arithmetic, candidate_code

LOGITS = np.log([0.125, 0.5, 0.25, 0.0625, 0.0625]) + 3  # squares: 4, 64, 16, 1, 1 of 86


@pytest.fixture
def chosen() -> Distribution:
    """Token 2 of 5 was drawn at temperature 0.5; top-p cut token 0, top-k tokens 3 and 4."""
    return choose(LOGITS, Dials(0.5, 3, 0.9), point=0.85, shown=4)


def plain(html: str) -> str:
    return re.sub("<[^>]+>", "", html)


def printed(code: str) -> list[float]:
    out = StringIO()
    with redirect_stdout(out):
        exec(code, {})
    return [float(one) for one in out.getvalue().split()]


def test_from_the_logit_to_what_was_drawn_from(chosen: Distribution) -> None:
    said = plain(candidate_arithmetic(chosen, 1, token="<b>", temperature=0.5, draw=0.85))
    for part in (
        "p(&lt;b&gt;) = exp(logit) ÷ Σ5 exp", "= exp(1.614 − 3.000) = 0.250",
        f"at temperature 0.5: exp(1.614 ÷ 0.5 − {chosen.scaled_logsumexp:.3f}) = 0.186",
        "divided by what the dials kept: 0.186 ÷ 0.930 = 0.200",
        "fell on 0.8500, inside this token’s stretch from 0.8000 to 1.0000",
    ):  # fmt: skip
        assert part in said
    assert "not agree" not in said


@pytest.mark.parametrize(("row", "dial"), [(2, "top-p"), (3, "top-k")])
def test_what_was_cut_is_nothing(chosen: Distribution, row: int, dial: str) -> None:
    said = plain(candidate_arithmetic(chosen, row, token="x", temperature=0.5, draw=0.85))
    assert said.endswith(f"cut by {dial}: 0") and "draw" not in said


def test_where_nothing_is_drawn_only_the_models_own_counts(chosen: Distribution) -> None:
    said = plain(candidate_arithmetic(chosen.uncut, 0, token="x"))
    assert said.endswith("= 0.500") and "temperature" not in said and "kept" not in said
    warm = plain(candidate_arithmetic(choose(LOGITS, Dials(), 0.1), 0, token="x", temperature=1.0, draw=0.1))
    assert "temperature" not in warm and "kept" not in warm and "from 0.0000 to 0.5000" in warm


def test_a_number_that_does_not_follow_is_told(chosen: Distribution) -> None:
    wrong = replace(chosen, p=chosen.p + 0.01, scaled=chosen.scaled - 0.01)
    for language, words in (("en", "do not agree"), ("zh", "不一致")):
        html = candidate_arithmetic(wrong, 0, token="x", temperature=0.5, language=language)
        assert html.count("stt-bad") == 3 and words in html


@pytest.mark.parametrize("row", range(4))
def test_the_copied_code_prints_the_same(chosen: Distribution, row: int) -> None:
    assert printed(candidate_code(chosen, row, 0.5)) == pytest.approx(chosen.shares[:, row], rel=1e-9)
    assert printed(candidate_code(chosen, row)) == pytest.approx([chosen.p[row]], rel=1e-9)
