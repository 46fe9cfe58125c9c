"""The logit lens: its last row is the model, its other rows are the final norm and the head on an earlier stream."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.transformer import tiny_hugging_face
from tests.transformer.families import SOURCES, TARGETS, family
from transformer import logit_lens as module
from transformer.decoder_lm import DecoderLM
from transformer.encoder_classifier import EncoderClassifier
from transformer.logit_lens import (
    class_lens,
    lens_answers,
    lens_column,
    lens_logits,
    lens_parts,
    logit_lens,
    positions_at_once,
    probability_by_layer,
    seal_lens,
)
from transformer.readout import CannotReadOut
from transformer.runner import run
from transformer.sampling import softmax
from transformer.trace import Trace
from transformer.wrapped import wrap

KNOWN = ["gpt2", "llama", "gemma2", "t5", "bart", "bloom", "gptj", "olmo2"]
Make = Callable[..., Any]


def trace_of(name: str) -> Trace:
    target = {"target_ids": TARGETS[0]} if family(name).seq2seq else {}
    return run(family(name).model, ids=SOURCES[0], **target)


@pytest.mark.parametrize("name", KNOWN)
def test_the_last_row_is_the_model_itself(name: str) -> None:
    trace = trace_of(name)
    positions = [0, 3, 2]
    table = logit_lens(trace, positions)
    assert table.ids.shape == table.probabilities.shape == (len(table.layers), 3) and table.positions == (0, 3, 2)
    for place, position in enumerate(positions):
        ids, shares = trace.probabilities(position)
        assert table.ids[-1, place] == ids[0]
        assert table.probabilities[-1, place] == pytest.approx(float(shares[0]), rel=1e-5)
    assert seal_lens(trace, positions).holds


def test_by_hand_on_ours(tiny: Make, scramble: Make) -> None:
    """Each row: the module's own norm and head on the recorded stream, the norm's statistics those of that stream."""
    module_: DecoderLM = scramble(DecoderLM(tiny(positions="learned", tied_embeddings=False)))
    trace = run(wrap(module_), ids=[5, 7, 5, 11, 3])
    for layer in range(3):
        stream = torch.tensor(trace[f"decoder.{layer}.resid.after"])
        with torch.no_grad():
            theirs = torch.softmax(module_.head(module_.norm(stream)), -1).numpy()  # (position, vocabulary)
        table = logit_lens(trace, range(5), [layer])
        assert table.layers == (layer,) and table.ids.shape == (1, 5)
        assert table.ids[0].tolist() == theirs.argmax(-1).tolist()
        np.testing.assert_allclose(table.probabilities[0], theirs.max(-1), rtol=1e-4)
        np.testing.assert_allclose(softmax(lens_logits(trace, layer, 2)), theirs[2], rtol=1e-3, atol=1e-9)
        found = [probability_by_layer(trace, position, 31)[layer] for position in range(5)]
        np.testing.assert_allclose(found, theirs[:, 31], rtol=1e-3)


def test_rows_before_the_last_are_other_answers() -> None:
    trace = trace_of("gpt2")
    column = lens_column(trace, 4)
    assert len(column.ids) == 3 and np.abs(column.probabilities[0] - column.probabilities[-1]) > 1e-4


def test_a_post_norm_model_needs_no_norm_of_its_own(tiny: Make, scramble: Make) -> None:
    module_ = scramble(DecoderLM(tiny(norm="post")))
    trace = run(wrap(module_), ids=[5, 7, 5])
    with torch.no_grad():
        theirs = torch.softmax(module_.head(torch.tensor(trace["decoder.0.resid.after"])), -1).numpy()
    np.testing.assert_allclose(logit_lens(trace, [1]).probabilities[0], theirs[1].max(), rtol=1e-4)


@pytest.mark.parametrize("summary", ["first", "mean"])
def test_a_classifier_has_one_column(tiny: Make, scramble: Make, summary: str) -> None:
    module_: nn.Module = scramble(EncoderClassifier(tiny(positions="learned"), 5, summary=summary))
    trace = run(wrap(module_), ids=[5, 7, 5])
    table = logit_lens(trace, [0])
    np.testing.assert_allclose(table.probabilities[-1, 0], trace.probabilities(0)[1][0], rtol=1e-5)
    assert seal_lens(trace, [0]).holds and table.ids.max() < 5


def test_all_classes_by_layer(tiny: Make, scramble: Make) -> None:
    trace = run(wrap(scramble(EncoderClassifier(tiny(positions="learned"), 5, summary="mean"))), ids=[5, 7, 5])
    shares = class_lens(trace)
    assert shares.shape == (3, 5)
    np.testing.assert_allclose(shares.sum(-1), 1)
    np.testing.assert_allclose(shares.max(-1), logit_lens(trace, [0]).probabilities[:, 0], rtol=1e-6)
    ids, last = trace.probabilities(0)
    np.testing.assert_allclose(shares[-1, ids], last, rtol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "gemma2", "t5"])
def test_one_cell(name: str) -> None:
    trace = trace_of(name)
    ids, shares = lens_answers(trace, 1, 2, 4)
    logits = lens_logits(trace, 1, 2)
    assert ids.tolist() == np.argsort(-logits, kind="stable")[:4].tolist()
    np.testing.assert_allclose(shares, softmax(logits)[ids], rtol=1e-6)
    assert len(lens_answers(trace, 1, 2, 99)[0]) == 53
    found = lens_parts(trace, 1, 2, 17)
    total = found.terms.sum()
    total = total if found.softcap is None else found.softcap * np.tanh(total / found.softcap)
    assert total == pytest.approx(found.logit, abs=1e-6) == pytest.approx(float(logits[17]), abs=1e-6)
    with pytest.raises(ValueError, match="read-only"):
        logits[0] = 1


def test_a_step_of_unknown_formula_before_the_head_is_refused() -> None:
    with pytest.raises(CannotReadOut) as caught:
        logit_lens(trace_of("bert"), [0])
    assert caught.value.key == "lack.transform"
    with pytest.raises(CannotReadOut) as caught:
        logit_lens(run(wrap(tiny_hugging_face.bert().eval()), ids=[5, 7]), [0])
    assert caught.value.key == "lack.no_head"


def test_no_more_at_once_than_a_click_may_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = trace_of("gpt2")  # 3 layers · 53 tokens · 28 numbers = 4452 products for each position
    assert positions_at_once(trace, 12) == 12
    monkeypatch.setattr(module, "AT_ONCE", 4452 * 5 + 1)
    assert positions_at_once(trace, 12) == 5
    monkeypatch.setattr(module, "AT_ONCE", 1)
    assert positions_at_once(trace, 12) == 1


def test_a_column_is_computed_once() -> None:
    trace = trace_of("gpt2")
    assert lens_column(trace, 1) is lens_column(trace, 1) and lens_column(trace, 1).seconds > 0
