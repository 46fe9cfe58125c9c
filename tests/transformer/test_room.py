"""room.py: how long a text may be follows from what two short recordings take."""

import pytest

from tests.transformer.families import family
from transformer import catalog, run
from transformer.decoder_lm import DecoderLM
from transformer.engine import Engine
from transformer.errors import TooManyTokens
from transformer.room import longest_recorded
from transformer.trace import Trace
from transformer.wrapped import wrap


def recorded(name: str, count: int) -> Trace:
    ids = [3 + 7 * token % 50 for token in range(count)]
    return run(family(name).model, ids=ids, target_ids=ids if family(name).seq2seq else None)


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "bloom", "mistral"])
def test_the_limit_is_the_longest_text_that_fits(name):
    for count in (29, 61):
        longest = longest_recorded(family(name).model, recorded(name, count).nbytes)
        assert longest is not None and count - 1 <= longest <= count


def test_twice_the_memory_is_twice_the_text_unless_whole_maps_are_kept():
    """Streams grow with the text, maps with its square: of ours none are kept, of Bloom nothing but these."""
    budget = 20_000_000
    gpt2, bloom = (family(name).model for name in ("gpt2", "bloom"))
    short, long = (longest_recorded(gpt2, size) for size in (budget, 2 * budget))
    assert long == pytest.approx(2 * short, abs=2)
    short, long = (longest_recorded(bloom, size) for size in (budget, 2 * budget))
    assert 1.3 * short < long < 1.7 * short and long < longest_recorded(gpt2, 2 * budget) / 2


def test_what_cannot_be_measured_has_no_limit(tiny, scramble):
    assert longest_recorded(catalog.load_model("digit-vit"), 1) is None  # an image has always the same size
    assert longest_recorded(wrap(scramble(DecoderLM(tiny(max_positions=7, positions="learned")))), 1) is None


def test_the_engine_refuses_what_would_not_fit():
    """One run takes half of the memory at most; without a limit by memory `max_tokens` counts."""
    engine = Engine("mini-gpt", memory_mb=2, max_tokens=1000)
    model = engine.load("mini-gpt")
    limit = engine.longest(model)
    assert limit == longest_recorded(model, 1 << 20) < model.max_tokens
    with pytest.raises(TooManyTokens, match=rf"\b{limit + 501}\b.*\b{limit}\b"):
        engine.trace("mini-gpt", " the" * (limit + 500))
    assert engine.store.passes == 0
    assert engine.trace("mini-gpt", " the" * (limit - 1)).nbytes <= 1 << 20
    assert Engine("mini-gpt", max_tokens=11).longest(model) == 11
    assert Engine("mini-gpt", memory_mb=2, max_tokens=13).longest(engine.load("digit-vit")) == 13
