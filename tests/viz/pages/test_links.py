"""A link restores the view it was made from, and a hostile one restores nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.pages.links import LONGEST_NAME, LONGEST_TEXT, MOST, View, from_query, to_query, with_language

_text = st.text(min_size=1, max_size=60).filter(lambda text: text.encode("utf-8", "ignore").decode() == text)
_name = _text.filter(str.isprintable)
_number = st.integers(0, MOST)


@given(
    st.builds(
        View,
        model=st.none() | _name,
        text=st.none() | _text,
        target=st.none() | _text,
        site=st.none() | _name,
        layer=st.none() | _number,
        head=st.none() | _number,
        cell=st.none() | st.tuples(_number, _number),
        view=st.none() | _name,
        language=st.sampled_from([None, "en", "zh"]),
    )
)
def test_a_link_restores_its_view(view: View) -> None:
    assert from_query(to_query(view)) == view


def test_the_query_is_short_and_readable() -> None:
    view = View(model="smollm2", text="it was\n", layer=13, head=8, cell=(6, 1), language="zh")
    assert to_query(view) == "model=smollm2&text=it%20was%0A&layer=13&head=8&query=6&key=1&lang=zh"


@pytest.mark.parametrize("value", ["-1", "1.5", "1e3", "٣", "²", "", " 7", "1" * 400, "nan", "0x10", "100000", "None"])
def test_a_number_that_is_none_is_dropped(value: str) -> None:
    assert from_query({"layer": value, "query": value, "key": "1"}) == View()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?",
        "&&&=",
        "text=%ff%fe",
        "model=" + "a" * (LONGEST_NAME + 1),
        "model=a%00b",
        "view=a%0Ab",
        "text=" + "a" * (LONGEST_TEXT + 1),
        "lang=xx",
        "query=1",
        "text=%F0%28%8C%28",
        "x" * 1_000_000,
        "&".join(f"a{n}=1" for n in range(5000)),
    ],
)
def test_a_hostile_link_never_raises_and_restores_little(query: str) -> None:
    view = from_query(query)
    assert view.model is None and view.cell is None and view.language is None
    assert view.text is None or len(view.text) <= 10


def test_of_a_repeated_name_the_last_counts() -> None:
    assert from_query("?head=1&head=2").head == 2


def test_language_changes_alone() -> None:
    assert with_language("text=a%26b&head=3&lang=en", "zh") == "text=a%26b&head=3&lang=zh"
