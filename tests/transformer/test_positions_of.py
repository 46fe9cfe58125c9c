"""positions_of.py: both ways in which models count positions beside padding."""

from tests.transformer.families import family
from transformer import run
from transformer.positions_of import countings, real_tokens


def test_without_padding_there_is_one_way_to_count() -> None:
    trace = run(family("gpt2").model, ids=[5, 7, 9])
    assert [one.tolist() for one in countings(trace, "decoder")] == [[0, 1, 2]]
    assert real_tokens(trace, "decoder").tolist() == [True] * 3


def test_beside_padding_there_are_two() -> None:
    trace = run(family("gpt2").model, ids=[0, 0, 5, 7, 9], attention_mask=[0, 0, 1, 1, 1])
    assert [one.tolist() for one in countings(trace, "decoder")] == [[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]]
    assert real_tokens(trace, "decoder").tolist() == [False, False, True, True, True]
