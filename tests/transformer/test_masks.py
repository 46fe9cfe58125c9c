"""Masks: by hand, and the laws that hold for all of them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer import masks
from transformer.errors import ShapesDoNotFit


def drawn(*rows: str) -> torch.Tensor:
    """A mask as it is drawn: ■ may look, · may not."""
    return torch.tensor([[cell == "■" for cell in row] for row in rows])


def test_causal_is_the_lower_triangle():
    """`subsequent_mask(4)` of The Annotated Transformer."""
    assert torch.equal(masks.causal(4), drawn("■···", "■■··", "■■■·", "■■■■"))


def test_causal_queries_are_the_last_when_keys_are_cached():
    assert torch.equal(masks.causal(2, 5), drawn("■■■■·", "■■■■■"))


def test_sliding_window_counts_the_query_itself():
    assert torch.equal(masks.sliding_window(5, 3), drawn("■····", "■■···", "■■■··", "·■■■·", "··■■■"))
    assert torch.equal(masks.sliding_window(2, 2, 4), drawn("·■■·", "··■■"))


def test_prefix_is_seen_by_all():
    assert torch.equal(masks.prefix(4, 3), drawn("■■■·", "■■■·", "■■■·", "■■■■"))
    assert torch.equal(masks.prefix(3, 0), masks.causal(3))


def test_padding_is_one_row_for_every_query_and_head():
    allowed = masks.padding(torch.tensor([[0, 1, 1], [1, 1, 0]]))
    assert allowed.shape == (2, 1, 1, 3)
    assert allowed[:, 0, 0].tolist() == [[False, True, True], [True, True, False]]


def test_combined_allows_what_every_mask_allows():
    allowed = masks.combined(masks.causal(3), masks.padding(torch.tensor([[0, 1, 1], [1, 1, 1]])))
    assert allowed.shape == (2, 1, 3, 3)
    assert torch.equal(allowed[0, 0], drawn("···", "·■·", "·■■"))
    assert torch.equal(allowed[1, 0], masks.causal(3))


def test_what_is_no_boolean_mask_is_our_bug():
    with pytest.raises(AssertionError, match="boolean"):
        masks.combined(masks.causal(3).float(), masks.causal(3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: masks.causal(5, 3),
        lambda: masks.sliding_window(5, 0),
        lambda: masks.prefix(5, 7),
        lambda: masks.prefix(5, -1),
        lambda: masks.padding(torch.ones(5)),
    ],
)
def test_sizes_that_do_not_fit_are_refused(make):
    with pytest.raises(ShapesDoNotFit):
        make()


@given(n_keys=st.integers(1, 13), data=st.data())
def test_every_query_sees_itself_and_no_later_key(n_keys, data):
    n_queries = data.draw(st.integers(1, n_keys))
    width = data.draw(st.integers(1, 13))
    own = torch.arange(n_keys - n_queries, n_keys)
    for allowed, seen in (
        (masks.causal(n_queries, n_keys), own + 1),
        (masks.sliding_window(n_queries, width, n_keys), (own + 1).clamp(max=width)),
    ):
        assert allowed.shape == (n_queries, n_keys)
        assert allowed.dtype == torch.bool
        assert allowed[torch.arange(n_queries), own].all()
        assert not allowed.triu(n_keys - n_queries + 1).any()
        assert torch.equal(allowed.sum(-1), seen)


@given(n_tokens=st.integers(1, 13))
def test_a_window_as_wide_as_the_text_is_causal(n_tokens):
    assert torch.equal(masks.sliding_window(n_tokens, n_tokens), masks.causal(n_tokens))
    assert masks.prefix(n_tokens, n_tokens).all()
