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


def test_text_without_a_token_is_shown_in_its_place() -> None:
    """As BERT does it: " Hi  小 \\n" keeps neither spaces nor the character it does not know."""
    encoding = plain(("[CLS]", "hi", "[UNK]", "[SEP]"), " Hi  小 \n")
    encoding.spans, encoding.words = (None, (1, 3), (5, 6), None), (None, 0, 1, None)
    encoding.gaps, encoding.unknown = ((0, 1), (3, 5), (6, 8)), (False, False, True, False)
    page = token_strip(encoding)
    assert Tags(page).texts == ["[CLS]", "0", "·", "hi", "1", "··", "小", "[UNK]", "2", "·↵", "[SEP]", "3"]
    assert page.count("stt-gap") == 3 and 'title="characters 3 to 5: no token' in page
    assert 'stt-whole stt-lost"><bdi>小' in page
    assert ["unknown" in values["title"] for tag, values in Tags(page).tags if tag == "button"] == [0, 0, 1, 0]
    assert 'class="stt-word"' in page and "stt-word-several" not in page, "a gap is no piece of a word"


def test_a_text_that_no_token_stands_for_is_shown_too() -> None:
    encoding = plain(("[CLS]", "[SEP]"), "  ")
    encoding.gaps = ((0, 2),)
    assert Tags(token_strip(encoding)).texts == ["[CLS]", "0", "[SEP]", "1", "··"]


def test_a_gap_inside_a_word_stays_inside() -> None:
    encoding = plain(("a", "b"), "a\u0007b")
    encoding.spans, encoding.words, encoding.gaps = ((0, 1), (2, 3)), (0, 0), ((1, 2),)
    page = token_strip(encoding)
    assert Tags(page).texts == ["a", "0", "\\u0007", "b", "1"]
    assert page.index("stt-word-several") < page.index("stt-gap")


@pytest.mark.parametrize(
    ("text", "rtl"), [("قالت and", True), ("שלום", True), ("12 abc שלום", False), ("", False), ("12 مرحبا", True)]
)
def test_direction(text: str, rtl: bool) -> None:
    assert reads_right_to_left(text) is rtl
    assert f'dir="{"rtl" if rtl else "ltr"}"' in token_strip(plain(("a",), text or None if not rtl else text))
