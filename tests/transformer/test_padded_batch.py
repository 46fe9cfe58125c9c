"""A padded batch: real tokens keep their numbers, and where they do not it is told."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.transformer.families import family
from tests.transformer.tiny_hugging_face import bart, bert, bert_classifier, gpt2
from transformer import run, wrap
from transformer.engine import LONGEST_ROW, Engine
from transformer.errors import EmptyText, MissingTarget, NoSuchSite, TextTooLong, TooManyTokens
from transformer.padded_batch import last_stream, moved_by_padding, real_positions, shorter_text
from transformer.tokenizer import ByteTokenizer
from transformer.trace import Trace

LONG, SHORT = [5, 7, 9, 7, 3, 11, 2], [4, 6, 8]


def padded(model, side: str) -> Trace:
    fill, blank = [0] * 4, [0] * 4
    ids = fill + SHORT if side == "left" else SHORT + fill
    mask = blank + [1] * 3 if side == "left" else [1] * 3 + blank
    return run(model, ids=[LONG, ids], attention_mask=[[1] * 7, mask])[1]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["gpt2", "gemma2", "bloom"])
def test_padding_moves_no_real_token(name: str, side: str) -> None:
    model = family(name).model
    found = moved_by_padding(run(model, ids=SHORT), padded(model, side))
    assert found.site == "logits" and found.holds and found.compared == 3 * (50 + 1)


def test_a_model_without_a_head_shows_its_last_stream_and_a_classifier_its_one_row() -> None:
    torch.manual_seed(3)
    model = wrap(bert().eval())
    row = padded(model, "right")
    assert last_stream(row) == "encoder.2.resid.after"
    assert real_positions(row).tolist() == [True] * 3 + [False] * 4
    found = moved_by_padding(run(model, ids=SHORT), row)
    assert found.site == "encoder.2.resid.after" and found.holds and found.compared == 3 * 28
    classifier = wrap(bert_classifier().eval())
    found = moved_by_padding(run(classifier, ids=SHORT), padded(classifier, "right"))
    assert found.site == "logits" and found.holds and found.compared == 3 + 1


def test_a_difference_is_measured_and_another_text_refused() -> None:
    torch.manual_seed(3)
    model = wrap(gpt2().eval())
    alone, row = run(model, ids=SHORT), padded(model, "left")
    assert row.top is not None
    values = row.top.values.copy()
    values[5, 2] += 0.5  # a real token: 4 of padding come before
    moved = replace(row, top=replace(row.top, values=values))
    largest = max(1.0, np.abs(np.append(values[5], row.top.logsumexp[5])).max())
    found = moved_by_padding(alone, moved)
    assert not found.holds and found.difference == pytest.approx(0.5 / largest, rel=1e-4)
    values = row.top.values.copy()
    values[2] += 9  # padding, which is not compared
    assert moved_by_padding(alone, replace(row, top=replace(row.top, values=values))).holds
    with pytest.raises(NoSuchSite):
        moved_by_padding(run(model, ids=LONG), row)


def test_half_of_a_text() -> None:
    assert shorter_text("the cat\n the mat it") == "the cat" and shorter_text("the cat") == "the"
    assert shorter_text("我喜欢你，你") == "我喜欢" and shorter_text(" a ") == "" == shorter_text("")


def test_the_engine_keeps_a_batch_and_names_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    sizes = {"vocab_size": ByteTokenizer.vocab_size, "n_positions": 400}
    two_texts = bart(vocab_size=ByteTokenizer.vocab_size, pad_token_id=1).eval()
    models = {
        "gpt2": wrap(gpt2(**sizes).eval(), ByteTokenizer(), "gpt2"),
        "bart": wrap(two_texts, ByteTokenizer(), "bart"),
    }
    engine = Engine(packs=False)
    monkeypatch.setattr(engine, "load", models.__getitem__)
    rows = engine.batch("gpt2", ["the cat\n the", "the"])
    assert [len(next(iter(row.encodings.values()))) for row in rows] == [13, 13]
    assert sum(rows[1].encodings["decoder"].padding) == 9
    assert engine.batch("gpt2", ("the cat\n the", "the")) is rows, "one pass, whoever asks"
    for texts, error in (
        (["a", ""], EmptyText),
        (["a", "x" * (LONGEST_ROW + 1)], TooManyTokens),
        (["a", "x" * 20_001], TextTooLong),
    ):
        with pytest.raises(error):
            engine.batch("gpt2", texts)
    with pytest.raises(MissingTarget):
        engine.batch("bart", ["a", "b"])
