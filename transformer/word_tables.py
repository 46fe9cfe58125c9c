"""The words of the small language: tables of words and their forms, read from `assets/language/<name>.json`.

A table is a class of words ("animal") and the forms that each of them has; a row is one word:

    "animal": {"class": "animal", "forms": ["word", "sound"], "rows": ["dog | barked", "cat | meowed"]}

or it joins others: `{"of": ["female", "male"]}`. The class colours the words in maps of them; "classes" gives a form
another one. A form may be several tokens, one of them marked as the one that the others belong to: "won the *race".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "assets" / "language"

Entry = Mapping[str, "Phrase"]  # one word: its forms by name


@dataclass(frozen=True)
class Phrase:
    """One form of a word: its tokens, without spaces, and the index of the one that carries its meaning."""

    tokens: tuple[str, ...]
    key: int = 0

    @classmethod
    def read(cls, text: str) -> "Phrase":
        """From "won the *race"; without a mark the first token is the key."""
        tokens = text.split()
        assert tokens, "an empty form"
        marked = [index for index, token in enumerate(tokens) if token.startswith("*")]
        return cls(tuple(token.removeprefix("*") for token in tokens), marked[0] if marked else 0)


class WordTables:
    """All tables of one file, with those that join others ("name": female and male) joined."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self.words: dict[str, tuple[Entry, ...]] = {}
        self.word_class: dict[str, str] = {}  # of every token that stands in a table
        for name, table in tables.items():
            if "of" not in table:
                self._add(name, table)
        for name, table in tables.items():
            if "of" in table:
                self.words[name] = tuple(entry for part in table["of"] for entry in self.words[part])

    def __getitem__(self, name: str) -> tuple[Entry, ...]:
        return self.words[name]

    def _add(self, name: str, table: Mapping[str, Any]) -> None:
        self.words[name] = tuple(_entry(row, table["forms"]) for row in table["rows"])
        for entry in self.words[name]:
            for form, phrase in entry.items():
                named = table.get("classes", {}).get(form, table["class"])
                self.word_class |= {token: named for token in phrase.tokens if token not in self.word_class}

    @cached_property
    def others(self) -> dict[tuple[str, str, Phrase], tuple[str, ...]]:
        """(table, form, its value): what that form is for the other words of the table, each once."""
        found = {}
        for table, entries in self.words.items():
            for form in sorted({form for entry in entries for form in entry}):
                values = list(dict.fromkeys(entry[form] for entry in entries if form in entry))
                for value in values:
                    rest = (other.tokens[other.key] for other in values)
                    found[table, form, value] = tuple(dict.fromkeys(word for word in rest if word not in value.tokens))
        return found


def _entry(row: str, forms: list[str]) -> Entry:
    cells = row.split("|")
    assert len(cells) == len(forms), f"{row!r} does not fit the forms {forms}"
    return {form: Phrase.read(cell) for form, cell in zip(forms, cells, strict=True)}


def read_words(name: str) -> dict[str, Any]:
    """The content of `assets/language/<name>.json`."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
