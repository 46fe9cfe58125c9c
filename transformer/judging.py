"""How well answers agree with labels: loss, accuracy, and how many whole answers are right."""

from dataclasses import dataclass
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.tasks import NOT_JUDGED, Batch, Task

EXAMINATION = 20_011  # seed of held-out rows: every look at them sees the same ones


@dataclass(frozen=True)
class Judged:
    """Sums over one or several batches; the shares follow from them."""

    loss: float  # sum over judged labels, in nats
    right: int  # labels whose class has the largest logit
    labels: int  # how many were judged
    whole: int  # rows of which every judged label is right
    rows: int

    def __add__(self, other: "Judged") -> "Judged":
        return Judged(
            self.loss + other.loss,
            self.right + other.right,
            self.labels + other.labels,
            self.whole + other.whole,
            self.rows + other.rows,
        )

    @property
    def mean_loss(self) -> float:
        """Cross entropy per judged label."""
        return self.loss / self.labels

    @property
    def accuracy(self) -> float:
        """Share of judged labels that are right."""
        return self.right / self.labels

    @property
    def exact(self) -> float:
        """Share of rows that are right from end to end: what greedy decoding would write without a mistake."""
        return self.whole / self.rows


NOTHING = Judged(0.0, 0, 0, 0, 0)


def summed_loss(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Cross entropy summed over the judged labels, in float32 whatever the logits are."""
    flat = logits.flatten(0, -2).float()  # (label, class)
    return F.cross_entropy(
        flat, labels.flatten(), ignore_index=NOT_JUDGED, reduction="sum", label_smoothing=label_smoothing
    )


def count_right(logits: Tensor, labels: Tensor) -> tuple[int, int]:
    """(right labels, whole rows that are right)."""
    agrees = logits.argmax(-1) == labels  # (batch,) or (batch, position)
    missed = ~agrees & (labels != NOT_JUDGED)
    return int(agrees.sum()), int((~missed.reshape(len(labels), -1).any(-1)).sum())


@torch.no_grad()
def judge(model: nn.Module, batch: Batch) -> Judged:
    """One batch, as the model answers in evaluation mode."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    logits = model(**batch.inputs).logits
    for module in training:
        module.training = True
    right, whole = count_right(logits, batch.labels)
    judged = int((batch.labels != NOT_JUDGED).sum())
    return Judged(float(summed_loss(logits, batch.labels)), right, judged, whole, len(batch))


def examine(model: nn.Module, task: Task, *, batches: int = 16, size: int = 64, seed: int = EXAMINATION) -> Judged:
    """Held-out rows: the same ones for the same seed, whoever asks and however often."""
    random = Random(seed)
    return sum((judge(model, task.batch(random, size, held_out=True)) for _ in range(batches)), NOTHING)
