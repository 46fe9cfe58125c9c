"""engine.py: the desk where pages ask: one pass per text and model, limits with both numbers, nothing left locked."""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import numpy as np
import pytest

from tests.transformer.families import family
from transformer import catalog, packs, run
from transformer.beam import BeamSettings, beam_search
from transformer.decoder_lm import DecoderLM
from transformer.encoder_decoder import EncoderDecoder
from transformer.engine import LONGEST_TEXT, Engine
from transformer.errors import BrokenText, EmptyText, NoTokenizer, TextTooLong, TooManyTokens, UnknownModel
from transformer.generate import GenerationSettings
from transformer.prompt import NoRoomToWrite
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import wrap

TEXT = "the cat the\nhat"


@pytest.fixture
def engine(tiny, scramble, monkeypatch) -> Engine:
    """A desk with two models of equal weights and one without a tokenizer."""
    tokenizer = ByteTokenizer()
    config = tiny(vocab_size=tokenizer.vocab_size, max_positions=211, positions="learned")
    models = {name: wrap(scramble(DecoderLM(config)), tokenizer, name) for name in ("one", "two")}
    models |= {"mute": family("gpt2").model}
    made_here = {name: partial(models.__getitem__, name) for name in models}
    monkeypatch.setattr(catalog, "_MADE_HERE", {**catalog._MADE_HERE, **made_here})
    monkeypatch.setattr(catalog, "_loaded", OrderedDict())
    return Engine("one", max_tokens=100)


def test_the_same_text_twice_costs_one_pass(engine):
    first = engine.trace("one", TEXT)
    assert engine.trace("one", TEXT) is first and engine.store.passes == 1
    assert engine.trace("one", TEXT + ".") is not first and engine.store.passes == 2
    assert np.array_equal(first["logits"], run(engine.load("one"), TEXT)["logits"])


def test_who_asks_again_does_not_have_the_text_cut_again(engine, monkeypatch):
    """Every click asks for its run."""
    trace = engine.trace("one", TEXT)
    monkeypatch.setattr("transformer.engine.encode", None)
    assert engine.trace("one", TEXT) is trace
    with pytest.raises(TypeError):
        engine.trace("two", TEXT)


def test_two_models_never_share_a_trace(engine):
    assert engine.trace("one", TEXT) is not engine.trace("two", TEXT) and engine.store.passes == 2
    assert engine.trace("two", TEXT).model == "two"


def test_a_class_that_asks_at_once_costs_one_pass(engine):
    start = Barrier(30, timeout=60)

    def ask(n: int) -> object:
        start.wait()
        return engine.trace("one", TEXT if n % 3 else f"text {n // 15}")

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(ask, range(30)))
    assert engine.store.passes == 3 and len({id(answer) for answer in answers}) == 3
    assert {answer.encodings["decoder"].text for answer in answers} == {TEXT, "text 0", "text 1"}


def test_what_does_not_fit_is_named_with_both_numbers(engine):
    with pytest.raises(TextTooLong, match=rf"{LONGEST_TEXT + 1}.*{LONGEST_TEXT}"):
        engine.trace("one", "a" * (LONGEST_TEXT + 1))
    with pytest.raises(TextTooLong):
        engine.trace("one", TEXT, "a" * (LONGEST_TEXT + 1))
    with pytest.raises(TooManyTokens, match=r"\b101\b.*\b100\b"):
        engine.trace("one", "a" * 100)  # and one token for the beginning
    assert len(engine.trace("one", "a" * 99).encodings["decoder"]) == 100
    for problem, text in ((EmptyText, ""), (BrokenText, "a\ud800b")):
        with pytest.raises(problem):
            engine.trace("one", text)
    with pytest.raises(NoTokenizer):
        engine.trace("mute", TEXT)
    assert engine.store.passes == 1 and engine.store._running == {}


def test_white_space_is_a_text_for_a_model_that_reads_it(engine):
    assert engine.trace("one", " \n").tokens("decoder.0.self", "key") == ("<bos>", "·", "↵")


def test_an_error_in_a_pass_leaves_nothing_locked(engine):
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    hook = engine.load("one").module.blocks[1].register_forward_pre_hook(fail)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            engine.trace("one", TEXT)
    hook.remove()
    assert engine.trace("one", TEXT)["logits"].shape == (16, 50) and engine.store.passes == 1


def test_an_evicted_run_is_made_again_with_the_same_numbers(engine):
    first = engine.trace("one", TEXT)
    engine.store.budget = first.nbytes  # no room for two; a smaller one from the start would refuse the text
    engine.trace("one", "another")
    again = engine.trace("one", TEXT)
    assert again is not first and again.key == first.key and engine.store.passes == 3
    assert all(np.array_equal(array, again.arrays[site]) for site, array in first.arrays.items())


def test_small_maps_are_made_once(engine):
    trace = engine.trace("one", TEXT)
    maps = engine.small_maps(trace, 4)
    assert engine.small_maps(trace, 4) is maps and engine.small_maps(trace, 1) is not maps
    assert [one.shape for one in maps] == [(7, 4, 4)] * 3
    for block in range(2, 60):
        engine.small_maps(trace, block)
    assert len(engine._pictures) <= 32


def test_names_of_tokens_and_choices(engine):
    assert engine.token("one", 3 + ord(" ")) == "·" and engine.token("mute", 7) == "<7>"
    assert engine.is_loaded("one") and not engine.is_loaded("two")
    everything = [choice.name for choice in Engine("one").choices()]
    packs = ["smollm2", "minilm", "smollm2-ours", "minilm-ours"]
    assert everything == [*catalog.SHIPPED, *packs, "untrained"]
    here = [choice.name for choice in Engine("one", packs=False).choices()]
    assert here == [choice.name for choice in catalog.choices() if choice.ready]


def test_a_server_without_packs_fetches_none(engine, monkeypatch):
    monkeypatch.setattr(packs, "installed", lambda name: False)
    for name in ("smollm2", "minilm-ours"):
        for ask in (Engine("one", packs=False).load, Engine("one", packs=False).bring):
            with pytest.raises(UnknownModel, match=rf"{name}.*copycat, untrained\."):
                ask(name)


def test_where_a_generation_begins_costs_no_pass(engine):
    engine.longest(engine.load("one"))  # measured once, in two short passes
    calls = []
    hook = engine.load("one").module.register_forward_hook(lambda *_: calls.append(1))
    assert engine.prompt("one", "ab").ids == (1, 100, 101) and not calls
    with pytest.raises(NoRoomToWrite):
        engine.prompt("one", "a" * 99)
    growing = engine.growing("one", "ab", GenerationSettings(stop_ids=()))
    assert growing.step(1) is not None and len(calls) == 2
    assert engine.growing("one", "ab", GenerationSettings(stop_ids=())) is growing
    hook.remove()


def test_a_search_is_shared_like_a_generation(engine):
    settings = BeamSettings(beams=2, max_new_tokens=3, stop_ids=())
    search = engine.beams("one", "ab", settings)
    assert engine.beams("one", "ab", BeamSettings(2, max_new_tokens=3, stop_ids=())) is search
    expected = list(beam_search(engine.load("one"), "ab", settings=settings))
    assert [step.beams for step in search.steps(9)] == [step.beams for step in expected] and search.step(3) is None
    assert engine.beams("two", "ab", settings) is not search


def test_a_step_once_more_without_a_cache(engine):
    settings = GenerationSettings(mode="sample", seed=3, stop_ids=(), max_new_tokens=3)
    last = engine.growing("one", "ab", settings).step(2)
    again = engine.without_cache("one", "ab", last)
    assert (
        again.ids == last.ids and not again.cache.cached and set(last.distribution.ids) <= set(again.distribution.ids)
    )
    assert again.distribution.p[again.distribution.place] == pytest.approx(last.distribution.p[last.distribution.place])


def test_whether_a_text_is_read_as_it_was_written(engine):
    assert engine.reads_as("one", "ab", None, (1, 100, 101)) and engine.reads_as("one", "ab", None, (1, 100, 101, 2))
    assert not engine.reads_as("one", "ab", None, (100, 101)) and not engine.reads_as("one", "b", None, (1, 100))


def test_a_second_text_is_traced_behind_its_start_token(engine, tiny, scramble, monkeypatch):
    config = tiny(vocab_size=ByteTokenizer.vocab_size)
    model = wrap(scramble(EncoderDecoder(config)), ByteTokenizer(), "pair")
    monkeypatch.setattr(catalog, "_MADE_HERE", {**catalog._MADE_HERE, "pair": lambda: model})
    trace = engine.trace("pair", "ab", "ba")
    assert trace.encodings["decoder"].ids == (1, 101, 100) and engine.reads_as("pair", "ab", "ba", (1, 101, 100, 2))
    assert engine.trace("pair", "ab", "ba") is trace and engine.prompt("pair", "ab").ids == (1,)
