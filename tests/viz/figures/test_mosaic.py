"""The mosaic: every head in its own place, one trace, and a payload that a page can carry."""

from collections.abc import Callable

import numpy as np
import pytest

from viz.figures import attention_mosaic, mosaic_block, mosaic_cell
from viz.figures.mosaic import MOST_BYTES

Head = Callable[..., tuple[np.ndarray, np.ndarray]]


def test_each_head_stands_where_a_click_finds_it(head: Head) -> None:
    weights = head(5, 11, 3, 7)[0]
    before = weights.copy()
    fig = attention_mosaic(weights)
    assert len(fig.data) == 1 and fig.data[0].z.dtype == np.uint8 and np.array_equal(weights, before)
    trace = fig.data[0]
    seen = np.zeros((3, 7, 5, 11))
    counts = np.zeros((3, 7), int)
    for row, column in np.argwhere(trace.z > 0):
        cell = mosaic_cell(trace.x0 + column * trace.dx, trace.y0 + row * trace.dy, [7, 7, 7])
        assert cell is not None
        query, key = divmod(counts[cell], 11)
        seen[(*cell, query, key)] = ((trace.z[row, column] - 1) / 254) ** 2
        counts[cell] += 1
    assert (counts == 55).all(), "gaps are 0 and every weight is at least 1"
    assert np.abs(seen - weights).max() < 0.005


def test_clicks_beside_the_maps_find_nothing() -> None:
    assert mosaic_cell(6.4, 1.6) == (2, 6) and mosaic_cell(-0.49, -0.49) == (0, 0)
    assert mosaic_cell(6.0, 1.0, [7, 3]) is None and mosaic_cell(2.4, 1.0, [7, 3]) == (1, 2)
    assert mosaic_cell(0.0, 2.0, [7, 3]) is None and mosaic_cell(-0.6, 0.0, [7, 3]) is None


def test_layers_may_differ_in_heads(head: Head) -> None:
    layers = [head(5, 5, 7)[0], head(5, 5, 3)[0]]
    fig = attention_mosaic(layers, selected=(1, 2), layers=["<enc>", "dec"])
    assert fig.layout.meta["select"]["count"] == [7, 2] and fig.layout.meta["select"]["at"] == [2, 1]
    assert fig.layout.yaxis.ticktext[0] == "&lt;enc&gt;" and "dec" in fig.layout.yaxis.ticktext[1]
    assert not fig.data[0].z[6:, 18:].any(), "where there is no head there is nothing"
    (frame,) = fig.layout.shapes
    assert (frame.x0, frame.y0) == (1.5, 0.5)


def test_270_heads_at_64_tokens_are_light_and_say_how(head: Head) -> None:
    fig = attention_mosaic(head(64, 64, 30, 9)[0], selected=(13, 8))
    assert len(fig.to_json()) <= 300_000
    assert "4 × 4" in fig.layout.meta["caption"] and "square-root" in fig.layout.meta["caption"]


def test_the_root_comes_after_pooling_and_bytes_pass_through() -> None:
    weights = np.zeros((1, 1, 64, 64), np.float32)
    weights[0, 0, 5, 7] = 0.25
    assert attention_mosaic(weights).data[0].z.max() == 128
    roots = (np.sqrt(weights) * 255).astype(np.uint8)
    assert attention_mosaic(roots).data[0].z.max() == 127


@pytest.mark.parametrize(("heads", "tokens"), [(270, 1024), (1024, 64), (144, 7), (1, 1), (4000, 512)])
def test_blocks_keep_the_mosaic_small(heads: int, tokens: int) -> None:
    block = mosaic_block(heads, tokens, tokens)
    cells = -(-tokens // block)
    assert cells <= 32 and (heads * (cells + 1) ** 2 <= MOST_BYTES)
    assert block == 1 or heads * (-(-tokens // (block - 1)) + 1) ** 2 > MOST_BYTES or -(-tokens // (block - 1)) > 32


def test_what_has_no_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="expected"):
        attention_mosaic(np.ones((3, 5, 5)))
