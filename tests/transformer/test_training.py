"""The loop: what a step is, by hand and against torch; what an interruption changes, which is nothing."""

from dataclasses import dataclass, replace
from itertools import islice
from math import log
from random import Random

import pytest
import torch
import torch.nn.functional as F

from transformer.checkpoint import CheckpointForeign
from transformer.decoder_lm import DecoderLM
from transformer.settings import Settings
from transformer.tasks import NOT_JUDGED, Batch
from transformer.training import LossNotFinite, Training, train

PLAN = Settings(steps=7, batch_size=5, learning_rate=0.01, warmup_steps=3, checkpoint_every=3)


@dataclass(frozen=True)
class Count:
    """After n comes n + 1; the first label is not judged."""

    name = "count"

    def batch(self, random, size, held_out=False):
        begins = torch.tensor([random.randrange(40) for _ in range(size)])
        ids = begins[:, None] + torch.arange(7)
        labels = ids[:, 1:].clone()
        labels[:, 0] = NOT_JUDGED
        return Batch({"input_ids": ids[:, :-1]}, labels)


@pytest.fixture
def made(tiny):
    return lambda **changes: DecoderLM(tiny(**changes), generator=torch.Generator().manual_seed(1))


def weights(model):
    return torch.cat([one.detach().flatten() for one in model.parameters()])


def test_one_step_is_one_step_of_adam(made):
    plan = replace(PLAN, steps=1, warmup_steps=0, min_lr_fraction=0.0, schedule="constant", weight_decay=0.0, clip=None)
    ours, theirs = made(), made()
    record = next(train(ours, Count(), plan, random=Random(3)))
    random = Random(3)
    random.getrandbits(63)  # dropout's seed
    batch = Count().batch(random, 5)
    loss = F.cross_entropy(theirs(**batch.inputs).logits.transpose(1, 2), batch.labels)
    loss.backward()
    torch.optim.Adam(theirs.parameters(), lr=0.01).step()
    assert record.step == 1 and record.loss == pytest.approx(loss.item(), rel=1e-6)
    torch.testing.assert_close(weights(ours), weights(theirs), atol=1e-5, rtol=0)  # of a step of 0.01


def test_the_first_loss_is_that_of_guessing_and_then_it_falls(made):
    records = list(train(made(), Count(), replace(PLAN, steps=90, batch_size=17), random=Random(3)))
    assert records[0].loss == pytest.approx(log(53), abs=0.2) and records[0].accuracy < 0.2
    assert records[-1].loss < 0.7 * records[0].loss and records[-1].accuracy > records[0].accuracy
    assert [record.step for record in records] == list(range(1, 91))
    assert all(record.tokens_per_second > 0 for record in records)


def test_the_gradient_is_told_part_by_part(made):
    model = made()
    record = next(train(model, Count(), replace(PLAN, clip=None), random=Random(3)))
    of_part = {}
    for name, parameter in model.named_parameters():
        key = next(one for one in ("norm", "attention", "feedforward", "embedding") if one in name)
        of_part[key] = of_part.get(key, 0.0) + parameter.grad.square().sum().item()
    assert record.gradient_norms.keys() == of_part.keys() | {"total"}
    for part, squared in of_part.items():
        assert record.gradient_norms[part] == pytest.approx(squared**0.5, rel=1e-4)
    assert record.gradient_norms["total"] == pytest.approx(sum(of_part.values()) ** 0.5, rel=1e-4)


def test_a_long_gradient_is_shortened_and_its_true_length_told(made):
    free, clipped = made(), made()
    record = next(train(free, Count(), replace(PLAN, clip=None), random=Random(3)))
    same = next(train(clipped, Count(), replace(PLAN, clip=0.125), random=Random(3)))
    lengths = [sum(one.grad.square().sum() for one in model.parameters()) ** 0.5 for model in (free, clipped)]
    assert record.gradient_norms == same.gradient_norms
    assert float(lengths[0]) > 0.5 and float(lengths[1]) == pytest.approx(0.125, rel=1e-3)


def test_matrices_decay_and_norms_biases_and_embeddings_do_not(made):
    model = made()
    training = Training(model, Count(), replace(PLAN, weight_decay=0.5), Random(3))
    decays = {id(one) for group in training._optimizer.param_groups if group["weight_decay"] for one in group["params"]}
    names = {name for name, one in model.named_parameters() if id(one) in decays}
    assert names == {
        f"blocks.{layer}.{part}.weight"
        for layer in range(3)
        for part in ("attention.query", "attention.key", "attention.value", "attention.output", "feedforward.up")
    } | {f"blocks.{layer}.feedforward.down.weight" for layer in range(3)}


def test_pieces_of_a_batch_give_its_gradient(made):
    whole, pieces = made(), made()
    one = next(train(whole, Count(), PLAN, random=Random(3)))
    two = next(train(pieces, Count(), replace(PLAN, accumulate=3), random=Random(3)))
    assert two.loss == pytest.approx(one.loss, rel=1e-6) and two.accuracy == one.accuracy
    for mine, theirs in zip(whole.parameters(), pieces.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-6, rtol=0)


@pytest.mark.parametrize("stops_after", [3, 5, 6])  # the file is of step 3 or 6: what came after is done again
def test_an_interruption_changes_nothing(made, tmp_path, stops_after):
    plan = replace(PLAN, steps=11, evaluate_every=2, patience=4, bf16=stops_after == 5)
    straight, broken, resumed = (made(dropout=0.3) for _ in range(3))
    all_of_it = list(train(straight, Count(), plan, random=Random(3)))
    file = tmp_path / "one.checkpoint"
    first = list(islice(train(broken, Count(), plan, random=Random(3), checkpoint=file), stops_after))
    torch.rand(7)  # the world goes on in between
    rest = list(train(resumed, Count(), plan, random=Random(3), checkpoint=file))
    assert rest[0].step == stops_after // 3 * 3 + 1 and first[-1].step == stops_after
    assert torch.equal(weights(resumed), weights(straight))
    assert [one.loss for one in rest] == [one.loss for one in all_of_it[rest[0].step - 1 :]]
    assert [one.held_out for one in rest] == [one.held_out for one in all_of_it[rest[0].step - 1 :]]


def test_others_keep_their_chance(made):
    """Dropout draws from torch's one generator: training must neither disturb it nor be disturbed."""
    quiet, loud = made(dropout=0.3), made(dropout=0.3)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    list(train(quiet, Count(), PLAN, random=Random(3)))
    assert torch.equal(torch.rand(3), expected)
    for _ in train(loud, Count(), PLAN, random=Random(3)):
        torch.rand(11)
    assert torch.equal(weights(quiet), weights(loud))


def test_a_finished_training_stays_finished_and_keeps_its_curve(made, tmp_path):
    file = tmp_path / "one.checkpoint"
    once = Training(made(), Count(), replace(PLAN, evaluate_every=3), Random(3), file)
    while not once.finished:
        once.update()
    again = Training(made(), Count(), replace(PLAN, evaluate_every=3), Random(3), file)
    assert again.finished and list(train(made(), Count(), PLAN, random=Random(4))) != []
    assert again.curve == once.curve and [row[0] for row in again.curve.points] == list(range(1, 8))
    assert [row[0] for row in again.curve.held_out] == [3, 6, 7]
    assert torch.equal(weights(again.model), weights(once.model))


@pytest.mark.parametrize("other", ["seed", "rate", "model", "weights"])
def test_the_checkpoint_of_another_training_is_refused(made, tmp_path, other):
    file = tmp_path / "one.checkpoint"
    list(islice(train(made(), Count(), PLAN, random=Random(3), checkpoint=file), 3))
    model = made(n_layers=2) if other == "model" else made()
    if other == "weights":
        torch.nn.init.zeros_(model.blocks[0].attention.query.weight)
    plan = replace(PLAN, learning_rate=0.02) if other == "rate" else PLAN
    with pytest.raises(CheckpointForeign):
        next(train(model, Count(), plan, random=Random(4 if other == "seed" else 3), checkpoint=file))


def test_how_often_something_is_kept_is_no_other_training(made, tmp_path):
    file = tmp_path / "one.checkpoint"
    list(islice(train(made(), Count(), PLAN, random=Random(3), checkpoint=file), 3))
    plan = replace(PLAN, checkpoint_every=2, snapshot_every=4)
    assert next(train(made(), Count(), plan, random=Random(3), checkpoint=file)).step == 4


def test_a_snapshot_is_the_model_as_it_was(made):
    model = made()
    kept = {}
    for record in train(model, Count(), replace(PLAN, snapshot_every=3), random=Random(3)):
        if record.snapshot is not None:
            kept[record.step] = (record.snapshot, weights(model).clone())
    assert sorted(kept) == [3, 6, 7]
    for snapshot, then in kept.values():
        other = made()
        other.load_state_dict(snapshot)
        assert torch.equal(weights(other), then)


def test_training_stops_when_held_out_rows_get_worse_and_keeps_the_best(made):
    """A task whose held-out rows contradict it: the better it is learned, the worse they are answered."""

    class Contradicted(Count):
        def batch(self, random, size, held_out=False):
            batch = super().batch(random, size)
            return Batch(batch.inputs, batch.labels.flip(0)) if held_out else batch

    plan = replace(PLAN, steps=200, evaluate_every=2, patience=3, warmup_steps=0)
    model = made()
    looks = [one.held_out.mean_loss for one in train(model, Contradicted(), plan, random=Random(3)) if one.held_out]
    assert 3 < len(looks) < 100 and looks.index(min(looks)) == len(looks) - 4
    training = Training(model, Contradicted(), plan, Random(3))
    assert training._examine().mean_loss == min(looks)
    assert not model.training or training.step == 0


@pytest.mark.parametrize("spoiled", ["loss", "gradient"])
def test_what_is_no_number_is_named_and_leaves_the_weights(made, spoiled):
    model = made()
    if spoiled == "loss":
        torch.nn.init.constant_(model.embedding.tokens.weight, float("inf"))
    else:
        model.norm.weight.register_hook(lambda gradient: gradient / 0)
    before = weights(model)
    with pytest.raises(LossNotFinite) as caught:
        next(train(model, Count(), PLAN, random=Random(3)))
    assert "step 1" in str(caught.value) and "0.01" in str(caught.value)
    assert torch.equal(weights(model), before)


def test_bf16_rounds_and_the_weights_stay_float32(made):
    exact, rounded = made(), made()
    one = next(train(exact, Count(), PLAN, random=Random(3)))
    two = next(train(rounded, Count(), replace(PLAN, bf16=True), random=Random(3)))
    assert 0 < abs(one.loss - two.loss) < 0.05
    assert all(parameter.dtype == torch.float32 for parameter in rounded.parameters())
