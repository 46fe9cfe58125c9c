"""All logits of a position: the model's own, kept once per run, refused where there is no head."""

import gc
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.transformer import families, tiny_hugging_face
from tests.transformer.families import SOURCES, TARGETS, family
from transformer import full_logits as module
from transformer.errors import WeightsChanged
from transformer.full_logits import full_logits, logit_parts, probability_of, rank_of, seal_full
from transformer.readout import CannotReadOut, head_of, row
from transformer.runner import run
from transformer.trace import Trace
from transformer.wrapped import wrap

NAMES = ["gpt2", "llama", "gemma2", "bert", "t5", "bart", "bloom", "cohere"]


def trace_of(name: str) -> Trace:
    target = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    return run(family(name).model, ids=SOURCES[0], **target)


@pytest.mark.parametrize("name", NAMES)
def test_they_are_the_logits_of_the_untouched_twin(name: str) -> None:
    twin = family(name)
    wanted = {"ids": SOURCES[:1], "attention_mask": [[1] * 7], "target_ids": TARGETS[:1]}
    theirs = twin.answer(twin.untouched, wanted).logits[0].numpy()
    trace = trace_of(name)
    for position in range(len(theirs)):
        found = full_logits(trace, position)
        assert found.shape == (53,)
        np.testing.assert_allclose(found, theirs[position], atol=2e-5)
        assert seal_full(trace, position).holds
        ids, values = trace.top.ids[position], trace.top.values[position]
        np.testing.assert_allclose(found[ids], values, atol=2e-5)


def test_the_parts_of_a_logit_give_the_logit() -> None:
    for name in ("gpt2", "gemma2", "cohere"):
        trace = trace_of(name)
        found = logit_parts(trace, 3, 11)
        whole = (found.hidden.astype(np.float64) @ found.row + found.bias) * found.scale
        assert found.terms.sum() == pytest.approx(whole)
        whole = whole if found.softcap is None else found.softcap * np.tanh(whole / found.softcap)
        assert whole == pytest.approx(found.logit, abs=1e-6) == pytest.approx(full_logits(trace, 3)[11], abs=1e-6)
    assert logit_parts(trace_of("gemma2"), 3, 11).softcap and logit_parts(trace_of("cohere"), 3, 11).scale != 1


def test_a_classifier_has_one_row() -> None:
    twin = tiny_hugging_face.bert_classifier().eval()
    with torch.no_grad():
        theirs = twin(torch.tensor([[5, 7, 5]])).logits[0].numpy()
    trace = run(wrap(twin), ids=[5, 7, 5])
    np.testing.assert_allclose(full_logits(trace, 0), theirs, atol=1e-6)
    with pytest.raises(IndexError):
        full_logits(trace, 1)


def test_a_position_that_there_is_not_is_refused() -> None:
    for position in (-1, 7):
        with pytest.raises(IndexError):
            full_logits(trace_of("gpt2"), position)


def test_they_are_made_once_and_go_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(trace: Trace) -> object:
        made.append(1)
        return head_of(trace)

    monkeypatch.setattr(module, "head_of", counted)
    trace, before = trace_of("gpt2"), len(module._kept)
    first = full_logits(trace, 2)
    assert full_logits(trace, 2) is first and len(made) == 1 and len(module._kept) == before + 1
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    for position in (*range(7), *range(7)):
        full_logits(trace, position)
    assert len(made) == 7
    del trace
    gc.collect()
    assert len(module._kept) <= before


def test_without_a_head_it_says_so_in_words() -> None:
    bare = run(wrap(tiny_hugging_face.bert().eval()), ids=[5, 7, 5])
    with pytest.raises(CannotReadOut) as caught:
        full_logits(bare, 0)
    assert caught.value.key == "lack.no_head" and "head" in caught.value.text("en")
    trace = trace_of("gpt2")
    unknown = replace(trace, parts={name: part for name, part in trace.parts.items() if not name.endswith(".head")})
    with pytest.raises(CannotReadOut) as caught:
        full_logits(unknown, 0)
    assert caught.value.key == "lack.formula_unknown"
    silent = run(family("gpt2").model, ids=SOURCES[0], record=("attention",))
    with pytest.raises(CannotReadOut) as caught:
        full_logits(silent, 0)
    assert caught.value.key == "lack.not_recorded"


def test_of_a_model_that_was_trained_since_nothing_is_computed() -> None:
    built = families.build("gpt2")
    trace = run(wrap(built), ids=SOURCES[0])
    kept = full_logits(trace, 1)
    with torch.no_grad():
        built.lm_head.weight.mul_(2)
    with pytest.raises(WeightsChanged):
        full_logits(trace, 2)
    assert full_logits(trace, 1) is kept  # these belong to the run


def test_a_row_is_that_of_the_whole_site() -> None:
    trace = trace_of("gpt2")
    for site in ("decoder.final.norm.output", "decoder.1.ffn.input", "decoder.0.resid.before", "decoder.2.self.output"):
        np.testing.assert_allclose(row(trace, site, 4), trace[site][4:5], atol=1e-6)


def test_a_probability_is_that_of_the_whole_vocabulary() -> None:
    trace = trace_of("gpt2")
    every = [probability_of(trace, 2, token) for token in range(53)]
    assert sum(every) == pytest.approx(1) and np.argmax(every) == trace.top.ids[2][0]


def test_ranks_by_hand() -> None:
    logits = np.array([1.0, 3.0, 2.0, 3.0, 1.0])
    assert [rank_of(logits, token) for token in range(5)] == [3, 0, 2, 1, 4]
