"""Time against length: what waits and what is multiplied is exact; a time only has to be one."""

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from transformer.errors import ShapesDoNotFit
from transformer.measure_recurrence import TimeSettings, make_network, multiply_adds, time_against_length, waiting


def generator(seed: int = 3) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", ["lstm", "encoder"])
@pytest.mark.parametrize(("length", "n_layers"), [(1, 1), (5, 3), (11, 2)])
def test_waiting_is_the_longest_chain_of_what_needs_what(kind, length, n_layers):
    longest = np.zeros((n_layers + 1, length + 1), int)  # (layer, token), a border of zeros below and on the left
    for layer in range(1, n_layers + 1):
        for token in range(1, length + 1):
            below = longest[layer - 1]
            needed = [longest[layer, token - 1], below[token]] if kind == "lstm" else below
            longest[layer, token] = 1 + max(needed)
    assert waiting(kind, length, n_layers) == longest.max()


@pytest.mark.filterwarnings("ignore:TF32 acceleration:UserWarning")  # torch's word on any switch of mkldnn
def test_multiplications_are_those_that_torch_counts():
    network = make_network("encoder", 28, 3, 7, generator())
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        network(torch.zeros(1, 11, 28))
    assert counter.get_total_flops() == 2 * multiply_adds("encoder", 11, 28, 3)  # a multiplication and an addition each
    network = make_network("lstm", 28, 3, 7, generator())
    with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        network(torch.zeros(1, 11, 28))
    assert counter.get_total_flops() == 2 * multiply_adds("lstm", 11, 28, 3)


def test_the_two_networks_hold_about_the_same():
    sizes = {
        kind: sum(p.numel() for p in make_network(kind, 28, 3, 7, generator()).parameters())
        for kind in ("rnn", "lstm", "encoder")
    }
    assert sizes == {
        "rnn": 3 * (2 * 28**2 + 2 * 28),
        "lstm": 3 * (8 * 28**2 + 8 * 28),
        "encoder": 3 * (8 * 28**2 + 11 * 28),
    }
    assert sizes["encoder"] / sizes["lstm"] < 1.02


@pytest.mark.parametrize("kind", ["rnn", "lstm", "encoder"])
def test_weights_come_from_the_generator_alone(kind):
    x = torch.randn(2, 5, 28, generator=generator())
    torch.manual_seed(1)
    one = make_network(kind, 28, 3, 7, generator(5))(x)
    torch.manual_seed(2)
    assert one.shape == (2, 5, 28) and torch.equal(one, make_network(kind, 28, 3, 7, generator(5))(x))
    assert not torch.equal(one, make_network(kind, 28, 3, 7, generator(6))(x))


def test_everything_is_where_it_says():
    before = torch.get_num_threads()
    settings = TimeSettings(lengths=(2, 5, 3), d_model=28, n_layers=3, n_heads=7, batch=11, runs=4, threads=before + 1)
    found = time_against_length(settings, generator=generator())
    assert found.kinds == ("lstm", "encoder") and found.lengths.tolist() == [2, 5, 3]
    assert found.forward_ms.shape == found.training_ms.shape == (2, 4, 3)
    assert (found.forward_ms > 0).all() and (found.training_ms > 0).all()
    assert found.waiting.tolist() == [[4, 7, 5], [3, 3, 3]]
    assert found.multiply_adds[1, 1] == 11 * multiply_adds("encoder", 5, 28, 3)
    assert (found.batch, found.d_model, found.n_layers) == (11, 28, 3)
    assert found.threads == before + 1 and torch.get_num_threads() == before
    assert found.parameters.tolist() == [3 * (8 * 28**2 + 8 * 28), 3 * (8 * 28**2 + 11 * 28)]


@pytest.mark.parametrize("wrong", [{"lengths": ()}, {"lengths": (0,)}, {"runs": 0}, {"batch": 0}, {"threads": 0}])
def test_what_cannot_be_measured_is_refused(wrong):
    with pytest.raises(ShapesDoNotFit):
        TimeSettings(**wrong)
