"""probe.py: one pass in which every module is heard, in order, with copies; afterwards nothing is left behind."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from transformer.listening import current_listener
from transformer.probe import entering_tensor, first_tensor, probe, probe_ids


class Two(nn.Module):
    """Calls one layer twice and changes its own input in place."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        once = self.layer(x)
        twice = self.layer(once)
        return once.add_(twice)


def test_calls_in_order_with_copies_of_what_entered_and_left():
    module, x = Two(), torch.randn(1, 2, 3)
    evidence = probe(module, {"x": x})
    assert [(one.name, one.nth) for one in evidence.heard] == [("", 0), ("layer", 0), ("layer", 1)]
    root, first, second = evidence.heard
    assert root.holds(first) and root.holds(second) and not first.holds(second) and not first.holds(root)
    assert torch.equal(first.input, x) and torch.equal(first.output, second.input)
    assert torch.equal(root.output, first.output + second.output), "the add in place reached the copies"
    assert evidence.of(module.layer) == [first, second] and evidence.logits is None


def test_nothing_is_left_behind_even_after_an_error():
    module = Two()
    with pytest.raises(TypeError):
        probe(module, {"y": torch.ones(1)})
    with pytest.raises(RuntimeError):
        probe(module, {"x": torch.ones(1, 7)})
    assert current_listener() is None
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in module.modules())


def test_the_tensor_of_any_answer():
    x = torch.ones(2)
    for answer in (x, (x, None), [None, x], {"a": None, "b": x}, ((None, (x,)), 3)):
        assert first_tensor(answer) is x
    assert first_tensor(None) is None and first_tensor("x") is None and first_tensor({}) is None


def test_the_stream_that_enters_by_place_or_by_name():
    x, other = torch.ones(2), torch.zeros(2)
    assert entering_tensor((x, other), {}) is x
    assert entering_tensor((), {"attention_mask": other, "hidden_states": x}) is x
    assert entering_tensor((), {"input_ids": x}) is x and entering_tensor((), {}) is None


@given(st.integers(8, 100), st.integers(1, 5), st.sets(st.integers(0, 7), max_size=4))
def test_probe_ids_are_of_the_vocabulary_and_not_special(vocabulary, length, special):
    ids = probe_ids(vocabulary, length, special)
    assert ids.shape == (1, length) and set(ids[0].tolist()) <= set(range(vocabulary))
    assert not special & set(ids[0].tolist()) or len(special) >= vocabulary


def test_probe_ids_of_a_usual_vocabulary_are_all_different():
    assert len(set(probe_ids(53, 5, {0, 1, 2})[0].tolist())) == 5
    assert probe_ids(2, 3, {0, 1}).shape == (1, 3), "a vocabulary of nothing but specials still gives ids"
