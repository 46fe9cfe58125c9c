"""Where a score comes from: q ⊙ k, dimension by dimension, for one query and its keys (Vig 2019, "neuron view")."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures.arithmetic import number
from viz.figures.grid import window_of
from viz.figures.narrow import scale_of
from viz.figures.vector_rows import Numbers, Strip, Table, vector_rows


def query_key_products(
    q: np.ndarray,
    k: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray,
    keys: Sequence[str],
    *,
    allowed: np.ndarray | None = None,
    selected: tuple[int, int] | None = None,
    cells: str = "products",
    rows: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """Rows are keys, columns dimensions, a cell is q_d · k_d; q and the chosen key's k stand above.

    `q` (d_head,), `k` (key, d_head), scaled `scores` and `weights` (key,), `allowed` (key,) bool. `selected` is
    the (key, dimension) of the orange cell. `cells` "keys" shows the k vectors themselves. `rows` is a slice of the
    keys. Raises ValueError where the shapes do not fit.
    """
    q, k = np.asarray(q, np.float64), np.asarray(k, np.float64)
    if k.shape != (len(keys), len(q)) or np.shape(scores) != (len(keys),) or np.shape(weights) != (len(keys),):
        shapes = f"q {q.shape}, k {k.shape}, scores {np.shape(scores)}, weights {np.shape(weights)}"
        raise ValueError(f"{shapes} do not fit {len(keys)} keys")
    part = window_of(rows, len(keys))
    products = (q * k)[part]
    shown = products if cells == "products" else k[part]
    table = Table(
        cells=shown,
        tokens=[keys[index] for index in part],
        first=part.start,
        hover=_say(f"hover_{cells}", language, key="%{y}", dimension="%{x}", value="%{z:.4g}"),
        strip_hover=_say("hover_vector", language, name="%{name}", dimension="%{x}", value="%{z:.4g}"),
        above=_vectors(q, k, selected, language),
        numbers=_numbers(products, scores, weights, part, language),
        forbidden=_forbidden(allowed, np.asarray(weights))[part],
        selected=selected,
        dimension=_say("dimension", language),
        caption=_caption(shown, part, len(keys), cells, language),
    )
    return vector_rows(table)


def _say(key: str, language: str, /, **values: object) -> str:
    return message(f"figure.products.{key}", language, **values)


def _forbidden(allowed: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
    """A query that may look at nothing spreads its weight evenly: those weights are shown, not hatched."""
    return np.zeros(len(weights), bool) if allowed is None else ~np.asarray(allowed, bool) & (weights == 0)


def _vectors(q: np.ndarray, k: np.ndarray, selected: tuple[int, int] | None, language: str) -> list[Strip]:
    """q, and below it the k of the chosen key: the two whose products its row holds."""
    vectors = [Strip("q", "q-text", q)]
    return vectors if selected is None else [*vectors, Strip("k", "k-text", k[selected[0]])]


def _numbers(
    products: np.ndarray, scores: np.ndarray, weights: np.ndarray, part: range, language: str
) -> list[Numbers]:
    return [
        Numbers(_say("sum", language), products.sum(-1)),
        Numbers(_say("score", language), np.asarray(scores)[part]),
        Numbers(_say("weight", language), np.asarray(weights)[part], weights=True),
    ]


def _caption(shown: np.ndarray, part: range, count: int, cells: str, language: str) -> str:
    said = [_say(f"scale_{cells}", language, ends=number(scale_of(shown), 2))]
    if len(part) < count:
        said.append(_say("window", language, first=part.start, last=part.stop - 1, count=count))
    return "\n".join(said)
