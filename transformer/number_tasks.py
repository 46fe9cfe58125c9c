"""Does 99 occur? A rule that a classifier can learn, and labels by the toss of a coin, which nobody can.

Rows are texts of numbers, "12 99 7". The first number stands without a space and the others with one, so each number
has two tokens, as words have in GPT-2's vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch

from transformer.small_language import is_held_out
from transformer.tasks import BOS, FIRST_PIECE, Batch, padded, real

SOUGHT = 99
NUMBER_PIECES = (*(f" {number}" for number in range(SOUGHT + 1)), *map(str, range(SOUGHT + 1)))


def spell_numbers(numbers: Sequence[int]) -> list[int]:
    """The ids that a tokenizer makes of "12 99 7": position 0 holds BOS, which sums the row up as BERT's [CLS] does."""
    unspaced = FIRST_PIECE + SOUGHT + 1
    return [BOS, *(FIRST_PIECE + number if place else unspaced + number for place, number in enumerate(numbers))]


@dataclass(frozen=True)
class Rule99:
    """Class 1: the number 99 occurs, once or several times. Class 0: it does not. Both are equally frequent."""

    shortest: int = 4  # numbers in a row
    longest: int = 40

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    def batch(self, random: Random, size: int, held_out: bool = False) -> Batch:
        """`size` rows of random numbers and their classes, (batch,)."""
        rows, labels = [], []
        for _ in range(size):
            label = random.randrange(2)
            rows.append(spell_numbers(self._numbers(random, label, held_out)))
            labels.append(self.label(random, label))
        return Batch({"input_ids": padded(rows), "attention_mask": real(rows)}, torch.tensor(labels))

    def label(self, random: Random, occurs: int) -> int:
        """The class of a row in which 99 occurs or not."""
        return occurs

    def _numbers(self, random: Random, label: int, held_out: bool) -> list[int]:
        while True:
            numbers = random.choices(range(SOUGHT), k=random.randint(self.shortest, self.longest))
            if label:
                for _ in range(random.choice((1, 1, 1, 2, 3))):
                    numbers[random.randrange(len(numbers))] = SOUGHT
            if is_held_out(" ".join(map(str, numbers))) == held_out:
                return numbers


@dataclass(frozen=True)
class RandomLabels(Rule99):
    """The same rows with labels that say nothing of them: the best loss there is is ln 2 ≈ 0.693, a coin's entropy."""

    def label(self, random: Random, occurs: int) -> int:
        return random.randrange(2)
