"""overview.py: every head's map, shrunk to blocks by their largest weight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transformer.families import SOURCES, TARGETS, family
from transformer import run
from transformer.overview import shrunken_maps


def test_one_cell_per_weight_by_hand():
    """255 · √weight, rounded; the first row of a causal map is (1, 0, 0, …)."""
    trace = run(family("gpt2").model, ids=SOURCES[0])
    maps = shrunken_maps(trace, 1)
    assert len(maps) == 3 and all(one.dtype == np.uint8 and one.shape == (7, 7, 7) for one in maps)
    assert maps[0][3, 0].tolist() == [255, 0, 0, 0, 0, 0, 0]
    for site, one in zip(trace.attention_sites(), maps, strict=True):
        np.testing.assert_array_equal(one, np.round(255 * np.sqrt(trace[f"{site}.weights"].astype(np.float64))))


@pytest.mark.parametrize("name", ["t5", "bloom"])
@given(block=st.integers(1, 9))
def test_a_block_shows_its_largest_weight(name, block):
    target = {"target_ids": TARGETS[0]} if name == "t5" else {}
    trace = run(family(name).model, ids=SOURCES[0], **target)
    maps = shrunken_maps(trace, block)
    assert len(maps) == len(trace.attention_sites())
    for site, one in zip(trace.attention_sites(), maps, strict=True):
        weights = trace[f"{site}.weights"]
        heads, rows, columns = weights.shape
        assert one.shape == (heads, -(-rows // block), -(-columns // block))
        for row in range(one.shape[1]):
            for column in range(one.shape[2]):
                piece = weights[:, row * block : (row + 1) * block, column * block : (column + 1) * block]
                largest = 255 * np.sqrt(piece.max((1, 2)).clip(0, 1))
                assert np.abs(one[:, row, column] - largest).max() <= 0.51
