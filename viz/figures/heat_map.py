"""A map of queries and keys, one cell each: rows look, columns are looked at. What its numbers are, `Shades` says."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, most_labels, note, selectable, shorten, thinned, token_axes, width
from viz.figures.grid import Grid, block_grid, cell_of, cut, grid_of, window_of
from viz.figures.scale_bar import scale_bar

NUMBERS_UP_TO = 14  # tokens per side: more, and a number no longer fits its cell
WIDE = 560  # pixels of a figure on a wide screen


@dataclass(frozen=True)
class Shades:
    """How numbers become colours and words. `kind` is "heatmap" (weights, 0 … 1) or "scores" (signed, −high … high)."""

    kind: str
    low: float
    high: float
    name: str  # message key of what the numbers are

    @property
    def colours(self) -> list[tuple[float, str]]:
        return theme.WEIGHTS if self.kind == "heatmap" else theme.SIGNED

    def strength(self, values: np.ndarray) -> np.ndarray:
        """0 … 1: how far from the pale end of the scale, which tells the ink that is legible on it."""
        return np.abs(values) / (self.high or 1)

    def text(self, value: float, narrow: bool) -> str:
        """Two digits: "0.54", and ".54" where cells are narrow; scores one behind the point."""
        if self.kind == "scores":
            return f"{value:.1f}".replace("-", "−") if abs(value) < 100 else f"{value:.0f}".replace("-", "−")
        number = f"{value:.2f}"
        return number if not narrow else number.removeprefix("0") if number < "1" else "1.0"


WEIGHTS = Shades("heatmap", 0.0, 1.0, "figure.weight")


def scores_of(values: np.ndarray) -> Shades:
    """Symmetric about 0, as far as these finite values reach."""
    finite = np.abs(values[np.isfinite(values)])
    high = float(finite.max(initial=0.0)) or 1.0
    return Shades("scores", -high, high, "figure.score")


def heat_map(
    values: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    shades: Shades,
    *,
    allowed: np.ndarray | None = None,
    selected: tuple[int, int] | None = None,
    title: str | None = None,
    rows: slice | None = None,
    columns: slice | None = None,
    language: str = "en",
) -> go.Figure:
    """`values` (query, key) in `shades`; `allowed` (query, key) bool is False where the mask forbids looking.

    `selected` is the (query, key) of the orange cell. Texts over 128 tokens are drawn pooled (each cell the largest
    value of its block), or exactly within a window: `rows` and `columns` are slices of the text's positions. `values`
    and `allowed` may then hold the whole map or just the window. Raises ValueError where the shapes do not fit.
    """
    window = window_of(rows, len(queries)), window_of(columns, len(keys))
    values = cut(np.asarray(values), window, (len(queries), len(keys)))
    may_look = None if allowed is None else cut(np.asarray(allowed), window, (len(queries), len(keys)))
    forbidden = np.zeros(values.shape, bool) if may_look is None else ~may_look.astype(bool)
    grid = grid_of(values, forbidden, queries, keys, window)
    return theme.figure(_traces(grid, shades, language), map_layout(grid, selected, title, language))


def pooled_map(
    pooled: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    shades: Shades,
    *,
    block: int,
    selected: tuple[int, int] | None = None,
    language: str = "en",
) -> go.Figure:
    """A map that was pooled already: (query block, key block), NaN where the mask forbids all of a block."""
    wanted = tuple(-(-len(tokens) // block) for tokens in (queries, keys))
    if pooled.shape != wanted:
        raise ValueError(f"{pooled.shape} blocks of {block} do not fit {len(queries)} queries and {len(keys)} keys")
    grid = block_grid(pooled, np.isnan(pooled), queries, keys, block)
    return theme.figure(_traces(grid, shades, language), map_layout(grid, selected, None, language))


def _traces(grid: Grid, shades: Shades, language: str) -> list[dict]:
    count = max(grid.weights.shape)
    gap = 2 if count <= 24 else 1 if count <= 64 else 0
    # The last block of a pooled map may be smaller; it keeps the width of the others and runs over the edge.
    place = {"type": "heatmap", "x0": grid.x[0], "dx": grid.block, "y0": grid.y[0], "dy": grid.block}
    place |= {
        "zmin": shades.low,
        "zmax": shades.high,
        "xgap": gap,
        "ygap": gap,
        "hoverongaps": False,
        "showscale": False,
    }
    words = {"looking": "%{y}", "seen": "%{x}"}
    kind = "block" if grid.block > 1 else "cell"
    main = place | {
        "z": grid.weights,
        "colorscale": shades.colours,
        "hovertemplate": message(f"figure.{shades.kind}.{kind}", language, weight="%{z:.3g}", **words)
        + "<extra></extra>",
    }
    if count > NUMBERS_UP_TO:
        main |= {"showscale": True, "colorbar": _colorbar(shades, language)}
    hidden = message("figure.heatmap.forbidden", language, **words)
    return [main, *_forbidden(grid, place, hidden), *_numbers(grid, shades, place)]


def _colorbar(shades: Shades, language: str) -> dict:
    ticks = [shades.low, (shades.low + shades.high) / 2, shades.high]
    return scale_bar(message(shades.name, language), ticks, tickformat=".3~g")


def _forbidden(grid: Grid, place: dict, words: str) -> list[dict]:
    """Hatched grey: a plain map that answers the hover, and one filled outline that draws every stroke of the hatch."""
    if not grid.forbidden.any():
        return []
    grey = place | {
        "z": np.where(grid.forbidden, np.float32(1), np.float32(np.nan)),
        "colorscale": [[0, theme.LIGHT["masked"]], [1, theme.LIGHT["masked"]]],
        "hovertemplate": words + "<extra></extra>",
    }
    x, y = outlines(grid)
    hatch = {"shape": "/", "fgcolor": theme.LIGHT["hatch"], "bgcolor": theme.CLEAR, "size": 7, "solidity": 0.18}
    return [
        grey,
        {
            "type": "scatter",
            "x": x,
            "y": y,
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "fillpattern": hatch,
            "hoverinfo": "skip",
        },
    ]


def outlines(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """A rectangle around every run of forbidden cells in a row, NaN between them; float32."""
    padded = np.pad(grid.forbidden, ((0, 0), (1, 1))).astype(np.int8)
    change = np.diff(padded, axis=1)  # (query, key + 1): 1 where a run starts, −1 behind its end
    row, start = np.nonzero(change == 1)
    _, stop = np.nonzero(change == -1)
    left, right = (grid.x[0] + (edge - 0.5) * grid.block for edge in (start, stop))
    top, bottom = (grid.y[0] + (row + side) * grid.block for side in (-0.5, 0.5))
    none = np.full(len(row), np.nan)
    x = np.stack([left, right, right, left, left, none], axis=1)
    y = np.stack([top, top, bottom, bottom, top, none], axis=1)
    return x.ravel().astype(np.float32), y.ravel().astype(np.float32)


def _numbers(grid: Grid, shades: Shades, place: dict) -> list[dict]:
    """Clear maps that only write numbers, one per ink; on the visible label axes, which need a trace each."""
    clear = [[0, theme.CLEAR], [1, theme.CLEAR]]
    blank = {"z": np.zeros(grid.weights.shape, np.uint8)} if max(grid.weights.shape) <= NUMBERS_UP_TO else {"z": [[0]]}
    on_labels = place | blank | {"xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip", "colorscale": clear}
    if max(grid.weights.shape) > NUMBERS_UP_TO:
        return [on_labels]
    inks = np.where(grid.forbidden, -1, theme.cell_ink(shades.strength(np.nan_to_num(grid.weights))))
    traces = []
    for number, (_, (ink, _)) in enumerate(theme.CELL_INKS):
        if (inks == number).any():
            texts = {
                "text": _texts(grid, shades, inks == number),
                "texttemplate": "%{text}",
                "textfont": {"color": ink},
            }
            traces.append(on_labels | texts)
    return traces or [on_labels]


def _texts(grid: Grid, shades: Shades, mine: np.ndarray) -> list[list[str]]:
    """Numbers where `mine`.

    Plotly finds one size of type per trace from neighbouring texts: the spaces give all traces the same neighbours.
    """
    narrow = max(grid.weights.shape) > 8
    texts = [["" for _ in row] for row in mine]
    for row, column in [(0, column) for column in range(len(grid.keys))] + [(len(texts) // 2, 0)]:
        texts[row][column] = " "
    for row, column in zip(*(index.tolist() for index in np.nonzero(mine)), strict=True):
        texts[row][column] = shades.text(float(grid.weights[row, column]), narrow)
    return texts


def map_layout(grid: Grid, selected: tuple[int, int] | None, title: str | None, language: str) -> dict:
    query, key = cell_of(grid, selected)
    caption = message("figure.pooled", language, size=grid.block) if grid.block > 1 else None
    at = None if query is None or key is None else (key, query)
    count = len(grid.keys), len(grid.queries)
    corner = float(grid.x[0]) - grid.block / 2, float(grid.y[0]) - grid.block / 2
    large = max(grid.weights.shape) > NUMBERS_UP_TO
    above = 22 + _label_height(grid.labels[1] or grid.keys, grid.labels[0] or grid.queries) + (26 if title else 0)
    below = 66 if caption else 44 if large else 8
    return {
        # The page moves the frame of a pooled map without drawing it anew, so no label there is set apart.
        **(_axes(grid, query, key, language) if grid.block == 1 else _axes(grid, None, None, language)),
        "height": round(_map_height(grid) + above + below),
        "margin": {"l": 8, "r": 8, "t": above, "b": below},
        "title": {"text": escape(title or ""), "x": 0, "y": 1, "yanchor": "top", "pad": {"t": 4}, "font": {"size": 14}},
        "shapes": [] if at is None else [frame(float(grid.x[at[0]]), float(grid.y[at[1]]), grid.block)],
        "annotations": [] if caption is None else [note(caption, below=48)],
        "meta": {"caption": caption, "block": grid.block, "select": selectable(corner, grid.block, count, at)},
        "dragmode": "zoom" if large else False,
    }


def _axes(grid: Grid, query: int | None, key: int | None, language: str) -> dict:
    axes = token_axes(grid.keys, grid.x.tolist(), axis="x", selected=key, labels=grid.labels[1])
    axes |= token_axes(grid.queries, grid.y.tolist(), axis="y", selected=query, labels=grid.labels[0])
    for axis, tone, words in (("xaxis2", "k-text", "figure.looked_at"), ("yaxis2", "q-text", "figure.looks")):
        font = {"size": 12, "color": theme.LIGHT[tone]}
        axes[axis]["title"] = {"text": message(words, language), "font": font, "standoff": 6}
    if language == "zh":  # Chinese does not lie on its side: both names stand above the map
        rows, columns = (axes[axis]["title"] for axis in ("yaxis2", "xaxis2"))
        columns["text"] = f'<span style="color:{theme.LIGHT["q-text"]}">{rows["text"]} ↓</span>   {columns["text"]} →'
        del axes["yaxis2"]["title"]
    return axes


def _map_height(grid: Grid) -> float:
    count = len(grid.queries)
    return max(96, count * min(42, 460 / count))


def _label_height(keys: Sequence[str], queries: Sequence[str]) -> float:
    """Pixels above the map: one line where labels can stand side by side on a wide screen, else as long as they are.

    Where a narrow screen turns them upright after all, Plotly takes the room from the map: better than an empty band.
    """
    shown = most_labels("x", len(keys))
    wide = [6.5 * width(shorten(keys[index])) for index in thinned(len(keys), shown)]
    room = (WIDE - 30 - 6.5 * max(width(shorten(query)) for query in queries)) / min(len(keys), shown)
    closest = max((left + right) / 2 for left, right in zip(wide, [*wide[1:], wide[-1]], strict=True))
    return 20 if closest <= room else 8 + max(wide)
