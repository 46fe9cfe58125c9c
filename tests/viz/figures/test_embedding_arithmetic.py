"""One number of a vector: the words hold its origin, and the code prints it."""

import contextlib
import io
import math
import re

import pytest

from viz.figures import EmbeddingTerm, Wave, embedding_arithmetic, embedding_as_numpy

TOKEN = EmbeddingTerm("token", 0.2262742, row=917, entry=0.02, table_factor=math.sqrt(128))
POSITION = EmbeddingTerm("position", math.cos(2 / 10_000 ** (4 / 128)), wave=Wave("cos", 2, 4, 128))


def plain(html: str) -> str:
    return re.sub(r"<[^>]*>", "", html)


def printed(terms: list[EmbeddingTerm]) -> float:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(embedding_as_numpy(terms), {})
    return float(out.getvalue())


def test_a_scaled_row_and_a_wave() -> None:
    total = TOKEN.value + POSITION.value
    html = embedding_arithmetic([TOKEN, POSITION], total, 5, d_model=128)
    said = plain(html)
    assert "token[5] = √128 · E[917, 5] = 11.314 · 0.0200 = 0.2263" in said
    assert "position[5] = cos(2 ÷ 100004/128) = " in said and "<sup>4/128</sup>" in html
    assert "sum[5] = token[5] + position[5]" in said and f"{total:.4f}".replace("-", "−") in said
    assert "stt-bad" not in html
    assert printed([TOKEN, POSITION]) == pytest.approx(total, abs=1e-6)


def test_what_is_subtracted_and_what_is_scaled_on_the_way() -> None:
    scaled = EmbeddingTerm("token", 0.5, factor=math.sqrt(28), row=7, entry=0.5)
    less = EmbeddingTerm("position", -0.25, row=3, entry=-0.25)
    total = math.sqrt(28) * 0.5 - 0.25
    said = plain(embedding_arithmetic([scaled, less], total, 3, d_model=28))
    assert "√28 · token[3] + position[3]" in said and "2.6458 − 0.2500" in said and "P[3, 3]" in said
    assert printed([scaled, less]) == pytest.approx(total)


def test_a_number_of_unknown_origin_is_only_told() -> None:
    html = embedding_arithmetic([EmbeddingTerm("patch", 0.75)], 0.75, 2, d_model=28, language="zh")
    assert plain(html).count("[2]") == 2 and "0.7500" in html
    assert printed([EmbeddingTerm("patch", 0.75)]) == 0.75


def test_a_sum_that_does_not_agree_says_so() -> None:
    html = embedding_arithmetic([TOKEN, POSITION], 5.0, 5, d_model=128)
    assert "stt-bad" in html and "5.0000" in html
