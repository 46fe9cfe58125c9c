"""Maps that are not of weights between all tokens: scores on the way there, and long texts that come shrunk."""

from collections.abc import Callable

import numpy as np
import pytest

from viz.figures import attention_blocks, attention_heatmap, pool, pooled_attention, score_heatmap, theme
from viz.figures.heat_map import WEIGHTS, pooled_map, scores_of

Head = Callable[..., tuple[np.ndarray, np.ndarray]]
SCORES = np.array([[0.5, -4.25, 2.0], [120.0, -0.04, 3.0]])


def written(fig: object) -> list[str]:
    """The numbers in the cells, row by row."""
    inked = [np.array(trace.text) for trace in fig.data if trace.texttemplate]
    return ["".join(cell).strip() for cell in zip(*(text.ravel() for text in inked), strict=True)]


# --- scores ----------------------------------------------------------------------------------------------------------


def test_scores_are_signed_and_symmetric_about_zero() -> None:
    before = SCORES.copy()
    fig = score_heatmap(SCORES, "ab", "abc", selected=(1, 0))
    assert np.array_equal(fig.data[0].z, SCORES.astype(np.float32)) and np.array_equal(SCORES, before)
    assert (fig.data[0].zmin, fig.data[0].zmax) == (-120, 120)
    assert [colour for _, colour in fig.data[0].colorscale] == [colour for _, colour in theme.SIGNED]
    assert "score" in fig.data[0].hovertemplate and "weight" not in fig.data[0].hovertemplate
    assert fig.layout.meta["select"]["at"] == [0, 1]
    assert "分" in score_heatmap(SCORES, "ab", "abc", language="zh").data[0].hovertemplate


def test_scores_are_written_with_one_digit_and_a_true_minus() -> None:
    assert written(score_heatmap(SCORES, "ab", "abc")) == ["0.5", "−4.2", "2.0", "120", "−0.0", "3.0"]


def test_the_ink_follows_the_strength_not_the_sign() -> None:
    """The strongest of either sign lies on the darkest ground."""
    fig = score_heatmap(np.array([[-1.0, 0.0, 1.0]]), "a", "abc")
    inks = {
        str(text): trace.textfont.color
        for trace in fig.data
        if trace.texttemplate
        for text in trace.text[0]
        if text.strip()
    }
    assert inks["−1.0"] == inks["1.0"] != inks["0.0"]


def test_forbidden_scores_are_hatched_and_set_no_scale() -> None:
    """A masked score is −∞: no number of it is shown, and the others keep their colours."""
    allowed = np.tri(3).astype(bool)
    scores = np.where(allowed, np.arange(9.0).reshape(3, 3) - 4, -np.inf)
    fig = score_heatmap(scores, "abc", "abc", allowed=allowed)
    assert (fig.data[0].zmin, fig.data[0].zmax) == (-4, 4)
    assert np.array_equal(np.isnan(fig.data[0].z), ~allowed) and "∞" not in "".join(written(fig))
    assert [text for text in written(fig) if text] == ["−4.0", "−1.0", "0.0", "2.0", "3.0", "4.0"]


@pytest.mark.parametrize("scores", [np.zeros((2, 3)), np.full((2, 3), -np.inf)])
def test_without_any_score_there_still_is_a_scale(scores: np.ndarray) -> None:
    shades = scores_of(scores)
    assert (shades.low, shades.high) == (-1, 1) and not np.isnan(shades.strength(np.zeros(1))).any()
    assert score_heatmap(scores, "ab", "abc", allowed=np.isfinite(scores)).data[0].zmax == 1


def test_scores_of_a_window_and_of_a_long_text(head: Head) -> None:
    """The largest score of a block, negative as it may be; in a window every one."""
    _, allowed = head(271)
    scores = np.where(allowed, np.random.default_rng(5).normal(size=(271, 271)) - 9, -np.inf)
    tokens = ["w"] * 271
    fig = score_heatmap(scores, tokens, tokens, allowed=allowed, selected=(200, 7))
    expected, _, _ = pool(scores, fig.layout.meta["block"])
    assert np.array_equal(np.nan_to_num(fig.data[0].z, nan=-np.inf), expected.astype(np.float32))
    assert (np.nan_to_num(fig.data[0].z, nan=-1) < 0).all() and fig.data[0].zmax == np.abs(scores[allowed]).max()
    rows, columns = slice(200, 211), slice(3, 10)
    window = score_heatmap(scores, tokens, tokens, allowed=allowed, rows=rows, columns=columns)
    assert np.array_equal(window.data[0].z, scores[rows, columns].astype(np.float32))


# --- shrunk already --------------------------------------------------------------------------------------------------


def test_a_map_that_comes_shrunk_is_the_map_that_is_shrunk_here(head: Head) -> None:
    weights, allowed = head(271)
    tokens = [f"t{position}" for position in range(271)]
    block = attention_blocks(271)
    pooled, _, _ = pool(np.where(allowed, weights, -np.inf), block)
    pooled = np.where(np.isneginf(pooled), np.nan, pooled).astype(np.float32)
    before = pooled.copy()
    ours = pooled_attention(pooled, tokens, tokens, block=block, selected=(200, 7))
    assert ours == attention_heatmap(weights, tokens, tokens, allowed=allowed, selected=(200, 7))
    assert np.array_equal(pooled, before, equal_nan=True)
    assert ours.layout.meta["caption"] and "3 × 3" in ours.layout.meta["caption"]


def test_blocks_of_unequal_sides() -> None:
    """7 queries and 11 keys in blocks of 3: the last blocks are smaller, names and frame are those of the tokens."""
    pooled = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    pooled[0, 2:] = np.nan
    fig = pooled_attention(pooled, "abcdefg", "klmnopqrstu", block=3, selected=(6, 4))
    assert np.array_equal(fig.data[0].z, pooled, equal_nan=True) and (fig.data[0].x0, fig.data[0].dx) == (1, 3)
    assert list(fig.layout.yaxis.ticktext) == ["0–2 a … c", "3–5 d … f", "6–6 g … g"]
    assert fig.layout.xaxis.ticktext[-1] == "9–10 t … u"
    (frame,) = fig.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (2.5, 5.5, 5.5, 8.5)
    assert np.array_equal(fig.data[1].z == 1, np.isnan(pooled)), "forbidden blocks are hatched"


def test_blocks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3, 4\) blocks of 2 do not fit 7 queries and 11 keys"):
        pooled_map(np.ones((3, 4)), "abcdefg", "klmnopqrstu", WEIGHTS, block=2)


@pytest.mark.parametrize(("count", "block"), [(1, 1), (120, 1), (121, 2), (1024, 9), (4096, 35)])
def test_no_more_than_120_blocks_per_side(count: int, block: int) -> None:
    assert attention_blocks(count) == block and -(-count // block) <= 120
