"""The levels of a text: every byte has its column, every level covers all of them, and what shares a byte is tied."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from transformer.image import ImageEncoding, ImageShape
from transformer.piece_tokenizer import PieceTokenizer
from transformer.tokenizer import ByteTokenizer, Encoding
from transformer.visible import visible
from transformer.words import words_of
from viz.figures import text_levels

CASES = json.loads((Path(__file__).parents[2] / "cases" / "texts.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [case["text"] for case in CASES if case.get("text")]
STRANGE = ["\u0301a", "a\x00\x1b[0m", "\ufeffx\U000e0041", "क्‍ष", "\u2800\u3164", "<td data-tie='1'>\"&amp;"]
TAGS = {"div", "table", "tbody", "tr", "th", "td", "bdi", "small", "button", "span", "p", "i"}
BYTES, PIECES = ByteTokenizer(), PieceTokenizer((" is", "is", "the", " cat", "小明", " a"))


@dataclass
class Cell:
    """One cell: how many columns it covers, what it is tied to, what is written in it, and its attributes."""

    wide: int
    values: dict[str, str | None]
    ties: set[str] = field(default_factory=set)
    text: str = ""
    button: dict[str, str | None] = field(default_factory=dict)


class Table(HTMLParser):
    """`rows["text"]`: the cells of a level."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: dict[str, list[Cell]] = {}
        self.heads: dict[str, str] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.in_id = self.in_head = False
        self.level = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append((tag, values))
        tied = set((values.get("data-tie") or "").split())
        if tag == "tr":
            self.level = (values["class"] or "").removeprefix("stt-level-")
            self.level += str(len(self.rows)) if self.level in self.rows else ""
            self.rows[self.level] = []
        elif tag == "td":
            self.rows[self.level].append(Cell(int(values.get("colspan") or 1), values, tied))
        elif tag == "button":
            cell = self.rows[self.level][-1]
            cell.button, cell.ties = values, tied
        self.in_head = tag == "th" or (self.in_head and tag in ("bdi", "small"))
        self.in_id = values.get("class") == "stt-token-id"

    def handle_data(self, data: str) -> None:
        if self.in_head:
            self.heads[self.level] = self.heads.get(self.level, "") + data
        elif self.level and self.rows[self.level] and not self.in_id:
            self.rows[self.level][-1].text += data

    def handle_endtag(self, tag: str) -> None:
        self.in_head = self.in_head and tag != "th"
        if tag == "table":
            self.level = ""


def tied_to(table: Table, level: str, place: int) -> dict[str, list[str]]:
    """What is marked while the `place`-th cell of a level is pointed at."""
    ties = table.rows[level][place].ties
    return {name: [cell.text for cell in cells if cell.ties & ties] for name, cells in table.rows.items()}


def bert() -> Encoding:
    """As BERT reads " Hi小é?": nothing stands for the space, the character is unknown, the accent is taken away."""
    text = " Hi小e\u0301?"
    pieces = [
        (None, b""),
        ((1, 3), b"Hi"),
        ((3, 4), "小".encode()),
        ((4, 6), "e\u0301".encode()),
        ((6, 7), b"?"),
        (None, b""),
    ]
    names = ["[CLS]", "hi", "[UNK]", "e", "?", "[SEP]"]
    special, unknown = [True, False, False, False, False, True], [False, False, True, False, False, False]
    return Encoding.from_spans([101, 7, 100, 9, 7, 102], names, text, pieces, special, unknown=unknown)


def test_levels_by_hand():
    table = Table(text_levels(bert(), words_of(bert()), selected=3))
    written = {name: [cell.text for cell in cells] for name, cells in table.rows.items()}
    assert written == {
        "text": ["", "·", "H", "i", "小", "e\u0301", "?", ""],
        "characters": ["", "·", "H", "i", "小", "e", "◌\u0301", "?", ""],
        "bytes": ["", "20", "48", "69", "E5", "B0", "8F", "65", "CC", "81", "3F", ""],
        "tokens": ["[CLS]", "", "hi", "[UNK]", "e", "?", "[SEP]"],
        "words": ["[CLS]", "", "hi", "[UNK]", "e", "?", "[SEP]"],
    }
    assert table.heads == {
        "text": "text 6",
        "characters": "characters 7",
        "bytes": "bytes 10",
        "tokens": "tokens 6",
        "words": "words 6",
    }
    assert {name: sum(cell.wide for cell in cells) for name, cells in table.rows.items()} == dict.fromkeys(written, 12)
    assert [cell.wide for cell in table.rows["tokens"]] == [1, 1, 2, 3, 3, 1, 1]
    marked = [cell.values.get("class") for cell in table.rows["text"]]
    assert marked == [None, "stt-lost", None, None, "stt-lost", None, None, None]
    assert "stt-no-token" in (table.rows["tokens"][1].values["class"] or "")
    pressed = [cell.button.get("aria-pressed") for cell in table.rows["tokens"]]
    assert pressed == ["false", None, "false", "false", "true", "false", "false"]
    assert [cell.button.get("data-token") for cell in table.rows["tokens"]] == ["0", None, "1", "2", "3", "4", "5"]


def test_whatever_shares_a_byte_is_tied():
    table = Table(text_levels(bert(), words_of(bert())))
    accent = {"text": ["e\u0301"], "characters": ["◌\u0301"], "bytes": ["CC", "81"], "tokens": ["e"], "words": ["e"]}
    assert tied_to(table, "characters", 6) == accent
    assert tied_to(table, "bytes", 8) == accent | {"bytes": ["CC"]}
    assert tied_to(table, "tokens", 2) == {
        "text": ["H", "i"], "characters": ["H", "i"], "bytes": ["48", "69"], "tokens": ["hi"], "words": ["hi"],
    }  # fmt: skip
    alone = {"text": [], "characters": [], "bytes": [], "tokens": ["[SEP]"], "words": ["[SEP]"]}
    assert tied_to(table, "words", 6) == alone


def test_a_character_in_pieces_is_tied_to_each_of_them():
    encoding = BYTES.encode("a小")
    table = Table(text_levels(encoding, words_of(encoding)))
    assert tied_to(table, "tokens", 3) == {
        "text": ["小"], "characters": ["小"], "bytes": ["B0"], "tokens": ["⟨B0⟩"], "words": ["小"],
    }  # fmt: skip
    assert tied_to(table, "text", 2)["tokens"] == ["⟨E5⟩", "⟨B0⟩", "⟨8F⟩"]


def test_a_whole_emoji_stands_above_its_characters():
    encoding = BYTES.encode("👩‍👧 e\u0301")
    table = Table(text_levels(encoding, words_of(encoding)))
    assert [cell.text for cell in table.rows["text"]] == ["", "👩‍👧", "·", "e\u0301"]
    assert [cell.text for cell in table.rows["characters"]] == ["", "👩", r"\u200d", "👧", "·", "e", "◌\u0301"]
    assert table.rows["text"][1].wide == 11
    joiner = table.rows["characters"][2]
    assert joiner.wide == 3 and joiner.values["title"] == "U+200D ZERO WIDTH JOINER"


@pytest.mark.parametrize("text", TEXTS + STRANGE)
@pytest.mark.parametrize("tokenizer", [BYTES, PIECES], ids=["bytes", "pieces"])
def test_every_text_comes_back_character_for_character(tokenizer, text):
    encoding = tokenizer.encode(text)
    check(
        encoding, Table(text_levels(encoding, words_of(encoding), selected=len(encoding) // 2)), cut=len(encoding) > 81
    )


@given(st.text(st.sampled_from("the cat小明é\u0301\u200d👩א\n<&"), min_size=1, max_size=30))
def test_any_text_comes_back(text):
    encoding = PIECES.encode(text)
    check(encoding, Table(text_levels(encoding, words_of(encoding))), cut=len(encoding) > 81)


def check(encoding: Encoding, table: Table, *, cut: bool) -> None:
    """All rows are equally long, ties are unbroken ranges, and the levels spell the text."""
    assert len({sum(cell.wide for cell in cells) for cells in table.rows.values()}) == 1
    start = min((int(tie) for cells in table.rows.values() for cell in cells for tie in cell.ties), default=0)
    for cells in table.rows.values():
        place = start
        for cell in cells:
            assert not cell.ties or cell.ties == {*map(str, range(place, place + cell.wide))}
            place += cell.wide
    assert {tag for tag, _ in table.tags} <= TAGS
    text = encoding.text
    assert text is not None
    if cut:
        return
    assert [cell.text for cell in table.rows["text"] if cell.text] == [*map(visible, regex.findall(r"\X", text))]
    assert [cell.text for cell in table.rows["characters"] if cell.text] == [*map(visible, text)]
    assert bytes.fromhex("".join(cell.text for cell in table.rows["bytes"])) == text.encode()
    assert [cell.text for cell in table.rows["tokens"] if cell.button] == list(encoding.tokens)


def test_text_that_begins_right_to_left_lies_so():
    assert ' dir="rtl"' in text_levels(BYTES.encode("שלום and"))
    assert ' dir="ltr"' in text_levels(BYTES.encode("and שלום"))


def test_long_texts_are_cut_around_the_chosen_token():
    encoding = PIECES.encode("the" + " cat" * 200 + "小" * 100)
    page = text_levels(encoding, words_of(encoding), selected=100)
    table = Table(page)
    shown = [int(cell.button["data-token"] or 0) for cell in table.rows["tokens"] if cell.button]
    assert shown == list(range(60, 141))
    assert "60 to 140 of 502" in page
    check(encoding, table, cut=True)
    ends = Table(text_levels(encoding, words_of(encoding), selected=430))
    shown = [int(cell.button["data-token"] or 0) for cell in ends.rows["tokens"] if cell.button]
    assert 430 in shown and shown == list(range(shown[0], shown[-1] + 1)) and len(shown) < 86
    assert {cell.wide for cell in ends.rows["text"]} == {3}, "no character is cut"


def test_two_texts_name_their_stack_and_nothing_is_chosen_by_itself():
    page = text_levels(BYTES.encode("ab"), stack="encoder")
    assert page.count('data-stack="encoder"') == 3 and 'aria-pressed="true"' not in page
    assert "words" not in Table(page).rows, "no words were given"


def test_text_that_another_token_holds_and_bytes_that_none_holds():
    """ "fi" read from one sign: two tokens, the first holds its bytes. And a byte that the vocabulary lacks."""
    shared = Encoding.from_spans([3, 4], ["f", "i"], "ﬁ", [((0, 1), "ﬁ".encode()), ((0, 1), b"")], [False] * 2)
    table = Table(text_levels(shared, words_of(shared)))
    assert [cell.text for cell in table.rows["bytes"]] == ["EF", "AC", "81", ""]
    assert tied_to(table, "tokens", 1) == {
        "text": ["ﬁ"],
        "characters": ["ﬁ"],
        "bytes": [],
        "tokens": ["i"],
        "words": ["ﬁ"],
    }
    lost = Encoding.from_spans([3], ["⟨90⟩"], "\U00050000", [((0, 1), b"\x90\x80\x80")], [False])
    table = Table(text_levels(lost, words_of(lost)))
    classes = [cell.values.get("class") for cell in table.rows["bytes"]]
    assert classes == ["stt-no-token", None, None, None]
    assert [cell.text for cell in table.rows["bytes"]] == ["F1", "90", "80", "80"]
    inside = Encoding.from_spans([3], ["a?b"], "aéb", [((0, 3), b"a\xa9b")], [False])
    table = Table(text_levels(inside, words_of(inside)))
    assert [cell.wide for cell in table.rows["tokens"]] == [4], "a token stays one where a byte was dropped"


def test_ids_without_a_text_have_their_tokens():
    page = text_levels(Encoding.from_ids([5, 7, 5], padding=[False, False, True]), selected=1)
    table = Table(page)
    assert [*table.rows] == ["tokens"] and [cell.text for cell in table.rows["tokens"]] == ["5", "7", "5"]
    assert "spell no text" in page and "stt-padding" in page and "stt-mark-padding" in page
    broken = BYTES.encoding_of_ids([1, 3 + 0xE5, 3 + 0x41])
    table = Table(text_levels(broken, words_of(broken)))
    assert [cell.text for cell in table.rows["bytes"]] == ["", "E5", "41"] and "text" not in table.rows


def test_an_image_has_the_pixels_of_its_patches():
    shape = ImageShape(1, 4, 6, 2)
    image = np.arange(24, dtype=np.float32).reshape(1, 4, 6) / 23
    encoding = ImageEncoding.of(image, shape)
    page = text_levels(encoding, words_of(encoding), selected=2)
    table = Table(page)
    assert [cell.text for cell in table.rows["tokens"]] == ["[CLS]", "1,1", "1,2", "1,3", "2,1", "2,2", "2,3"]
    above, below = [cells for name, cells in table.rows.items() if name.startswith("pixels")]
    assert above[0].text == "" and above[2].text == f"{image[0, 0, 2]:.3g}{image[0, 0, 3]:.3g}"
    assert below[6].text == f"{image[0, 3, 4]:.3g}{image[0, 3, 5]:.3g}"
    assert tied_to(table, "tokens", 2)["pixels"] == [above[2].text]
    assert "words" not in table.rows and "patch" in page


def test_colours_and_large_patches_are_told_by_their_means():
    image = np.stack([np.full((4, 4), share, np.float32) for share in (0.25, 0.5, 1.0)])
    table = Table(text_levels(ImageEncoding.of(image, ImageShape(3, 4, 4, 2))))
    means = [[cell.text for cell in cells] for name, cells in table.rows.items() if name.startswith("pixels")]
    assert means == [["", *["0.25"] * 4], ["", *["0.5"] * 4], ["", *["1"] * 4]]


def test_chinese_has_its_own_words():
    page = text_levels(bert(), words_of(bert()), language="zh")
    assert "词元" in page and "bytes" not in Table(page).heads["bytes"]


def test_what_was_given_is_not_changed(encoding: SimpleNamespace):
    before = dict(vars(encoding))
    text_levels(encoding)
    assert vars(encoding) == before
