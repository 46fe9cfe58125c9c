"""The cache: by hand, and that reading bit by bit gives what reading at once gives, for every kind of model."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.cache import KeyValueCache, LayerCache
from transformer.decoder_lm import DecoderLM
from transformer.encoder_decoder import EncoderDecoder
from transformer.errors import ShapesDoNotFit, TooManyTokens

IDS = torch.tensor([[5, 41, 5, 0, 52, 3, 17], [7, 7, 19, 3, 11, 2, 41]])
LEFT = torch.tensor([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]])
SOURCE = torch.tensor([[9, 4, 4, 31, 8], [6, 12, 50, 1, 1]])
SOURCE_REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
POSITIONS = ["sinusoidal", "learned", "rotary", "alibi", "none"]
RULES = {"plain": {}, "window": {"window": 3}, "prefix": {"prefix": 2}, "both": {"window": 2, "prefix": 1}}
CHUNKS = [(1,) * 7, (3, 1, 3), (2, 5), (6, 1)]


def bit_by_bit(model, chunks, mask=None, **more):
    """Logits of reading `IDS` in chunks; `model` is called as DecoderLM is."""
    cache, found = KeyValueCache(3), []
    for end, size in zip(torch.tensor(chunks).cumsum(0).tolist(), chunks, strict=True):
        seen = None if mask is None else mask[:, :end]
        found.append(model(IDS[:, end - size : end], attention_mask=seen, cache=cache, **more).logits)
        assert cache.length == end
    return torch.cat(found, dim=1)


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "left"])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_reading_bit_by_bit_is_reading_at_once(tiny, scramble, positions, norm, rules, padded):
    model = scramble(DecoderLM(tiny(positions=positions, norm=norm, **rules)))
    mask = LEFT if padded else None
    real = torch.ones_like(IDS).bool() if mask is None else mask.bool()
    at_once = model(IDS, mask).logits
    chunks = [one for one in CHUNKS if one[0] >= rules.get("prefix", 0) + 2 * padded] if rules.get("prefix") else CHUNKS
    assert chunks
    for sizes in chunks:
        torch.testing.assert_close(bit_by_bit(model, sizes, mask)[real], at_once[real], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_kv_heads": 1, "norm_kind": "rmsnorm", "positions": "rotary", "activation": "swiglu", "d_head": 6},
        {"embedding_norm": True, "scale_embeddings": True, "tied_embeddings": False},
    ],
)
@torch.no_grad()
def test_shared_heads_and_other_switches_too(tiny, scramble, changes):
    model = scramble(DecoderLM(tiny(**changes)))
    for sizes in CHUNKS:
        torch.testing.assert_close(bit_by_bit(model, sizes), model(IDS).logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_writing_bit_by_bit_is_writing_at_once(tiny, scramble, positions, norm, padded):
    """The target grows, and the source is read once: its keys and values are kept from the first call."""
    model = scramble(EncoderDecoder(tiny(positions=positions, norm=norm)))
    source_real, target_real = (SOURCE_REAL, LEFT) if padded else (None, None)
    real = torch.ones_like(IDS).bool() if target_real is None else target_real.bool()
    memory = model.encode(SOURCE, source_real)
    at_once = model.decode(IDS, memory, source_real, target_real).logits
    for sizes in CHUNKS:
        found = bit_by_bit(model.decode, sizes, target_real, memory=memory, memory_mask=source_real)
        torch.testing.assert_close(found[real], at_once[real], atol=1e-5, rtol=0)


@settings(max_examples=20)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda sizes: sum(sizes) <= 7))
def test_any_chunks(tiny, scramble, sizes):
    model = scramble(DecoderLM(tiny(positions="rotary", window=2)))
    with torch.no_grad():
        found = bit_by_bit(model, tuple(sizes))
        torch.testing.assert_close(found, model(IDS[:, : sum(sizes)]).logits, atol=1e-5, rtol=0)


@torch.no_grad()
def test_rows_that_go_on_take_their_keys_with_them(tiny, scramble):
    """Beam search: row 1 goes on twice, row 0 once and last."""
    rows = torch.tensor([1, 1, 0])
    model = scramble(EncoderDecoder(tiny()))
    memory, cache = model.encode(SOURCE, SOURCE_REAL), model.new_cache()
    model.decode(IDS[:, :4], memory, SOURCE_REAL, cache=cache)
    cache.take(rows)
    new = torch.tensor([[8], [9], [10]])
    found = model.decode(new, memory[rows], SOURCE_REAL[rows], cache=cache).logits[:, 0]
    whole = torch.cat((IDS[rows, :4], new), dim=1)
    wanted = model(SOURCE[rows], SOURCE_REAL[rows], whole).logits[:, -1]
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
    lone, lone_cache = scramble(DecoderLM(tiny())), KeyValueCache(3)
    lone(IDS[:, :4], cache=lone_cache)
    lone_cache.take(rows)
    torch.testing.assert_close(lone(new, cache=lone_cache).logits[:, 0], lone(whole).logits[:, -1], atol=1e-5, rtol=0)


def test_bytes_by_hand(tiny):
    """3 layers, a key and a value, 2 texts, 5 tokens, heads of 4 numbers, 4 bytes each; a source once, not per step."""
    shared, cache = DecoderLM(tiny(n_kv_heads=1)), KeyValueCache(3)
    assert (cache.nbytes, cache.length) == (0, 0)
    shared(IDS[:, :5], cache=cache)
    assert cache.nbytes == 3 * 2 * 2 * 1 * 5 * 4 * 4
    model = EncoderDecoder(tiny())
    memory, cache = model.encode(SOURCE), model.new_cache()
    for step in range(3):
        model.decode(IDS[:, step : step + 1], memory, cache=cache)
        assert cache.nbytes == 3 * 2 * 2 * 7 * 4 * 4 * (step + 1 + 5)
        assert cache.length == step + 1


def test_a_layers_cache_by_hand():
    cache, one = LayerCache(), torch.arange(6.0).view(2, 1, 3, 1)
    assert not cache.filled and cache.length == 0
    cache.take(torch.tensor([0]))  # nothing to take from
    key, value = cache.extended(one, -one)
    assert torch.equal(key, one) and torch.equal(value, -one) and cache.length == 3
    key, value = cache.extended(one[:, :, :1], one[:, :, :1])
    assert key[:, 0, :, 0].tolist() == [[0, 1, 2, 0], [3, 4, 5, 3]] and cache.length == 4
    assert value[1, 0, :, 0].tolist() == [-3, -4, -5, 3]
    cache.take(torch.tensor([1]))
    assert cache.kept()[0].flatten().tolist() == [3, 4, 5, 3]


def test_what_does_not_fit_is_refused(tiny):
    model, cache = DecoderLM(tiny()), KeyValueCache(3)
    model(IDS, cache=cache)
    with pytest.raises(ShapesDoNotFit) as caught:
        model(IDS[:, :1], attention_mask=LEFT, cache=cache)  # the mask has to cover the new token too
    assert caught.value.values["expected"] == (2, 8)
    with pytest.raises(TooManyTokens) as caught:
        model(IDS[:, :5], cache=cache)
    assert caught.value.values["got"] == 12
    prefixed, cache = DecoderLM(tiny(prefix=3)), KeyValueCache(3)
    prefixed(IDS[:, :2], cache=cache)
    with pytest.raises(ShapesDoNotFit) as caught:
        prefixed(IDS[:, 2:3], cache=cache)
    assert caught.value.values["what"] == "cache"
