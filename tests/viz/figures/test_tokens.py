"""The token strip: everything escaped, pieces of one character together, direction as in the text."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from viz.figures import token_strip
from viz.figures.tokens import reads_right_to_left


class Tags(HTMLParser):
    """Every tag with its attributes, and the text between."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def plain(tokens: tuple[str, ...], text: str | None = None) -> SimpleNamespace:
    count = len(tokens)
    return SimpleNamespace(
        ids=tuple(range(count)),
        tokens=tokens,
        bytes=tuple(token.encode() for token in tokens),
        spans=(None,) * count,
        special=(False,) * count,
        words=tuple(range(count)),
        groups=tuple(range(count)),
        text=text,
    )


def test_hostile_tokens_come_back_character_for_character(hostile: tuple[str, ...]) -> None:
    page = Tags(token_strip(plain(hostile)))
    assert {tag for tag, _ in page.tags} == {"div", "span", "button", "bdi"}
    assert page.texts == [part for index, token in enumerate(hostile) for part in (token, str(index))]
    assert [values["data-token"] for tag, values in page.tags if tag == "button"] == [*map(str, range(len(hostile)))]


def test_pieces_of_one_character_stand_under_it(encoding: SimpleNamespace) -> None:
    page = token_strip(encoding, selected=2)
    (whole,) = re.findall('class="stt-whole"><bdi>(.*?)</bdi>', page)
    assert whole == "小"
    grapheme = page[page.index("stt-grapheme") :]
    assert grapheme.index('data-token="2"') < grapheme.index('data-token="3"') < grapheme.index('data-token="4"')
    assert page.count('aria-pressed="true"') == 1
    without = SimpleNamespace(**{**vars(encoding), "text": None, "spans": (None,) * 5})
    assert "<bdi>小</bdi>" in token_strip(without), "from the bytes where there is no text"


def test_buttons_say_bytes_span_and_what_is_special(encoding: SimpleNamespace) -> None:
    buttons = [values for tag, values in Tags(token_strip(encoding)).tags if tag == "button"]
    assert all(button["title"] == button["aria-label"] for button in buttons)
    assert "20 E5 B0" in buttons[2]["title"] and "2 to 4" in buttons[2]["title"]
    assert "special" in buttons[0]["title"] and "stt-special" in buttons[0]["class"]
    assert "padding" in buttons[4]["title"] and "stt-padding" in buttons[4]["class"]
    assert "stt-special" not in buttons[1]["class"]


def test_words_are_grouped(encoding: SimpleNamespace) -> None:
    assert token_strip(encoding).count('class="stt-word') == 4  # <s>, Hi, both pieces of the character, padding
    assert token_strip(encoding).count("stt-word-several") == 1


@pytest.mark.parametrize(
    ("text", "rtl"), [("قالت and", True), ("שלום", True), ("12 abc שלום", False), ("", False), ("12 مرحبا", True)]
)
def test_direction(text: str, rtl: bool) -> None:
    assert reads_right_to_left(text) is rtl
    assert f'dir="{"rtl" if rtl else "ltr"}"' in token_strip(plain(("a",), text or None if not rtl else text))
