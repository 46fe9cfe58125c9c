"""All heads of all layers in one trace: 144 subplots take two seconds, one mosaic a tenth of one."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, frame, note, selectable, thinned
from viz.figures.pooling import pool

MOST_CELLS = 32  # per side of one small map
MOST_BYTES = 130_000  # of the whole mosaic, before base64 adds a third
GAP = 1  # cells between maps; their value 0 is the surface behind, weights take 1 … 255


def mosaic_block(n_heads: int, n_queries: int, n_keys: int) -> int:
    """How many tokens per side share one cell when `n_heads` maps (all layers together) are drawn at once."""
    block = 1
    while True:
        rows, columns = -(-n_queries // block), -(-n_keys // block)
        if max(rows, columns) <= MOST_CELLS and n_heads * (rows + GAP) * (columns + GAP) <= MOST_BYTES:
            return block
        if rows == columns == 1:
            return block
        block += 1


def mosaic_cell(x: float, y: float, n_heads: Sequence[int] | None = None) -> tuple[int, int] | None:
    """(layer, head) of a click on the mosaic; None beside the maps, when `n_heads` of each layer is given.

    One map is one unit wide and high, and its middle lies at (head, layer).
    """
    layer, head = int(np.floor(y + 0.5)), int(np.floor(x + 0.5))
    if n_heads is not None and not (0 <= layer < len(n_heads) and 0 <= head < n_heads[layer]):
        return None
    return layer, head


def attention_mosaic(
    weights: np.ndarray | Sequence[np.ndarray],
    *,
    selected: tuple[int, int] | None = None,
    layers: Sequence[str] | None = None,
    block: int = 1,
    language: str = "en",
) -> go.Figure:
    """Every head as one small map. `weights` (layer, head, query, key), or a list of (head, query, key), one per layer.

    Floats are weights 0…1; uint8 is taken as 255·√weight. Layers may differ in their number of heads. Long texts are
    pooled (the largest weight of each block); `block` says how many tokens per side the caller has pooled already, see
    `mosaic_block`. Shades are on a square-root scale, and the note says so. `selected` is (layer, head), `layers` are
    names where numbers are not enough.
    """
    maps = [np.asarray(layer) for layer in weights]
    if not maps or any(layer.ndim != 3 for layer in maps):
        raise ValueError(f"expected (head, query, key) for each layer, got {[layer.shape for layer in maps]}")
    n_heads = [len(layer) for layer in maps]
    rows, columns = (max(layer.shape[axis] for layer in maps) for axis in (1, 2))
    further = mosaic_block(sum(n_heads), rows, columns)
    picture, cells = _picture([_shades(layer, further) for layer in maps])
    caption = _caption(block * further, language)
    trace = _trace(picture, cells, n_heads, layers, language)
    return theme.figure([trace], _layout(n_heads, layers, selected, caption, block * further, language))


def _shades(layer: np.ndarray, block: int) -> np.ndarray:
    """(head, query block, key block) uint8: 1 + 254·√weight. Pooled first: the root keeps the order of weights."""
    pooled, _, _ = pool(layer, block)
    if pooled.dtype == np.uint8:
        return np.maximum(pooled, 1)
    root = np.sqrt(np.clip(np.nan_to_num(pooled.astype(np.float32)), 0, 1))
    return (root * 254 + 1.5).astype(np.uint8)


def _picture(maps: list[np.ndarray]) -> tuple[np.ndarray, tuple[int, int]]:
    """All maps on one canvas (uint8), and how many cells one map takes, gap included."""
    high, wide = (GAP + max(layer.shape[axis] for layer in maps) for axis in (1, 2))
    canvas = np.zeros((len(maps), high, max(map(len, maps)), wide), np.uint8)  # (layer, query, head, key)
    for place, layer in zip(canvas, maps, strict=True):
        heads, rows, columns = layer.shape
        place[:rows, :heads, :columns] = layer.transpose(1, 0, 2)
    return canvas.reshape(len(maps) * high, -1), (high, wide)


def _trace(
    picture: np.ndarray, cells: tuple[int, int], n_heads: list[int], layers: Sequence[str] | None, language: str
) -> dict:
    high, wide = cells
    scale = [(0.0, theme.CLEAR), (0.5 / 255, theme.CLEAR), (0.5 / 255, theme.WEIGHTS[0][1])]
    scale += [(1 / 255 + stop * 254 / 255, colour) for stop, colour in theme.WEIGHTS]
    # Plotly can round a number but cannot look up the name of a layer, and a wrong name is worse than none.
    hover = message("figure.mosaic.hover", language, layer="%{y:.0f}", head="%{x:.0f}")
    hover = hover if layers is None else message("figure.mosaic.hover_head", language, head="%{x:.0f}")
    return {
        "type": "heatmap",
        "z": picture,
        "zmin": 0,
        "zmax": 255,
        "colorscale": scale,
        "showscale": False,
        # Half a gap before the first cell, so that the middle of a map, gap included, is a whole number.
        "x0": -0.5 + (1 + GAP) / 2 / wide,
        "dx": 1 / wide,
        "y0": -0.5 + (1 + GAP) / 2 / high,
        "dy": 1 / high,
        "hovertemplate": hover + "<extra></extra>",
    }


def _caption(block: int, language: str) -> str:
    root = message("figure.mosaic.root", language)
    return root if block == 1 else f"{root}\n{message('figure.pooled', language, size=block)}"


def _layout(
    n_heads: list[int],
    layers: Sequence[str] | None,
    selected: tuple[int, int] | None,
    caption: str,
    block: int,
    language: str,
) -> dict:
    count, most = len(n_heads), max(n_heads)
    row = min(34, max(11, 560 / count))
    below = 26 + 15 * caption.count("\n")
    names = [str(layer) for layer in range(count)] if layers is None else list(layers)
    at = None if selected is None else (selected[1], selected[0])
    axis = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": "", "tickmode": "array"}
    axis |= {"tickfont": {"size": 11}}
    small = {"size": 11, "color": theme.LIGHT["muted"]}
    return {
        "xaxis": axis
        | _ticks([str(number) for number in range(most)], 12)
        | {"range": [-0.5, most - 0.5], "side": "top", "title": _title("figure.head", small, language)},
        "yaxis": axis | _ticks(names, int(row * count / 20) or 1) | {"range": [count - 0.5, -0.5], "automargin": True},
        "shapes": [] if at is None else [frame(*at)],
        "annotations": [note(caption), _corner(message("figure.layer", language), small)],
        "meta": {"caption": caption, "block": block, "select": selectable((-0.5, -0.5), 1, (most, count), at)},
        "height": round(row * count + 36 + below),
        "margin": {"l": 40, "r": 8, "t": 36, "b": below},
    }


def _corner(text: str, font: dict) -> dict:
    """The title of the rows, level above their labels: Chinese lying on its side cannot be read."""
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "right", "yanchor": "bottom"}
    return {"text": text, "showarrow": False, "font": font, "xshift": -4, "yshift": 3, **place}


def _title(key: str, font: dict, language: str) -> dict:
    return {"text": message(key, language), "font": font, "standoff": 4}


def _ticks(names: list[str], most: int) -> dict:
    """Every so manieth name; the chosen one is not set apart, as the page moves the frame and draws no names anew."""
    shown = thinned(len(names), most)
    return {"tickvals": shown, "ticktext": [escape(names[index]) for index in shown]}
