"""All tokens as a table and as CSV: what is written is what the encoding says, exactly."""

import csv
import io
import re
from html import unescape

from transformer.messages import LANGUAGES, message
from transformer.tokenizer import ByteTokenizer, Encoding
from transformer.words import words_of
from viz.figures import token_csv, token_table

TEXT = '=1,"\n<b>小'
MARKED = Encoding.from_spans(
    [101, 100, 0], ["[CLS]", "[UNK]", "[PAD]"], "x?", [(None, b""), ((0, 2), b"x?"), (None, b"")],
    [True, False, False], padding=[False, False, True], unknown=[False, True, False],
)  # fmt: skip


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    return [[unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows]


def test_rows_by_hand():
    head, *rows = cells(token_table(MARKED, words_of(MARKED), selected=1, stack="encoder"))
    assert head == ["no.", "token", "id", "characters", "word", "kind", "bytes"]
    assert rows == [
        ["0", "[CLS]", "101", "", "[CLS]", "special", ""],
        ["1", "[UNK]", "100", "0–2", "[UNK]", "unknown", "78 3F"],
        ["2", "[PAD]", "0", "", "[PAD]", "padding", ""],
    ]
    page = token_table(MARKED, words_of(MARKED), selected=1, stack="encoder")
    assert re.findall(r'data-token="(\d)" data-stack="encoder" aria-pressed="true"', page) == ["1"]


def test_csv_brings_the_text_back():
    encoding = ByteTokenizer().encode(TEXT)
    for language in LANGUAGES:
        head, *rows = csv.reader(io.StringIO(token_csv(encoding, words_of(encoding), language=language)))
        assert head[0] == message("figure.token_table.index", language) and len(rows) == len(encoding)
        assert b"".join(bytes.fromhex(row[6]) for row in rows).decode() == TEXT
        assert [row[7] for row in rows] == ["", *'=1,"\n<b>', *"小小小"]


def test_hostile_tokens_stay_text(hostile: tuple[str, ...]):
    made = Encoding.from_ids(range(len(hostile)), hostile.__getitem__)
    page = token_table(made, words_of(made))
    assert set(re.findall(r"</?([a-z]+)", page)) == {
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "button",
        "bdi",
    }
    assert [row[1] for row in cells(page)[1:]] == list(hostile)


def test_long_texts_are_cut_around_the_chosen_token():
    encoding = ByteTokenizer().encode("a" * 200)
    page = token_table(encoding, words_of(encoding), selected=150)
    assert [row[0] for row in cells(page)[1:]] == [*map(str, range(118, 182))]
    assert "118 to 181 of 201" in page
    assert token_csv(encoding, words_of(encoding)).count("\n") == 202, "all of them"
