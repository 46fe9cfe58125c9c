"""Loss, accuracy and whole rows counted by hand, and against torch's own mean."""

from math import log

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer.decoder_lm import DecoderLM, ModelOutput
from transformer.judging import Judged, count_right, examine, judge, summed_loss
from transformer.sequence_tasks import Copy
from transformer.tasks import NOT_JUDGED, Batch

SURE = 100.0


class Says(nn.Module):
    """A model that answers what it is told to answer."""

    def __init__(self, logits):
        super().__init__()
        self.logits = logits
        self.part = nn.Dropout()

    def forward(self, input_ids):
        assert not self.training
        return ModelOutput(self.logits)


def test_one_wrong_label_spoils_its_row_and_what_is_not_judged_counts_nothing():
    labels = torch.tensor([[1, 2, NOT_JUDGED], [0, 1, 2], [NOT_JUDGED, NOT_JUDGED, 2]])
    logits = F.one_hot(torch.tensor([[1, 2, 0], [0, 0, 2], [1, 1, 2]]), 3) * SURE
    model = Says(logits.float()).train()
    judged = judge(model, Batch({"input_ids": labels}, labels))
    assert (judged.right, judged.labels, judged.whole, judged.rows) == (5, 6, 2, 3)
    assert judged.loss == pytest.approx(SURE)  # of the one that is wrong; the others cost nothing
    assert judged.accuracy == 5 / 6 and judged.exact == 2 / 3
    assert model.training and model.part.training


def test_classes_are_judged_like_positions():
    logits = torch.tensor([[0.0, 0.0], [0.0, SURE]])
    assert count_right(logits, torch.tensor([1, 1])) == (1, 1)
    assert float(summed_loss(logits, torch.tensor([1, 1]))) == pytest.approx(log(2))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_summed_loss_is_torchs_mean_times_the_judged_labels(smoothing):
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(3, 5, 7, generator=generator)
    labels = torch.randint(7, (3, 5), generator=generator)
    labels[:, 3:] = NOT_JUDGED
    mean = F.cross_entropy(logits.transpose(1, 2), labels, label_smoothing=smoothing)
    torch.testing.assert_close(summed_loss(logits, labels, smoothing), mean * 9)


def test_sums_add_up():
    assert Judged(1.0, 2, 3, 4, 5) + Judged(0.5, 1, 1, 1, 1) == Judged(1.5, 3, 4, 5, 6)


def test_every_examination_sees_the_same_rows(tiny):
    class Continue(Copy):
        def batch(self, random, size, held_out=False):
            assert held_out
            batch = super().batch(random, size, held_out)
            return Batch({"input_ids": batch.inputs["input_ids"] % 53}, batch.inputs["input_ids"] % 53)

    model = DecoderLM(tiny(max_positions=23), generator=torch.Generator().manual_seed(1))
    once, again = (examine(model, Continue(), batches=2, size=3) for _ in range(2))
    assert once == again and once.rows == 6
    assert examine(model, Continue(), batches=2, size=3, seed=5) != once
