"""Which rule forbids each cell of an attention map: colour and hatch say the rule, hatches of several rules cross."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import note
from viz.figures.grid import Grid, block_grid, cut, window_of
from viz.figures.heat_map import map_layout, outlines

KINDS = ("causal", "padding", "window", "other", "prefix", "spared")  # bit n of a code, see transformer/mask_rules.py
FORBIDDING = 0b1111
EXACT_UP_TO = 64  # tokens per side: more are drawn in blocks, unless a window is given
_FIRST = ("padding", "other", "window", "causal", "spared", "prefix")  # whose colour a cell has, of several
_LOOKS = {  # kind -> (number of its colour in `theme.CLASSES`, Plotly's hatch, the angle of the same hatch in CSS)
    "causal": (2, "/", 135),
    "padding": (3, "\\", 45),
    "window": (1, "|", 90),
    "other": (4, "x", 0),
    "prefix": (6, "-", 0),
    "spared": (8, "+", 90),
}
_TINT = 0.3


def mask_grid(
    codes: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    rows: slice | None = None,
    columns: slice | None = None,
) -> Grid:
    """The cells that `mask_map` draws, as codes: the whole, a window, or blocks of a text over 64 tokens.

    A block is forbidden only where all of its cells are, and then has the rules of all of them. Raises ValueError where
    `codes` (query, key) do not fit the tokens.
    """
    window = window_of(rows, len(queries)), window_of(columns, len(keys))
    seen = cut(np.asarray(codes, np.uint8), window, (len(queries), len(keys)))
    if max(seen.shape) > EXACT_UP_TO and rows is None and columns is None:
        block = -(-max(seen.shape) // EXACT_UP_TO)
        pooled = _pooled(seen, block)
        return block_grid(pooled, _forbidden(pooled), queries, keys, block)
    names = tuple(queries[index] for index in window[0]), tuple(keys[index] for index in window[1])
    return Grid(seen, _forbidden(seen), *names, np.asarray(window[0]), np.asarray(window[1]))


def _forbidden(codes: np.ndarray) -> np.ndarray:
    hidden: np.ndarray = (codes & FORBIDDING) > 0
    return hidden


def _pooled(codes: np.ndarray, block: int) -> np.ndarray:
    starts = [np.arange(0, size, block) for size in codes.shape]

    def joined(values: np.ndarray) -> np.ndarray:
        return np.bitwise_or.reduceat(np.bitwise_or.reduceat(values, starts[0], axis=0), starts[1], axis=1)

    plain, allowed = joined((codes == 0).astype(np.uint8)), joined((~_forbidden(codes)).astype(np.uint8))
    every = joined(codes)
    some = np.where(allowed > 0, every & ~np.uint8(FORBIDDING), every & np.uint8(FORBIDDING))
    return np.where(plain > 0, np.uint8(0), some).astype(np.uint8)


def mask_map(
    codes: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    rows: slice | None = None,
    columns: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """`codes` (query, key) uint8: the bits of `KINDS` that hold for each cell, 0 where looking is simply allowed.

    `selected` is the (query, key) of the orange cell. Over 64 tokens per side blocks are drawn, or exactly a window:
    `rows` and `columns` are slices of the text's positions. Raises ValueError where the shapes do not fit.
    """
    grid = mask_grid(codes, queries, keys, rows=rows, columns=columns)
    traces = [_cells(grid, code, language) for code in np.unique(grid.weights).tolist()]
    traces += [_hatched(grid, number) for number in range(len(KINDS)) if (grid.weights >> number & 1).any()]
    labels = _place(grid) | {"z": [[0]], "xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip"}
    clear = labels | {"colorscale": [[0, theme.CLEAR], [1, theme.CLEAR]]}
    return theme.figure([*traces, clear], _layout(grid, selected, language))


def names_of(code: int) -> tuple[str, ...]:
    """The kinds that a code holds."""
    return tuple(name for number, name in enumerate(KINDS) if code >> number & 1)


def _place(grid: Grid) -> dict:
    count = max(grid.weights.shape)
    gap = 2 if count <= 24 else 1 if count <= 40 else 0
    place = {"type": "heatmap", "x0": grid.x[0], "dx": grid.block, "y0": grid.y[0], "dy": grid.block}
    return place | {"zmin": 0, "zmax": 1, "xgap": gap, "ygap": gap, "hoverongaps": False, "showscale": False}


def _cells(grid: Grid, code: int, language: str) -> dict:
    """All cells of one code: each trace answers the hover in its own words."""
    names = names_of(code)
    first = next((name for name in _FIRST if name in names), None)
    colour = theme.WEIGHTS[3][1] if first is None else theme.CLASSES[_LOOKS[first][0]]
    kind = "block" if grid.block > 1 else "cell"
    state = "forbidden" if code & FORBIDDING else "allowed"
    rules = " + ".join(message(f"figure.mask.{name}", language) for name in names)
    words = message(f"figure.mask.{kind}.{state}", language, looking="%{y}", seen="%{x}")
    return _place(grid) | {
        "z": np.where(grid.weights == code, np.float32(1), np.float32(np.nan)),
        "colorscale": [[0, colour], [1, colour]],
        "opacity": 1 if first is None else _TINT,
        "hovertemplate": f"{words}{f'<br><b>{rules}</b>' if names else ''}<extra></extra>",
    }


def _hatched(grid: Grid, number: int) -> dict:
    """The hatch of one kind, over all cells that have it."""
    colour, shape, _ = _LOOKS[KINDS[number]]
    x, y = outlines(replace(grid, forbidden=(grid.weights >> number & 1) > 0))
    pattern = {"shape": shape, "fgcolor": theme.CLASSES[colour], "bgcolor": theme.CLEAR, "size": 9, "solidity": 0.12}
    line = {"type": "scatter", "x": x, "y": y, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return line | {"fill": "toself", "fillpattern": pattern}


def _layout(grid: Grid, selected: tuple[int, int] | None, language: str) -> dict:
    layout = map_layout(grid, selected, None, language)
    caption = message("figure.mask.pooled", language, size=grid.block) if grid.block > 1 else None
    below = 26 if caption else 8
    layout["height"] += below - layout["margin"]["b"]
    layout["margin"] = layout["margin"] | {"b": below}
    layout["annotations"] = [] if caption is None else [note(caption)]
    layout["meta"] = layout["meta"] | {"caption": caption}
    return layout


def mask_legend(kinds: Sequence[str], *, language: str = "en") -> str:
    """HTML: "allowed" and what the colours and hatches of `kinds` mean."""
    allowed = f'<span><i style="background:var(--stt-weight-3)"></i>{_say("allowed", language)}</span>'
    shown = "".join(f'<span><i style="{_css(kind)}"></i>{_say(kind, language)}</span>' for kind in kinds)
    return f'<p class="stt-mask-legend">{allowed}{shown}</p>'


def _say(kind: str, language: str) -> str:
    return escape(message(f"figure.mask.{kind}", language))


def _css(kind: str) -> str:
    number, shape, angle = _LOOKS[kind]
    tone, tint = f"var(--stt-class-{number})", f"color-mix(in srgb, var(--stt-class-{number}) {_TINT:.0%}, transparent)"
    angles = {"x": (45, 135), "+": (0, 90)}.get(shape, (angle,))
    stripes = [f"repeating-linear-gradient({one}deg, {tone} 0 1px, transparent 1px 5px)" for one in angles]
    return f"background:{', '.join(stripes)}, {tint}"
