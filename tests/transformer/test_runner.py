"""runner.py: what a run gives for texts and ids, what it records, and that runs side by side never mix."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

import numpy as np
import pytest
import torch

from tests.transformer.families import SOURCES, TARGETS, family
from transformer import run, wrap
from transformer.capture import EVERYTHING
from transformer.decoder_lm import DecoderLM
from transformer.errors import EmptyText, MissingTarget, NoTokenizer, ShapesDoNotFit, TooManyTokens, UnknownToken
from transformer.runner import trace_key
from transformer.tokenizer import ByteTokenizer
from transformer.trace import Trace

TEXT = "the cat the\nhat"  # a repeated word, spaces and a newline


@pytest.fixture(scope="module")
def speaker(tiny, scramble):
    """A model of ours that reads bytes."""
    tokenizer = ByteTokenizer()
    config = tiny(vocab_size=tokenizer.vocab_size, max_positions=31, positions="learned")
    return wrap(scramble(DecoderLM(config)), tokenizer, "speaker")


def same(one: Trace, other: Trace) -> bool:
    """Bit for bit, every kept array."""
    tops = zip(vars(one.top).values(), vars(other.top).values(), strict=True)
    return (
        one.arrays.keys() == other.arrays.keys()
        and one.encodings == other.encodings
        and all(np.array_equal(array, other.arrays[site]) for site, array in one.arrays.items())
        and all(np.array_equal(a, b) for a, b in tops)
    )


# --- several at once -------------------------------------------------------------------------------------------------

TEXTS = [[3 + (7 * n + 5 * place) % 50 for place in range(3 + n % 5)] for n in range(40)]


@pytest.mark.parametrize("name", ["gpt2", "gemma2", "bert", "bloom"])
def test_two_threads_of_twenty_runs_mix_nothing(name):
    """Every tensor of each run is the one that the same text gives when nobody else is there."""
    model = family(name).model
    alone = [run(model, ids=ids) for ids in TEXTS]
    start = Barrier(2, timeout=60)

    def twenty(texts: list[list[int]]) -> list[Trace]:
        start.wait()
        return [run(model, ids=ids) for ids in texts]

    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(twenty, (TEXTS[:20], TEXTS[20:])))
    pairs = zip(alone, [*halves[0], *halves[1]], strict=True)
    assert [n for n, (one, other) in enumerate(pairs) if not same(one, other)] == []
    assert len({trace.key for trace in alone}) == len({tuple(ids) for ids in TEXTS})


def test_a_bare_pass_in_another_thread_is_not_recorded():
    """It runs on the same module, in the middle of a recorded pass, and leaves nothing in the trace."""
    model = wrap(family("gpt2").model.module)
    inside, done = Event(), Event()
    alone, others = run(model, ids=SOURCES[0]), []

    def wait_once(*_: object) -> None:
        if not inside.is_set():
            inside.set()
            assert done.wait(60)

    def bare() -> None:
        assert inside.wait(60)
        with torch.no_grad():
            others.append(model.module(torch.tensor([[52, 1, 52, 1, 9, 52, 30]]), use_cache=False).logits)
        done.set()

    hook = model.module.transformer.h[1].register_forward_pre_hook(wait_once)
    thread = Thread(target=bare)
    thread.start()
    try:
        disturbed = run(model, ids=SOURCES[0])
    finally:
        done.set()
        hook.remove()
        thread.join()
    assert len(others) == 1 and same(alone, disturbed)


def test_tasks_that_run_in_threads_mix_nothing():
    model = family("gpt2").model
    alone = [run(model, ids=ids) for ids in TEXTS[:6]]

    async def all_at_once() -> list[Trace]:
        return await asyncio.gather(*(asyncio.to_thread(run, model, ids=ids) for ids in TEXTS[:6]))

    with ThreadPoolExecutor(1) as pool:  # a loop of its own: the browser's tests leave theirs running here
        assert all(map(same, alone, pool.submit(lambda: asyncio.run(all_at_once())).result(120)))


def test_an_error_in_a_pass_leaves_nobody_listening():
    model = wrap(family("gpt2").model.module)

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    hook = model.module.transformer.h[1].register_forward_pre_hook(fail)
    with pytest.raises(ZeroDivisionError):
        run(model, ids=SOURCES[0])
    hook.remove()
    assert same(run(model, ids=SOURCES[0]), run(family("gpt2").model, ids=SOURCES[0]))


# --- what goes in ----------------------------------------------------------------------------------------------------


def test_one_row_gives_a_trace_and_a_list_gives_a_list(speaker):
    assert isinstance(run(speaker, TEXT), Trace)
    one, two = run(speaker, [TEXT]), run(speaker, [TEXT, "cat"])
    assert isinstance(one, list) and len(one) == 1 and len(two) == 2
    assert isinstance(run(speaker, ids=[5, 7]), Trace) and isinstance(run(speaker, ids=[[5, 7]]), list)


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor], ids=["list", "tuple", "numpy", "torch"])
def test_ids_of_any_kind(speaker, kind):
    plain = run(speaker, ids=[5, 7, 9])
    assert same(plain, run(speaker, ids=kind([5, 7, 9])))
    (only,) = run(speaker, ids=kind([[5, 7, 9]]), attention_mask=kind([[1, 1, 1]]))
    assert same(plain, only)


def test_texts_of_unequal_length_equal_each_alone_and_keep_their_padding_in_view(speaker):
    long, short = run(speaker, [TEXT, "cat"])
    alone = run(speaker, "cat")
    assert short.encodings["decoder"].padding == (False,) * 4 + (True,) * 12
    assert not any(long.encodings["decoder"].padding)
    np.testing.assert_allclose(short["logits"][:4], alone["logits"], atol=1e-5)
    np.testing.assert_allclose(short["decoder.2.self.weights"][:, :4, :4], alone["decoder.2.self.weights"], atol=1e-6)
    assert (short["decoder.2.self.weights"][:, :4, 4:] == 0).all()
    assert short.encodings["decoder"].text == "cat"


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "opt", "bloom"])
def test_left_padding_moves_nobody(name):
    """GPT-2 without `position_ids` counts its padding and gives plausible wrong numbers; here they are made."""
    model = family(name).model
    padded = run(model, ids=[0, 0, *SOURCES[0]], attention_mask=[0, 0, *[1] * 7])
    alone = run(model, ids=SOURCES[0])
    np.testing.assert_allclose(padded["logits"][2:], alone["logits"], atol=1e-5)
    np.testing.assert_allclose(padded["decoder.1.self.weights"][:, 2:, 2:], alone["decoder.1.self.weights"], atol=1e-6)


def test_a_hole_in_the_mask_is_looked_at_by_nobody():
    trace = run(family("bert").model, ids=SOURCES[0], attention_mask=[1, 1, 0, 1, 1, 0, 1])
    assert (trace["encoder.1.self.weights"][:, :, [2, 5]] == 0).all()
    assert trace["encoder.1.self.allowed"].sum(-1).tolist() == [5] * 7


def test_wrong_input_is_named(speaker):
    t5 = family("t5").model
    for problem, given in [
        (EmptyText, {"ids": []}),
        (EmptyText, {"ids": [[]]}),
        (EmptyText, {"ids": [[5, 7], []]}),
        (EmptyText, {"text": ""}),
        (EmptyText, {"text": []}),
        (EmptyText, {"text": ["cat", ""]}),
        (EmptyText, {}),
        (UnknownToken, {"ids": [5, 300]}),
        (UnknownToken, {"ids": [-1]}),
        (ShapesDoNotFit, {"ids": [5, 7, 9], "attention_mask": [1, 1]}),
        (ShapesDoNotFit, {"ids": [[5, 7], [9, 9]], "attention_mask": [[1, 1]]}),
        (ShapesDoNotFit, {"ids": [5, 7], "record": {"attn"}}),
        (ShapesDoNotFit, {"ids": [5, 7], "record": "attention"}),
    ]:
        with pytest.raises(problem):
            run(speaker, **given)
    with pytest.raises(MissingTarget, match="T5"):
        run(t5, ids=[5, 7, 9])
    with pytest.raises(ShapesDoNotFit):
        run(t5, ids=SOURCES, target_ids=[5, 6])
    with pytest.raises(ShapesDoNotFit):
        run(t5, ids=[5, 7], target_ids=TARGETS)
    with pytest.raises(NoTokenizer, match="GPT2"):
        run(family("gpt2").model, "cat")


def test_too_many_tokens_names_both_numbers(speaker):
    with pytest.raises(TooManyTokens, match=r"\b32\b.*\b31\b"):
        run(speaker, ids=[5] * 32)
    with pytest.raises(TooManyTokens, match=r"\b16\b.*\b9\b"):
        run(speaker, TEXT, max_tokens=9)
    assert len(run(speaker, ids=[5] * 31).encodings["decoder"]) == 31


def test_source_and_target_have_their_own_tokens():
    trace = run(family("t5").model, ids=SOURCES[0], target_ids=TARGETS[0])
    assert trace["decoder.1.cross.weights"].shape == (7, 4, 7)
    assert trace.tokens("decoder.1.cross", "query") == trace.tokens("decoder.0.self", "key") == ("5", "6", "7", "8")
    assert trace.tokens("decoder.1.cross", "key") == trace.tokens("encoder.0.self", "query")
    first, second = run(family("t5").model, ids=SOURCES, target_ids=[[5, 6, 7], [9, 6, 9, 3]])
    assert first.encodings["decoder"].padding == (False, False, False, True)
    assert second.encodings["encoder"].padding == (False,) * 3 + (True,) * 4


# --- what comes out --------------------------------------------------------------------------------------------------


def test_record_keeps_only_what_is_wanted_and_says_so():
    model = family("gpt2").model
    whole, part = run(model, ids=SOURCES[0]), run(model, ids=SOURCES[0], record={"attention"})
    kept = {site.rpartition(".")[2].removesuffix("_check") for site in part.arrays}
    assert kept == {"q", "k", "v", "check"} and part.top is None
    assert {key: part.lacks[key] for key in ("stream", "embedding", "logits")} == dict.fromkeys(
        ("stream", "embedding", "logits"), "lack.not_recorded"
    )
    assert np.array_equal(part["decoder.2.self.weights"], whole["decoder.2.self.weights"])
    assert part.nbytes < whole.nbytes and "attention" not in part.lacks and not set(whole.lacks) & EVERYTHING
    assert part.key != whole.key


@pytest.mark.parametrize("wanted", sorted(EVERYTHING))
def test_every_part_can_be_recorded_alone(wanted):
    trace = run(family("gpt2").model, ids=SOURCES[0], record=[wanted])
    assert trace.sites
    for site in trace.sites:
        assert trace[site].size, site
    assert bool(trace.attention) == (wanted == "attention") and (trace.top is not None) == (wanted == "logits")
    assert set(trace.lacks) & EVERYTHING == EVERYTHING - {wanted}


def test_equal_runs_have_equal_keys_and_others_do_not(speaker):
    keys = [run(speaker, TEXT).key, run(speaker, "cat").key, run(speaker, TEXT, record={"logits"}).key]
    keys += [run(speaker, ids=[5, 7]).key, run(speaker, ids=[5, 7], attention_mask=[0, 1]).key]
    assert len(set(keys)) == 5
    assert run(speaker, TEXT).key == keys[0] == trace_key(speaker, {"decoder": speaker.tokenizer.encode(TEXT)})
    again = wrap(speaker.module, speaker.tokenizer, "speaker")
    assert run(again, TEXT).key != keys[0], "two models never share a trace, not even under one name"


def test_the_model_is_asked_once_per_run(speaker):
    passes = []
    hook = speaker.module.register_forward_hook(lambda *_: passes.append(1))
    run(speaker, [TEXT, "cat", "hat"])
    hook.remove()
    assert len(passes) == 1


def test_probabilities_are_over_the_whole_vocabulary(speaker):
    trace = run(speaker, TEXT)
    ids = torch.tensor([trace.encodings["decoder"].ids])
    with torch.no_grad():
        theirs = torch.softmax(speaker.module(ids).logits[0].double(), -1).numpy()
    found, p = trace.probabilities(-1)
    assert len(found) == 50 and p.sum() < 1
    np.testing.assert_allclose(p, theirs[-1][found], atol=1e-7)
    assert (np.sort(theirs[-1])[::-1][:50] == theirs[-1][found]).all()


@pytest.mark.parametrize("model", ["untrained", None, torch.nn.Linear(2, 2)])
def test_what_is_not_wrapped_yet_is_said_in_words(model):
    with pytest.raises(ShapesDoNotFit, match="wrap"):
        run(model, "hi")
