"""The table: the same numbers with headers that a screen reader can name."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from viz.figures import matrix_table


def test_numbers_headers_and_forbidden_cells(head: Callable[..., tuple[np.ndarray, np.ndarray]]) -> None:
    weights, allowed = head(3, 5)
    page = matrix_table(weights, ["the", "<b>", "the"], list("abcde"), allowed=allowed)
    assert re.findall('scope="row"><bdi>(.*?)</bdi>', page) == ["the", "&lt;b&gt;", "the"]
    assert re.findall('scope="col"><bdi>(.*?)</bdi>', page) == list("abcde")
    cells = re.findall("<td.*?>(.*?)</td>", page)
    expected = [f"{w:.4f}" if may else "forbidden" for w, may in zip(weights.ravel(), allowed.ravel(), strict=True)]
    assert cells == expected


def test_large_tables_are_cut_with_a_notice() -> None:
    page = matrix_table(np.zeros((71, 67)), ["q"] * 71, ["k"] * 67)
    assert page.count("<tr>") == 65 and "64 of 71 rows and 64 of 67 columns" in page
    assert "notice" not in matrix_table(np.zeros((2, 3)), "ab", "abc")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        matrix_table(np.zeros((2, 3)), "ab", "ab")
