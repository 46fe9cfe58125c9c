"""The lattice: every piece in its columns, the chosen ones on top, no two boxes on one place, numbers as given."""

import re
from types import SimpleNamespace

import pytest

from viz.figures import piece_lattice

BOX = re.compile(
    r'class="(stt-piece[^"]*)" style="grid-area:(\d+)/(\d+)/auto/(\d+)"[^>]*><bdi>(.*?)</bdi><small>(.*?)</small>'
)


def edge(piece: str, start: int, log: float, total: float, unknown: bool = False) -> SimpleNamespace:
    end = start + len(piece)
    return SimpleNamespace(piece=piece, start=start, end=end, log_probability=log, total=total, unknown=unknown)


A, AB, ABC, B, BC, C = (
    edge("a", 0, -2, -2), edge("ab", 0, -3, -3), edge("abc", 0, -7, -7),
    edge("b", 1, -2.5, -4.5), edge("bc", 1, -3.25, -5.25), edge("c", 2, -3.5, -6.5),
)  # fmt: skip
STEPS = [
    SimpleNamespace(best=best, edges=edges)
    for best, edges in ((0, (A, AB, ABC)), (-2, (B, BC)), (-3, (C,)), (-5.25, ()))
]


def test_boxes_stand_where_their_characters_are():
    page = piece_lattice(STEPS, [A, BC])
    found = {name: (kind, *map(int, place), log) for kind, *place, name, log in BOX.findall(page)}
    assert found.keys() == {"a", "ab", "abc", "b", "bc", "c"}
    assert {name: place[2:4] for name, place in found.items()} == {
        "a": (1, 2), "ab": (1, 3), "abc": (1, 4), "b": (2, 3), "bc": (2, 4), "c": (3, 4),
    }  # fmt: skip
    assert [name for name, place in found.items() if "stt-piece-new" in place[0]] == ["a", "bc"]
    assert found["a"][1] == found["bc"][1] == 2 and found["bc"][4] == "−3.25"
    assert min(place[1] for name, place in found.items() if name not in ("a", "bc")) == 3


def test_no_two_boxes_cover_each_other():
    taken = set()
    for _, line, start, end, _, _ in BOX.findall(piece_lattice(STEPS, [A, BC])):
        cells = {(line, column) for column in range(int(start), int(end))}
        assert not cells & taken
        taken |= cells
    bottom = {int(line) for line in re.findall(r'stt-best" style="grid-area:(\d+)/', piece_lattice(STEPS, [A, BC]))}
    assert bottom == {max(int(line) for line, _ in taken) + 1}


def test_numbers_are_the_steps_own():
    page = piece_lattice(STEPS, [A, BC])
    assert re.findall(r'stt-best"[^>]*>(.*?)<', page) == ["−2.00", "−3.00", "−5.25"]
    assert re.findall(r'stt-letter"><bdi>(.*?)<', page) == ["a", "b", "c"]
    assert "−2.00 + −3.25 = <b>−5.25</b>" in page
    assert "log p = −3.50 | best cut up to its end through this piece: −6.50" in page
    assert "log p of the cut: <b>−7.00</b>" in piece_lattice(STEPS, [ABC]), "one piece is no sum"


def test_unknown_characters_are_set_apart():
    lost = edge("小", 0, -17, -17, unknown=True)
    page = piece_lattice([SimpleNamespace(best=0, edges=(lost,)), SimpleNamespace(best=-17, edges=())], [lost])
    assert "stt-piece stt-piece-new stt-piece-unknown" in page and "not in the vocabulary" in page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hostile_pieces_stay_text(hostile, language):
    for piece in hostile:
        only = edge(piece, 0, -1, -1)
        steps = [SimpleNamespace(best=0, edges=(only,))] + [SimpleNamespace(best=-1, edges=())] * len(piece)
        page = piece_lattice(steps, [only], name=lambda text: text, language=language)
        assert set(re.findall(r"<(\w+)", page)) <= {"div", "span", "bdi", "small", "p", "b"}
        assert "<b>bold" not in page and page.count("<b>") == 1
