"""The beam tree: a box per candidate, lines to their parents, no two lines of one pass that cross."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from viz.figures import beam_tree
from viz.figures.axes import escape


def node(step: int, parent: int | None, score: float, fate: str, best: bool = False) -> SimpleNamespace:
    return SimpleNamespace(step=step, parent=parent, log_p=score / 2, score=score, fate=fate, best=best)


NODES = (
    node(0, None, 0.0, "kept", best=True),
    node(1, 0, -1.0, "kept"),
    node(1, 0, -2.0, "kept", best=True),
    node(1, 0, -3.0, "dropped"),
    node(2, 2, -3.5, "finished", best=True),
    node(2, 1, -4.0, "finished"),
    node(2, 2, -5.0, "dropped"),
    node(2, 1, -6.0, "dropped"),
)


def texts(fig) -> dict[str, tuple[float, float]]:
    """What stands in each box, and where."""
    found = {}
    for trace in fig.data:
        if trace.mode == "text":
            found |= dict(zip(trace.text, zip(trace.x.tolist(), trace.y.tolist(), strict=True), strict=True))
    return found


def test_each_candidate_stands_in_its_row_under_its_parent(hostile: tuple[str, ...]) -> None:
    fig = beam_tree(NODES, hostile[:8])
    places = texts(fig)
    assert len(places) == 8 == len(fig.layout.shapes) and places["given"] == (0, 0)
    row = {text: x for text, (x, y) in places.items() if y == 2}
    assert sorted(row.values()) == [-1.5, -0.5, 0.5, 1.5]
    ordered = [float(re.search("−(.*)", text)[1]) for text in sorted(row, key=row.get)]
    assert ordered == [4.0, 6.0, 3.5, 5.0], "children of the first parent, then of the second; the better ones first"
    assert f"{escape(hostile[1])}<br>−1.00" in places


def test_lines_lead_from_parents_to_children_and_never_cross() -> None:
    fig = beam_tree(NODES, ["", *"abcdefg"])
    lines = []
    for trace in fig.data:
        if trace.mode == "lines":
            x, y = np.reshape(trace.x, (-1, 3)), np.reshape(trace.y, (-1, 3))
            lines += [(round(float(b[0])), float(a[0]), float(a[1])) for a, b in zip(x, y, strict=True)]
    assert len(lines) == len(NODES) - 1
    for row in (0, 1):
        ends = sorted((upper, lower) for at, upper, lower in lines if at == row)
        assert [lower for _, lower in ends] == sorted(lower for _, lower in ends)


def test_what_became_of_each_can_be_told_without_colour() -> None:
    boxes = beam_tree(NODES, ["", *"abcdefg"]).layout.shapes
    assert [box.line.dash for box in boxes] == ["solid"] * 3 + ["dot", "solid", "solid", "dot", "dot"]
    assert boxes[5].line.width > boxes[1].line.width, "a text that is complete has a thicker frame"
    legend = beam_tree(NODES, ["", *"abcdefg"]).layout.meta["caption"].split("\n")[0]
    assert legend == "■ best   ■ lives on   □ complete   □ dropped"
    assert "best" in beam_tree(NODES[:3], ["", "a", "b"]).layout.meta["caption"]
    assert "dropped" not in beam_tree(NODES[:3], ["", "a", "b"]).layout.meta["caption"]


def test_a_hover_says_all(hostile: tuple[str, ...]) -> None:
    hovers = [text for trace in beam_tree(NODES, hostile[:8]).data if trace.mode == "text" for text in trace.hovertext]
    (one,) = [text for text in hovers if escape(hostile[3]) in text]
    assert "pass 1" in one and "dropped" in one and "−1.500" in one and "0.223" in one and "−3.000" in one
    assert "第 1 步" in "".join(beam_tree(NODES, hostile[:8], language="zh").data[-1].hovertext)


def test_what_does_not_fit_is_refused() -> None:
    for nodes, tokens in ((NODES, ["a"]), ((), ())):
        with pytest.raises(ValueError, match="do not fit"):
            beam_tree(nodes, tokens)


def test_the_node_that_is_looked_at_is_framed_and_told_by_its_number() -> None:
    fig = beam_tree(NODES, ["", *"abcdefg"], selected=6)
    frame = fig.layout.shapes[-1]
    numbers = {
        number: (x, y)
        for trace in fig.data
        if trace.mode == "text"
        for number, x, y in zip(trace.customdata, trace.x.tolist(), trace.y.tolist(), strict=True)
    }
    assert sorted(numbers) == list(range(8)) and frame.name == "selected"
    assert ((frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2) == pytest.approx(numbers[6])
    assert len(beam_tree(NODES, ["", *"abcdefg"], selected=8).layout.shapes) == 8
