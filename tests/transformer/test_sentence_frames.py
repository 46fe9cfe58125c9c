"""sentence_frames.py and word_tables.py: by hand, with two words to a table."""

import random

import pytest

from transformer.sentence_frames import Draft, Frame
from transformer.word_tables import Phrase, WordTables

TABLES = WordTables(
    {
        "all": {"of": ["animal", "cause"]},
        "animal": {
            "class": "animal",
            "classes": {"sound": "verb"},
            "forms": ["word", "plural", "sound"],
            "rows": ["dog | dogs | barked", "cat | cats | meowed"],
        },
        "cause": {
            "class": "thing",
            "forms": ["word", "effect"],
            "rows": ["won the *race | happy", "saw *ghosts | scared"],
        },
        "size": {"class": "adjective", "forms": ["word"], "rows": ["big"]},
    }
)


def drafts(text: str, count: int = 40) -> dict[str, Draft]:
    """What a frame says, by its text, under many throws of the dice."""
    frame, dice = Frame(text, TABLES), random.Random(0)
    return {" ".join(made.tokens): made for made in (frame.draft(frame.choose(dice), dice) for _ in range(count))}


def test_words_links_and_slots():
    made = drafts("The {animal1} chased the {animal2} and it>animal1 {animal1:sound}! .")
    assert set(made) == {"The dog chased the cat and it barked .", "The cat chased the dog and it meowed ."}
    draft = made["The dog chased the cat and it barked ."]
    assert draft.links == [(6, 1)]
    assert draft.slots == [(7, ("meowed",))]
    assert draft.mentions["animal1"] == [1] and draft.mentions["animal2"] == [4]


def test_optional_words_move_what_follows():
    made = drafts("the {size1}? {animal1} and it>animal1")
    assert made["the dog and it"].links == [(3, 1)]
    assert made["the big dog and it"].links == [(4, 2)]
    assert len(made) == 4


def test_one_of_two_forms():
    assert set(drafts("{animal1.word/plural} !")) == {"dog !", "dogs !", "cat !", "cats !"}


def test_a_phrase_is_known_by_its_key():
    made = drafts("{cause1} so was {cause1:effect}!>cause1 .")["won the race so was happy ."]
    assert made.links == [(5, 2)] and made.slots == [(5, ("scared",))]


def test_given_wrong_words_and_marks():
    made = drafts("key are!is/was>key like~love {animal1}?")["key are like"]
    assert made.slots == [(1, ("is", "was"))] and made.links == [(1, 0)]
    assert made.mentions == {"key": [0], "are": [1], "love": [2]}


def test_tokens_know_whether_they_can_be_first():
    found = Frame("{size1}? {animal1} saw {cause1}", TABLES).tokens()
    first = {word for word, begins in found if begins}
    assert first == {"big", "dog", "cat"}
    assert {word for word, _ in found} == first | {"saw", "won", "the", "race", "ghosts"}


def test_tables():
    assert TABLES["all"] == TABLES["animal"] + TABLES["cause"]
    assert TABLES["cause"][0]["word"] == Phrase(("won", "the", "race"), 2)
    assert TABLES.word_class["dogs"] == "animal" and TABLES.word_class["barked"] == "verb"
    assert TABLES.others["animal", "sound", Phrase(("barked",))] == ("meowed",)


@pytest.mark.parametrize("text", ["{animal}", "{animal1", "a>", "a?b", "{animal1}>b~"])
def test_a_frame_that_nobody_can_read(text):
    with pytest.raises(AssertionError):
        Frame(text, TABLES)


def test_a_row_that_does_not_fit():
    with pytest.raises(AssertionError, match="does not fit"):
        WordTables({"a": {"class": "thing", "forms": ["word", "plural"], "rows": ["cup"]}})
