"""ModelConfig: what it fills in, and what it refuses and why."""

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import ModelConfig
from transformer.errors import InputError, ShapesDoNotFit


def test_sizes_left_out_are_worked_out(tiny):
    config = tiny()
    assert (config.kv_heads, config.head_size, config.ff_size) == (7, 4, 112)


def test_sizes_given_are_kept(tiny):
    config = tiny(n_kv_heads=1, d_head=6, d_ff=31)
    assert (config.kv_heads, config.head_size, config.ff_size) == (1, 6, 31)


def test_replacing_a_size_works_the_others_out_anew(tiny):
    config = replace(tiny(), n_heads=14, d_model=56)
    assert (config.kv_heads, config.head_size, config.ff_size) == (14, 4, 224)


def test_config_is_frozen(tiny):
    with pytest.raises(FrozenInstanceError):
        tiny().d_model = 29


@pytest.mark.parametrize(
    ("changes", "what", "expected", "got"),
    [
        ({"n_heads": 5}, "n_heads", "{1, 2, 4, 7, 14, 28} (d_model = 28)", "5"),
        ({"n_kv_heads": 3}, "n_kv_heads", "{1, 7} (n_heads = 7)", "3"),
        ({"positions": "rotary", "d_head": 5}, "d_head", "{2, 4, 6, …} (rotary)", "5"),
        ({"positions": "rotary", "d_model": 21}, "d_head", "{2, 4, 6, …} (rotary)", "3"),
        ({"d_model": 21}, "d_model", "{2, 4, 6, …} (sinusoidal)", "21"),
        ({"norm": "sandwich"}, "norm", "{pre, post}", "'sandwich'"),
        ({"norm_kind": "batchnorm"}, "norm_kind", "{layernorm, rmsnorm}", "'batchnorm'"),
        ({"positions": "relative"}, "positions", "{sinusoidal, learned, rotary, alibi, none}", "'relative'"),
        ({"activation": "silu"}, "activation", "{gelu, gelu_tanh, relu, swiglu}", "'silu'"),
        ({"vocab_size": 0}, "vocab_size", "{1, 2, 3, …}", "0"),
        ({"n_layers": -1}, "n_layers", "{1, 2, 3, …}", "-1"),
        ({"d_ff": 2.5}, "d_ff", "{1, 2, 3, …}", "2.5"),
        ({"n_heads": True}, "n_heads", "{1, 2, 3, …}", "True"),
        ({"d_model": None}, "d_model", "{1, 2, 3, …}", "None"),
        ({"window": 0}, "window", "{1, 2, 3, …}", "0"),
        ({"window": 2.0}, "window", "{1, 2, 3, …}", "2.0"),
        ({"prefix": -1}, "prefix", "{0, 1, 2, …}", "-1"),
        ({"prefix": None}, "prefix", "{0, 1, 2, …}", "None"),
        ({"n_segments": -2}, "n_segments", "{0, 1, 2, …}", "-2"),
        ({"init": "zeros"}, "init", "{normal, xavier}", "'zeros'"),
        ({"norm_eps": 0.0}, "norm_eps", "> 0", "0.0"),
        ({"rotary_base": 1.0}, "rotary_base", "> 1", "1.0"),
        ({"dropout": 1.0}, "dropout", "[0, 1)", "1.0"),
        ({"dropout": float("nan")}, "dropout", "[0, 1)", "nan"),
    ],
)
def test_what_does_not_fit_is_refused_and_says_what_would(tiny, changes, what, expected, got):
    with pytest.raises(ShapesDoNotFit) as caught:
        tiny(**changes)
    assert isinstance(caught.value, InputError)
    assert caught.value.text("en") == f"{what}: expected {expected}, got {got}."
    assert caught.value.text("zh") == f"{what}：应为 {expected}，实际为 {got}。"


def test_odd_sizes_are_fine_where_nothing_comes_in_pairs(tiny):
    assert tiny(d_model=21, positions="learned").head_size == 3
    assert tiny(d_model=29, d_head=3, positions="none").head_size == 3


@given(d_model=st.integers(1, 60), n_heads=st.integers(1, 60))
def test_heads_share_d_model_out_or_the_config_is_refused(d_model, n_heads):
    sizes = {"vocab_size": 53, "max_positions": 11, "n_layers": 3, "positions": "none"}
    if d_model % n_heads:
        with pytest.raises(ShapesDoNotFit):
            ModelConfig(d_model=d_model, n_heads=n_heads, **sizes)
    else:
        config = ModelConfig(d_model=d_model, n_heads=n_heads, **sizes)
        assert config.head_size * config.n_heads == d_model
