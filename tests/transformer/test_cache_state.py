"""What is kept of a text: cells by hand, bytes measured and by the formula, for our classes and for other families."""

import numpy as np
import pytest
import torch

from tests.transformer.families import build, family
from transformer.cache_state import CacheFormula, CacheState, Cell, HeadSizes, Work, nbytes
from transformer.decoder_lm import DecoderLM
from transformer.encoder_decoder import EncoderDecoder
from transformer.next_pass import Reader, reader_of
from transformer.wrapped import wrap

IDS = [5, 7, 9, 7, 3, 11]


def read_twice(reader: Reader, ids: list[int] = IDS) -> CacheState:
    """After a pass of all but the last token, and one of the last."""
    reader(torch.tensor([ids[:-1]]))
    reader(torch.tensor([ids]))
    return reader.state()


def test_cells_by_hand() -> None:
    state = CacheState(tokens=5, earlier=3, why="", kept=(5, 2), nbytes=0, formula=None)
    gone, cached, new = Cell.GONE, Cell.CACHED, Cell.NEW
    assert state.cells().tolist() == [[cached, cached, cached, new, new], [gone, gone, gone, new, new]]
    assert (state.cached, state.before, state.new) == (True, 3, 2)


def test_cells_without_a_cache() -> None:
    state = CacheState(tokens=4, earlier=3, why="asked", kept=(0, 0), nbytes=0, formula=None)
    assert state.cells().tolist() == [[Cell.RECOMPUTED] * 3 + [Cell.NEW]] * 2
    assert (state.cached, state.before, state.new) == (False, 0, 4)


def test_the_first_pass_finds_all_new(tiny) -> None:
    reader = reader_of(wrap(DecoderLM(tiny())))
    reader(torch.tensor([IDS]))
    assert np.array_equal(reader.state().cells(), np.full((3, 6), Cell.NEW))


def test_formula_by_hand() -> None:
    assert CacheFormula(layers=30, kv_heads=3, d_head=64, tokens=34).nbytes == 1_566_720  # SmolLM2-135M
    kept = [(torch.zeros(1, 2, 5, 4), torch.zeros(1, 2, 5, 4))] * 3
    assert nbytes(kept) == CacheFormula(3, 2, 4, 5).nbytes == 960


def test_work_with_and_without_a_cache_by_hand() -> None:
    """Three passes of 4, 5 and 6 tokens through 3 layers."""
    kept = [CacheState(4 + n, (0, 4, 5)[n], "", (4 + n,) * 3, 0, None) for n in range(3)]
    assert Work.of(kept) == Work(3, 3, 18, 18, 18, 45)
    again = [CacheState(4 + n, (0, 4, 5)[n], "asked", (0,) * 3, 0, None) for n in range(3)]
    assert Work.of(again) == Work(18, 3, 18, 45, 18, 45)
    assert not kept[0].windowed and kept[0].layers == 3
    assert CacheState(4, 0, "", (4, 3), 0, None).windowed and not again[0].windowed


@pytest.mark.parametrize("shape", [{}, {"n_kv_heads": 1}, {"d_head": 6, "positions": "rotary"}], ids=str)
def test_our_decoder_takes_what_the_formula_says(tiny, shape) -> None:
    state = read_twice(reader_of(wrap(DecoderLM(tiny(**shape)))))
    config = tiny(**shape)
    assert state.formula == CacheFormula(3, config.kv_heads, config.head_size, 6)
    assert state.nbytes == state.formula.nbytes > 0 and state.kept == (6, 6, 6) and state.source_nbytes == 0


def test_our_encoder_decoder_keeps_the_source_too(tiny) -> None:
    state = read_twice(reader_of(wrap(EncoderDecoder(tiny())), [4, 6, 8, 6]))
    assert state.nbytes == state.formula.nbytes == 2 * 3 * 28 * 6 * 4
    assert state.source_nbytes == state.source_formula.nbytes == 2 * 3 * 28 * 4 * 4


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3", "gptj", "gpt_bigcode", "t5", "bart"])
def test_other_families_take_what_the_formula_says(name) -> None:
    """The heads are read off the model's own pass, the bytes off its cache."""
    model = family(name).model
    state = read_twice(reader_of(model, [4, 6, 8, 6] if model.encoder_decoder else None))
    assert state.cached and state.formula is not None
    assert state.nbytes == state.formula.nbytes and set(state.kept) == {6} and len(state.kept) == state.formula.layers
    if model.encoder_decoder:
        assert state.source_nbytes == state.source_formula.nbytes > 0 and state.source_formula.tokens == 4


def test_a_sliding_window_lets_tokens_go() -> None:
    state = read_twice(reader_of(family("gemma2").model))  # window 4 in layer 0, none in layer 1
    assert state.kept == (3, 6) and state.nbytes == state.formula.nbytes * 9 // 12
    assert state.cells()[0].tolist() == [Cell.GONE] * 3 + [Cell.CACHED] * 2 + [Cell.NEW]


def test_half_the_bytes_in_half_precision(tiny) -> None:
    model = wrap(DecoderLM(tiny(positions="learned")).bfloat16())
    state = read_twice(reader_of(model))
    assert state.formula.number == 2 and state.nbytes == state.formula.nbytes == 2 * 3 * 28 * 6 * 2


def test_sizes_are_unknown_where_attention_is_hidden() -> None:
    sizes = HeadSizes.of(family("bloom").model)
    assert sizes == HeadSizes(2, None, None) and sizes.formula(5, 4) is None


def test_layers_of_unlike_heads_have_no_single_formula() -> None:
    model = wrap(build("gpt2"))
    stack = model.structure.stack("decoder")
    stack.blocks[1][1].label_values["kv_heads"] = 3
    assert HeadSizes.of(model) == HeadSizes(3, None, None)
