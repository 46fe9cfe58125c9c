"""The words of several tokens: each above its tokens, and what is left out is told."""

import re
from html import unescape
from types import SimpleNamespace

from transformer.tokenizer import ByteTokenizer
from transformer.words import words_of
from viz.figures import joined_words


def test_only_words_of_several_tokens_are_listed():
    encoding = ByteTokenizer().encode("the <b> 小")
    words = words_of(encoding)
    page = joined_words(words, encoding.tokens, selected=2, stack="decoder")
    names = re.findall(r'stt-cut-word"><bdi>(.*?)</bdi>', page)
    assert names == ["the", "小"]
    assert re.findall(r'data-token="(\d+)" data-stack="decoder"', page) == ["1", "9"], "their first tokens"
    assert re.findall(r'data-token="(\d+)"[^>]*aria-pressed="true"', page) == ["1"]
    assert f"2 of {len(words)}" in page and "⟨E5⟩" in page


def test_hostile_names_stay_text(hostile: tuple[str, ...]):
    words = SimpleNamespace(names=hostile, tokens=[(2 * n, 2 * n + 1) for n in range(len(hostile))])
    page = joined_words(words, [name for name in hostile for _ in "ab"])
    assert set(re.findall(r"</?([a-z]+)", page)) == {"div", "p", "button", "span", "bdi"}
    assert [unescape(name) for name in re.findall(r'stt-cut-word"><bdi>(.*?)</bdi>', page)] == list(hostile)


def test_where_nothing_is_joined_a_sentence_says_so():
    encoding = ByteTokenizer().encode("1")
    assert "button" not in joined_words(words_of(encoding), encoding.tokens)
    assert "single token" in joined_words(words_of(encoding), encoding.tokens)


def test_of_very_many_those_around_the_chosen_one_are_shown():
    encoding = ByteTokenizer().encode("ab " * 100)
    page = joined_words(words_of(encoding), encoding.tokens, selected=1 + 3 * 90)
    assert re.findall(r'data-token="(\d+)"[^>]*aria-pressed="true"', page) == [str(1 + 3 * 90)]
    assert page.count("<button") == 60 and "40 more" in page
