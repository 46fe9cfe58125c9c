"""The only place where tokens meet an axis: positions are numbers, tokens are labels, and no label is read as markup.

Each token axis is two axes on the same positions. The first has no visible labels but all the words, whole: Plotly's
hover reads them there, so a hover costs no text per cell. The second, laid over it, shows
as many shortened labels as fit.
"""

import html
import unicodedata
from collections.abc import Sequence

from viz.figures import theme

LONGEST_LABEL = 14  # in character widths; the whole token stays in the hover
MOST_DOWN = 20  # labels beside rows
ALL_ACROSS = 16  # columns that are all labelled: upright labels still stand apart on a phone
MOST_ACROSS = 12  # labels above more columns than that


def escape(token: str) -> str:
    """`token` as Plotly shows it character for character: no tags, no entities, no LaTeX, and no "#" of a colour."""
    return html.escape(token, quote=False).replace("#", "&#35;").replace("$", "&#36;")


def width(text: str) -> int:
    """How many character widths `text` takes: East Asian wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def shorten(token: str, longest: int = LONGEST_LABEL) -> str:
    """`token` within `longest` character widths; what is left out of the middle becomes "…"."""
    if width(token) <= longest:
        return token
    head, tail = len(token) * 2 // 3, len(token) - len(token) * 2 // 3
    while width(token[:head]) > (longest - 1) * 2 // 3:
        head -= 1
    while width(token[-tail:]) > longest - 1 - (longest - 1) * 2 // 3:
        tail -= 1
    return f"{token[:head]}…{token[len(token) - tail :]}"


def thinned(count: int, most: int, selected: int | None = None) -> list[int]:
    """Which of `count` labels to show, evenly spaced, at most about `most`; `selected` pushes its neighbours away."""
    step = -(-count // most)
    shown = list(range(0, count, step))
    if selected is None or not 0 <= selected < count:
        return shown
    return sorted({index for index in shown if abs(index - selected) >= step} | {selected})


def most_labels(axis: str, count: int) -> int:
    """How many of `count` tokens get a label on `axis` "x" or "y", about."""
    return MOST_DOWN if axis == "y" else ALL_ACROSS if count <= ALL_ACROSS else MOST_ACROSS


def labelled(tokens: Sequence[str], positions: Sequence[float], most: int, selected: int | None) -> dict:
    """Tick positions and short labels; the label of the token at index `selected` is bold and orange."""
    shown = thinned(len(tokens), most, selected)
    text = [escape(shorten(tokens[index])) for index in shown]
    if selected in shown:
        place = shown.index(selected)
        text[place] = f'<b style="color:{theme.LIGHT["select-text"]}">{text[place]}</b>'
    return {"tickvals": [positions[index] for index in shown], "ticktext": text}


def _bare(positions: Sequence[float], axis: str) -> dict:
    """An axis without lines, from half a cell before the first position to half a cell behind the last."""
    half = (positions[1] - positions[0]) / 2 if len(positions) > 1 else 0.5
    ends = [positions[0] - half, positions[-1] + half]
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "showline": False, "ticks": ""}
    return bare | {"range": ends if axis == "x" else ends[::-1], "tickmode": "array"}


def token_axes(
    tokens: Sequence[str],
    positions: Sequence[float],
    *,
    axis: str,
    selected: int | None = None,
    labels: Sequence[str] | None = None,
) -> dict[str, dict]:
    """The pair of axes for `tokens` at `positions`; `axis` "x" puts labels on top, "y" at the left, top to bottom.

    `labels` are shorter names to show where the whole ones say too much for an axis.
    Returns {"xaxis": …, "xaxis2": …} or the same with y. A trace must be bound to the second, or Plotly hides it.
    """
    bare = _bare(positions, axis)
    whole = bare | {
        "tickvals": list(positions),
        "ticktext": [escape(token) for token in tokens],
        "showticklabels": False,
        "side": "bottom" if axis == "x" else "right",
    }
    shown = bare | labelled(labels or tokens, positions, most_labels(axis, len(tokens)), selected)
    shown |= {"overlaying": axis, "matches": axis, "automargin": True, "tickfont": {"size": 12}}
    # Upright labels rather than slanted ones: they cannot run into each other or out of the picture.
    shown |= {"side": "top", "autotickangles": [0, -90]} if axis == "x" else {"side": "left", "ticklabelstandoff": 4}
    return {f"{axis}axis": whole, f"{axis}axis2": shown}


def frame(x: float, y: float, size: float = 1) -> dict:
    """The orange rectangle around the chosen cell, centred on (x, y); the page moves the shape of this name."""
    half, line = size / 2, {"color": theme.LIGHT["select"], "width": 3}
    corners = {"x0": x - half, "x1": x + half, "y0": y - half, "y1": y + half}
    return {"name": "selected", "type": "rect", "line": line, **corners}


def selectable(origin: tuple[float, float], size: float, count: tuple[int, int], at: tuple[int, int] | None) -> dict:
    """For `layout.meta.select`: `count` (columns, rows) cells of `size`, the first with its corner at `origin` (x, y).

    The page reads it to move the rectangle at a click or an arrow key before the server has answered.
    """
    pair = [size, size]
    return {
        "origin": list(origin),
        "pitch": pair,
        "size": pair,
        "count": list(count),
        "at": None if at is None else list(at),
    }


def note(text: str, below: int = 6, left: float = 0) -> dict:
    """Muted words `below` pixels under the figure, for what a reader must know to read it right; "\n" parts lines.

    They begin `left` pixels before the first column.
    """
    font = {"size": 11, "color": theme.LIGHT["muted"]}
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xanchor": "left", "yanchor": "top", "yshift": -below}
    place |= {"xshift": -left} if left else {}
    return {"text": escape(text).replace("\n", "<br>"), "showarrow": False, "align": "left", "font": font, **place}
