"""The cache in numbers: the formula written out, what was measured beside it, and no equality that does not hold."""

import re
from contextlib import redirect_stdout
from io import StringIO

import pytest

from transformer.cache_state import CacheFormula, CacheState, Work
from viz.figures import cache_arithmetic, cache_code

FORMULA = CacheFormula(layers=3, kv_heads=7, d_head=4, tokens=5, number=4)  # 2 · 3 · 7 · 4 · 5 · 4 = 3,360


def kept(**changes: object) -> CacheState:
    facts = {"tokens": 5, "earlier": 4, "why": "", "kept": (5, 5, 5), "nbytes": 3360, "formula": FORMULA}
    return CacheState(**(facts | changes))


def said(state: CacheState, **options: object) -> str:
    before = CacheState(4, 0, state.why, state.kept, 0, None)
    return re.sub("<[^>]+>", "\n", cache_arithmetic(state, Work.of([before, state]), **options))


def test_the_formula_with_its_numbers_and_what_was_measured() -> None:
    words = said(kept())
    assert "2 · 3 layers · 7 KV heads · 5 tokens · 4 numbers (d_head) · 4 bytes" in words
    assert "3,360 bytes" in words and "Measured: 3,360 bytes ✓" in words
    assert "Computed in this pass: 3 token-layers" in words and "5 tokens × 3 layers = 15" in words
    assert "In all passes so far: 15; without the cache 27." in words  # (4 + 1) · 3, and (4 + 5) · 3


def test_what_the_formula_does_not_explain_is_told() -> None:
    window = said(kept(kept=(2, 5, 5), nbytes=2688))
    assert "3,360 bytes" in window and "Measured: 2,688 bytes ≠" in window and "sliding window" in window
    other = said(kept(nbytes=9999))
    assert "Measured: 9,999 bytes ≠" in other and "something else" in other and "✓" not in other
    unknown = said(kept(formula=None))
    assert "Measured: 3,360 bytes (the layers" in unknown and "✓" not in unknown and "2 ·" not in unknown


def test_several_texts_keep_as_many_times() -> None:
    words = said(kept(nbytes=3 * 3360), texts=3)
    assert "4 bytes · 3 texts" in words and "10,080 bytes" in words and "✓" in words
    assert "≠" in said(kept(), texts=3)


def test_the_text_that_is_read_has_its_own_line() -> None:
    words = said(kept(source_nbytes=1344, source_formula=CacheFormula(3, 7, 4, 2)))
    assert "cross-attention" in words and "· 2 tokens ·" in words and words.count("✓") == 2


def test_without_a_cache_nothing_is_kept() -> None:
    words = said(kept(why="family", kept=(0, 0, 0), nbytes=0))
    assert "bytes" not in words and "5 tokens × 3 layers = 15 token-layers" in words and "With a cache: 3." in words
    assert "In all passes so far: 27; with a cache 15." in words
    assert "若用缓存" in said(kept(why="asked"), language="zh")


@pytest.mark.parametrize("number", [2, 4])
def test_the_copied_code_prints_the_bytes(number: int) -> None:
    out = StringIO()
    formula = CacheFormula(3, 7, 4, 5, number)
    with redirect_stdout(out):
        exec(cache_code(formula), {})
    assert int(out.getvalue()) == formula.nbytes == 840 * number
