"""Byte-pair pictures: every step a row, boxes as wide as what they joined, hostile tokens character for character."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from viz.figures import merge_stack, merge_table


class Page(HTMLParser):
    """Tags, the text of every piece, and all other text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.text = ""
        self._in_piece = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "bdi" and "stt-piece" in (self.tags[-1][1].get("class") or ""):
            self.pieces.append("")
            self._in_piece = True
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self._in_piece = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_piece:
            self.pieces[-1] += data


def encoding(pieces: tuple, pair: tuple | None = None, rank: int | None = None, at: int | None = None) -> object:
    return SimpleNamespace(pieces=pieces, pair=pair, rank=rank, at=at, whole=False)


def training(words: dict, pair: tuple | None = None, count: int = 0, rivals: tuple = (), changed: tuple = ()) -> object:
    counted = tuple(SimpleNamespace(pieces=pieces, count=times) for pieces, times in words.items())
    return SimpleNamespace(words=counted, pair=pair, count=count, rivals=rivals, changed=changed)


STACK = [
    encoding((b" ", b"\xe5", b"\xb0", b"\x8f", b"s")),
    encoding((b" ", b"\xe5\xb0", b"\x8f", b"s"), (b"\xe5", b"\xb0"), 53, 1),
    encoding((b" ", b"\xe5\xb0\x8f", b"s"), (b"\xe5\xb0", b"\x8f"), 1071, 1),
]


def test_a_stack_has_a_row_per_step_and_boxes_as_wide_as_what_they_joined():
    page = merge_stack(STACK)
    rows = re.findall(r"<li.*?</li>", page)
    assert len(rows) == 3
    assert [re.findall(r"span (\d)", row) for row in rows] == [["1"] * 5, ["1", "2", "1", "1"], ["1", "3", "1"]]
    assert [row.count("stt-piece-new") for row in rows] == [0, 1, 1]
    assert re.search(r'stt-piece-new"[^>]*><bdi>小<', rows[2]) and "--atoms:5" in page
    assert Page(rows[0]).pieces == ["·", "⟨E5⟩", "⟨B0⟩", "⟨8F⟩", "s"]
    assert Page(rows[1]).pieces[:2] == ["⟨E5⟩", "⟨B0⟩"] and "rank 53" in rows[1] and "rank 1,071" in rows[2]
    assert "Tokens: 3" in page and "词元" in merge_stack(STACK, language="zh")


def test_the_columns_are_wide_enough_for_every_name():
    wide = float(re.search(r"--atom:([\d.]+)ch", merge_stack([encoding(("\\u202e", "a"))]))[1])
    assert wide >= len("\\u202e") + 1
    assert float(re.search(r"--atom:([\d.]+)ch", merge_stack([encoding(("a", "b"))]))[1]) < 3


def test_names_are_given_by_the_tokenizer():
    page = merge_stack([encoding(("Ġ", "a")), encoding(("Ġa",), ("Ġ", "a"), 0, 0)], name=lambda p: p.replace("Ġ", "·"))
    assert Page(page).pieces == ["·", "a", "·", "a", "·a"]


def test_whole_words_and_empty_ones_say_so():
    whole = SimpleNamespace(pieces=("the",), pair=None, rank=None, at=None, whole=True)
    assert "nothing is merged" in merge_stack([whole])
    assert "Tokens: 0" in merge_stack([encoding(())])


def test_a_long_stack_keeps_its_end():
    pieces = ["a"] * 201
    steps = [encoding(tuple(pieces))]
    for number in range(200):
        pieces[:2] = [pieces[0] + "a"]
        steps.append(encoding(tuple(pieces), (pieces[0][1:], "a"), number, 0))
    page = merge_stack(steps)
    rows = re.findall(r"<li.*?</li>", page)
    assert len(rows) == 62 and "140 steps" in rows[60] and Page(rows[61]).pieces[-1] == "a" * 201


TABLE = [
    training({(b"l", b"o", b"w"): 2, (b" ", b"l", b"o"): 3, (b"x",): 1}),
    training(
        {(b"lo", b"w"): 2, (b" ", b"lo"): 3, (b"x",): 1},
        (b"l", b"o"), 5, (((b"l", b"o"), 5), ((b" ", b"l"), 3)), (0, 1),
    ),
    training(
        {(b"lo", b"w"): 2, (b" lo",): 3, (b"x",): 1},
        (b" ", b"lo"), 3, (((b" ", b"lo"), 3), ((b"s", b"t"), 3)), (1,),
    ),
]  # fmt: skip


def test_a_table_says_pair_count_and_changed_words_most_frequent_first():
    rows = re.findall(r"<li.*?</li>", merge_table(TABLE))
    assert Page(rows[0]).pieces == ["·", "l", "o", "l", "o", "w", "x"]
    assert Page(rows[1]).pieces == ["l", "o", "·", "lo", "lo", "w"], "the pair, then the words that changed"
    assert rows[1].count("stt-piece-new") == 2 and "<b>5×</b>" in rows[1] and "next: · + l, 3×" in rows[1]
    assert Page(rows[2]).pieces == ["·", "lo", "·lo"] and "tie with s + t (3×)" in rows[2]


def test_what_is_left_out_is_counted():
    many = {(bytes([65 + number]),): 1 for number in range(13)}
    page = merge_table([training(many)] * 1 + [TABLE[1]] * 67)
    assert "and 5 more words" in page and "7 more merges are not shown" in page
    assert page.count("<li") == 61


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hostile_tokens_come_back_character_for_character(hostile, language):
    pieces = tuple(token.encode() for token in hostile)
    pages = [
        merge_stack([encoding(hostile), encoding(("", *hostile[2:]), hostile[:2], 3, 0)], language=language),
        merge_table(
            [
                training({pieces: 1}),
                training({pieces: 1}, pieces[5:7], 1, ((pieces[5:7], 1), (pieces[3:5], 1)), (0,)),
            ],
            language=language,
        ),
    ]
    for page in map(Page, pages):
        assert tuple(page.pieces[: len(hostile)]) == hostile
        assert {tag for tag, _ in page.tags} <= {"div", "ol", "li", "span", "bdi", "b", "small", "p"}
    assert "<s> + </s>" in Page(pages[1]).text


def test_pieces_of_a_right_to_left_word_stand_from_the_right():
    assert 'class="stt-atoms" dir="rtl"' in merge_stack([encoding(("م", "ر"))])
    assert 'class="stt-atoms" dir="ltr"' in merge_stack(STACK)
