"""export.py: numbers and figures as files that spreadsheets, NumPy and browsers open, and in which no token can act."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz import figures
from viz.figures import theme
from viz.figures.export import _library

NAMES = (
    "the", "the", "a,b", 'say "hi"', "two\nlines", "a;b", "'quoted'", "小明", "مرحبا", "\\", "", " ", "a\rb",
    "</script><script>alert(1)</script>",
)  # fmt: skip
FORMULAS = ("=1+1", "+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-1+1", "-cmd|' /C calc'!A0", "\uff1d1", "\uff0d1")


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


# --- CSV -------------------------------------------------------------------------------------------------------------


def test_a_table_by_hand() -> None:
    values = np.array([[0.1, 2.0], [np.nan, -3.5]], np.float32)
    text = figures.as_csv(values, ["a", "b,c"], ["x", "y"], corner="looks", allowed=np.array([[1, 0], [1, 1]]))
    assert text == 'looks,x,y\r\na,0.1,\r\n"b,c",nan,-3.5\r\n'


def test_one_number_for_each_name_is_one_column() -> None:
    assert figures.as_csv(np.array([3, 5]), ["a", "b"], ["count"]) == ",count\r\na,3\r\nb,5\r\n"


@pytest.mark.parametrize("shape", [(3, 2), (2,), (2, 3, 1), ()])
def test_names_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="2 rows and 3 columns"):
        figures.as_csv(np.zeros(shape), ["a", "b"], ["x", "y", "z"])


def test_whatever_is_in_a_name_it_stays_in_its_cell() -> None:
    values = np.arange(len(NAMES) ** 2, dtype=np.float32).reshape(len(NAMES), -1)
    table = read(figures.as_csv(values, NAMES, NAMES, corner='a,"b"\n'))
    assert table[0] == ['a,"b"\n', *NAMES] and [row[0] for row in table[1:]] == list(NAMES)
    assert [[float(cell) for cell in row[1:]] for row in table[1:]] == values.tolist()


@pytest.mark.parametrize("name", FORMULAS)
def test_a_name_that_a_spreadsheet_would_run_is_a_text(name: str) -> None:
    table = read(figures.as_csv(np.zeros((1, 1)), [name], [name], corner=name))
    assert {cell for row in table for cell in row} == {f"'{name}", "0.0"}


@pytest.mark.parametrize("name", ["-", "-5", "-0.5", "5", "a=b", "·=", "−1"])
def test_a_name_that_is_none_stays_as_it_is(name: str) -> None:
    assert read(figures.as_csv(np.zeros((1, 1)), [name], ["x"]))[1][0] == name


@given(st.lists(st.floats(width=32), min_size=1, max_size=7))
def test_float32_comes_back_bit_for_bit(numbers: list[float]) -> None:
    values = np.array([numbers], np.float32)
    cells = read(figures.as_csv(values, ["a"], [str(n) for n in range(len(numbers))]))[1][1:]
    assert np.array_equal(np.array(cells, np.float64).astype(np.float32), values[0], equal_nan=True)
    assert all(len(re.sub(r"e.*|\D", "", cell).strip("0")) <= 9 for cell in cells)  # as few digits as do


@given(st.lists(st.floats(), min_size=1, max_size=7))
def test_float64_comes_back_bit_for_bit(numbers: list[float]) -> None:
    cells = read(figures.as_csv(np.array([numbers]), ["a"], [str(n) for n in range(len(numbers))]))[1][1:]
    assert np.array_equal(np.array(cells, np.float64), numbers, equal_nan=True)


def test_whole_numbers_and_truths_are_written_as_such() -> None:
    assert figures.as_csv(np.array([[2**40, -1]]), ["a"], ["x", "y"]).endswith("a,1099511627776,-1\r\n")
    assert figures.as_csv(np.array([[True, False]]), ["a"], ["x", "y"]).endswith("a,True,False\r\n")


# --- NPZ -------------------------------------------------------------------------------------------------------------


def test_an_npz_opens_without_pickle_and_holds_everything() -> None:
    values = np.random.default_rng(3).normal(size=(len(NAMES), 3)).astype(np.float32)
    allowed, before = values > 0, values.copy()
    content = figures.as_npz(
        values, NAMES, ["x", "小", ""], allowed=allowed, more={"ids": np.arange(5)}, caption="mini-gpt · “a\nb”"
    )
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        assert set(file) == {"values", "rows", "columns", "allowed", "ids", "caption"}
        assert file["values"].dtype == np.float32 and np.array_equal(file["values"], values)
        assert file["rows"].tolist() == list(NAMES) and file["columns"].tolist() == ["x", "小", ""]
        assert np.array_equal(file["allowed"], allowed) and file["ids"].tolist() == [0, 1, 2, 3, 4]
        assert str(file["caption"]) == "mini-gpt · “a\nb”"
    assert np.array_equal(values, before)


def test_what_cannot_be_had_without_pickle_is_not_written() -> None:
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        figures.as_npz(np.array([{}, None], object), ["a", "b"], ["x"])
    with np.load(io.BytesIO(figures.as_npz(np.zeros(1), ["a"], ["x"]))) as file:
        assert set(file) == {"values", "rows", "columns", "caption"}


# --- a page ----------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of each kind of element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.texts.setdefault(self._open[-1], []).append(data)


def page_of(hostile: tuple[str, ...], language: str = "en") -> str:
    names = [*hostile[:5], *NAMES[-2:]]
    weights = np.linspace(0, 1, 49, dtype=np.float32).reshape(7, 7)
    fig = figures.attention_heatmap(weights, names, names, selected=(3, 2), language=language)
    return figures.standalone_html(fig, title='<b>"a"</b>', caption="</p><script>x</script>", language=language)


@pytest.fixture(scope="module")
def page() -> str:
    from tests.viz.figures.conftest import HOSTILE

    return page_of(HOSTILE)


def test_no_word_gets_out_of_its_place(page: str) -> None:
    found = Elements(page)
    assert [tag for tag, _ in found.tags] == [
        "html", "head", "meta", "meta", "meta", "title", "style", "script", "body", "h1", "div", "p", "script",
    ]  # fmt: skip
    assert found.texts["title"] == found.texts["h1"] == ['<b>"a"</b>'] and found.texts["p"] == [
        "</p><script>x</script>"
    ]
    assert len(found.texts["script"]) == 2 and "alert(1)" in found.texts["script"][1]


def test_the_page_asks_nobody(page: str) -> None:
    own = page.replace(_library(), "")
    assert "http:" not in own and "https:" not in own and "//" not in own and "@import" not in own and "url(" not in own
    tags = Elements(page).tags
    assert not {"src", "href", "srcset", "data", "action"} & {name for _, given in tags for name in given}
    policy = next(given["content"] for _, given in tags if given.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'") and "http" not in policy and "*" not in policy
    assert _library() in page and len(_library()) > 1_000_000 and not re.search("<!--|<script|</script", _library())


def test_the_figure_is_in_it_in_both_themes(page: str) -> None:
    script = Elements(page).texts["script"][1]
    given = re.match(r"const light=(\{.*\}),dark=(\{.*\}),query=", script)
    assert given is not None
    light, dark = map(json.loads, given.groups())
    assert light["data"][0]["z"] == dark["data"][0]["z"] and light["layout"].keys() == dark["layout"].keys()
    assert light["layout"]["font"]["color"] == theme.TONES["ink"][0]
    assert dark["layout"]["font"]["color"] == theme.TONES["ink"][1] and "<" not in script.split("query=")[0]
    assert theme.TONES["paper"][0] in page and theme.TONES["paper"][1] in page.split("prefers-color-scheme")[1]


def test_the_page_speaks_its_language(hostile: tuple[str, ...]) -> None:
    assert [Elements(page_of(hostile, one)).tags[0][1]["lang"] for one in ("en", "zh")] == ["en", "zh-CN"]


def test_the_figure_stays_as_it_was() -> None:
    fig = figures.attention_heatmap(np.eye(3), ["a", "b", "a"], ["a", "b", "a"])
    before = fig.to_json()
    figures.standalone_html(fig, title="a")
    assert fig.to_json() == before
