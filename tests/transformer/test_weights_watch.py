"""weights_watch.py: every way to change a weight is noticed, and nothing else is."""

import pytest
import torch
from torch import nn

from tests.transformer.families import build, family
from transformer import run
from transformer.errors import WeightsChanged
from transformer.weights_watch import weights_watch
from transformer.wrapped import weights_of, wrap


def write(linear: nn.Linear) -> None:
    with torch.no_grad():
        linear.weight[3, 2] += 1


def put_another(linear: nn.Linear) -> None:
    linear.weight = nn.Parameter(linear.weight.detach().clone())


def give_other_data(linear: nn.Linear) -> None:
    linear.weight.data = linear.weight.data.clone()


def take_away(linear: nn.Linear) -> None:
    linear.bias = None


def load(linear: nn.Linear) -> None:
    linear.load_state_dict({name: tensor.clone() for name, tensor in linear.state_dict().items()})


@pytest.mark.parametrize("change", [write, put_another, give_other_data, take_away, load])
def test_a_changed_weight_is_noticed(change):
    module = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 11))
    changed = weights_watch(module, weights_of(module))
    assert not changed()
    module(torch.zeros(1, 5)).sum().backward()
    module.train().requires_grad_(False)
    assert not changed()  # neither a pass nor its gradients write to a weight
    change(module[2])
    assert changed()
    assert not weights_watch(module, weights_of(module))()


@pytest.mark.parametrize("name", ["gpt2", "bert", "t5"])
def test_shared_weights_count_once(name):
    module = family(name).model.module  # their head is the table of embeddings
    assert not weights_watch(module, weights_of(module))()


def test_a_run_tells_when_its_model_was_trained():
    module = build("gpt2")
    trace = run(wrap(module), ids=[5, 7, 9])
    before = trace["decoder.1.norm1.output"]
    assert before.shape == (3, 28) and not trace.weights_changed()
    with torch.no_grad():
        module.lm_head.weight.mul_(0.5)  # which is the embedding as well
    with pytest.raises(WeightsChanged):
        trace["decoder.1.norm1.output"]
    again = run(wrap(module), ids=[5, 7, 9])
    assert not again.weights_changed() and again["decoder.1.norm1.output"].shape == (3, 28)
