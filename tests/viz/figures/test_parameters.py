"""Where the parameters are: bars as long as the counts, shares, shared matrices named, the list as a table."""

import re

from tests.viz.figures.measured import parameters, row
from viz.figures import parameter_bars, parameter_table
from viz.figures.parameters import MOST_ROWS, PATTERNS
from viz.figures.predictions import percent


def test_bars_are_the_counts() -> None:
    measured = parameters()
    fig = parameter_bars(measured)
    *bars, sums = fig.data
    assert [bar.name.split(" · ")[0] for bar in bars] == ["embedding", "attention", "feed-forward"], "what is not there"
    embedding, attention, feedforward = bars
    assert list(embedding.x) == [53 * 28] and list(embedding.y) == [0]
    assert list(attention.x) == [28 * 28] * 3 and list(attention.y) == [1, 2, 3]
    assert list(feedforward.x) == [28 * 31] * 3 and fig.layout.barmode == "stack"
    assert attention.name.endswith(percent(3 * 28 * 28 / measured.total))
    assert list(sums.x) == [1484, 1652, 1652, 1652] and sums.text[1].strip() == "1652"
    assert list(fig.layout.yaxis.ticktext) == ["elsewhere", "layer 0", "layer 1", "layer 2"]
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1], "the first layer is on top"
    assert f"{measured.total:,}" in fig.layout.meta["title"] and "7 matrices" in fig.layout.meta["facts"]
    assert "embed.<b>weight</b> = head.weight" in fig.layout.meta["caption"]


def test_many_layers_make_a_taller_figure_and_stacks_are_named() -> None:
    assert parameter_bars(parameters(31)).layout.height - parameter_bars(parameters(30)).layout.height == 22
    names = parameter_bars(parameters(2, stack="<encoder>")).layout.yaxis.ticktext
    assert list(names) == ["elsewhere", "&lt;encoder&gt; 0", "&lt;encoder&gt; 1"]


def test_what_stands_side_by_side_differs_without_colour() -> None:
    parts = parameters().parts
    of = dict(zip(parts, PATTERNS, strict=True))
    assert len({of["attention"], of["feedforward"]}) == 2 and len({of["embedding"], of["positions"], of["head"]}) == 3


def test_without_shared_matrices_there_is_no_note() -> None:
    measured = parameters()
    measured.rows[0].also = ()
    assert parameter_bars(measured).layout.meta["caption"] == ""
    for number in range(5):
        measured.rows.append(row(f"m.{number}", (1,), "other", None, None, ("n",)))
    assert parameter_bars(measured).layout.meta["caption"].endswith("m.2 = n …")


def test_the_list_says_name_shape_count_part_and_place() -> None:
    measured = parameters()
    page = parameter_table(measured)
    plain = page.replace("<wbr>", "")
    assert "<b>weight" not in page and "embed.&lt;b&gt;weight" in plain and "= head.weight" in plain
    cells = [re.findall("<td>(.*?)</td>", line) for line in page.split("<tr>")[2:]]
    assert cells[0] == ["(53, 28)", "1,484", "embedding", ""]
    assert cells[1] == ["(28, 28)", "784", "attention", "layer 0"]
    assert len(cells) == len(measured.rows) and "stt-notice" not in page


def test_a_long_list_is_cut_with_a_notice() -> None:
    measured = parameters()
    measured.rows = [row(f"p.{n}", (7,), "other", None, None) for n in range(MOST_ROWS + 3)]
    page = parameter_table(measured)
    assert page.count("<tr>") == MOST_ROWS + 1 and f"first {MOST_ROWS} of {MOST_ROWS + 3} rows" in page
    assert "(7,)" in page
