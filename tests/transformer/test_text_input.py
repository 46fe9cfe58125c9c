"""What a text model is called with: counted by hand, and refused by name where no table has it."""

import pytest
import torch

from transformer.errors import ShapesDoNotFit, TooManyTokens, UnknownToken
from transformer.text_input import check_ids, check_segments, count_positions

IDS = torch.tensor([[5, 41, 5], [7, 7, 19]])


def test_positions_go_on_after_what_was_read():
    assert count_positions(IDS, None, 2).tolist() == [[0, 1, 2, 3, 4]] * 2
    mask = torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    assert count_positions(IDS, mask, 2).tolist() == [[0, 0, 1, 2, 3], [0, 1, 2, 3, 3]]
    assert torch.equal(count_positions(IDS, mask.float(), 2), count_positions(IDS, mask.bool(), 2))
    with pytest.raises(ShapesDoNotFit) as caught:
        count_positions(IDS, mask)
    assert (caught.value.values["expected"], caught.value.values["got"]) == ((2, 3), (2, 5))


def test_the_last_id_and_the_last_position_are_still_there(tiny):
    check_ids(tiny(), torch.tensor([[0, 52]]), torch.tensor([[0, 10]]), "model")
    with pytest.raises(UnknownToken):
        check_ids(tiny(), torch.tensor([[0, 53]]), torch.tensor([[0, 10]]), "model")
    with pytest.raises(TooManyTokens):
        check_ids(tiny(), torch.tensor([[0, 52]]), torch.tensor([[0, 11]]), "model")


@pytest.mark.parametrize(
    ("n_segments", "segments", "expected", "got"),
    [
        (2, torch.full_like(IDS, 2), "0 … 1", 2),
        (2, torch.full_like(IDS, -1), "0 … 1", -1),
        (0, torch.ones_like(IDS), "0 … 0", 1),
        (2, torch.zeros(2, 4).long(), (2, 3), (2, 4)),
    ],
)
def test_a_text_of_a_pair_that_the_model_does_not_know_is_refused(tiny, n_segments, segments, expected, got):
    with pytest.raises(ShapesDoNotFit) as caught:
        check_segments(tiny(n_segments=n_segments), IDS, segments)
    assert caught.value.values == {"what": "token_type_ids", "expected": expected, "got": got}
    for fine in (None, torch.zeros_like(IDS)):
        check_segments(tiny(n_segments=n_segments), IDS, fine)
