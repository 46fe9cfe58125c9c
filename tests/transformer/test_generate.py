"""generate: the same steps with and without a cache, parity with transformers' generate, S1's and S3's decoding."""

from itertools import islice

import numpy as np
import pytest
import torch

from tests.transformer.families import family
from transformer.decoder_lm import DecoderLM
from transformer.encoder_decoder import EncoderDecoder
from transformer.errors import ShapesDoNotFit, UnknownToken
from transformer.generate import GenerationSettings, Step, generate
from transformer.sampling import GREEDY, Dials
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import LoadedModel, wrap

IDS, SOURCE = [5, 7, 9, 7, 3], [4, 6, 8, 6]
SETTINGS = [
    {"mode": "greedy"},
    {"mode": "sample", "seed": 3},
    {"mode": "sample", "temperature": 1.7, "top_k": 11, "top_p": 0.8, "seed": 5},
]


def steps_of(model: LoadedModel, count: int = 6, **settings) -> list[Step]:
    told = GenerationSettings(max_new_tokens=count, stop_ids=settings.pop("stop_ids", ()), **settings)
    if model.encoder_decoder:
        return list(generate(model, ids=[2], source_ids=SOURCE, settings=told))
    return list(generate(model, ids=IDS, settings=told))


@pytest.fixture(scope="module")
def ours(tiny, scramble) -> dict[str, LoadedModel]:
    return {made.__name__: wrap(scramble(made(tiny(positions="learned")))) for made in (DecoderLM, EncoderDecoder)}


@pytest.mark.parametrize("settings", SETTINGS, ids=["greedy", "sampled", "cut"])
@pytest.mark.parametrize("name", ["DecoderLM", "EncoderDecoder", "gpt2", "llama", "t5", "bart"])
def test_a_cache_changes_neither_tokens_nor_distributions(ours, name, settings) -> None:
    model = ours[name] if name in ours else family(name).model
    kept, again = (steps_of(model, use_cache=use_cache, **settings) for use_cache in (True, False))
    assert [step.token for step in kept] == [step.token for step in again] and len(kept) == 6
    for one, other in zip(kept, again, strict=True):
        assert one.distribution.ids.tolist() == other.distribution.ids.tolist()
        for part in ("p", "scaled", "final"):
            np.testing.assert_allclose(getattr(one.distribution, part), getattr(other.distribution, part), atol=1e-5)
        assert one.draw == other.draw
    assert [step.cache.new for step in kept] == [len(kept[0].ids) - 1, *[1] * 5]
    assert [step.cache.new for step in again] == [len(step.ids) - 1 for step in again]
    assert {step.cache.why for step in kept} == {""} and {step.cache.why for step in again} == {"asked"}


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3", "gemma2", "bloom", "t5", "bart"])
def test_greedy_equals_transformers(name) -> None:
    model, theirs = family(name).model, family(name).untouched
    ids = torch.tensor([SOURCE if model.encoder_decoder else IDS])
    start = {"decoder_start_token_id": 2, "forced_eos_token_id": None} if model.encoder_decoder else {}
    told = {"do_sample": False, "max_new_tokens": 6, "eos_token_id": None, "pad_token_id": 0, **start}
    with torch.no_grad():
        expected = theirs.generate(ids, attention_mask=torch.ones_like(ids), **told)
    assert list(steps_of(model)[-1].ids) == expected[0].tolist()


def test_a_step_says_what_a_pass_of_all_ids_says(ours) -> None:
    model = ours["DecoderLM"]
    for step in steps_of(model, mode="sample", temperature=2.0, seed=1):
        with torch.no_grad():
            logits = model.module(torch.tensor([step.ids[:-1]])).logits[0, -1].double()
        found = step.distribution
        np.testing.assert_allclose(found.p, logits.softmax(-1).numpy()[found.ids], atol=1e-6)
        np.testing.assert_allclose(found.scaled, (logits / 2).softmax(-1).numpy()[found.ids], atol=1e-6)
        assert found.logsumexp == pytest.approx(logits.logsumexp(-1).item(), abs=1e-5)
        assert step.token == found.token == step.ids[-1] and step.given == 5


def test_the_same_seed_draws_the_same_text_and_touches_no_other_randomness(ours) -> None:
    model = ours["DecoderLM"]
    before = torch.random.get_rng_state()
    texts = {seed: steps_of(model, mode="sample", seed=seed)[-1].ids for seed in range(7)}
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(steps_of(model, mode="sample", seed=seed)[-1].ids == ids for seed, ids in texts.items())
    assert len(set(texts.values())) > 1


def test_in_the_cold_sampling_is_greedy(ours) -> None:
    for model in ours.values():
        cold = steps_of(model, mode="sample", temperature=0.001, seed=7)
        assert [step.token for step in cold] == [step.token for step in steps_of(model)]


def test_it_stops_at_an_end_token(ours) -> None:
    whole = steps_of(ours["DecoderLM"])
    end = whole[2].token
    first = next(step.number for step in whole if step.token == end)
    stopped = steps_of(ours["DecoderLM"], stop_ids=(end,))
    assert [step.stop for step in stopped] == [None] * first + ["end"]
    assert stopped[-1].ids == whole[first].ids


def test_it_stops_when_enough_was_written_or_no_room_is_left(ours) -> None:
    assert [step.stop for step in steps_of(ours["DecoderLM"], count=3)] == [None, None, "length"]
    full = steps_of(ours["DecoderLM"], count=97)
    assert len(full) == 6 and full[-1].stop == "full" and len(full[-1].ids) == 11
    short = list(generate(ours["DecoderLM"], ids=IDS, max_tokens=7, settings=GenerationSettings(stop_ids=())))
    assert [step.stop for step in short] == [None, "full"]


def test_the_models_own_end_token_is_asked_for_by_default(tiny) -> None:
    tokenizer = ByteTokenizer()
    module = DecoderLM(tiny(vocab_size=259, tied_embeddings=False))
    with torch.no_grad():
        module.head.weight.zero_()
        module.head.weight[tokenizer.eos_id] = 1.0
        module.norm.bias.fill_(1.0)  # the scores of all tokens but this one are 0, and this one's Σ (x + 1) = 28
    (step,) = generate(wrap(module, tokenizer), "ab")
    assert step.token == tokenizer.eos_id and step.stop == "end"


def test_each_pass_runs_when_its_step_is_asked_for(ours) -> None:
    calls = []
    handle = ours["DecoderLM"].module.register_forward_hook(lambda *_: calls.append(1))
    steps = generate(ours["DecoderLM"], ids=IDS, settings=GenerationSettings(stop_ids=()))
    assert not calls
    assert [step.number for step in islice(steps, 2)] == [0, 1] and len(calls) == 2
    handle.remove()


def test_s3_decodes_step_by_step_from_a_start_symbol(tiny, scramble) -> None:
    """The Annotated Transformer: memory = encode(source); ys = [start]; decode, take the best, append, again."""
    module = scramble(EncoderDecoder(tiny(norm="post", scale_embeddings=True, init="xavier", activation="relu")))
    start, ys = 1, torch.tensor([[1]])
    with torch.no_grad():
        memory = module.encode(torch.tensor([SOURCE]))
        for _ in range(7):
            best = module.decode(ys, memory).logits[0, -1].argmax()
            ys = torch.cat([ys, best.view(1, 1)], dim=1)
    told = GenerationSettings(max_new_tokens=7, stop_ids=())
    *_, last = generate(wrap(module), ids=[start], source_ids=SOURCE, settings=told)
    assert list(last.ids) == ys[0].tolist() and last.given == 1


def test_s1_continues_a_typed_text_by_ten_tokens(tiny, scramble) -> None:
    """The Happy-LLM course: ten times the text so far goes into encoder and decoder, and the best token is appended."""
    tokenizer = ByteTokenizer()
    module = scramble(EncoderDecoder(tiny(vocab_size=259, max_positions=41)))
    ids = torch.tensor([tokenizer.encode("我喜欢").ids])
    with torch.no_grad():
        for _ in range(10):
            ids = torch.cat([ids, module(ids).logits[:, -1:].argmax(-1)], dim=1)
    told = GenerationSettings(max_new_tokens=10, same_ids=True, stop_ids=())
    steps = list(generate(wrap(module, tokenizer), "我喜欢", settings=told))
    assert list(steps[-1].ids) == ids[0].tolist() and len(steps) == 10
    for step in steps:
        assert step.cache.why == "same_ids" and step.cache.nbytes == 0
        assert (step.cache.before, step.cache.new) == (0, len(step.ids) - 1)


def test_the_same_ids_go_into_both_sides_of_other_families_too() -> None:
    model, theirs = family("t5").model, family("t5").untouched
    told = GenerationSettings(max_new_tokens=3, same_ids=True, stop_ids=())
    ids = torch.tensor([IDS])
    with torch.no_grad():
        for _ in range(3):
            best = theirs(input_ids=ids, decoder_input_ids=ids).logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, best], dim=1)
    *_, last = generate(model, ids=IDS, settings=told)
    assert list(last.ids) == ids[0].tolist()


def test_settings_say_what_is_done_to_the_scores() -> None:
    assert GenerationSettings(temperature=2.0, top_k=3).dials == GREEDY
    assert GenerationSettings(mode="sample", temperature=2.0, top_k=3, top_p=0.5).dials == Dials(2.0, 3, 0.5)


@pytest.mark.parametrize(
    "values",
    [
        {"mode": "beam"}, {"max_new_tokens": 0}, {"shown": 1.5}, {"seed": -1}, {"seed": True}, {"temperature": 0},
        {"top_p": 2},
    ],
    ids=str,
)  # fmt: skip
def test_settings_out_of_range_are_refused_by_name(values) -> None:
    with pytest.raises(ShapesDoNotFit) as caught:
        GenerationSettings(**values)
    assert caught.value.values["what"] == next(iter(values))


@pytest.mark.parametrize("name", ["DecoderLM", "EncoderDecoder", "gpt2", "t5"])
@pytest.mark.parametrize("use_cache", [True, False])
def test_a_forced_token_is_taken_and_all_that_follows_goes_on_from_it(ours, name, use_cache) -> None:
    model = ours[name] if name in ours else family(name).model
    free = steps_of(model, use_cache=use_cache)
    other = int(free[2].distribution.ids[3])
    forced = steps_of(model, use_cache=use_cache, forced=((2, other),))
    assert [step.mode for step in forced] == ["greedy", "greedy", "forced", "greedy", "greedy", "greedy"]
    assert [step.token for step in forced[:2]] == [step.token for step in free[:2]] and forced[2].token == other
    told = GenerationSettings(max_new_tokens=3, stop_ids=(), use_cache=use_cache)
    given = {"source_ids": SOURCE} if model.encoder_decoder else {}
    anew = list(generate(model, ids=forced[2].ids, settings=told, **given))
    assert forced[-1].ids == anew[-1].ids, "the rest is what the model writes behind these ids"
    for one, two in zip(forced[3:], anew, strict=True):
        np.testing.assert_allclose(one.distribution.p, two.distribution.p, atol=1e-5)


def test_the_probability_of_a_forced_token_is_the_models_even_where_the_dials_cut_it(ours) -> None:
    model = ours["DecoderLM"]
    told = {"mode": "sample", "temperature": 0.5, "top_k": 2, "seed": 3}
    with torch.no_grad():
        logits = model.module(torch.tensor([IDS])).logits[0, -1].double()
    rare = int(logits.argsort()[5])
    step = steps_of(model, count=1, forced=((0, rare),), **told)[0]
    found = step.distribution
    assert (step.token, step.mode, step.draw) == (rare, "forced", None)
    assert found.ids[-1] == rare and found.ranks[-1] == 47 and found.place == 10 and found.cut_by[-1] == "top_k"
    assert found.p[-1] == pytest.approx(logits.softmax(-1)[rare].item(), rel=1e-5)
    assert found.scaled[-1] == pytest.approx((logits / 0.5).softmax(-1)[rare].item(), rel=1e-5) and found.final[-1] == 0


def test_to_force_what_would_be_drawn_changes_nothing(ours) -> None:
    """The draws of a seed belong to their steps, whether they are used or not."""
    told = {"mode": "sample", "temperature": 1.7, "seed": 5}
    free = steps_of(ours["DecoderLM"], **told)
    forced = steps_of(ours["DecoderLM"], forced=((1, free[1].token), (3, free[3].token)), **told)
    assert [step.token for step in forced] == [step.token for step in free]
    assert [step.draw for step in forced] == [step.draw if step.number in (0, 2, 4, 5) else None for step in free]


def test_a_forced_end_token_ends_the_text_and_a_late_one_is_never_reached(ours) -> None:
    stopped = steps_of(ours["DecoderLM"], stop_ids=(9,), forced=((1, 9),))
    assert stopped[1].stop == "end" and len(stopped) == 2
    free, late = steps_of(ours["DecoderLM"], count=3), steps_of(ours["DecoderLM"], count=3, forced=((7, 9),))
    assert [step.token for step in late] == [step.token for step in free]


@pytest.mark.parametrize(
    "forced", [((0,),), ((0, -1),), ((-1, 5),), ((0, 5), (0, 7)), [(0, 5)], ((0, 5.0),), ((True, 5),), (5, 7), "05"],
    ids=str,
)  # fmt: skip
def test_what_is_no_list_of_forced_tokens_is_refused_by_name(forced) -> None:
    with pytest.raises(ShapesDoNotFit, match="forced"):
        GenerationSettings(forced=forced)


def test_a_forced_token_beyond_the_vocabulary_is_refused_at_once(ours) -> None:
    with pytest.raises(UnknownToken, match=r"53.*52"):
        generate(ours["DecoderLM"], ids=IDS, settings=GenerationSettings(forced=((4, 53),)))
