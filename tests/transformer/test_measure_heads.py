"""One head against several: what the network sees, laws of the result, and the claim of the proof on trained nets."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from transformer.errors import ShapesDoNotFit
from transformer.measure_heads import HeadsCurves, HeadsProgress, HeadsSettings, NeighbourReader, heads_against_heads

TINY = HeadsSettings(n_heads=(1, 2), d_model=28, n_symbols=5, length=7, steps=6, batch=11, runs=3, evaluations=2)


def generator(seed: int = 3) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def measure(settings: HeadsSettings, seed: int = 3) -> tuple[list[HeadsProgress], HeadsCurves]:
    *told, result = heads_against_heads(settings, generator=generator(seed))
    assert isinstance(result, HeadsCurves) and all(isinstance(one, HeadsProgress) for one in told)
    return told, result


@pytest.mark.parametrize("n_heads", [1, 2])
def test_each_query_sees_just_its_two_neighbours(n_heads):
    model = NeighbourReader(n_heads, TINY, generator())
    ids = torch.tensor([[0, 1, 2, 3, 4, 0, 1]])
    before = model(ids)  # (batch, position − 2, neighbour, symbol): of tokens 1 … 5
    assert before.shape == (1, 5, 2, 5)
    for place in range(7):
        changed = ids.clone()
        changed[0, place] = (ids[0, place] + 2) % 5
        moved = (model(changed) - before).abs().amax((0, 2, 3)) > 1e-6
        near = [abs(token - place) <= 1 for token in range(1, 6)]  # its own symbol decides how it looks
        assert moved.tolist() == near


def test_result_has_its_shapes_and_progress_reaches_the_end():
    told, result = measure(TINY)
    assert result.both.shape == result.before.shape == result.after.shape == (2, 3, 3)
    assert result.n_heads == (1, 2) and result.steps.tolist() == [0, 3, 6] and result.settings == TINY
    assert (result.both <= np.minimum(result.before, result.after)).all() and (result.both >= 0).all()
    assert (result.both >= result.before + result.after - 1 - 1e-12).all()
    assert told[-1].done == 1 and len(told) == 2 * 3 * 3
    assert all(earlier.done < later.done for earlier, later in pairwise(told) if later.step)


def test_heads_cost_no_parameters():
    sizes = set(measure(TINY)[1].parameters.tolist())
    assert sizes == {5 * 28 + 4 * (28**2 + 28) + 10 * 29}


def test_the_same_generator_gives_the_same_whatever_the_global_seed():
    torch.manual_seed(1)
    one = measure(TINY)[1]
    torch.manual_seed(2)
    assert np.array_equal(one.both, measure(TINY)[1].both)
    assert not np.array_equal(one.both, measure(TINY, seed=4)[1].both)


def test_two_heads_name_both_neighbours_and_one_head_does_not():
    settings = HeadsSettings(n_heads=(1, 2), d_model=28, n_symbols=5, length=7, steps=100, runs=1, evaluations=1)
    _, result = measure(settings)
    one, two = result.both[:, 0, -1]
    assert two > 0.99 and one < 0.7
    assert max(result.before[0, 0, -1], result.after[0, 0, -1]) > 0.95  # it learns one of them


def test_no_single_head_is_right_on_all_pairs():
    """What the module proves, tried on random weights of all sizes: over all texts of three, some answer is wrong."""
    settings = HeadsSettings(n_heads=(1,), d_model=14, n_symbols=3, length=3)
    texts = torch.tensor(list(product(range(3), repeat=3)))
    wanted = texts[:, [0, 2]]
    best = 0.0
    for seed in range(120):
        model = NeighbourReader(1, settings, generator(seed))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter *= 1 + seed % 7
            right = (model(texts)[:, 0].argmax(-1) == wanted).all(-1)
        best = max(best, right.double().mean().item())
    assert 1 / 9 < best < 1


@pytest.mark.parametrize("wrong", [{"n_heads": ()}, {"runs": 0}, {"n_symbols": 2}, {"length": 2}, {"judged": 0}])
def test_what_cannot_be_measured_is_refused(wrong):
    with pytest.raises(ShapesDoNotFit):
        HeadsSettings(**wrong)
