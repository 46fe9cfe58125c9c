"""Readers: the scores of the next token with and without a cache are the same, for every kind of model that writes."""

from dataclasses import replace

import pytest
import torch

from tests.transformer.families import CONFIGS, MASKED_LM, family
from transformer.decoder_lm import DecoderLM
from transformer.encoder import Encoder
from transformer.encoder_classifier import EncoderClassifier
from transformer.encoder_decoder import EncoderDecoder
from transformer.next_pass import CannotGenerate, NotAGenerator, check_generator, reader_of
from transformer.wrapped import LoadedModel, wrap

IDS = torch.tensor([[5, 7, 9, 7, 3, 11, 2]])
SOURCE = [4, 6, 8, 6]
OURS = [
    {"positions": "sinusoidal"},
    {"positions": "learned", "norm": "post"},
    {"positions": "rotary", "n_kv_heads": 1, "norm_kind": "rmsnorm", "activation": "swiglu"},
    {"positions": "alibi"},
    {"positions": "none", "prefix": 2},
]


def passes(model: LoadedModel, *, use_cache: bool) -> tuple[torch.Tensor, list[str]]:
    """Scores after 3, 4, 6 and 7 tokens, and why nothing was kept."""
    reader = reader_of(model, SOURCE if model.encoder_decoder else None, use_cache=use_cache, prompt=3)
    scores, why = [], []
    for count in (3, 4, 6, 7):
        scores.append(reader(IDS[:, :count])[0])
        why.append(reader.why)
    return torch.stack(scores), why


def same_with_and_without_a_cache(model: LoadedModel) -> None:
    cached, why = passes(model, use_cache=True)
    again, asked = passes(model, use_cache=False)
    assert set(why) == {""} and set(asked) == {"asked"}
    torch.testing.assert_close(cached, again, atol=1e-5, rtol=0)
    assert cached.std() > 0.05


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind["positions"])
@pytest.mark.parametrize("made", [DecoderLM, EncoderDecoder])
def test_our_classes(tiny, scramble, made, kind) -> None:
    model = wrap(scramble(made(tiny(**kind))))
    same_with_and_without_a_cache(model)
    scores, _ = passes(model, use_cache=False)
    with torch.no_grad():
        both = (torch.tensor([SOURCE]), None, IDS) if model.encoder_decoder else (IDS,)
        whole = model.module(*both)
    if not kind.get("prefix"):  # a longer text would let its prefix see more
        torch.testing.assert_close(scores, whole.logits[0, [2, 3, 5, 6]], atol=1e-5, rtol=0)


@pytest.mark.parametrize("made", [DecoderLM, EncoderDecoder])
def test_a_window_sees_the_same_keys(tiny, scramble, made) -> None:
    plain = wrap(made(tiny()))
    same_with_and_without_a_cache(replace(plain, module=scramble(made(tiny(window=3, positions="rotary")))))


@pytest.mark.parametrize("name", sorted(set(CONFIGS) - MASKED_LM))
def test_families(name) -> None:
    same_with_and_without_a_cache(family(name).model)


def test_a_prefix_that_is_not_full_keeps_nothing(tiny, scramble) -> None:
    model = wrap(scramble(DecoderLM(tiny(prefix=6))))
    cached, why = passes(model, use_cache=True)
    again, _ = passes(model, use_cache=False)
    assert set(why) == {"prefix"} and torch.equal(cached, again)
    assert reader_of(model, prompt=6).why == ""


def test_rows_go_on_as_they_are_taken(tiny, scramble) -> None:
    """Beams 1, 0, 0 of two, each with its own next token: as three texts read anew."""
    for made in (DecoderLM, EncoderDecoder):
        model = wrap(scramble(made(tiny())))
        source = SOURCE if model.encoder_decoder else None
        reader = reader_of(model, source)
        two = torch.tensor([[5, 7, 9], [5, 7, 2]])
        reader(two)
        reader.take(torch.tensor([1, 0, 0]))
        three = torch.cat([two[[1, 0, 0]], torch.tensor([[8], [8], [4]])], dim=1)
        anew = reader_of(model, source, use_cache=False)(three)
        torch.testing.assert_close(reader(three), anew, atol=1e-5, rtol=0)


def test_a_family_without_a_cache_is_read_again_and_says_so(monkeypatch) -> None:
    model = family("gpt2").model
    forward = model.module.forward

    def forgets(**inputs):
        answer = forward(**inputs)
        answer.cache = None
        return answer

    monkeypatch.setattr(model.module, "forward", forgets)
    scores, why = passes(model, use_cache=True)
    assert set(why) == {"family"}
    monkeypatch.undo()
    torch.testing.assert_close(scores, passes(model, use_cache=False)[0], atol=1e-5, rtol=0)


def test_dropout_is_off_while_a_model_in_training_writes(tiny) -> None:
    model = wrap(DecoderLM(tiny(dropout=0.5)))
    model.module.train()
    first, second = (reader_of(model)(IDS) for _ in range(2))
    assert torch.equal(first, second) and model.module.training


def test_a_reader_keeps_no_gradients(tiny) -> None:
    model = wrap(DecoderLM(tiny()))
    assert not reader_of(model)(IDS).requires_grad


@pytest.mark.parametrize("name", ["bert", "electra"])
def test_encoders_of_transformers_do_not_write(name) -> None:
    with pytest.raises(NotAGenerator, match="mini-gpt"):
        check_generator(family(name).model)


@pytest.mark.parametrize("made", [Encoder, EncoderClassifier])
def test_our_encoders_do_not_write(tiny, made) -> None:
    with pytest.raises(NotAGenerator) as caught:
        check_generator(wrap(made(tiny())))
    assert caught.value.text("zh") != caught.value.text("en")


def test_a_head_that_scores_no_vocabulary_does_not_write(tiny, monkeypatch) -> None:
    model = wrap(DecoderLM(tiny()))
    reader = reader_of(model)
    monkeypatch.setattr(reader, "logits", lambda ids: torch.zeros(1, ids.shape[1], 2))
    with pytest.raises(NotAGenerator):
        reader(IDS)


def test_what_a_familys_own_code_says_is_passed_on(monkeypatch) -> None:
    model = family("gpt2").model
    monkeypatch.setattr(model.module, "forward", lambda **_: (_ for _ in ()).throw(RuntimeError("too hot\nat line 7")))
    with pytest.raises(CannotGenerate, match="too hot"):
        reader_of(model)(IDS)
