"""What every chart of measurements keeps to: colours with partners, room for all words, panels that do not overlap."""

import re
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.viz.figures.measured import charts
from viz.figures import theme
from viz.figures.axes import width
from viz.figures.chart import NARROW, Panel, chart, wrapped
from viz.figures.curves import curve, level, linear

HEX = re.compile("#[0-9a-f]{6}")


@pytest.fixture(params=["en", "zh"], scope="module")
def every(request: pytest.FixtureRequest) -> dict[str, go.Figure]:
    return charts(request.param)


def test_every_chart_is_what_plotly_knows_in_colours_that_have_a_partner(every: dict[str, go.Figure]) -> None:
    for name, fig in every.items():
        go.Figure(fig.to_dict())  # checks every property, which `theme.figure` leaves out for speed
        used = set(HEX.findall(fig.to_json()))
        assert used and used <= theme.DARK_OF.keys(), (name, used - theme.DARK_OF.keys())
        assert set(HEX.findall(theme.to_dark(fig).to_json())) == {theme.DARK_OF[colour] for colour in used}
        assert "<b>weight" not in fig.to_json() and "<encoder>" not in fig.to_json(), "names are no markup"


def test_panels_stand_below_each_other_with_room_between(every: dict[str, go.Figure]) -> None:
    for name, fig in every.items():
        names = sorted(axis for axis in fig.layout if re.fullmatch(r"yaxis\d*", axis))
        axes = [fig.layout[axis] for axis in names]
        domains = [axis.domain for axis in axes]
        plot = fig.layout.height - fig.layout.margin.t - fig.layout.margin.b
        assert domains[0][1] == 1 and domains[-1][0] == pytest.approx(0, abs=1e-9), name
        for upper, lower in pairwise(domains):
            assert (upper[0] - lower[1]) * plot >= 45, name
        used = {trace.yaxis or "y" for trace in fig.data}
        assert len(used) == len(axes), name


def test_words_fit_a_phone(every: dict[str, go.Figure]) -> None:
    for name, fig in every.items():
        words = [fig.layout.title.text, *(note.text for note in fig.layout.annotations)]
        for line in re.sub("<span.*?>|</span>|</?b>", "", "<br>".join(words)).split("<br>"):
            assert width(line) <= NARROW + 2, (name, line)
        for trace in fig.data:
            assert not trace.showlegend or width(trace.name) <= 40, (name, trace.name)


def test_a_chart_says_how_it_was_measured_in_meta(every: dict[str, go.Figure]) -> None:
    for name, fig in every.items():
        assert fig.layout.meta["title"] and fig.layout.meta["facts"], name
        assert "{" not in "".join(fig.layout.meta.values()), name


def test_languages_differ() -> None:
    english, chinese = charts("en"), charts("zh")
    for name in english:
        assert english[name].layout.title.text != chinese[name].layout.title.text
        assert re.search("[\u4e00-\u9fff]", chinese[name].layout.title.text)
        assert not re.search("[\u4e00-\u9fff]", english[name].to_json())


def test_the_legend_gets_its_rows_and_the_words_theirs() -> None:
    def height(names: list[str], caption: str = "") -> int:
        traces = [curve(np.arange(3), np.arange(3), name, style) for style, name in enumerate(names)]
        panels = [Panel("unit", linear(0, 1), linear(0, 1))]
        return chart(traces, panels, title="t", facts="f", caption=caption).layout.height

    assert height(["a", "b"]) - height([]) == 28 and height(["a", "b", "c"]) - height(["a", "b"]) == 20
    assert height(["a name of some length", "b"]) - height(["a", "b"]) == 20
    assert height([], "one\ntwo") - height([]) == 38


def test_lines_are_broken_where_they_may_be() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("one\ntwo", 50) == ["one", "two"]
    assert wrapped("\u524d\u5411\u8ba1\u7b97\u4e00\u6b21\u3002", 8) == [
        "\u524d\u5411\u8ba1\u7b97", "\u4e00\u6b21\u3002",
    ]  # fmt: skip
    assert wrapped("\u524d\u5411\u8ba1\u7b97\u3002", 8) == ["\u524d\u5411\u8ba1", "\u7b97\u3002"], "no line begins so"
    assert wrapped("unbreakable", 3) == ["unbreakable"]


def test_curves_of_one_chart_differ_in_sign_and_dash_and_not_in_colour_alone() -> None:
    lines = [curve(np.arange(3), np.arange(3), "n", style) for style in range(4)]
    for of in (lambda c: c["line"]["color"], lambda c: c["line"]["dash"], lambda c: c["marker"]["symbol"]):
        assert len({of(line) for line in lines}) == 4
    assert level([0, 1], [2, 2], "n")["line"]["color"] == theme.LIGHT["muted"]
