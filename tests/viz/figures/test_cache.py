"""The cache as a grid: each state in its own trace, bytes and formula as given, no formula that does not hold."""

from types import SimpleNamespace

import numpy as np
import pytest

from transformer.cache_state import Cell
from viz.figures import cache_grid
from viz.figures.axes import escape
from viz.figures.cache import CACHED, GONE, NEW, RECOMPUTED

CELLS = np.array([[1, 1, 1, 1, 2], [0, 0, 1, 1, 2], [1, 1, 1, 1, 2]])
FORMULA = SimpleNamespace(layers=3, kv_heads=7, d_head=4, tokens=5, number=4, nbytes=3360)


def test_the_states_are_those_of_the_cache() -> None:
    assert (GONE, CACHED, NEW, RECOMPUTED) == (Cell.GONE, Cell.CACHED, Cell.NEW, Cell.RECOMPUTED)


def test_every_cell_is_drawn_once_in_its_state(hostile: tuple[str, ...]) -> None:
    before = CELLS.copy()
    fig = cache_grid(CELLS, hostile[:5], nbytes=3360)
    drawn = [np.isfinite(trace.z.astype(float)) for trace in fig.data[:4]]
    for state, mine in enumerate(drawn):
        assert np.array_equal(mine, state == CELLS)
    assert np.array_equal(sum(mine.astype(int) for mine in drawn), np.ones(CELLS.shape))
    assert list(fig.layout.xaxis.ticktext) == [escape(token) for token in hostile[:5]]
    assert np.array_equal(CELLS, before)


def test_what_was_computed_again_is_hatched() -> None:
    fig = cache_grid(np.array([[3, 3, 3, 2]] * 5), list("abcd"), nbytes=0, why="asked")
    (hatch,) = [trace for trace in fig.data if trace.type == "scatter"]
    assert (min(hatch.x), max(hatch.x), min(hatch.y), max(hatch.y)) == (-0.5, 2.5, -0.5, 4.5)
    assert hatch.fillpattern.shape == "/"
    caption = fig.layout.meta["caption"]
    assert "computed again" in caption and "as asked" in caption and "bytes" not in caption
    assert not [trace for trace in cache_grid(CELLS, list("abcde"), nbytes=1).data if trace.type == "scatter"]


@pytest.mark.parametrize("why", ["asked", "family", "same_ids", "prefix"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_says_why_nothing_is_kept(why: str, language: str) -> None:
    fig = cache_grid(np.array([[3, 2]]), ["a", "b"], nbytes=0, why=why, language=language)
    assert fig.layout.meta["caption"].count("\n") == 2


def test_bytes_and_the_formula() -> None:
    same = cache_grid(CELLS, list("abcde"), nbytes=3360, formula=FORMULA).layout.meta["caption"]
    assert "3,360 bytes, measured" in same and "= 2 · 3 layers · 7 heads · 4 numbers\n· 5 tokens · 4 bytes" in same
    less = cache_grid(CELLS, list("abcde"), nbytes=2240, formula=FORMULA).layout.meta["caption"]
    assert "2,240 bytes, measured" in less and "The formula gives 3,360 bytes" in less
    assert "formula" not in cache_grid(CELLS, list("abcde"), nbytes=2240).layout.meta["caption"]


def test_the_legend_names_only_what_is_there() -> None:
    legend = cache_grid(np.full((3, 2), 2), ["a", "b"], nbytes=1).layout.meta["caption"].split("\n")[0]
    assert legend == "■ computed now"
    assert "let go" in cache_grid(CELLS, list("abcde"), nbytes=1).layout.annotations[0].text


@pytest.mark.parametrize("cells", [np.ones((3, 4)), np.ones(5), np.ones((0, 5))], ids=str)
def test_what_does_not_fit_is_refused(cells: np.ndarray) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        cache_grid(cells, list("abcde"), nbytes=0)
