"""Batches: padding by hand, splitting, counting, and what every task of the house must keep."""

from random import Random

import pytest
import torch

from transformer.digit_task import Digits
from transformer.language_tasks import Language, Translation
from transformer.number_tasks import RandomLabels, Rule99
from transformer.piece_tokenizer import PieceTokenizer
from transformer.sequence_tasks import Copy, Copycat, Reverse, Sort
from transformer.tasks import BOS, EOS, FIRST_PIECE, NOT_JUDGED, PAD, Batch, padded, real, source_and_target

LANGUAGE = Language(longest=23, longest_repeat=7)
TASKS = (Copy(), Reverse(), Sort(), Copycat(), Rule99(), RandomLabels(), Digits(), LANGUAGE, Translation())


def test_ids_are_those_of_the_tokenizer():
    tokenizer = PieceTokenizer(("cat", " dog"))
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id) == (PAD, BOS, EOS)
    assert tokenizer.encode("cat dog").ids == (BOS, FIRST_PIECE, FIRST_PIECE + 1)


def test_rows_are_filled_up_on_the_right():
    assert padded([[5, 7, 9], [3]]).tolist() == [[5, 7, 9], [3, 0, 0]]
    assert real([[5, 0, 9], [3]]).tolist() == [[1, 1, 1], [1, 0, 0]]


def test_a_decoder_sees_what_came_before_and_answers_what_comes_next():
    batch = source_and_target([[BOS, 5], [BOS, 7, 9]], [[11, 13], [17]])
    assert batch.inputs["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert batch.inputs["decoder_input_ids"].tolist() == [[BOS, 11, 13], [BOS, 17, PAD]]
    assert batch.labels.tolist() == [[11, 13, EOS], [17, EOS, NOT_JUDGED]]
    assert batch.tokens == 5 + 5 and len(batch) == 2


def test_parts_of_a_batch_are_its_rows_in_order():
    batch = Batch({"input_ids": torch.arange(14).reshape(7, 2), "attention_mask": torch.ones(7, 2)}, torch.arange(7))
    parts = batch.split(3)
    assert [len(part) for part in parts] == [3, 3, 1]
    assert torch.equal(torch.cat([part.inputs["input_ids"] for part in parts]), batch.inputs["input_ids"])
    assert [len(part) for part in batch.split(20)] == [1] * 7
    assert Batch({"pixel_values": torch.zeros(7, 1, 8, 8)}, torch.arange(7)).tokens == 7


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_same_chance_makes_the_same_rows(task, held_out):
    one, same, other = (task.batch(Random(seed), 5, held_out=held_out) for seed in (3, 3, 4))
    assert len(one) == 5 and one.inputs.keys() == same.inputs.keys()
    assert torch.equal(one.labels, same.labels)
    assert all(torch.equal(one.inputs[name], same.inputs[name]) for name in one.inputs)
    assert any(
        one.inputs[name].shape != other.inputs[name].shape or not torch.equal(one.inputs[name], other.inputs[name])
        for name in one.inputs
    )


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_nothing_of_the_examination_is_trained_on(task):
    def rows(held_out):
        batch = task.batch(Random(3), 60, held_out=held_out)
        name = next(name for name in ("pixel_values", "input_ids") if name in batch.inputs)
        return {tuple(row.flatten().tolist()) for row in batch.inputs[name]}

    repeats = isinstance(task, Language)  # random ids have no text to be held out by
    assert repeats or not rows(True) & rows(False)
    assert len(rows(True)) > 10
