"""The table of shapes: a row per call, parts of a part moved to the right, short names with the whole one at hand."""

import re
from types import SimpleNamespace

from viz.figures import shape_table
from viz.figures.shapes import MOST_ROWS


def step(name: str, kind: str, depth: int, inputs: tuple = (), outputs: tuple = ()) -> SimpleNamespace:
    return SimpleNamespace(name=name, kind=kind, depth=depth, inputs=inputs, outputs=outputs)


STEPS = [
    step("", "<Model>", 0, ((2, 5),), ((2, 5, 53),)),
    step("blocks.0", "Block", 1, ((2, 5, 28),), ((2, 5, 28),)),
    step("blocks.0.attention", "MultiHeadAttention", 2, ((2, 5, 28),), ((2, 5, 28),)),
    step("blocks.0.attention.attend", "attend", 3, ((2, 7, 5, 4), (2, 1, 5, 4)), ((2, 7, 5, 4),)),
    step("head", "Linear", 1, ((2, 5, 28),), ()),
]


def test_a_row_per_call() -> None:
    page = shape_table(STEPS)
    assert [name.replace("<wbr>", "") for name in re.findall("<bdi>(.*?)</bdi>", page)] == [
        "the whole", "blocks.0", "attention", "attend", "head",
    ]  # fmt: skip
    assert re.findall('title="(.*?)"', page)[3] == "blocks.0.attention.attend"
    rows = [re.findall("<td>(.*?)</td>", line) for line in page.split("<tr>")[2:]]
    assert rows[0] == ["(2, 5)", "(2, 5, 53)", "&lt;Model&gt;"]
    assert rows[3] == ["(2, 7, 5, 4)<br>(2, 1, 5, 4)", "(2, 7, 5, 4)", "heads look: query, key, value"]
    assert rows[4] == ["(2, 5, 28)", "", "Linear"]
    right = [float(number) for number in re.findall(r"padding-left:([\d.]+)em", page)]
    assert right[0] < right[1] == right[4] < right[2] < right[3]


def test_a_long_pass_is_cut_with_a_notice() -> None:
    page = shape_table([step(f"p{n}", "Linear", 1) for n in range(MOST_ROWS + 5)])
    assert page.count("<tr>") == MOST_ROWS + 1 and f"first {MOST_ROWS} of {MOST_ROWS + 5} rows" in page


def test_both_languages() -> None:
    assert shape_table(STEPS, language="zh") != shape_table(STEPS)
