"""WordPiece pictures: what was tried, what was found, what was lost."""

import re
from types import SimpleNamespace

from viz.figures import prefix_tries


def step(start: int, tried: tuple[str, ...], pieces: tuple[str, ...], found: bool = True) -> SimpleNamespace:
    return SimpleNamespace(start=start, tried=tried, pieces=pieces, found=found)


UNAFF = [
    step(0, ("unaff", "unaf", "una", "un"), ("un",)),
    step(2, ("##aff",), ("un", "##aff")),
]


def names(row: str, kind: str) -> list[str]:
    return re.findall(rf'stt-piece {kind}"><bdi>(.*?)</bdi>', row)


def test_misses_are_struck_out_and_the_hit_is_marked():
    first, second, tokens = re.findall(r"<li.*?</li>", prefix_tries(UNAFF, "unaff"))
    assert names(first, "stt-piece-miss") == ["unaff", "unaf", "una"] and names(first, "stt-piece-hit") == ["un"]
    assert names(second, "stt-piece-miss") == [] and names(second, "stt-piece-hit") == ["##aff"]
    assert 'stt-covered">un</bdi><bdi><b>aff</b>' in second and 'stt-covered"></bdi><bdi><b>unaff</b>' in first
    assert re.findall(r'stt-piece"><bdi>(.*?)</bdi>', tokens) == ["un", "##aff"]


def test_many_misses_are_counted():
    tried = tuple("a" * length for length in range(30, 0, -1))
    first, _ = re.findall(r"<li.*?</li>", prefix_tries([step(0, tried, ("a",))], "a" * 30))
    shown = names(first, "stt-piece-miss")
    assert [len(name) for name in shown] == [30, 29, 28, 27, 26, 3, 2] and "22 more" in first
    assert len(shown) + 22 == len(tried) - 1
    exactly = prefix_tries([step(0, tried[-8:], ("a",))], "a" * 8)
    assert len(names(exactly, "stt-piece-miss")) == 7 and "more" not in exactly


def test_lost_words_say_why():
    lost = [UNAFF[0], step(2, ("##x",), ("[UNK]",), found=False)]
    page = prefix_tries(lost, "unx")
    assert "whole word becomes [UNK]" in page and "stt-piece-hit" not in page.split("<li")[2]
    assert names(page, "stt-piece-miss")[-1] == "##x"
    assert "too long to be tried" in prefix_tries([step(0, (), ("[UNK]",), found=False)], "a" * 101)
    assert "变成 [UNK]" in prefix_tries(lost, "unx", language="zh")


def test_a_word_of_many_pieces_is_cut_in_the_open():
    steps = [step(at, ("##a",), ("a",) * (at + 1)) for at in range(73)]
    page = prefix_tries(steps, "a" * 73)
    assert page.count("<li") == 62 and "13 more pieces" in page


def test_hostile_words_stay_text(hostile):
    for word in hostile:
        page = prefix_tries([step(0, (word,), (word,)), step(1, (word,), ("[UNK]",), found=False)], word)
        assert "<s>" not in page and "<b>bold" not in page
        assert set(re.findall(r"<(\w+)", page)) <= {"div", "ol", "li", "span", "bdi", "b", "p"}


def test_another_tokenizer_brings_its_own_last_sentence():
    page = prefix_tries([step(0, ("the ", "the"), ("the",))], "the ", notice="Longest <first>.")
    assert "Longest &lt;first&gt;." in page and "sign of continuation" not in page
