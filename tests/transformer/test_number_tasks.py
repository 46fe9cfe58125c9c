"""Does 99 occur? Labels against the numbers themselves, and the ids against the tokenizer."""

from random import Random

import pytest
import torch

from transformer.number_tasks import NUMBER_PIECES, RandomLabels, Rule99, spell_numbers
from transformer.piece_tokenizer import PieceTokenizer
from transformer.tasks import PAD

TOKENIZER = PieceTokenizer(NUMBER_PIECES)


def numbers(batch):
    return [list(map(int, TOKENIZER.decode(row).split())) for row in batch.inputs["input_ids"].tolist()]


@pytest.mark.parametrize("text", ["12 99 7", "99", "0 0 10 9 99"])
def test_a_typed_text_becomes_the_very_ids_of_the_task(text):
    assert tuple(spell_numbers(list(map(int, text.split())))) == TOKENIZER.encode(text).ids


@pytest.mark.parametrize("held_out", [False, True])
def test_the_label_says_whether_99_occurs(held_out):
    batch = Rule99(shortest=2, longest=11).batch(Random(3), 300, held_out=held_out)
    rows = numbers(batch)
    assert [99 in row for row in rows] == batch.labels.bool().tolist()
    assert 120 < int(batch.labels.sum()) < 180
    assert {len(row) for row in rows} == set(range(2, 12))
    assert torch.equal(batch.inputs["attention_mask"], (batch.inputs["input_ids"] != PAD).long())
    places = {row.index(99) for row in rows if 99 in row}
    assert {0, 10} <= places and max(row.count(99) for row in rows) > 1
    assert {number for row in rows for number in row} > set(range(95))


def test_a_coin_says_nothing_of_the_row():
    batch = RandomLabels(shortest=32, longest=32).batch(Random(3), 2000)
    occurs = torch.tensor([99 in row for row in numbers(batch)])
    for group in (batch.labels[occurs], batch.labels[~occurs]):
        assert abs(float(group.float().mean()) - 0.5) < 0.06
    assert batch.inputs["input_ids"].shape == (2000, 33)
