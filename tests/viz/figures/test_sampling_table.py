"""The stages of a choice as a table, and softmax over classes: each number stands there, each name is a button."""

import re
from html import escape, unescape

import numpy as np
import pytest

from viz.figures import class_table, sampling_table, token_list


def _rows(html: str) -> list[list[str]]:
    found = re.findall(r"<tr>(.*?)</tr>", html)[1:]
    return [[unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in found]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_stage_stands_in_its_column(hostile: tuple[str, ...], language: str) -> None:
    stages = np.array(
        [[3.0, 6.0, 6.0, 0.76, 6.0, 0.8], [2.5, 5.0, 5.0, 0.95, 5.0, 0.2], [1, 2, -np.inf, np.nan, -np.inf, 0]]
    )
    before = stages.copy()
    html = sampling_table(
        stages,
        np.array([7, 11, 5]),
        hostile[3:6],
        np.array([0, 1, 30]),
        temperature=0.5,
        selected=11,
        language=language,
    )
    rows = _rows(html)
    assert rows[0] == [hostile[3], "3.00", "6.00", "6.00", "0.760", "6.00", "80.0 %"]
    assert rows[2] == [hostile[5], "1.00", "2.00", "−∞", "–", "−∞", "0"]
    assert re.findall(r'data-word="(\d+)"', html) == ["7", "11", "5"]
    assert re.findall(r'data-word="(\d+)"[^>]*aria-pressed="true"', html) == ["11"]
    assert escape(hostile[5]) in html and "<b>bold</b>" not in html and "÷ 0.5" in html
    np.testing.assert_array_equal(stages, before)


def test_softmax_by_hand() -> None:
    html = class_table(np.log([1.0, 4.0, 5.0]), ["a", "<i>", "c"], selected=1)
    rows = _rows(html)
    assert [row[-1] for row in rows] == ["10.0 %", "40.0 %", "50.0 %", "100.0 %"]
    assert [row[-2] for row in rows] == ["0.200", "0.800", "1.000", "2.000"]
    assert re.findall(r'data-word="(\d+)"[^>]*aria-pressed="true"', html) == ["1"] and "<i>" not in html


def test_some_of_many_classes_share_the_whole_sum() -> None:
    rows = _rows(class_table(np.log([4.0, 5.0]), ["b", "c"], ids=[31, 7], total=4.0))
    assert [row[-1] for row in rows] == ["20.0 %", "25.0 %", "100.0 %"] and rows[-1][-2] == "4.000"


def test_a_list_of_tokens(hostile: tuple[str, ...]) -> None:
    html = token_list(
        [7, 11], hostile[3:5], ["50.0 %", "<0.1 %"], places=["a", "b"], notes=["<b>n</b>", ""], selected=7
    )
    rows = [inner for row in re.findall("<li>(.*?)</li>", html) if (inner := unescape(re.sub("<[^>]*>", "", row)))]
    assert rows == [f"{hostile[3]}a50.0 %n", f"{hostile[4]}b<0.1 %"]
    assert re.findall(r'data-word="(\d+)" aria-pressed="true"', html) == ["7"]
    with pytest.raises(ValueError, match="longer"):
        token_list([1], ["a", "b"], ["x"])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        sampling_table(np.ones((2, 5)), np.arange(2), ["a", "b"], np.arange(2))
    with pytest.raises(ValueError, match="do not fit"):
        class_table(np.ones(3), ["a"])
