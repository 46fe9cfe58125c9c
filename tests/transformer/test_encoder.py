"""Encoder: everybody sees everybody, order counts only through positions, padding changes nothing."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer.encoder import Encoder
from transformer.errors import ShapesDoNotFit, TooManyTokens, UnknownToken

IDS = torch.tensor([[5, 41, 5, 0, 52], [7, 7, 19, 3, 11]])
POSITIONS = ["sinusoidal", "learned", "rotary", "alibi"]


@pytest.mark.parametrize("norm", ["pre", "post"])
@settings(max_examples=10)
@given(order=st.permutations(range(5)))
def test_without_positions_a_text_is_a_set(tiny, scramble, norm, order):
    model = scramble(Encoder(tiny(positions="none", norm=norm)))
    with torch.no_grad():
        out, moved = model(IDS).last_hidden_state, model(IDS[:, order]).last_hidden_state
    torch.testing.assert_close(moved, out[:, order], atol=1e-5, rtol=0)


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_with_positions_you_like_me_is_not_me_like_you(tiny, scramble, positions):
    model = scramble(Encoder(tiny(positions=positions)))
    order = [2, 1, 3, 4, 0]
    out, moved = model(IDS).last_hidden_state, model(IDS[:, order]).last_hidden_state
    assert (moved - out[:, order]).abs().max() > 1e-3


@pytest.mark.parametrize("positions", [*POSITIONS, "none"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@settings(max_examples=10)
@given(left=st.integers(0, 3), right=st.integers(0, 3), pad_id=st.integers(0, 52))
def test_padding_on_either_side_changes_nothing(tiny, scramble, positions, norm, left, right, pad_id):
    model = scramble(Encoder(tiny(positions=positions, norm=norm)))
    padded = nn.functional.pad(IDS, (left, right), value=pad_id)
    mask = nn.functional.pad(torch.ones_like(IDS), (left, right))
    with torch.no_grad():
        whole, out = model(IDS).last_hidden_state, model(padded, mask).last_hidden_state
    torch.testing.assert_close(out[:, left : left + 5], whole, atol=1e-5, rtol=1e-6)


@torch.no_grad()
def test_every_token_has_a_say_in_every_other_one(tiny, scramble):
    model = scramble(Encoder(tiny(n_layers=1)))
    before = model(IDS).last_hidden_state
    for place in range(5):
        changed = IDS.clone()
        changed[:, place] = 17
        assert ((model(changed).last_hidden_state - before).abs().amax(-1) > 1e-5).all()


@torch.no_grad()
def test_a_final_norm_only_where_the_last_block_has_none(tiny, scramble):
    pre, post = scramble(Encoder(tiny())), scramble(Encoder(tiny(norm="post")))
    seen = []
    pre.blocks[2].register_forward_hook(lambda _module, _args, out: seen.append(out))
    out = pre(IDS).last_hidden_state
    assert torch.equal(out, pre.norm(seen[0]))
    assert post.norm is None


def test_texts_of_a_pair_can_be_told_apart(tiny, scramble):
    model = scramble(Encoder(tiny(n_segments=2)))
    one, two = torch.zeros_like(IDS), torch.ones_like(IDS)
    assert torch.equal(model(IDS).last_hidden_state, model(IDS, token_type_ids=one).last_hidden_state)
    assert (model(IDS, token_type_ids=two).last_hidden_state - model(IDS).last_hidden_state).abs().max() > 0.01


@pytest.mark.parametrize(
    ("error", "values", "changed"),
    [
        (TooManyTokens, {"got": 13, "limit": 11, "model": "Encoder"}, {"input_ids": torch.ones(2, 13).long()}),
        (UnknownToken, {"token": 53, "last": 52}, {"input_ids": IDS + 1}),
        (ShapesDoNotFit, {"what": "attention_mask"}, {"attention_mask": torch.ones(2, 4)}),
        (ShapesDoNotFit, {"what": "token_type_ids", "got": 1}, {"token_type_ids": torch.ones_like(IDS)}),
        (ShapesDoNotFit, {"what": "position_ids"}, {"position_ids": torch.arange(5)}),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tiny, error, values, changed):
    with pytest.raises(error) as caught:
        Encoder(tiny())(**{"input_ids": IDS} | changed)
    assert values.items() <= caught.value.values.items()
