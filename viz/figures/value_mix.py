"""How a context vector is mixed: every key's v times its weight, and their sum (Vaswani et al. 2017, equation 1)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures.arithmetic import number
from viz.figures.grid import window_of
from viz.figures.narrow import scale_of
from viz.figures.vector_rows import Numbers, Strip, Table, vector_rows


def weighted_values(
    weights: np.ndarray,
    values: np.ndarray,
    keys: Sequence[str],
    *,
    allowed: np.ndarray | None = None,
    selected: tuple[int, int] | None = None,
    cells: str = "weighted",
    rows: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """Rows are keys, columns dimensions, a cell is weight · v_d; below stands their sum, the context vector.

    `weights` (key,), `values` (key, d_value); `allowed` (key,) bool. `selected` is the (key, dimension) of the orange
    cell. `cells` "values" shows the v vectors before they are weighted. `rows` is a slice of the keys; the sum is over
    all of them. Raises ValueError where the shapes do not fit.
    """
    weights, values = np.asarray(weights, np.float64), np.asarray(values, np.float64)
    if weights.shape != (len(keys),) or values.ndim != 2 or len(values) != len(keys):
        raise ValueError(f"weights {weights.shape} and values {values.shape} do not fit {len(keys)} keys")
    part = window_of(rows, len(keys))
    context = weights @ values
    shown = (values if cells == "values" else weights[:, None] * values)[part]
    top = max(scale_of(shown), float(np.abs(context).max(initial=0)))
    # A query that may look at nothing spreads its weight evenly: those weights are shown, not hatched.
    forbidden = None if allowed is None else (~np.asarray(allowed, bool) & (weights == 0))[part]
    table = Table(
        cells=shown,
        tokens=[keys[index] for index in part],
        first=part.start,
        top=top,
        hover=_say(f"hover_{cells}", language, key="%{y}", dimension="%{x}", value="%{z:.4g}"),
        strip_hover=_say("hover_vector", language, name="%{name}", dimension="%{x}", value="%{z:.4g}"),
        above=_chosen(values, selected, cells, language),
        below=[Strip(_say("context", language), "v-text", context, top)],
        numbers=[Numbers(_say("weight", language), weights[part], weights=True)],
        forbidden=forbidden,
        selected=selected,
        dimension=_say("dimension", language),
        caption=_caption(top, part, len(keys), cells, language),
    )
    return vector_rows(table)


def _say(key: str, language: str, /, **values: object) -> str:
    return message(f"figure.mix.{key}", language, **values)


def _chosen(values: np.ndarray, selected: tuple[int, int] | None, cells: str, language: str) -> list[Strip]:
    """The chosen key's v, where the rows do not show it already."""
    return (
        [] if selected is None or cells == "values" else [Strip(_say("value", language), "v-text", values[selected[0]])]
    )


def _caption(top: float, part: range, count: int, cells: str, language: str) -> str:
    said = [_say(f"scale_{cells}", language, ends=number(top, 2))]
    if len(part) < count:
        said.append(_say("window", language, first=part.start, last=part.stop - 1, count=count))
    return "\n".join(said)
