"""Beam search: the optimum when it is wide enough, transformers' answers when it is not, and its tree."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from tests.transformer.families import family
from transformer.beam import (
    Beam,
    BeamSettings,
    BeamStep,
    Candidate,
    beam_search,
    node_of,
    path_to,
    rescored,
    tree,
)
from transformer.decoder_lm import DecoderLM
from transformer.encoder_decoder import EncoderDecoder
from transformer.errors import ShapesDoNotFit
from transformer.generate import GenerationSettings, generate
from transformer.next_pass import NotAGenerator
from transformer.wrapped import LoadedModel, wrap

IDS, SOURCE = [5, 7, 9, 7, 3], [4, 6, 8, 6]


def search(model: LoadedModel, **settings) -> list[BeamStep]:
    told = BeamSettings(**{"stop_ids": (), "max_new_tokens": 6} | settings)
    given = {"ids": [2], "source_ids": SOURCE} if model.encoder_decoder else {"ids": IDS}
    return list(beam_search(model, **given, settings=told))


@pytest.fixture(scope="module")
def ours(tiny, scramble) -> dict[str, LoadedModel]:
    return {made.__name__: wrap(scramble(made(tiny(positions="learned")))) for made in (DecoderLM, EncoderDecoder)}


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_wide_enough_it_finds_the_best_of_all_texts(tiny, scramble, penalty) -> None:
    """5 tokens, 3 deep, 0 ends a text: all of them scored one by one, against beams for every prefix."""
    model, given, end = wrap(scramble(DecoderLM(tiny(vocab_size=5, positions="learned")), 11)), (3, 1), 0
    texts = [text for length in (1, 2, 3) for text in product(range(5), repeat=length)]
    whole = [text for text in texts if end not in text[:-1] and (len(text) == 3 or text[-1] == end)]

    def rating(text: tuple[int, ...]) -> float:
        with torch.no_grad():
            log_p = model.module(torch.tensor([given + text])).logits[0].double().log_softmax(-1)
        score = sum(log_p[1 + place, token].item() for place, token in enumerate(text))
        return score / len(text) ** penalty

    best = max(whole, key=rating)
    settings = BeamSettings(beams=125, length_penalty=penalty, max_new_tokens=3, stop_ids=(end,))
    *_, last = beam_search(model, ids=given, settings=settings)
    assert last.finished[0].ids == given + best and last.finished[0].rating == pytest.approx(rating(best), abs=1e-5)
    assert len(last.finished) == len(whole) == 1 + 4 + 16 * 5
    narrow = BeamSettings(beams=1, length_penalty=penalty, max_new_tokens=3, stop_ids=(end,))
    assert [*beam_search(model, ids=given, settings=narrow)][-1].finished[0].rating <= rating(best) + 1e-9


@pytest.mark.parametrize(
    ("beams", "penalty", "ends"), [(3, 1.0, ()), (5, 0.0, (3,)), (3, 2.0, (3, 7)), (4, 0.0, (3, 7))]
)
@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "bart"])
def test_parity_with_transformers(name, beams, penalty, ends) -> None:
    model, theirs = family(name).model, family(name).untouched
    ids = torch.tensor([SOURCE if model.encoder_decoder else IDS])
    told = {"num_beams": beams, "length_penalty": penalty, "eos_token_id": list(ends) or None, "max_new_tokens": 6}
    told |= {"do_sample": False, "pad_token_id": 0, "return_dict_in_generate": True, "output_scores": True}
    told |= {"decoder_start_token_id": 2, "forced_eos_token_id": None} if model.encoder_decoder else {}
    with torch.no_grad():
        answer = theirs.generate(ids, attention_mask=torch.ones_like(ids), **told)
    best = search(model, beams=beams, length_penalty=penalty, stop_ids=ends)[-1].finished[0]
    assert best.ids == tuple(answer.sequences[0].tolist()[: len(best.ids)])
    assert best.rating == pytest.approx(answer.sequences_scores[0].item(), abs=1e-5)


@pytest.mark.parametrize("name", ["DecoderLM", "EncoderDecoder", "gpt2", "t5"])
def test_a_cache_changes_nothing(ours, name) -> None:
    model = ours[name] if name in ours else family(name).model
    for kept, again in zip(search(model), search(model, use_cache=False), strict=True):
        for one, other in zip(kept.candidates, again.candidates, strict=True):
            assert (one.parent, one.token, one.fate) == (other.parent, other.token, other.fate)
            assert one.score == pytest.approx(other.score, abs=1e-5)


def test_a_single_beam_is_greedy(ours) -> None:
    for model in ours.values():
        given = {"ids": [2], "source_ids": SOURCE} if model.encoder_decoder else {"ids": IDS}
        *_, greedy = generate(model, **given, settings=GenerationSettings(max_new_tokens=6, stop_ids=()))
        assert search(model, beams=1)[-1].finished[0].ids == greedy.ids


def test_laws_of_every_step(ours) -> None:
    for end in ((), (40, 8), tuple(range(26))):
        for before, step in pairwise([None, *search(ours["DecoderLM"], beams=3, stop_ids=end)]):
            scores = [one.score for one in step.candidates]
            assert scores == sorted(scores, reverse=True) and len(step.beams) <= 3 >= len(step.finished)
            assert before is None or step.parents == before.beams
            for rank, one in enumerate(step.candidates):
                assert one.score == pytest.approx(step.parents[one.parent].score + one.log_p)
                if one.token in end:
                    assert one.fate == ("finished" if rank < 3 else "dropped")
            kept = [(*step.parents[one.parent].ids, one.token) for one in step.candidates if one.fate == "kept"]
            assert [beam.ids for beam in step.beams] == kept
            ratings = [beam.rating for beam in step.finished]
            assert ratings == sorted(ratings, reverse=True)


def test_it_is_done_when_no_beam_can_beat_what_is_finished(ours) -> None:
    first = search(ours["DecoderLM"], beams=1)[0].beams[0].ids[-1]
    (step,) = search(ours["DecoderLM"], beams=1, stop_ids=(first,), length_penalty=0.0)
    assert step.stop == "done" and step.finished[0].ids == (*IDS, first)
    assert search(ours["DecoderLM"], max_new_tokens=4)[-1].stop == "length"
    full = search(ours["DecoderLM"], max_new_tokens=97)
    assert full[-1].stop == "full" and len(full[-1].finished[0].ids) == 11


def test_the_tree_by_hand() -> None:
    start = Beam((9,), 0.0, 0.0)
    first = ((5, -1.0, "kept"), (6, -2.0, "kept"), (7, -3.0, "dropped"))
    two = tuple(Candidate(0, token, log_p, log_p, fate) for token, log_p, fate in first)
    beams = Beam((9, 5), -1.0, -1.0), Beam((9, 6), -2.0, -1.0)
    last = (Candidate(1, 8, -0.1, -2.1, "finished"), Candidate(0, 8, -3.0, -4.0, "finished"))
    finished = Beam((9, 6, 8), -2.1, -2.1), Beam((9, 5, 8), -4.0, -4.0)
    steps = (
        BeamStep(0, (start,), two, beams, (), None, 0.0),
        BeamStep(1, beams, last, (), finished, "length", 0.0),
    )
    nodes = tree(steps)
    assert [(node.step, node.parent, node.token) for node in nodes] == [
        (0, None, None), (1, 0, 5), (1, 0, 6), (1, 0, 7), (2, 2, 8), (2, 1, 8),
    ]  # fmt: skip
    assert [node.best for node in nodes] == [True, False, True, False, True, False]
    assert [node.best for node in tree(steps[:1])] == [True, True, False, False], "so far the first beam leads"
    assert tree(()) == ()


@pytest.mark.parametrize(
    "values", [{"beams": 0}, {"beams": True}, {"max_new_tokens": 1.0}, {"length_penalty": 11}], ids=str
)
def test_settings_out_of_range_are_refused_by_name(values) -> None:
    with pytest.raises(ShapesDoNotFit) as caught:
        BeamSettings(**values)
    assert caught.value.values["what"] == next(iter(values))


def test_what_does_not_write_is_refused_at_once() -> None:
    with pytest.raises(NotAGenerator):
        beam_search(family("bert").model, ids=IDS)


def test_ways_through_a_tree(ours) -> None:
    steps = search(ours["DecoderLM"], beams=3, stop_ids=(40, 8))
    nodes, given = tree(steps), len(IDS)
    np.testing.assert_allclose(rescored(nodes), [node.score for node in nodes], atol=1e-9)
    for beam in (*steps[-1].beams, *steps[-1].finished):
        at = node_of(nodes, beam.ids[given:])
        assert at is not None and nodes[at].score == pytest.approx(beam.score)
        assert tuple(nodes[one].token for one in path_to(nodes, at)[1:]) == beam.ids[given:]
    assert node_of(nodes, ()) == 0 and path_to(nodes, 0) == (0,) and node_of(nodes, (52, 52, 52)) is None


def test_each_beam_keeps_keys_and_values_of_its_own(ours) -> None:
    for step in search(ours["DecoderLM"], beams=3):
        assert step.cache.formula.nbytes * len(step.parents) == step.cache.nbytes > 0
