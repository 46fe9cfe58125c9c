"""wiring.py: which terms make up a stream, told from numbers; blocks with odd habits are read as they are."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.transformer.families import SOURCES, scramble
from transformer import run, wrap
from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM, ModelOutput
from transformer.probe import Heard
from transformer.replay import replay
from transformer.wiring import Term, block_of, explain

NOBODY = Heard("", nn.Identity(), 0, 0)
CONFIG = ModelConfig(vocab_size=53, max_positions=11, d_model=28, n_layers=3, n_heads=7, positions="learned")


def terms(count: int, seed: int = 0, shape: tuple[int, int] = (5, 28)) -> list[Term]:
    random = np.random.default_rng(seed)
    return [Term(f"t{n}", random.normal(size=shape).astype(np.float32), n, NOBODY) for n in range(count)]


@given(st.sets(st.integers(0, 6), min_size=1, max_size=3), st.integers(0, 99))
def test_the_terms_of_a_sum_are_found(chosen, seed):
    all_terms = terms(7, seed)
    total = sum(all_terms[n].value for n in sorted(chosen))
    assert {term.site for term in explain(total, all_terms)} == {f"t{n}" for n in chosen}


@given(st.integers(0, 99), st.sampled_from([0.3, 1.001, -1.0, 0.0]))
def test_a_sum_with_a_factor_is_not_explained(seed, factor):
    first, second, *rest = terms(5, seed)
    assert explain(first.value + np.float32(factor) * second.value, [second, *rest]) is None
    if factor:
        assert explain(first.value + np.float32(factor) * second.value, [first, second, *rest]) is None


def test_a_small_term_counts_as_much_as_a_large_one():
    """A stream in the thousands hides a contribution of 2e-3 only from those who measure against the largest value."""
    large, small, *_ = terms(2)
    large.value *= 1000.0
    small.value *= 2e-3
    assert len(explain(large.value + small.value, [large, small])) == 2
    assert [term.site for term in explain(large.value, [large, small])] == ["t0"]


def test_nothing_explains_more_than_three_terms_or_another_shape():
    four = terms(4)
    assert explain(sum(term.value for term in four), four) is None
    assert explain(np.zeros((5, 27), np.float32), four) is None and explain(np.zeros((5, 28), np.float32), []) is None


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("model.layers.3.mlp.2", "model.layers.3"), ("transformer.h.11", "transformer.h.11"),
        ("encoder.layer_groups.0.layers.0", "encoder.layer_groups.0"), ("attention", "attention"), ("", ""),
    ],
)  # fmt: skip
def test_the_block_that_holds_a_module(name, block):
    assert block_of(name) == block


# --- blocks with odd habits ------------------------------------------------------------------------------------------


class Odd(nn.Module):
    """A decoder of three blocks of one kind."""

    def __init__(self, *blocks: nn.Module) -> None:
        super().__init__()
        self.config, self.table = CONFIG, nn.Embedding(53, 28)
        self.blocks, self.head = nn.ModuleList(blocks), nn.Linear(28, 53)

    def forward(self, input_ids: Tensor) -> ModelOutput:
        x = self.table(input_ids)
        for block in self.blocks:
            x = block(x)
        return ModelOutput(self.head(x))


class InPlace(nn.Module):
    """Adds to the very tensor that it was given, twice: who keeps a view keeps the wrong numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(28), nn.LayerNorm(28)
        self.attention, self.up, self.down = MultiHeadAttention(CONFIG), nn.Linear(28, 31), nn.Linear(31, 28)

    def forward(self, x: Tensor) -> Tensor:
        x += self.attention(self.norm1(x), causal=True)
        x.add_(self.down(torch.relu_(self.up(self.norm2(x)))))
        return x


class TenTimes(nn.Module):
    """Adds 10 · attention(x)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(28), MultiHeadAttention(CONFIG)

    def forward(self, x: Tensor) -> Tensor:
        return x + 10 * self.attention(self.norm1(x), causal=True)


class NoResidual(nn.Module):
    """Adds nothing at all."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(CONFIG)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, causal=True)


def kinds(model, layer: int = 1) -> list[str]:
    return [box.kind for box in model.structure.stack("decoder").blocks[layer]]


def test_a_block_that_changes_its_input_in_place_is_recorded_as_it_was():
    module = scramble(Odd(InPlace(), InPlace(), InPlace()))
    with torch.no_grad():
        stream = [module.table(torch.tensor(SOURCES[:1]))]
        for block in module.blocks:
            stream.append(block(stream[-1].clone()))
    model = wrap(module)
    assert kinds(model) == ["norm", "attention", "add", "norm", "ffn", "add"]
    trace = run(model, ids=SOURCES[0])
    for layer in range(3):
        np.testing.assert_array_equal(trace[f"decoder.{layer}.resid.before"], stream[layer][0])
        np.testing.assert_array_equal(trace[f"decoder.{layer}.resid.after"], stream[layer + 1][0])
    assert all(seal.holds for seal in replay(trace)) and len(replay(trace)) > 15
    assert trace.parts["decoder.1.ffn"].activation == "relu"


def test_a_multiplier_is_not_drawn_as_a_plus():
    model = wrap(scramble(Odd(TenTimes(), TenTimes(), TenTimes())))
    assert kinds(model) == ["norm", "attention", "unknown"]
    assert model.plan.lacks["decoder.1.resid.after.sum"] == "lack.sum_unexplained"
    assert all(seal.holds for seal in replay(run(model, ids=SOURCES[0])))


def test_a_block_without_a_residual_has_no_plus():
    model = wrap(scramble(Odd(NoResidual(), NoResidual())))
    assert kinds(model) == ["attention"]
    trace = run(model, ids=SOURCES[0])
    np.testing.assert_allclose(trace["decoder.0.resid.after"], trace["decoder.1.resid.before"], atol=1e-5)


def test_one_block_used_three_times_has_three_places():
    """ALBERT's way: each use has its own numbers, none is overwritten."""
    block = InPlace()
    model = wrap(scramble(Odd(block, block, block)))
    trace = run(model, ids=SOURCES[0])
    assert trace.attention_sites() == tuple(f"decoder.{layer}.self" for layer in range(3))
    assert not np.array_equal(trace["decoder.0.self.q"], trace["decoder.1.self.q"])
    assert all(seal.holds for seal in replay(trace))


def test_an_untrained_model_is_read_like_a_trained_one():
    """Biases of 0, scales of 1 and small matrices, as they are made: sums are told apart all the same."""
    model = wrap(DecoderLM(CONFIG, generator=torch.Generator().manual_seed(0)))
    assert kinds(model) == ["norm", "attention", "add", "norm", "ffn", "add"]
