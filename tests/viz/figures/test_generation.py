"""The generated text as a strip: probabilities as given, everything escaped, given tokens apart."""

from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from viz.figures import generated_strip


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

    @property
    def buttons(self) -> list[dict[str, str | None]]:
        return [values for tag, values in self.tags if tag == "button"]


def plain(tokens: tuple[str, ...], **changes: object) -> SimpleNamespace:
    facts = {
        "ids": tuple(range(len(tokens))), "tokens": tokens, "bytes": tuple(token.encode() for token in tokens),
        "special": (False,) * len(tokens), "groups": tuple(range(len(tokens))), "text": None,
    }  # fmt: skip
    return SimpleNamespace(**(facts | changes))


def test_hostile_tokens_come_back_character_for_character(hostile: tuple[str, ...]) -> None:
    shares = np.linspace(0, 1, len(hostile) - 3)
    page = Tags(generated_strip(shares, plain(hostile)))
    assert {tag for tag, _ in page.tags} == {"div", "span", "button", "bdi"}
    assert [text for text in page.texts if not text.endswith(" %")] == list(hostile)
    assert [values["data-step"] for values in page.buttons] == [str(step) for step in range(len(shares))]


def test_a_token_says_its_probability_in_words_and_in_a_bar() -> None:
    shares = np.array([0.7713, 0.0001])
    before = shares.copy()
    page = Tags(generated_strip(shares, plain(("The", "·cat", "·sat")), selected=1))
    first, second = page.buttons
    assert first["title"] == first["aria-label"] and "·cat" in first["title"] and "0.7713" in first["title"]
    assert "77.1 %" in page.texts and "&lt;0.1 %" in generated_strip(shares, plain(("The", "·cat", "·sat")))
    bars = [values["style"] for tag, values in page.tags if tag == "span" and "style" in values]
    assert bars[0].startswith("width:77.1%;background:") and bars[1].startswith("width:0.0%;")
    assert (first["aria-pressed"], second["aria-pressed"]) == ("false", "true")
    assert np.array_equal(shares, before)


def test_given_tokens_are_no_buttons() -> None:
    page = Tags(generated_strip(np.array([0.5]), plain(("The", "·cat"))))
    (given,) = [values for tag, values in page.tags if values.get("class") == "stt-given"]
    assert "given" in given["title"] and len(page.buttons) == 1
    assert "1 given" in page.tags[0][1]["aria-label"] and "生成 1" in generated_strip(
        np.array([0.5]), plain(("The", "·cat")), language="zh"
    )


def test_pieces_of_one_character_stand_under_it(encoding: SimpleNamespace) -> None:
    page = generated_strip(np.array([0.5, 0.25, 0.125]), encoding)
    assert '<span class="stt-whole"><bdi>小</bdi></span>' in page
    grapheme = page[page.index("stt-grapheme") :]
    assert grapheme.index('data-step="0"') < grapheme.index('data-step="1"')
    assert "stt-special" in page, "padding that was generated is a special token"


def test_a_text_from_right_to_left() -> None:
    assert 'dir="rtl"' in generated_strip(np.array([0.5]), plain(("مرحبا", "."), text="مرحبا."))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        generated_strip(np.ones(3), plain(("a", "b")))


def test_a_token_that_a_reader_took_says_so() -> None:
    page = Tags(generated_strip(np.array([0.5, 0.25]), plain(("The", "·cat", "·sat")), forced=(1,)))
    first, second = page.buttons
    assert "stt-forced" not in first["class"] and "stt-forced" in second["class"].split()
    assert "taken by you" in second["title"] == second["aria-label"] and "taken" not in first["title"]
    assert page.texts.count("⤷ 25.0 %") == 1 and "50.0 %" in page.texts


def test_of_a_long_text_only_the_last_tokens_are_shown() -> None:
    tokens = tuple(f"w{index}" for index in range(29))
    page = Tags(generated_strip(np.array([0.5, 0.25]), plain(tokens), first=23))
    assert [text for text in page.texts if text in tokens] == list(tokens[23:])
    assert "23 tokens before …" in page.texts and [one["data-step"] for one in page.buttons] == ["0", "1"]
    whole = generated_strip(np.array([0.5, 0.25]), plain(tokens), first=-7)
    assert whole == generated_strip(np.array([0.5, 0.25]), plain(tokens))


def test_nothing_new_is_only_what_was_given() -> None:
    page = Tags(generated_strip(np.zeros(0), plain(("The", "·cat"))))
    assert not page.buttons and page.texts == ["The", "·cat"]


def test_steps_are_counted_from_one_where_they_are_read() -> None:
    first = Tags(generated_strip(np.array([0.5]), plain(("The", "·cat")))).buttons[0]
    assert first["data-step"] == "0" and first["title"].startswith("step 1:")
