"""Shapes of a pass: ours by hand, any module, and the module is left as it was."""

from dataclasses import dataclass
from threading import Thread

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.families import build
from transformer.decoder_lm import DecoderLM
from transformer.measure_shapes import shape_steps, shapes_in


def hooks(module: nn.Module) -> int:
    return sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in module.modules())


def test_ours_by_hand(tiny):
    model = DecoderLM(tiny(n_kv_heads=1))
    before = hooks(model)
    steps = shape_steps(model, torch.zeros(2, 5, dtype=torch.long))
    found = {step.name: step for step in steps}
    assert steps[0].name == "" and steps[0].kind == "DecoderLM" and steps[0].depth == 0
    assert (steps[0].inputs, steps[0].outputs) == (((2, 5),), ((2, 5, 53),))
    assert found["blocks.1.attention.query"].outputs == ((2, 5, 28),)
    assert found["blocks.1.attention.key"].outputs == ((2, 5, 4),)
    heads = found["blocks.1.attention.attend"]
    assert heads.inputs == ((2, 7, 5, 4), (2, 1, 5, 4), (2, 1, 5, 4)) and heads.outputs == ((2, 7, 5, 4),)
    assert heads.kind == "attend" and heads.depth == found["blocks.1.attention.query"].depth == 3
    assert found["blocks.2.feedforward.up"].outputs == found["blocks.2.feedforward.down"].inputs == ((2, 5, 112),)
    assert found["head"].outputs == ((2, 5, 53),)
    names = [step.name for step in steps]
    assert names.index("blocks.0") < names.index("blocks.0.attention.attend") < names.index("blocks.1")
    assert hooks(model) == before


def test_any_module(tiny):
    lstm = shape_steps(nn.LSTM(5, 7, 3, batch_first=True), torch.zeros(2, 11, 5))
    assert [(s.inputs, s.outputs) for s in lstm] == [(((2, 11, 5),), ((2, 11, 7), (3, 2, 7), (3, 2, 7)))]
    image = shape_steps(nn.Sequential(nn.Conv2d(1, 3, 2), nn.Flatten()), torch.zeros(5, 1, 7, 7))
    assert [(s.name, s.outputs) for s in image] == [("", ((5, 108),)), ("0", ((5, 3, 6, 6),)), ("1", ((5, 108),))]


def test_a_model_of_another_library():
    model = build("bert")
    steps = shape_steps(model, input_ids=torch.zeros(2, 5, dtype=torch.long), attention_mask=torch.ones(2, 5))
    found = {step.name: step for step in steps}
    assert steps[0].inputs == ((2, 5), (2, 5)) and (2, 5, 53) in steps[0].outputs
    assert found["bert.encoder.layer.2.intermediate.dense"].outputs == ((2, 5, 40),)
    assert all(step.outputs for step in steps)


class Moody(nn.Module):
    """Raises in its second call; runs a part in another thread; learns from every pass in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(5)
        self.part = nn.Linear(5, 7)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        thread = Thread(target=lambda: self.part(torch.zeros(11, 5)))
        thread.start()
        thread.join()
        if self.calls > 1:
            raise RuntimeError("not again")
        return self.part(self.norm(x))


def test_the_module_is_left_as_it_was_and_other_threads_are_not_heard():
    model = Moody().train()
    model.part.eval()
    assert [step.name for step in shape_steps(model, torch.ones(3, 5))] == ["", "norm", "part"]
    with pytest.raises(RuntimeError, match="not again"):
        shape_steps(model, torch.ones(3, 5))
    assert model.training and model.norm.training and not model.part.training
    assert not hooks(model) and model.norm.running_mean is not None and not model.norm.running_mean.any()


def test_a_part_that_is_called_twice_has_two_steps():
    part = nn.Linear(5, 5)
    steps = shape_steps(nn.Sequential(part, part), torch.zeros(3, 5))
    assert [(step.name, step.depth) for step in steps] == [("", 0), ("0", 1), ("0", 1)]


def test_tensors_are_found_in_what_holds_them():
    @dataclass
    class Output:
        logits: Tensor
        rest: object = None

    nested = {"a": [torch.zeros(2), "text", None], "b": Output(torch.zeros(3, 5), (torch.zeros(7), 11))}
    assert list(shapes_in(nested)) == [(2,), (3, 5), (7,)]
    assert list(shapes_in(torch.tensor(1.0))) == [()]
