"""Recall against distance: the task by hand, laws of the result, and that a short distance is learnt."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from transformer.errors import ShapesDoNotFit
from transformer.measure_recall import (
    KINDS,
    RecallAgainstDistance,
    RecallProgress,
    RecallSettings,
    marked_texts,
    recall_against_distance,
)

TINY = RecallSettings(distances=(1, 3), n_symbols=5, d_model=14, n_heads=7, steps=20, batch=11, judged=53)


def measure(settings: RecallSettings, seed: int = 3) -> tuple[list[RecallProgress], RecallAgainstDistance]:
    *told, result = recall_against_distance(settings, generator=torch.Generator().manual_seed(seed))
    assert isinstance(result, RecallAgainstDistance) and all(isinstance(one, RecallProgress) for one in told)
    return told, result


def test_a_text_is_marked_token_fillers_question():
    ids, marked = marked_texts(TINY, 53, 3, torch.Generator().manual_seed(3))
    assert ids.shape == (53, 5) and torch.equal(ids[:, 0], marked)
    assert set(ids[:, 0].tolist()) == set(range(5)) and set(ids[:, 1:-1].flatten().tolist()) == set(range(5, 10))
    assert ids[:, -1].tolist() == [10] * 53


@pytest.mark.parametrize("training", ["each", "mixed"])
def test_result_has_its_shapes_and_progress_reaches_the_end(training):
    settings = RecallSettings(**{**vars(TINY), "training": training, "runs": 2, "steps": 3})
    told, result = measure(settings)
    assert result.accuracy.shape == (3, 2, 2) and ((result.accuracy >= 0) & (result.accuracy <= 1)).all()
    assert result.kinds == KINDS and result.distances.tolist() == [1, 3] and result.chance == 0.2
    assert (result.seconds > 0).all() and result.settings == settings
    trainings = 3 * 2 * (2 if training == "each" else 1)
    assert len(told) == trainings and told[-1].done == 1
    assert all(earlier.done < later.done for earlier, later in pairwise(told))
    assert {one.distance for one in told} == ({1, 3} if training == "each" else {3})


def test_lstm_and_encoder_hold_about_the_same():
    parameters = dict(zip(KINDS, measure(RecallSettings(distances=(1,), steps=1))[1].parameters, strict=True))
    assert parameters["lstm"] == 17 * 32 + 8 * 32**2 + 8 * 32 + 33 * 8
    assert 1 < parameters["encoder"] / parameters["lstm"] < 1.02


def test_the_same_generator_gives_the_same_whatever_the_global_seed():
    torch.manual_seed(1)
    one = measure(TINY)[1]
    torch.manual_seed(2)
    assert np.array_equal(one.accuracy, measure(TINY)[1].accuracy)
    assert not np.array_equal(one.accuracy, measure(TINY, seed=4)[1].accuracy)


def test_all_three_learn_what_is_near_and_attention_what_is_farther():
    settings = RecallSettings(distances=(1, 23), n_symbols=5, steps=80, batch=23, judged=211)
    accuracy = measure(settings)[1].accuracy[:, 0]  # (kind, distance)
    assert (accuracy[:, 0] > 0.95).all()
    assert accuracy[KINDS.index("encoder"), 1] > 0.95 and accuracy[KINDS.index("rnn"), 1] < 0.5


@pytest.mark.parametrize("wrong", [{"distances": ()}, {"distances": (0, 3)}, {"steps": 0}, {"judged": 0}])
def test_what_cannot_be_measured_is_refused(wrong):
    with pytest.raises(ShapesDoNotFit):
        RecallSettings(**wrong)
