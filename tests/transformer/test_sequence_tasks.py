"""Copy, reverse, sort: what is asked, read back from the ids with the tokenizer."""

from random import Random

import pytest

from transformer.piece_tokenizer import PieceTokenizer
from transformer.sequence_tasks import COPYCAT_PIECES, LETTER_PIECES, Copy, Copycat, Reverse, Sort, obey
from transformer.small_language import is_held_out
from transformer.tasks import EOS, NOT_JUDGED

TOKENIZER = PieceTokenizer(LETTER_PIECES)


def texts(batch):
    """(what is read, what is to be written) of each row."""
    sources = [TOKENIZER.decode(row) for row in batch.inputs["input_ids"].tolist()]
    targets = [[one for one in row if one != NOT_JUDGED] for row in batch.labels.tolist()]
    assert all(row[-1] == EOS for row in targets)
    return list(zip(sources, [TOKENIZER.decode(row[:-1]) for row in targets], strict=True))


@pytest.mark.parametrize(("task", "answer"), [(Copy, str), (Reverse, lambda word: word[::-1]), (Sort, sorted)])
def test_the_answer_is_the_word_as_it_should_be(task, answer):
    for held_out in (False, True):
        rows = texts(task(shortest=2, longest=5).batch(Random(3), 40, held_out=held_out))
        assert all(written == "".join(answer(word)) for word, written in rows)
        assert all(is_held_out(word) == held_out for word, _ in rows)
        assert {len(word) for word, _ in rows} == {2, 3, 4, 5}


def test_copycat_does_what_its_first_token_says():
    rows = texts(Copycat().batch(Random(3), 60))
    split = [(source.split(" "), written) for source, written in rows]
    assert {command for (command, _), _ in split} == {"copy", "reverse"}
    assert all(written == (word if command == "copy" else word[::-1]) for (command, word), written in split)


def test_a_typed_text_becomes_the_very_ids_of_the_task():
    assert tuple(Copycat().source("reverse ", "cat")) == TOKENIZER.encode("reverse cat").ids
    assert tuple(Copycat().source("copy ", "cat")) == PieceTokenizer(COPYCAT_PIECES).encode("copy cat").ids
    assert len(PieceTokenizer(COPYCAT_PIECES).encode("sort cat")) == 1 + len("sort cat")  # no such command
    assert tuple(Copy().source("copy ", "cat")) == TOKENIZER.encode("cat").ids
    assert obey("sort ", "banana") == "aaabnn"


def test_few_letters_make_the_exercise_of_the_annotated_transformer():
    batch = Copy(shortest=10, longest=10, letters="abcdefghij").batch(Random(3), 7)
    assert batch.inputs["input_ids"].shape == (7, 11) and bool(batch.inputs["attention_mask"].all())
    assert set("".join(word for word, _ in texts(batch))) <= set("abcdefghij")
