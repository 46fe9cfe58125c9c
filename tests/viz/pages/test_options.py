"""options.py: a value has one spelling, and what an option cannot have is as if it had not been said."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.pages.options import Choice, Line, Option, Options, Real, Switch, Whole, read_all, with_option
from viz.pages.panels.registry import OPTIONS, PANELS


@dataclass(frozen=True)
class Held:
    options: Options = ()


COLOUR = Choice("colour", ("red", "blue", "green"))
LIGHT, DARK = Switch("light"), Switch("dark", default=True)
COUNT, AT = Whole("count", 1, 7, 3), Whole("at", -5)
HEAT = Real("heat", 0.1, 2.0, 1.0)
WORDS = Line("words", longest=5)
ODD = (
    None, True, "", " ", "x", "--5", "-", "+3", "3.0", "1e9", "9" * 400, "nan", "inf", "\ud800", "٣", "3\n", ["3"],
    {"a": 1}, b"3", 2.5, float("nan"), float("inf"), 10**40, "purple", "0x3", "1" * 30,
)  # fmt: skip


@pytest.mark.parametrize(
    ("option", "given_", "reads"),
    [
        (COLOUR, "blue", "blue"),
        (COLOUR, "Blue", None),
        (COLOUR, 1, None),
        (LIGHT, "on", "on"),
        (LIGHT, True, "on"),
        (LIGHT, "FALSE", "off"),
        (LIGHT, 1, None),
        (COUNT, "7", "7"),
        (COUNT, 7, "7"),
        (COUNT, "007", "7"),
        (COUNT, "0", None),
        (COUNT, "8", None),
        (COUNT, "--5", None),
        (COUNT, True, None),
        (COUNT, "٣", None),
        (COUNT, 3.0, None),
        (AT, "-5", "-5"),
        (AT, "-0", "0"),
        (AT, "-6", None),
        (HEAT, "0.5", "0.5"),
        (HEAT, 1, "1"),
        (HEAT, "0.3333333333", "0.333333"),
        (HEAT, "1" * 5 + "e-4" + "0" * 20, None),
        (HEAT, "nan", None),
        (HEAT, "2.1", None),
        (WORDS, "a b\nc", "a b\nc"),
        (WORDS, "abcdef", None),
        (WORDS, "\ud800", None),
        (WORDS, 5, None),
    ],
)
def test_what_is_read(option: Option, given_: Any, reads: str | None) -> None:
    assert option.read(given_) == reads


def test_defaults() -> None:
    nothing = Held()
    assert COLOUR.of(nothing) == "red" and LIGHT.of(nothing) is False and DARK.of(nothing) is True
    assert COUNT.of(nothing) == 3 and AT.of(nothing) is None and HEAT.of(nothing) == 1.0 and WORDS.of(nothing) == ""
    texts = [one.text(nothing) for one in (COLOUR, LIGHT, DARK, COUNT, AT, HEAT, WORDS)]
    assert texts == ["red", "off", "on", "3", "", "1", ""]


@pytest.mark.parametrize(
    ("option", "value", "now"),
    [(COLOUR, "green", "green"), (DARK, "off", False), (COUNT, "5", 5), (HEAT, "0.25", 0.25), (WORDS, "hi", "hi")],
)
def test_what_was_set_is_what_there_is(option: Any, value: str, now: object) -> None:
    held = Held(with_option((("other", "1"),), option, value))
    assert option.of(held) == now and type(option.of(held)) is type(now) and option.text(held) == value
    assert dict(held.options)["other"] == "1"


def test_what_cannot_be_read_changes_nothing_and_none_takes_away() -> None:
    held = with_option((), COUNT, "5")
    assert with_option(held, COUNT, "x") == held == (("count", "5"),)
    assert with_option(held, COUNT, None) == () == with_option((), COUNT, None)


def test_options_stand_in_one_order() -> None:
    one = with_option(with_option((), HEAT, "0.5"), COLOUR, "blue")
    assert one == with_option(with_option((), COLOUR, "blue"), HEAT, "0.5") == (("colour", "blue"), ("heat", "0.5"))


def test_of_a_link_only_what_is_known_and_readable_counts() -> None:
    known = {one.name: one for one in (COLOUR, COUNT)}
    assert read_all({"colour": "blue", "count": "99", "model": "x", "<script>": "1"}, known) == (("colour", "blue"),)


# --- of the page -----------------------------------------------------------------------------------------------------


def test_every_option_of_the_page_has_a_name_of_its_own() -> None:
    """Two panels may share a setting, but no two settings a name."""
    options = {id(option): option.name for panel in PANELS.values() for option in panel.options}
    names = list(options.values())
    assert len(names) == len(set(names)) == len(OPTIONS) > 40
    assert all(name.replace("-", "").isalpha() and name.islower() for name in names)
    assert not set(names) & {"attention", "head", "query", "key", "panel", "model", "text", "target", "site", "lang"}


@pytest.mark.parametrize("odd", ODD, ids=[f"{type(one).__name__}-{str(one)[:7]!a}" for one in ODD])
def test_nothing_that_is_sent_breaks_an_option(odd: object) -> None:
    for name, option in OPTIONS.items():
        read = option.read(odd)
        assert read is None or (isinstance(read, str) and read.encode() is not None), name
        held = Held(with_option((), option, odd))
        assert isinstance(option.text(held), str)
        assert read is None or held.options == ((name, read),) or odd is None


@given(st.data())
def test_a_spelling_is_read_as_itself(data: st.DataObject) -> None:
    option = data.draw(st.sampled_from(list(OPTIONS.values())))
    value = data.draw(st.one_of(st.text(max_size=12), st.integers().map(str), st.floats().map(str), st.booleans()))
    read = option.read(value)
    assert read is None or (option.read(read) == read and option.text(Held(((option.name, read),))) == read)
