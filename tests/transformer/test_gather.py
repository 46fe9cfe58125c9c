"""What comes out of a run: the largest logits and their log-sum-exp."""

import pytest
import torch

from transformer.gather import TOP, top_logits


@pytest.mark.parametrize("vocabulary", [3, 53, 6_401, 7_003])
def test_the_largest_logits_are_those_of_a_full_sort(vocabulary: int) -> None:
    """Small vocabularies are sorted whole, large ones by groups, with a remainder that fills no group."""
    logits = torch.randn(2, 17, vocabulary, generator=torch.Generator().manual_seed(vocabulary))
    logits[0, 3, -1] = 99.0  # in the remainder
    found, whole = top_logits(logits), logits.sort(dim=-1, descending=True)
    k = min(TOP, vocabulary)
    assert torch.equal(torch.tensor(found.values), whole.values[..., :k])
    assert torch.equal(logits.gather(-1, torch.tensor(found.ids)), whole.values[..., :k])  # equal logits: any order
    assert all(len(set(row)) == k for row in found.ids.reshape(-1, k).tolist())
    assert found.ids[0, 3, 0] == vocabulary - 1 and found.vocabulary == vocabulary


def test_log_sum_exp_is_over_the_whole_vocabulary() -> None:
    logits = 30 * torch.randn(1, 5, 6_401, generator=torch.Generator().manual_seed(5))
    found = torch.tensor(top_logits(logits).logsumexp)
    torch.testing.assert_close(found, torch.logsumexp(logits.double(), -1), atol=1e-6, rtol=0)


def test_half_precision_logits_are_read_as_float32() -> None:
    found = top_logits(torch.tensor([[[1.5, -2.0, 4.0]]], dtype=torch.bfloat16))
    assert found.values.tolist() == [[[4.0, 1.5, -2.0]]] and found.values.dtype.name == "float32"
