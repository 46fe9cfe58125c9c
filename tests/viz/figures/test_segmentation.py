"""The overview of a segmentation: all stages of any text, every word a button, nothing read as markup."""

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest

from transformer.visible import visible
from viz.figures import segmentation_overview

CASES = json.loads((Path(__file__).parents[2] / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] if "text" in case else case["repeat"][0] * case["repeat"][1] for case in CASES]


def segmented(text: str, *, normalized: tuple[str, ...] | None = None, **facts: object) -> SimpleNamespace:
    """Every word cut into its characters."""
    words = tuple(
        SimpleNamespace(**({"text": word, "pieces": tuple(word), "added": False, "dropped": ()} | facts))
        for word in text.split(" ")
        if word
    )
    parts = (text,) if normalized is None else normalized
    return SimpleNamespace(text=text, normalized=parts, words=words, name=visible)


def test_all_stages_are_said():
    page = segmentation_overview(segmented("AB c", normalized=("ab c",)), selected=1)
    typed, normalized, words = re.findall(r"<li.*?</li>", page)
    assert "<bdi>AB·c</bdi>" in typed and "<bdi>ab·c</bdi>" in normalized
    assert re.findall(r'data-word="(\d)".*?aria-pressed="(\w+)"', words) == [("0", "false"), ("1", "true")]
    assert re.findall(r'stt-cut-word"><bdi>(.*?)<', words) == ["AB", "c"]
    assert re.findall(r'stt-piece"><bdi>(.*?)<', words) == ["A", "B", "c"]
    assert "unchanged" in segmentation_overview(segmented("AB c"))


def test_added_and_dropped_are_said():
    assert "added token" in segmentation_overview(segmented("[CLS]", added=True))
    page = segmentation_overview(segmented("ab", dropped=("\u0104",)))
    assert "no token stands for: \u0104" in page and "stt-lost" in page


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("text", TEXTS, ids=[case["id"] for case in CASES])
def test_every_case_is_shown_as_text(text, language):
    page = segmentation_overview(segmented(text), language=language)
    assert set(re.findall(r"<(\w+)", page)) <= {"div", "ol", "li", "span", "bdi", "b", "button", "p"}
    assert unescape(re.search(r"stt-text.*?<bdi>(.*?)</bdi>", page)[1]) == visible(text)
    shown = re.findall(r'stt-cut-word"><bdi>(.*?)</bdi>', page)
    assert [unescape(word) for word in shown] == [visible(word) for word in text.split(" ") if word][:200]
    assert ("4800" in page) == (len(shown) == 200), "what is left out is counted"


def test_right_to_left_texts_run_right_to_left():
    assert page_directions("قالت القطة") == {"rtl"} and page_directions("abc") == {"ltr"}


def page_directions(text: str) -> set[str]:
    return set(re.findall(r'dir="(\w+)"', segmentation_overview(segmented(text))))


def test_of_very_many_words_those_around_the_chosen_one_are_shown():
    page = segmentation_overview(segmented(" ".join(map(str, range(500)))), selected=420)
    shown = [int(word) for word in re.findall(r'data-word="(\d+)"', page)]
    assert shown == list(range(300, 500)) and "300 more words" in page
    assert re.findall(r'data-word="(\d+)"[^>]*aria-pressed="true"', page) == ["420"]
