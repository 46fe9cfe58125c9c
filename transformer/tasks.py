"""Tasks: what a model is trained on. A task makes batches of inputs and of the answers that are known to be right.

Each kind stands in a file of its own: `sequence_tasks` (copy, reverse, sort), `number_tasks` (does 99 occur?),
`digit_task` (pictures of digits), `language_tasks` (the small language and its translation).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

import torch
from torch import Tensor

NOT_JUDGED = -100  # torch.nn.CrossEntropyLoss's ignore_index: a label that no answer is compared with
PAD, BOS, EOS = 0, 1, 2  # the ids of every tokenizer of ours
FIRST_PIECE = 3 + 256  # of a PieceTokenizer: three specials and all bytes come before its pieces


@dataclass(frozen=True, eq=False)
class Batch:
    """What goes in and what should come out: `model(**inputs).logits` is compared with `labels`.

    `labels`: (batch,) classes, or (batch, position) ids, NOT_JUDGED where there is nothing to get right.
    """

    inputs: dict[str, Tensor]
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def tokens(self) -> int:
        """How many real tokens are read, on both sides; of pictures, how many pictures."""
        return sum(map(self._real, self._ids)) if self._ids else len(self)

    @property
    def longest(self) -> int:
        """Tokens of the longest row of either side; 0 of pictures."""
        return max((self.inputs[name].shape[1] for name in self._ids), default=0)

    def split(self, parts: int) -> list["Batch"]:
        """The same rows in `parts` smaller batches, or in fewer where there are not enough rows."""
        labels = self.labels.chunk(parts)
        inputs = {name: one.chunk(parts) for name, one in self.inputs.items()}
        return [Batch({name: one[n] for name, one in inputs.items()}, labels[n]) for n in range(len(labels))]

    @property
    def _ids(self) -> list[str]:
        return [name for name in self.inputs if name.endswith("input_ids")]

    def _real(self, name: str) -> int:
        mask = self.inputs.get(name.replace("input_ids", "attention_mask"))
        if mask is not None:
            return int(mask.sum())
        ids = self.inputs[name]
        return int((ids != PAD).sum())


class Task(Protocol):
    """What the trainer asks of a task. Its `repr` names everything that its batches depend on."""

    @property
    def name(self) -> str: ...

    def batch(self, random: Random, size: int, held_out: bool = False) -> Batch:
        """`size` rows; the same state of `random` gives the same rows. `held_out`: only such as training never sees."""


def padded(rows: Sequence[Sequence[int]], fill: int = PAD) -> Tensor:
    """Rows of unequal length as one tensor, filled up on the right: (batch, position)."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])


def real(rows: Sequence[Sequence[int]]) -> Tensor:
    """1 = token, 0 = what `padded` fills up: (batch, position)."""
    return padded([[1] * len(row) for row in rows], fill=0)


def source_and_target(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """Rows for an encoder-decoder. The decoder reads BOS and the target and is to write the target and EOS: each of
    its positions sees what came before and answers with what comes next (teacher forcing, Williams & Zipser 1989)."""
    return Batch(
        inputs={
            "input_ids": padded(sources),  # (batch, source position)
            "attention_mask": real(sources),
            "decoder_input_ids": padded([[BOS, *target] for target in targets]),  # (batch, target position)
        },
        labels=padded([[*target, EOS] for target in targets], NOT_JUDGED),
    )
