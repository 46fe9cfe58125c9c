"""Made-up measurements to draw: all-different sizes, and names that try to be markup."""

from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go

from viz.figures import (
    heads_chart,
    norm_chart,
    parameter_bars,
    recall_chart,
    residual_chart,
    saturation_chart,
    time_chart,
    variance_chart,
)


def times() -> SimpleNamespace:
    rng = np.random.default_rng(3)
    lengths = np.array([4, 8, 16, 64])
    return SimpleNamespace(
        kinds=("lstm", "encoder"),
        lengths=lengths,
        forward_ms=rng.uniform(1, 9, (2, 5, 4)),
        training_ms=rng.uniform(10, 90, (2, 5, 4)),
        waiting=np.stack([lengths + 2, np.full(4, 3)]),
        multiply_adds=np.stack([lengths * 700, lengths * (700 + lengths)]),
        parameters=np.array([1_052_672, 9416]),
        batch=7,
        d_model=28,
        n_layers=3,
        threads=2,
    )


def recall(training: str = "each", runs: int = 3) -> SimpleNamespace:
    return SimpleNamespace(
        kinds=("rnn", "lstm", "encoder"),
        distances=np.array([1, 2, 4, 8]),
        accuracy=np.random.default_rng(5).uniform(0, 1, (3, runs, 4)),
        parameters=np.array([2920, 9256, 9416]),
        seconds=np.array([1.5, 2.25, 3.0]),
        chance=0.125,
        settings=SimpleNamespace(training=training, steps=211, batch=31, judged=503),
    )


def heads() -> SimpleNamespace:
    before, after = np.random.default_rng(7).uniform(0.5, 1, (2, 2, 3, 5))
    return SimpleNamespace(
        n_heads=(2, 1),
        steps=np.array([0, 10, 20, 30, 40]),
        both=before * after,
        before=before,
        after=after,
        parameters=np.array([4910, 4910]),
        settings=SimpleNamespace(batch=31, judged=101, length=11),
    )


def variances() -> SimpleNamespace:
    d_k = np.array([2, 16, 512])
    return SimpleNamespace(d_k=d_k, plain=d_k * 1.1, scaled=np.array([1.1, 0.9, 1.0]), samples=10_007)


def saturation() -> SimpleNamespace:
    return SimpleNamespace(
        variance=np.array([0.5, 1, 8, 64]),
        entropy=np.array([1.8, 1.5, 0.7, 0.1]),
        jacobian=np.array([0.3, 0.4, 0.2, 0.05]),
        largest=np.array([0.2, 0.3, 0.7, 0.95]),
        n_keys=7,
        samples=2003,
    )


def residual() -> SimpleNamespace:
    rng = np.random.default_rng(11)
    difference = rng.uniform(0.1, 1, (2, 2, 6))
    difference[:, 1, -1] = 0
    return SimpleNamespace(
        norms=("pre", "post"),
        weights=rng.uniform(3, 30, (2, 2, 5)),
        query_key=10.0 ** rng.uniform(-9, 0, (2, 2, 5)),
        difference=difference,
        settings=SimpleNamespace(n_layers=5, d_model=28, batch=3, length=11),
    )


def norms() -> SimpleNamespace:
    rng = np.random.default_rng(13)
    pairs = [SimpleNamespace(mean=rng.normal(size=n), std=rng.uniform(0.5, 2, n)) for n in (7, 7, 5)]
    return SimpleNamespace(
        batch_padded=pairs[0],
        batch_real=pairs[1],
        layer_padded=pairs[2],
        layer_real=pairs[2],
        batch_moved=0.3284,
        layer_moved=0.0,
        texts=np.array([0, 0, 0, 1, 1]),
        padding=0.375,
    )


def parameters(layers: int = 3, stack: str = "") -> SimpleNamespace:
    parts = ("embedding", "positions", "attention", "feedforward", "norm", "head", "other")
    rows = [row("embed.<b>weight</b>", (53, 28), "embedding", None, None, ("head.weight",))]
    for layer in range(layers):
        rows.append(row(f"h.{layer}.q", (28, 28), "attention", stack, layer))
        rows.append(row(f"h.{layer}.up", (28, 31), "feedforward", stack, layer))
    places = ((None, None), *((stack, layer) for layer in range(layers)))
    counts = np.zeros((len(places), 7), int)
    for one in rows:
        counts[places.index((one.stack, one.layer)), parts.index(one.part)] += one.count
    return SimpleNamespace(rows=rows, places=places, parts=parts, counts=counts, total=int(counts.sum()))


def row(
    name: str, shape: tuple[int, ...], part: str, stack: str | None, layer: int | None, also: tuple[str, ...] = ()
) -> SimpleNamespace:
    count = int(np.prod(shape))
    return SimpleNamespace(name=name, shape=shape, count=count, part=part, stack=stack, layer=layer, also=also)


def charts(language: str) -> dict[str, go.Figure]:
    """One of each kind and state."""
    return {
        "time": time_chart(times(), language=language),
        "training": time_chart(times(), training=True, language=language),
        "recall": recall_chart(recall(), language=language),
        "mixed": recall_chart(recall("mixed", runs=1), language=language),
        "heads": heads_chart(heads(), language=language),
        "variance": variance_chart(variances(), language=language),
        "saturation": saturation_chart(saturation(), language=language),
        "residual": residual_chart(residual(), language=language),
        "std": norm_chart(norms(), language=language),
        "mean": norm_chart(norms(), statistic="mean", language=language),
        "parameters": parameter_bars(parameters(), language=language),
        "stacks": parameter_bars(parameters(stack="<encoder>"), language=language),
    }
