"""The texts of a search: their numbers by hand, tokens escaped, buttons that tell their node."""

import re
from contextlib import redirect_stdout
from io import StringIO

import pytest

from viz.figures import BeamText, beam_arithmetic, beam_code, beam_texts


def test_a_row_per_text_with_score_length_and_rating(hostile: tuple[str, ...]) -> None:
    rows = [BeamText(hostile[:4], -2.0, -0.5, True, 11), BeamText(hostile[4:7], -1.5, -0.5, False, 13)]
    html = beam_texts([*rows, BeamText(["a"], -7.25, -7.25, True)], selected=13)
    assert re.findall(r'data-node="(\d+)" aria-pressed="(\w+)"', html) == [("11", "false"), ("13", "true")]
    cells = re.findall(r"<td>([^<]*)</td>", html)
    assert cells == ["−2.000", "4", "−0.500", "−1.500", "3", "−0.500", "−7.250", "1", "−7.250"]
    assert "<b>bold</b>" not in html and "&lt;b&gt;bold" in html
    assert html.count("complete") == 2 and html.count("lives on") == 1
    assert "已完成" in beam_texts(rows, language="zh")


@pytest.mark.parametrize(("penalty", "rating"), [(1.0, "−0.750"), (0.0, "−1.500"), (2.0, "−0.375")])
def test_the_sum_and_the_rating_by_hand(penalty: float, rating: str) -> None:
    html = beam_arithmetic([-0.5, -1.0], ["<i>", "·b"], score=-1.5, penalty=penalty)
    said = re.sub("<[^>]+>", "", html)
    assert "&lt;i&gt; −0.500 · ·b −1.000" in said and "Σ log p = −1.500" in said
    assert said.endswith(f"−1.500 ÷ 2{penalty:g} = {rating}")


def test_of_no_token_there_is_no_rating() -> None:
    assert "÷" not in beam_arithmetic([], [], score=0.0, penalty=1.0)


def test_the_copied_code_prints_both() -> None:
    out = StringIO()
    with redirect_stdout(out):
        exec(beam_code([-0.5, -1.25], 0.5), {})
    assert [float(one) for one in out.getvalue().split()] == pytest.approx([-1.75, -1.75 / 2**0.5])
