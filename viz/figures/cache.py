"""The KV cache as a grid: for every layer and token, whether its key and value were kept or computed in this pass."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import most_labels, note, shorten, thinned, token_axes, width

GONE, CACHED, NEW, RECOMPUTED = range(4)  # as in `transformer/cache_state.py`
LEFT = 40  # pixels beside the grid, for the numbers of the layers and their title
WIDE = 560  # pixels of a figure on a wide screen
STATES = ("gone", "cached", "new", "recomputed")


class Formula(Protocol):
    """What is needed of a `CacheFormula`."""

    @property
    def layers(self) -> int: ...
    @property
    def kv_heads(self) -> int: ...
    @property
    def d_head(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def nbytes(self) -> int: ...


def cache_grid(
    cells: np.ndarray,
    tokens: Sequence[str],
    *,
    nbytes: int,
    formula: Formula | None = None,
    why: str = "",
    language: str = "en",
) -> go.Figure:
    """`cells` (layer, token): 0 let go by a sliding window, 1 taken from the cache, 2 computed now, 3 computed again.

    Pale was remembered, dark was computed in this pass; hatched dark was computed although an earlier pass had done so.
    `nbytes` is what was measured, `formula` what 2 · layers · heads · d_head · tokens · bytes gives, `why` the reason
    for which nothing is kept (`CacheState.why`). Raises ValueError where the shapes do not fit.
    """
    cells = np.asarray(cells)
    if cells.ndim != 2 or cells.shape[1] != len(tokens) or not cells.size:
        raise ValueError(f"cells {cells.shape} do not fit {len(tokens)} tokens")
    lines = _said(nbytes, formula, why, language)
    return theme.figure(_traces(cells, language), _layout(cells, tokens, lines, language))


def _traces(cells: np.ndarray, language: str) -> list[dict]:
    gap = 2 if max(cells.shape) <= 40 else 1 if max(cells.shape) <= 120 else 0
    place = {"type": "heatmap", "x0": 0, "dx": 1, "y0": 0, "dy": 1, "xgap": gap, "ygap": gap, "showscale": False}
    traces = []
    for state, (name, colour) in enumerate(zip(STATES, _colours(), strict=True)):
        words = message(f"figure.cache.state.{name}", language)
        hover = message("figure.cache.hover", language, layer="%{y}", token="%{x}", state=words)
        traces.append(
            place
            | {
                "z": np.where(cells == state, np.float32(1), np.float32(np.nan)),
                "colorscale": [[0, colour], [1, colour]],
                "hoverongaps": False,
                "hovertemplate": hover + "<extra></extra>",
            }
        )
    # Plotly hides an axis that no trace is bound to, and the names stand on the second ones.
    clear = {"z": [[0]], "colorscale": [[0, theme.CLEAR], [1, theme.CLEAR]], "hoverinfo": "skip"}
    hatch = _hatch(cells)
    return [*traces, *hatch, place | clear | {"xaxis": "x2", "yaxis": "y2"}]


def _colours() -> tuple[str, ...]:
    return theme.LIGHT["soft"], theme.SOFT_ACCENT, theme.LIGHT["accent"], theme.LIGHT["accent"]


def _hatch(cells: np.ndarray) -> list[dict]:
    """One rectangle over what was computed again: a run of columns, the same in every layer."""
    again = np.flatnonzero((cells == RECOMPUTED).any(axis=0))
    if not len(again):
        return []
    left, right, bottom = again[0] - 0.5, again[-1] + 0.5, len(cells) - 0.5
    pattern = {"shape": "/", "fgcolor": theme.LIGHT["on-accent"], "bgcolor": theme.CLEAR, "size": 7, "solidity": 0.22}
    return [
        {
            "type": "scatter",
            "x": [left, right, right, left, left],
            "y": [-0.5, -0.5, bottom, bottom, -0.5],
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "fillpattern": pattern,
            "hoverinfo": "skip",
        }
    ]


def _legend(cells: np.ndarray, language: str) -> list[tuple[str, str, str]]:
    """(sign, its colour, words) of the states that occur."""
    signs = ("□", "■", "■", "▨")
    colours = (theme.LIGHT["muted"], *_colours()[1:])
    used = [state for state in (CACHED, NEW, RECOMPUTED, GONE) if (cells == state).any()]
    return [(signs[state], colours[state], message(f"figure.cache.state.{STATES[state]}", language)) for state in used]


def _said(nbytes: int, formula: Formula | None, why: str, language: str) -> list[str]:
    """What is kept, in bytes, and whether the formula says the same."""
    if why:
        return [message(f"figure.cache.why.{why}", language)]
    kept = message("figure.cache.kept", language, bytes=f"{nbytes:,}")
    if formula is None:
        return [kept]
    factors = {name: getattr(formula, name) for name in ("layers", "kv_heads", "d_head", "tokens", "number")}
    same = "same" if formula.nbytes == nbytes else "differs"
    return [kept, message(f"figure.cache.formula.{same}", language, bytes=f"{formula.nbytes:,}", **factors)]


def _layout(cells: np.ndarray, tokens: Sequence[str], lines: list[str], language: str) -> dict:
    n_layers, n_tokens = cells.shape
    axes = token_axes(tokens, list(range(n_tokens)), axis="x")
    axes |= token_axes([str(layer) for layer in range(n_layers)], list(range(n_layers)), axis="y")
    legend = _legend(cells, language)
    words = note("\n".join(lines), left=LEFT - 4)
    signs = "   ".join(f'<span style="color:{colour}">{sign}</span> {name}' for sign, colour, name in legend)
    words["text"] = f"{signs}<br>{words['text']}"
    caption = "\n".join(["   ".join(f"{sign} {name}" for sign, _, name in legend), *lines])
    below = 16 + 15 * (1 + caption.count("\n"))
    above = _label_height(tokens)
    return {
        **axes,
        "annotations": [words, _corner(language)],
        "meta": {"caption": caption},
        "height": round(max(40, n_layers * min(22, 300 / n_layers)) + above + below),
        "margin": {"l": LEFT, "r": 8, "t": above, "b": below},
    }


def _corner(language: str) -> dict:
    """The title of the rows, level above their numbers: Chinese lying on its side cannot be read."""
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "right", "yanchor": "bottom"}
    font = {"size": 11, "color": theme.LIGHT["muted"]}
    words = {"text": message("figure.layer", language), "showarrow": False, "font": font}
    return words | place | {"xshift": -4, "yshift": 3}


def _label_height(tokens: Sequence[str]) -> int:
    """Pixels above the grid: one line where labels can stand abreast on a wide screen, else as long as they are."""
    shown = [width(shorten(tokens[index])) for index in thinned(len(tokens), most_labels("x", len(tokens)))]
    upright = 7 * (sum(shown) + len(shown)) > WIDE
    return round(10 + 6.5 * max(shown)) if upright else 24
