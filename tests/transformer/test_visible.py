r"""visible.py: nothing invisible stays, nothing visible changes."""

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.visible import visible, visible_bytes

FAMILY, RAINBOW_FLAG = "👩‍👩‍👧", "🏳️‍🌈"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a  b\n\tc ", "a··b↵→c·"),
        ("\r\x00\x7f", r"\u000d\u0000\u007f"),
        ("abc\u202edef\u202c", r"abc\u202edef\u202c"),
        ("\u200bzero\u200dwidth", r"\u200bzero\u200dwidth"),
        ("\xa0\u3000\u2028", r"\u00a0\u3000\u2028"),
        ("\ue000\U0010ffff\ud800", r"\ue000\U0010ffff\ud800"),
        ("\u3164\u2800\u00ad\ufeff", r"\u3164\u2800\u00ad\ufeff"),
        ("小明，列奥纳多·达", "小明，列奥纳多·达"),
        ("e\u0301", "e\u0301"),
        ("\u0301", "\u25cc\u0301"),
        ("\u0600", "\u0600"),  # a format character that is drawn
        ("<b>&amp;</b>", "<b>&amp;</b>"),  # escaping for a page is the page's work
        ("", ""),
    ],
)
def test_by_hand(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize("picture", [FAMILY, RAINBOW_FLAG, ENGLAND, "👩🏽‍🚀", "1️⃣", "葛\U000e0100", "ශ්\u200dරී"])
def test_joiners_and_selectors_stay_where_they_draw(picture):
    assert visible(picture) == picture


def test_joiners_and_selectors_show_where_they_hide():
    assert visible("\u200d") == r"\u200d"
    assert visible("a\ufe0f") == r"a\ufe0f"
    assert visible("👩\u200d") == r"👩\u200d"
    assert visible("😀\ufe0f\U000e0101\ufe01") == "😀\ufe0f" + r"\U000e0101\ufe01"  # a message hidden in selectors,
    assert visible("hi\U000e0068\U000e0069") == r"hi\U000e0068\U000e0069"  # in tags


def test_broken_bytes_are_named():
    assert visible_bytes(b"\xe5\xb0") == "⟨E5 B0⟩"
    assert visible_bytes(b" a\x8f\xe6b") == "·a⟨8F E6⟩b"
    assert visible_bytes(b"\xed\xa0\x80") == "⟨ED A0 80⟩"  # a surrogate is no UTF-8
    assert visible_bytes("小\u200b".encode()) == r"小\u200b"


@given(st.text(st.characters(codec=None), max_size=30))
@settings(deadline=None)  # other tests may use the machine
def test_the_result_has_ink(text):
    kept = regex.sub(r"[\u200D\uFE00-\uFE0F\U000E0020-\U000E01EF]", "", visible(text))
    assert not regex.search(r"[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Z}\p{DI}]", kept)


@given(st.binary(max_size=30))
@settings(deadline=None)  # other tests may use the machine
def test_all_broken_bytes_are_there(data):
    text = data.decode("utf-8", "surrogateescape")
    broken = "".join(f"{ord(sign) - 0xDC00:02X}" for sign in text if "\udc80" <= sign <= "\udcff")
    typed = regex.sub(r"[^⟨⟩]", "", visible("".join(sign for sign in text if not "\udc80" <= sign <= "\udcff")))
    if not typed:
        assert "".join(regex.findall(r"⟨([0-9A-F ]+)⟩", visible_bytes(data))).replace(" ", "") == broken
