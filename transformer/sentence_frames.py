"""Frames: sentences with holes, filled with words from tables, that remember who belongs to whom.

    The {size1}? {animal1} chased the {animal2} and it>animal1 {animal1:sound}! .

Tokens stand between blanks. `{animal1}` is a word of the table "animal", another one than `{animal2}`;
`{animal1.plural}` is that word in another form, `{animal1.word/plural}` in one of two, by chance, and `{animal1:sound}`
what belongs to it. Behind a token stand its marks, in this order: `!` it follows from the text on its left (a slot),
`!is/was` with these wrong words instead of those that the tables offer; `>animal1` it points to the first mention of
that word (a link); `~go` it translates what has the same mark on the other side of a pair; `?` it is there every other
time.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from transformer.word_tables import Entry, Phrase, WordTables

_TOKEN = re.compile(
    r"(?:\{(?P<variable>[a-z]+\d)(?:(?P<sort>[.:])(?P<forms>[a-z/]+))?\}|(?P<literal>[^{}!>~?]+|[!?]))"
    r"(?P<slot>!(?P<wrong>[^>~?]*))?(?:>(?P<link>\w+))?(?:~(?P<same>\w+))?(?P<optional>\?)?"
)
Choice = Mapping[str, Entry | None]  # the word of each variable; None: left out


@dataclass
class Draft:
    """A sentence as tokens without spaces; links, slots and mentions count tokens."""

    tokens: list[str] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)  # (query, key)
    slots: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)  # (answer, wrong words)
    mentions: dict[str, list[int]] = field(default_factory=dict)  # where each word, and each `~` mark, stands


@dataclass(frozen=True)
class Hole:
    """One token of a frame: a variable in one of its forms, or a word as it stands."""

    variable: str | None
    forms: tuple[str, ...]
    literal: str
    mention: str | None  # what it mentions; None for what only belongs to a word
    slot: bool
    wrong: tuple[str, ...]
    link: str | None
    optional: bool

    @classmethod
    def read(cls, text: str, form: str) -> "Hole":
        """From one token of a frame; `form` is what a variable without a form means."""
        found = _TOKEN.fullmatch(text)
        assert found, f"{text!r} is no token of a frame"
        forms = tuple((found["forms"] or form).split("/"))
        mention = None if found["sort"] == ":" else found["same"] or found["variable"] or found["literal"]
        wrong = tuple(found["wrong"].split("/")) if found["wrong"] else ()
        slot, optional = found["slot"] is not None, found["optional"] is not None
        return cls(found["variable"], forms, found["literal"] or "", mention, slot, wrong, found["link"], optional)


class Frame:
    """A frame that was read; `choose` picks its words and `draft` puts them in."""

    def __init__(self, text: str, tables: WordTables, form: str = "word") -> None:
        self._tables = tables
        self._holes = tuple(Hole.read(token, form) for token in text.split())
        self._variables: dict[str, list[str]] = {}  # by table
        for name in dict.fromkeys(hole.variable for hole in self._holes if hole.variable):
            self._variables.setdefault(name[:-1], []).append(name)
        self._optional = tuple(hole.variable for hole in self._holes if hole.optional and hole.variable)

    def choose(self, random: random.Random) -> dict[str, Entry | None]:
        """A word for every variable, all of one table different; optional ones left out every other time."""
        chosen: dict[str, Entry | None] = {}
        for table, names in self._variables.items():
            words = self._tables[table]
            if len(names) == 1:
                chosen[names[0]] = words[int(random.random() * len(words))]
            else:
                chosen.update(zip(names, random.sample(words, len(names)), strict=True))
        for name in self._optional:
            if random.random() < 0.5:
                chosen[name] = None
        return chosen

    def draft(self, chosen: Choice, random: random.Random) -> Draft:
        """The sentence with these words; `random` decides between forms."""
        made = Draft()
        for hole in self._holes:
            wrong, place = hole.wrong, len(made.tokens)
            if hole.variable is None:
                made.tokens.append(hole.literal)
            else:
                entry = chosen[hole.variable]
                if entry is None:
                    continue
                form = hole.forms[0] if len(hole.forms) == 1 else random.choice(hole.forms)
                made.tokens += entry[form].tokens
                place += entry[form].key
                if hole.slot and not wrong:
                    wrong = self._rivals(hole.variable, form, entry[form], chosen)
            if hole.mention:
                made.mentions.setdefault(hole.mention, []).append(place)
            if hole.slot:
                made.slots.append((place, wrong))
            if hole.link:
                made.links.append((place, made.mentions[hole.link][0]))
        return made

    def tokens(self) -> set[tuple[str, bool]]:
        """Every token that the frame can hold, and whether it can be the first of the sentence."""
        found, first = set(), True
        for hole in self._holes:
            found |= {(word, first) for word in [hole.literal] if word}
            for entry in self._tables[hole.variable[:-1]] if hole.variable else ():
                for form in hole.forms:
                    found |= {(word, first and not place) for place, word in enumerate(entry[form].tokens)}
            first = first and hole.optional
        return found

    def _rivals(self, variable: str, form: str, phrase: Phrase, chosen: Choice) -> tuple[str, ...]:
        """What the other words of the sentence would put here; without any, what the rest of the table would."""
        found: dict[str, None] = {}
        for name, entry in chosen.items():
            if entry and name != variable and form in entry and (form != "word" or name[:-1] == variable[:-1]):
                found[entry[form].tokens[entry[form].key]] = None
        found.pop(phrase.tokens[phrase.key], None)
        return tuple(found) or self._tables.others[variable[:-1], form, phrase]
