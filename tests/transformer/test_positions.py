"""Positions: the source documents' numbers (the right ones, and the wrong ones named as wrong), parity and laws."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from transformer import masks
from transformer.errors import ShapesDoNotFit
from transformer.positions import (
    Alibi,
    LearnedPositions,
    Rotary,
    SinusoidalPositions,
    added_positions,
    alibi_slopes,
    sinusoidal_table,
)
from transformer.text_input import count_positions

I_LIKE_TO_CODE = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5], [0.3, 0.4, 0.5, 0.6], [0.4, 0.5, 0.6, 0.7]])


def test_table_with_base_100_by_hand():
    by_hand = [
        [0.0, 1.0, 0.0, 1.0],
        [0.84147098, 0.54030231, 0.09983342, 0.99500417],
        [0.90929743, -0.41614684, 0.19866933, 0.98006658],
        [0.14112001, -0.9899925, 0.29552021, 0.95533649],
    ]
    torch.testing.assert_close(sinusoidal_table(4, 4, base=100), torch.tensor(by_hand), atol=1e-7, rtol=0)


def test_i_like_to_code_by_hand():
    by_hand = [
        [0.1, 1.2, 0.3, 1.4],
        [1.0415, 0.8403, 0.41, 1.5],
        [1.2093, -0.0161, 0.52, 1.5998],
        [0.5411, -0.49, 0.63, 1.6996],
    ]
    torch.testing.assert_close(I_LIKE_TO_CODE + sinusoidal_table(4, 4), torch.tensor(by_hand), atol=6e-5, rtol=0)


def test_i_like_to_code_as_two_tutorials_print_it_is_wrong():
    wrong = torch.tensor(
        [[0.1, 1.2, 0.3, 1.4], [1.041, 0.84, 0.41, 1.49], [1.209, -0.016, 0.52, 1.59], [0.541, -0.489, 0.895, 1.655]]
    )
    error = (I_LIKE_TO_CODE + sinusoidal_table(4, 4) - wrong).abs()
    cut_to_three_digits = 0.0011  # the largest error of the cells that are right
    assert (error > cut_to_three_digits).nonzero().tolist() == [[1, 3], [2, 3], [3, 2], [3, 3]]
    # The last row's two numbers, 0.895 and 1.655, are those of base 100, in a table that says 10000.
    with_base_100 = I_LIKE_TO_CODE + sinusoidal_table(4, 4, base=100)
    torch.testing.assert_close(with_base_100[3, 2:], wrong[3, 2:], atol=1e-3, rtol=0)


def test_even_dimensions_are_sines_and_odd_ones_cosines():
    at_zero = sinusoidal_table(1, 28)[0]
    assert at_zero[0::2].tolist() == [0.0] * 14
    assert at_zero[1::2].tolist() == [1.0] * 14


def test_odd_width_is_refused():
    with pytest.raises(ShapesDoNotFit):
        sinusoidal_table(4, 5)
    with pytest.raises(ShapesDoNotFit):
        Rotary(5)


@given(position=st.integers(0, 500), step=st.integers(0, 500))
def test_moving_on_turns_every_pair_by_the_same_angle_wherever_one_is(position, step):
    """Vaswani et al. 2017, 3.5: PE(position + step) is a linear function of PE(position)."""
    table = sinusoidal_table(1001, 28).double().unflatten(1, (14, 2))  # (position, pair, sine and cosine)
    angle = step / 10000 ** (torch.arange(0, 28, 2, dtype=torch.float64) / 28)
    sine, cosine = table[position].unbind(-1)
    turned = torch.stack((sine * angle.cos() + cosine * angle.sin(), cosine * angle.cos() - sine * angle.sin()), -1)
    torch.testing.assert_close(turned, table[position + step], atol=1e-6, rtol=0)


def test_added_positions_follow_the_position_ids():
    position_ids = torch.tensor([[0, 0, 1, 2, 3], [4, 3, 2, 1, 0]])
    fixed, learned = SinusoidalPositions(11, 28), LearnedPositions(11, 28)
    assert torch.equal(fixed(position_ids)[1, 0], sinusoidal_table(11, 28)[4])
    assert torch.equal(learned(position_ids)[1, 0], learned.weight[4])
    assert fixed(position_ids).shape == learned(position_ids).shape == (2, 5, 28)


def test_only_learned_positions_have_something_to_learn_or_to_save():
    for fixed in (SinusoidalPositions(11, 28), Rotary(4)):
        assert not list(fixed.parameters())
        assert not fixed.state_dict()
    assert [tuple(p.shape) for p in LearnedPositions(11, 28).parameters()] == [(11, 28)]


def test_rotary_by_hand_is_a_turn_by_the_position():
    right = torch.tensor([1.0, 0.0]).expand(1, 1, 3, 2)
    query, key = Rotary(2)(torch.tensor([[0, 1, 2]]))(right, right)
    by_hand = torch.tensor([[1.0, 0.0], [0.54030231, 0.84147098], [-0.41614684, 0.90929743]])
    torch.testing.assert_close(query[0, 0], by_hand, atol=1e-6, rtol=0)
    assert torch.equal(query, key)


def test_rotary_pairs_the_halves_and_not_the_neighbours():
    first = torch.tensor([1.0, 0.0, 0.0, 0.0]).view(1, 1, 1, 4)
    turned = Rotary(4)(torch.tensor([[1]])).turn(first).flatten()
    assert turned[1] == 0.0
    assert turned[2] == pytest.approx(0.84147098)


@pytest.mark.parametrize("base", [10000.0, 500.0])
def test_rotary_is_llamas_to_the_last_bit(base):
    config = LlamaConfig(
        hidden_size=28, num_attention_heads=7, rope_parameters={"rope_type": "default", "rope_theta": base}
    )
    generator = torch.Generator().manual_seed(3)
    query, key = torch.randn(2, 7, 5, 4, generator=generator), torch.randn(2, 1, 5, 4, generator=generator)
    position_ids = torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 7, 900]])
    theirs = apply_rotary_pos_emb(query, key, *LlamaRotaryEmbedding(config)(query, position_ids))
    ours = Rotary(4, base)(position_ids)(query, key)
    assert torch.equal(ours[0], theirs[0])
    assert torch.equal(ours[1], theirs[1])


@given(st.integers(0, 97), st.integers(0, 97), st.integers(0, 97))
def test_rotary_keeps_lengths_and_its_scores_see_only_the_distance(query_at, key_at, shift):
    generator = torch.Generator().manual_seed(5)
    query, key = torch.randn(2, 1, 7, 1, 6, generator=generator)
    rotary = Rotary(6)

    def score(shift: int) -> torch.Tensor:
        turned_query = rotary(torch.tensor([[query_at + shift]])).turn(query)
        turned_key = rotary(torch.tensor([[key_at + shift]])).turn(key)
        torch.testing.assert_close(turned_query.norm(dim=-1), query.norm(dim=-1), atol=1e-5, rtol=0)
        return (turned_query * turned_key).sum(-1)

    torch.testing.assert_close(score(0), score(shift), atol=2e-4, rtol=0)


# --- ALiBi -----------------------------------------------------------------------------------------------------------


def test_alibi_slopes_by_hand():
    """Eight heads halve from 1/2 to 1/256; six take the four of four heads, then every second one of eight."""
    assert alibi_slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert alibi_slopes(6) == [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]
    assert alibi_slopes(1) == [1 / 256]
    assert alibi_slopes(2) == [1 / 16, 1 / 256]


def test_alibi_bias_by_hand():
    """Two heads, three tokens: minus the slope for every step away, in either direction."""
    bias = Alibi(2)(torch.tensor([[0, 1, 2]]), torch.tensor([[0, 1, 2]]))
    assert (16 * bias[0, 0]).tolist() == [[0, -1, -2], [-1, 0, -1], [-2, -1, 0]]
    assert (256 * bias[0, 1]).tolist() == [[0, -1, -2], [-1, 0, -1], [-2, -1, 0]]


@pytest.mark.parametrize("n_heads", [1, 2, 5, 6, 7, 8, 12, 16])
@pytest.mark.parametrize("mask", [[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 0, 0]], ids=["whole", "left", "right"])
def test_alibi_is_blooms_but_for_a_constant_in_every_row(n_heads, mask):
    """BLOOM adds slope · key position; ours also takes slope · query position off, which a row's softmax never sees."""
    real = torch.tensor([mask])
    places = count_positions(torch.ones(1, 5).long(), real)
    ours = Alibi(n_heads)(places, places)[0]  # (head, query, key)
    theirs = build_alibi_tensor(real, n_heads, torch.float32)  # (head, 1, key)
    for query in real[0].nonzero().flatten().tolist():
        may = (real[0] == 1) & masks.causal(5)[query]
        differences = (ours - theirs)[:, query, may]  # (head, key)
        wanted = -torch.tensor(alibi_slopes(n_heads)) * places[0, query]
        torch.testing.assert_close(differences, wanted[:, None].expand_as(differences), atol=1e-6, rtol=0)


@given(shift=st.integers(0, 50), n_heads=st.integers(1, 20))
def test_alibi_sees_only_the_distance(shift, n_heads):
    places, alibi = torch.arange(5)[None], Alibi(n_heads)
    assert torch.equal(alibi(places, places), alibi(places + shift, places + shift))
    assert torch.equal(alibi(places[:, 3:], places), alibi(places, places)[:, :, 3:])


def test_which_positions_are_added(tiny):
    kinds = ("sinusoidal", "learned", "rotary", "alibi", "none")
    assert {kind: type(added_positions(tiny(positions=kind))) for kind in kinds} == {
        "sinusoidal": SinusoidalPositions, "learned": LearnedPositions,
        "rotary": type(None), "alibi": type(None), "none": type(None),
    }  # fmt: skip
    assert not list(Alibi(7).parameters()) and not Alibi(7).state_dict()
