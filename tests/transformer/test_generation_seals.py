"""The seals of a generation hold for what was generated, and for nothing else."""

from dataclasses import replace
from itertools import pairwise

import pytest

from transformer.beam import BeamSettings, beam_search, tree
from transformer.decoder_lm import DecoderLM
from transformer.generate import GenerationSettings, Step, generate
from transformer.generation_seals import seal_by_pass, seal_by_run, seal_scores, seal_shares
from transformer.runner import run
from transformer.wrapped import LoadedModel, wrap

IDS = [5, 7, 9, 7, 3]


@pytest.fixture(scope="module")
def model(tiny, scramble) -> LoadedModel:
    return wrap(scramble(DecoderLM(tiny(positions="learned"))))


@pytest.fixture(scope="module")
def steps(model) -> list[Step]:
    told = GenerationSettings("sample", temperature=1.6, top_k=20, top_p=0.9, seed=3, max_new_tokens=4, stop_ids=())
    return list(generate(model, ids=IDS, settings=told))


def test_shares_follow_from_logits_at_their_own_temperature_only(steps) -> None:
    for step in steps:
        assert seal_shares(step.distribution, 1.6).holds and seal_shares(step.distribution.uncut, 1.6).holds
        assert not seal_shares(step.distribution, 1.5).holds
        assert not seal_shares(replace(step.distribution, p=step.distribution.p * 1.01), 1.6).holds


def test_the_recorded_run_tells_of_the_step_behind_it_and_of_no_other(model, steps) -> None:
    for number, step in enumerate(steps):
        chosen = step.distribution
        for length in (len(IDS), len(IDS) + 1, len(IDS) + number):
            trace = run(model, ids=list(steps[-1].ids[:length]))
            seal = seal_by_run(trace, step.ids[:-1], chosen.ids.tolist(), chosen.p.tolist())
            assert (seal is not None) == (length == len(IDS) + number)
            assert seal is None or (seal.holds and seal.compared == len(chosen.ids))
        wrong = seal_by_run(trace, step.ids[:-1], chosen.ids.tolist(), (chosen.p + 0.01).tolist())
        assert wrong is not None and not wrong.holds
    assert seal_by_run(run(model, ids=IDS, record=("attention",)), IDS, [5], [0.5]) is None


def test_a_pass_without_a_cache_agrees_with_its_own_step_only(model, steps) -> None:
    def again(step: Step) -> Step:
        told = GenerationSettings(max_new_tokens=1, use_cache=False, shown=20, forced=((0, step.token),))
        return next(generate(model, ids=step.ids[:-1], settings=told))

    for step, other in pairwise(steps):
        assert seal_by_pass(step, again(step)).holds and not seal_by_pass(step, again(other)).holds
    few = next(generate(model, ids=IDS, settings=GenerationSettings(max_new_tokens=1, shown=3)))
    assert not seal_by_pass(steps[0], few).holds, "what was not found again does not hold"


def test_scores_are_the_sums_along_their_ways(model) -> None:
    nodes = tree(list(beam_search(model, ids=IDS, settings=BeamSettings(3, max_new_tokens=4, stop_ids=()))))
    assert seal_scores(nodes).holds and seal_scores(nodes).compared == len(nodes)
    assert not seal_scores((*nodes[:-1], replace(nodes[-1], score=nodes[-1].score - 0.01))).holds
