"""A chart of measurements: title, legend, and panels of numbers one above the other, for wide and narrow screens.

All heights are in pixels and known beforehand, so that nothing runs into anything where the screen is narrow: words are
broken into lines, the legend has one or two columns, and the unit of a panel stands level above it.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.axes import escape, note, width

NARROW = 50  # character widths of one line of small type on a phone
TITLE, SMALL, ENTRY = 19, 15, 20  # pixels of a line of the title, of small type, of the legend
PANEL, ABOVE, BELOW = 170, 26, 24  # pixels of a panel, of the room above it for its unit, below it for its ticks
X_TITLE = 20  # pixels more where the horizontal axis has a title
LEFT = 54  # pixels for the numbers beside a panel, unless they are words that need more


@dataclass(frozen=True)
class Panel:
    """One field of numbers. `unit` stands above it, `x_title` below; the axes come from `curves.py`."""

    unit: str
    y: dict
    x: dict
    x_title: str = ""


def chart(
    traces: Sequence[dict],
    panels: Sequence[Panel],
    *,
    title: str,
    facts: str,
    caption: str = "",
    panel_height: int = PANEL,
) -> go.Figure:
    """`panels` from top to bottom with `traces`, which name theirs by its axes.

    `facts` says in small type how it was measured, `caption` below how to read it. `meta` holds the plain words.
    """
    names = [trace["name"] for trace in traces if trace.get("showlegend")]
    columns = 2 if max(map(width, names), default=0) <= 12 else 1
    heading, explained, told = wrapped(title, 42), wrapped(facts), wrapped(caption) if caption else []
    room = (ENTRY * -(-len(names) // columns) + 8 if names else 0) + (ABOVE if panels[0].unit else 6)
    above = 6 + TITLE * len(heading) + SMALL * len(explained) + room
    below = BELOW + X_TITLE + (SMALL * len(told) + 8 if told else 0)
    left = max([LEFT, *(16 + 7 * width(label) for panel in panels for label in panel.y.get("ticktext", ()))])
    tops, plot = _places(panels, panel_height)
    layout: dict[str, Any] = {
        "height": above + plot + below,
        "margin": {"l": left, "r": 14, "t": above, "b": below},
        "title": _title(heading, explained, above + plot + below),
        "showlegend": bool(names),
        "legend": _legend(columns, 1 + room / plot),
        "annotations": [_unit(panel.unit, 1 - top / plot, left) for panel, top in zip(panels, tops, strict=True)],
        "meta": {"title": title, "facts": facts, "caption": caption},
    }
    for number, (panel, top) in enumerate(zip(panels, tops, strict=True)):
        suffix = "" if number == 0 else str(number + 1)
        domain = [max(1 - (top + panel_height) / plot, 0), 1 - top / plot]
        layout[f"yaxis{suffix}"] = _axis() | panel.y | {"domain": domain, "anchor": f"x{suffix}"}
        layout[f"xaxis{suffix}"] = _axis(panel.x_title) | panel.x | {"anchor": f"y{suffix}"}
    if told:
        layout["annotations"].append(note("\n".join(told), below=BELOW + X_TITLE + 2, left=left - 8))
    return theme.figure(traces, layout)


def _places(panels: Sequence[Panel], panel_height: int) -> tuple[list[int], int]:
    """How many pixels below the first panel's top each one begins, and where the last one ends."""
    tops, place = [], 0
    for panel in panels:
        tops.append(place)
        place += panel_height + BELOW + (X_TITLE if panel.x_title else 0) + ABOVE
    return tops, tops[-1] + panel_height


def _axis(title: str = "") -> dict:
    font = {"size": 12, "color": theme.LIGHT["muted"]}
    return {
        "showgrid": True,
        "gridcolor": theme.LIGHT["line"],
        "gridwidth": 1,
        "zeroline": False,
        "ticks": "",
        "tickfont": font,
        "tickangle": 0,
        "fixedrange": True,
        "title": {"text": escape(title), "standoff": 4, "font": font},
    }


def _title(heading: list[str], explained: list[str], height: int) -> dict:
    words = "<br>".join(f"<b>{escape(line)}</b>" for line in heading)
    small = "<br>".join(escape(line) for line in explained)
    muted = f'<span style="font-size:12px;color:{theme.LIGHT["muted"]}">{small}</span>'
    return {
        "text": f"{words}<br>{muted}" if small else words,
        "x": 0,
        "xanchor": "left",
        "y": 1 - (TITLE - 3) / height,  # Plotly puts the foot of the first line here
        "yanchor": "top",
        "pad": {"l": 8},
        "font": {"size": 14},
    }


def _legend(columns: int, top: float) -> dict:
    return {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": top,
        "yanchor": "top",
        "traceorder": "normal",
        "entrywidthmode": "fraction",
        "entrywidth": 0.88 / columns,
        "font": {"size": 12},
        "itemclick": False,
        "itemdoubleclick": False,
        "bgcolor": theme.CLEAR,
        "tracegroupgap": 0,
    }


def _unit(text: str, top: float, left: int) -> dict:
    """What a panel counts, level above it: Chinese lying on its side cannot be read."""
    font = {"size": 12, "color": theme.LIGHT["ink"]}
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": top, "xanchor": "left", "yanchor": "bottom"}
    return {"text": escape(text), "showarrow": False, "font": font, "xshift": 8 - left, "yshift": 4, **place}


def wrapped(text: str, longest: int = NARROW) -> list[str]:
    """`text` in lines of at most `longest` character widths, parted at spaces, or anywhere between wide characters."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for piece in _pieces(paragraph):
            if line and width((line + piece).rstrip()) > longest:
                lines.append(line.rstrip())
                line = ""
            line += piece if line else piece.lstrip()
        lines.append(line.rstrip())
    return lines


def _pieces(text: str) -> list[str]:
    """Where a line may be parted: behind a space and around a wide character that is no closing sign."""
    pieces = [""]
    for character in text:
        wide, closing = width(character) == 2, unicodedata.category(character) in ("Po", "Pe", "Pf")
        if pieces[-1] and not closing and (wide or pieces[-1][-1] == " " or width(pieces[-1][-1]) == 2):
            pieces.append("")
        pieces[-1] += character
    return pieces
