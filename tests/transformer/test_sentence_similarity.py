"""Two texts: the mean of all real tokens, as sentence-transformers takes it, and the cosine of two means."""

import numpy as np
import pytest
import torch

from tests.transformer import tiny_hugging_face
from transformer import load_model
from transformer.errors import NoSuchSite
from transformer.runner import run
from transformer.sentence_similarity import sentence_vector, similarity, token_cosines, token_pair, token_vectors
from transformer.wrapped import wrap


@pytest.fixture(scope="module")
def bert() -> torch.nn.Module:
    torch.manual_seed(3)
    return tiny_hugging_face.bert().eval()


def test_the_mean_over_the_mask_is_that_of_torch(bert: torch.nn.Module) -> None:
    ids, mask = [[5, 7, 5, 11, 3], [4, 6, 0, 0, 0]], [[1] * 5, [1, 1, 0, 0, 0]]
    with torch.no_grad():
        hidden = bert(torch.tensor(ids), attention_mask=torch.tensor(mask)).last_hidden_state
    real = torch.tensor(mask)[:, :, None].float()
    mean = (hidden * real).sum(1) / real.sum(1)
    theirs = torch.nn.functional.normalize(mean, dim=-1).numpy()
    traces = run(wrap(bert), ids=ids, attention_mask=mask)
    for trace, vector in zip(traces, theirs, strict=True):
        np.testing.assert_allclose(sentence_vector(trace), vector, atol=1e-6)
    assert similarity(*traces) == pytest.approx(float(theirs[0] @ theirs[1]), abs=1e-6)
    assert [len(token_vectors(trace)) for trace in traces] == [5, 2]


def test_laws(bert: torch.nn.Module) -> None:
    one, other = (run(wrap(bert), ids=ids) for ids in ([5, 7, 5], [11, 3]))
    assert similarity(one, one) == pytest.approx(1) and similarity(one, other) == pytest.approx(similarity(other, one))
    cosines = token_cosines(one, other)
    assert cosines.shape == (3, 2) and np.abs(cosines).max() <= 1 + 1e-12
    np.testing.assert_allclose(np.diag(token_cosines(one, one)), 1)
    unit = token_pair(one, other, 2, 1)
    assert float(unit[0] @ unit[1]) == pytest.approx(cosines[2, 1])
    u, v = token_vectors(one)[2], token_vectors(other)[1]
    assert cosines[2, 1] == pytest.approx(u @ v / np.sqrt((u @ u) * (v @ v)))


def test_two_widths_have_no_cosine(bert: torch.nn.Module) -> None:
    wide = tiny_hugging_face.bert(hidden_size=42, num_attention_heads=6).eval()
    with pytest.raises(NoSuchSite):
        similarity(run(wrap(bert), ids=[5]), run(wrap(wide), ids=[5]))


def test_minilm_finds_the_reworded_text_closer(minilm_folder: object) -> None:
    model = load_model("minilm")
    texts = ("A cat sat on the mat.", "A kitten rested on the rug.", "Shares fell sharply on Monday.")
    first, same, other = (run(model, text) for text in texts)
    assert similarity(first, same) > 0.5 > similarity(first, other)
