"""Heads to draw: all-different sizes, so that a transposed axis fails, and tokens that try to be markup."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest

import viz.figures as figures
from tests.viz.figures.more_figures import more_figures
from transformer.distribution import choose
from transformer.sampling import Dials

# Repeated, space, newline, tags, entities, LaTeX, templates, a colour, numbers, dates, control characters, wide, RTL.
HOSTILE = (
    "the",
    "·the",
    "↵",
    "<s>",
    "</s>",
    "<b>bold</b>",
    "&lt;tag&gt;",
    "&#36;",
    "$x^2$",
    "%{x}",
    "{{value}}",
    "${usd}",
    "#3b5bdb",
    "2024-01-01",
    "1e5",
    "\\u202e",
    "小明",
    "مرحبا",
    "the",
)


def softmax(scores: np.ndarray) -> np.ndarray:
    parts = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (parts / parts.sum(axis=-1, keepdims=True)).astype(np.float32)


def candidate(fate: str, parent: int | None) -> SimpleNamespace:
    """A node of a beam search's first pass, or what was given."""
    step = int(parent is not None)
    return SimpleNamespace(step=step, parent=parent, log_p=-1.5, score=-1.5 * step, fate=fate, best=not step)


@pytest.fixture
def head() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Weights and `allowed` of a made-up causal head: `head(n_queries, n_keys, n_heads=None)`."""

    def make(n_queries: int, n_keys: int | None = None, *shape: int) -> tuple[np.ndarray, np.ndarray]:
        n_keys = n_queries if n_keys is None else n_keys
        rng = np.random.default_rng(n_queries * 53 + n_keys)
        allowed = np.tril(np.ones((n_queries, n_keys), bool), n_keys - n_queries)
        scores = rng.normal(size=(*shape, n_queries, n_keys)) * 2
        return softmax(np.where(allowed, scores, -1e9)), allowed

    return make


@pytest.fixture
def every_figure(head: Callable[..., tuple[np.ndarray, np.ndarray]]) -> dict[str, go.Figure]:
    """One of each kind and state, in both languages where they speak."""
    weights, allowed = head(19)
    long, may_look = head(271)
    few = HOSTILE[:7]
    sharp = np.linspace(0, 1, 49, dtype=np.float32).reshape(7, 7)
    return {
        "numbers": figures.attention_heatmap(sharp, few, few, selected=(6, 1), title="<b>$5 #abcdef</b>"),
        "hatched": figures.attention_heatmap(
            weights, HOSTILE, HOSTILE, allowed=allowed, selected=(5, 2), language="zh"
        ),
        "pooled": figures.attention_heatmap(long, ["w"] * 271, ["w"] * 271, allowed=may_look),
        "mosaic": figures.attention_mosaic(head(5, 5, 3, 7)[0], selected=(2, 6)),
        "lines": figures.attention_lines(weights, HOSTILE, HOSTILE, selected_query=3),
        "next": figures.next_tokens(np.array([0.2, 0.5, 0.1]), HOSTILE[:3], n_vocabulary=53),
        "beside": figures.next_tokens_beside(
            np.array([0.2, 0.5, 0.1]), np.ones(3) / 5, HOSTILE[:3], context=HOSTILE[3:7], seen=11, n_vocabulary=53
        ),
        "map": figures.token_map(
            np.arange(38).reshape(19, 2), HOSTILE, HOSTILE, explained=(0.5, 0.2), selected=3, near=(5, 7)
        ),
        "sampling": figures.sampling_bars(
            choose(np.arange(19.0), Dials(4.0, 11, 0.8), 0.6, 7), HOSTILE[:7], selected=2, language="zh"
        ),
        "cache": figures.cache_grid(np.array([[1, 1, 2], [0, 1, 2]]), HOSTILE[:3], nbytes=7),
        "recomputed": figures.cache_grid(np.array([[3, 3, 2]]), HOSTILE[3:6], nbytes=0, why="asked"),
        "masks": figures.mask_map(np.arange(25, dtype=np.uint8).reshape(5, 5) % 32, few[:5], few[:5], selected=(1, 2)),
        "neurons": figures.activation_curve((sharp[0], sharp[1]), sharp[2], sharp[3], activation="gelu", chosen=1),
        "gate": figures.gate_map(sharp[2], sharp[3] - 0.5, activation="silu", chosen=1, language="zh"),
        "neuron bars": figures.neuron_bars(sharp[2] - 0.3, range(7), chosen=2),
        "neuron tokens": figures.neuron_tokens(sharp[2], few, neuron=3, selected=2, language="zh"),
        "neuron map": figures.neuron_map(sharp - 0.5, few, range(7), selected=(1, 2)),
        "beams": figures.beam_tree(
            [candidate("kept", None), *(candidate(fate, 0) for fate in ("kept", "finished", "dropped"))],
            HOSTILE[2:6],
            selected=3,
        ),
        "products": figures.query_key_products(
            sharp[0], sharp, sharp[1], sharp[2], few, allowed=sharp[2] > 0.4, selected=(3, 5), language="zh"
        ),
        "mix": figures.weighted_values(sharp[3], sharp, few, selected=(2, 4)),
        "score row": figures.score_table(
            [sharp[4] - 0.5, np.where(sharp[0] > 0, sharp[1], -np.inf), sharp[5]],
            ["dot", "masked", "weights"],
            few,
            selected=(6, 1),
            sink=0.1,
        ),
        "head parts": figures.head_output_bars(sharp[1], sharp[2] - 0.3, total=1.5, bias=(0.5, -1.0), selected=4),
        "norm rows": figures.norm_rows(sharp[0], sharp[1], sharp[2], gamma=sharp[3], selected=3),
        "norm spread": figures.norm_spread(sharp[0], sharp[1], sharp[2], selected=3, language="zh"),
        "norm tokens": figures.norm_tokens(sharp[1], np.append(sharp[0, 1:], 99), few, selected=2),
        "stream": figures.stream_norms(sharp[0] + 1, first=sharp[2] + 90, token=HOSTILE[5], selected=1),
        "added": figures.stream_added({"self": sharp[1], "cross": sharp[2], "ffn": sharp[3]}, token=HOSTILE[8]),
        "added far": figures.stream_added({"self": sharp[1], "ffn": sharp[3] * 999}, token="the", language="zh"),
        "directions": figures.stream_directions({"self": sharp[1], "ffn": -sharp[2]}, sharp[3], token="the"),
        "layers": figures.layer_similarity(2 * sharp - 1, token=HOSTILE[12], selected=2),
        **more_figures(HOSTILE),
    }


@pytest.fixture
def encoding() -> SimpleNamespace:
    """ "<s>", "Hi", a space and "小" in two pieces, padding: as `Encoding` has them."""
    small = "小".encode()
    return SimpleNamespace(
        ids=(1, 37, 41, 43, 0),
        tokens=("<s>", "Hi", "·⟨E5 B0⟩", "⟨8F⟩", "[PAD]"),
        bytes=(b"", b"Hi", b" " + small[:2], small[2:], b""),
        spans=(None, (0, 2), (2, 4), (3, 4), None),
        special=(True, False, False, False, True),
        words=(None, 0, 1, 1, None),
        groups=(0, 1, 2, 2, 3),
        padding=(False, False, False, False, True),
        text="Hi 小",
    )


@pytest.fixture
def hostile() -> tuple[str, ...]:
    return HOSTILE
