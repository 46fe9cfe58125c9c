"""controls.py: every control is named, says which setting it is, and no word gets out of its attribute."""

from html.parser import HTMLParser

import pytest

from viz.pages import controls
from viz.pages.options import Real, Whole

HOSTILE = '"><script>alert(1)</script>\' onclick="x'
HEAT, COUNT = Real("heat", 0.1, 2.0, 1.0), Whole("count", 1, 7, 3)


class Parts(HTMLParser):
    """Elements with their attributes, and all words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [given for name, given in self.tags if name == tag]


EVERY = {
    "choice": controls.choice("colour", HOSTILE, [("red", HOSTILE), (HOSTILE, "b")]),
    "tabs": controls.tabs("colour", HOSTILE, [("red", HOSTILE), (HOSTILE, "b")]),
    "slider": controls.slider(HEAT, HOSTILE, step=0.1),
    "number": controls.number(COUNT, HOSTILE),
    "line": controls.line("words", HOSTILE, 50),
    "switch": controls.switch("light", HOSTILE),
    "button": controls.button(HOSTILE, name="ask", value=HOSTILE, said=HOSTILE),
    "copied": controls.copied(HOSTILE, HOSTILE),
}


@pytest.mark.parametrize("name", EVERY)
def test_no_word_gets_out(name: str) -> None:
    parts = Parts(EVERY[name])
    assert not parts.of("script") and not any("onclick" in given for _, given in parts.tags)
    said = parts.words + "".join(given.get("aria-label") or "" for _, given in parts.tags)
    assert HOSTILE in said


@pytest.mark.parametrize(
    ("name", "tag", "setting"),
    [
        ("choice", "select", "colour"), ("slider", "input", "heat"), ("number", "input", "count"),
        ("line", "input", "words"), ("switch", "input", "light"),
    ],
)  # fmt: skip
def test_a_control_holds_no_value_and_has_a_label(name: str, tag: str, setting: str) -> None:
    parts = Parts(EVERY[name])
    (control,) = parts.of(tag)
    assert control["data-set"] == setting and not {"value", "checked", "selected"} & control.keys()
    assert len(parts.of("label")) == 1 and not any("selected" in one for one in parts.of("option"))


def test_a_choice_offers_its_values() -> None:
    assert [one["value"] for one in Parts(EVERY["choice"]).of("option")] == ["red", HOSTILE]
    tabs = Parts(EVERY["tabs"])
    assert [(one["data-set"], one["data-value"]) for one in tabs.of("button")] == [
        ("colour", "red"),
        ("colour", HOSTILE),
    ]
    assert tabs.of("div")[0]["role"] == "group" and all(one["type"] == "button" for one in tabs.of("button"))


def test_a_slider_knows_its_bounds_and_shows_its_number() -> None:
    parts = Parts(EVERY["slider"])
    (pull,) = parts.of("input")
    assert (pull["min"], pull["max"], pull["step"]) == ("0.1", "2", "0.1") and parts.of("output")[0][
        "data-shows"
    ] == "heat"
    (pull,) = Parts(controls.slider(Whole("at", 0), "at", most=12)).of("input")
    assert (pull["min"], pull["max"], pull["step"]) == ("0", "12", "1")


def test_a_number_and_a_line_are_bounded() -> None:
    (box,) = Parts(EVERY["number"]).of("input")
    assert (box["type"], box["min"], box["max"]) == ("number", "1", "7")
    (box,) = Parts(EVERY["line"]).of("input")
    assert (box["type"], box["maxlength"]) == ("text", "50") and "placeholder" not in box
    assert Parts(controls.line("words", "a", 50, HOSTILE)).of("input")[0]["placeholder"] == HOSTILE


def test_buttons_tell_what_they_are_for() -> None:
    (button,) = Parts(EVERY["button"]).of("button")
    assert button["data-ask"] == HOSTILE == button["title"] and button["type"] == "button"
    assert "aria-label" not in Parts(controls.button("play", name="grow", value="1")).of("button")[0]
    assert Parts(EVERY["copied"]).of("button")[0]["data-copy"] == HOSTILE
    row = Parts(controls.row(EVERY["line"], EVERY["switch"]))
    assert row.of("div")[0]["class"] == "stt-controls" and len(row.of("input")) == 2
