"""A sum with its numbers: the largest terms by name, the share of the chosen one, and code with the same total."""

import contextlib
import io
import re
from html import unescape

import numpy as np
import pytest

from viz.figures import dot_as_numpy, sum_arithmetic, sum_as_numpy

TERMS = np.array([1.5, -0.25, 4.0, 0.125, -1.0])
NAMES = ["the", "·cat", "<b>", "↵", "the"]


def printed(code: str) -> list[float]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return [float(line) for line in out.getvalue().split()]


def words(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub("<title>.*?</title>|<[^>]*>", " ", page)))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_by_hand(language: str) -> None:
    page = sum_arithmetic(TERMS, names=NAMES, total=4.375, formula_html="<i>Σ terms</i>", chosen=2, language=language)
    text = words(page)
    assert "<i>Σ terms</i>" in page and "<b> 4.000 · the 1.500 · the −1.000 · ·cat −0.250 · …" in text
    assert "Σ = 4.375" in text and "91.4 %" in text and "stt-bad" not in page
    assert page.count("<rect") == 5 and page.count("stt-chosen") == 1 and "<b>bold" not in page


def test_the_copied_code_gives_the_sum() -> None:
    page = sum_arithmetic(TERMS, names=NAMES, total=4.375, formula_html="")
    code = unescape(re.search('data-copy="([^"]*)"', page)[1])
    assert code == sum_as_numpy(TERMS) and printed(code) == [4.375]
    assert unescape(re.search('data-copy="([^"]*)"', sum_arithmetic(
        TERMS, names=NAMES, total=4.375, formula_html="", code="print(7)"
    ))[1]) == "print(7)"  # fmt: skip


def test_the_code_of_a_product_gives_it_and_the_sum() -> None:
    left, right = np.float32([1.1, 2.5, -3.0]), np.float32([0.5, 2.0, 0.1])
    found = printed(dot_as_numpy(left, right, ("q", "k"), at=1))
    np.testing.assert_allclose(found, [5.0, left.astype(float) @ right.astype(float)], rtol=1e-6)
    assert len(printed(dot_as_numpy(left, right, ("q", "k")))) == 1


def test_a_share_is_told_only_where_it_is_one() -> None:
    against = words(sum_arithmetic(TERMS, names=NAMES, total=4.375, formula_html="", chosen=4))
    assert "all other terms together 5.375" in against and "%" not in against
    cancelled = words(sum_arithmetic(np.array([3.0, -3.0]), names=["a", "b"], total=0.0, formula_html="", chosen=0))
    assert "cancel" in cancelled and "%" not in cancelled


def test_a_total_that_was_tampered_with_is_called_out() -> None:
    assert "stt-bad" in sum_arithmetic(TERMS, names=NAMES, total=4.38, formula_html="")
    assert "stt-bad" not in sum_arithmetic(TERMS * 1e4, names=NAMES, total=43750.4, formula_html="")  # rounding


def test_very_many_terms_have_no_bars() -> None:
    page = sum_arithmetic(np.ones(257), names=[str(place) for place in range(257)], total=257.0, formula_html="")
    assert "<rect" not in page and "Σ = 257.000" in words(page)
    with pytest.raises(ValueError, match=r"\(5,\)"):
        sum_arithmetic(TERMS, names=NAMES[:4], total=1.0, formula_html="")
