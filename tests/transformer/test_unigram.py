"""unigram.py: the best cut by hand and against all cuts, unknown characters, parity with the `tokenizers` library."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from transformer.unigram import UNKNOWN_PENALTY, best_cut, lattice_steps

PIECES = {"<unk>": 0.0, "a": -2.0, "b": -2.5, "ab": -3.0, "abc": -7.0, "bc": -3.25, "c": -3.5, "小明": -4.0}


def all_cuts(word: str) -> Iterator[float]:
    """The log-probability of every way to cut a word, added from left to right."""

    def further(start: int, total: float) -> Iterator[float]:
        if start == len(word):
            yield total
        for end in range(start + 1, len(word) + 1):
            if word[start:end] in PIECES:
                yield from further(end, total + PIECES[word[start:end]])
            elif end == start + 1:
                yield from further(end, total + min(PIECES.values()) - UNKNOWN_PENALTY)

    return further(0, 0.0)


def test_abc_by_hand():
    """a + bc = −5.25 beats ab + c = −6.5, a + b + c = −8 and abc = −7."""
    steps = list(lattice_steps("abc", PIECES))
    assert [step.position for step in steps] == [0, 1, 2, 3]
    assert [step.best for step in steps] == [0.0, -2.0, -3.0, -5.25]
    assert [[edge.piece for edge in step.edges] for step in steps] == [["a", "ab", "abc"], ["b", "bc"], ["c"], []]
    assert [edge.total for edge in steps[1].edges] == [-4.5, -5.25]
    assert [edge.piece for edge in best_cut(steps)] == ["a", "bc"]
    assert steps[0].through is None and steps[3].through == steps[1].edges[1]


def test_an_unknown_character_costs_its_penalty():
    steps = list(lattice_steps("a小", PIECES))
    last = best_cut(steps)[-1]
    assert (last.piece, last.unknown, last.log_probability) == ("小", True, -7.0 - UNKNOWN_PENALTY)
    assert [edge.piece for edge in best_cut(list(lattice_steps("小明", PIECES)))] == ["小明"], "known as a whole"
    assert next(lattice_steps("小明", PIECES)).edges[0].unknown, "yet its first character alone is not"


def test_of_equal_cuts_the_one_with_the_longer_last_piece_is_kept():
    equal = {"<unk>": 0.0, "a": -1.0, "b": -2.0, "ab": -3.0}
    assert [edge.piece for edge in best_cut(list(lattice_steps("ab", equal)))] == ["ab"]
    assert Tokenizer(models.Unigram(list(equal.items()), unk_id=0, byte_fallback=False)).encode("ab").tokens == ["ab"]


@given(st.text(alphabet="abc小明x", min_size=1, max_size=9))
def test_no_other_cut_is_better(word):
    steps = list(lattice_steps(word, PIECES))
    path = best_cut(steps)
    assert "".join(edge.piece for edge in path) == word
    assert path[-1].total == steps[-1].best == pytest.approx(max(all_cuts(word)))
    assert sum(edge.log_probability for edge in path) == pytest.approx(steps[-1].best)


@given(st.text(alphabet="abc小明x", min_size=1, max_size=12))
def test_pieces_are_the_librarys(word):
    backend = Tokenizer(models.Unigram(list(PIECES.items()), unk_id=0, byte_fallback=False))
    path = best_cut(list(lattice_steps(word, PIECES)))
    merged: list[str] = []
    for before, edge in zip((None, *path), path, strict=False):
        joins = before is not None and before.unknown and edge.unknown  # neighbours that are unknown are one token
        merged[-1:] = [merged[-1] + edge.piece] if joins else [*merged[-1:], edge.piece]
    assert merged == backend.encode(word).tokens
