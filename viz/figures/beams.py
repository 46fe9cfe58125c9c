"""Beam search as a tree that grows downwards: one row per pass, one box per candidate, and what became of it."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note, shorten

ROW = 58  # pixels per pass
BOX = 0.45, 0.3  # half the width and height of a box, in columns and rows
FATES = ("best", "kept", "finished", "dropped")


class Node(Protocol):
    """What is needed of a `TreeNode` (see `transformer/beam.py`)."""

    @property
    def step(self) -> int: ...
    @property
    def parent(self) -> int | None: ...
    @property
    def log_p(self) -> float: ...
    @property
    def score(self) -> float: ...
    @property
    def fate(self) -> str: ...
    @property
    def best(self) -> bool: ...


def beam_tree(
    nodes: Sequence[Node], tokens: Sequence[str], *, selected: int | None = None, language: str = "en"
) -> go.Figure:
    """`nodes` with parents before children, the first one what was given; `tokens` names each (that of the first is not
    shown). In a box stand its token and the sum of log p up to it; `selected` is the node that is looked at. The
    `customdata` of a box is the number of its node.

    Filled dark: on the way to the best text; pale: lived on; framed: a text that is complete; dashed: dropped. Children
    stand under their parents, the more probable ones to the left. Raises ValueError where the names do not fit.
    """
    if not nodes or len(nodes) != len(tokens):
        raise ValueError(f"{len(tokens)} tokens do not fit {len(nodes)} nodes")
    x, y = _places(nodes)
    kinds = ["best" if node.best else node.fate for node in nodes]
    names = [message("figure.beam.given", language), *tokens[1:]]
    columns = round(2 * (float(x.max()) + 0.5))
    traces = [_edges(nodes, x, y, kinds, kind) for kind in reversed(FATES)]
    traces += [_labels(nodes, x, y, names, kinds, kind, columns, language) for kind in FATES]
    layout = _layout(nodes, x, y, kinds, columns, language)
    if selected is not None and 0 <= selected < len(nodes):
        layout["shapes"].append(_chosen(float(x[selected]), float(y[selected])))
    return theme.figure([one for one in traces if len(one["x"])], layout)


def _places(nodes: Sequence[Node]) -> tuple[np.ndarray, np.ndarray]:
    """The middle of each box: rows are passes; within a row, in the order of the parents, then best first."""
    x, y = np.zeros(len(nodes)), np.array([node.step for node in nodes], float)
    for step in range(1, int(y.max()) + 1):
        row = [index for index, node in enumerate(nodes) if node.step == step]
        row.sort(key=lambda index: (x[nodes[index].parent or 0], -nodes[index].score))
        x[row] = np.arange(len(row)) - (len(row) - 1) / 2
    return x, y


def _edges(nodes: Sequence[Node], x: np.ndarray, y: np.ndarray, kinds: Sequence[str], kind: str) -> dict:
    """Lines from the parents' lower edges to the upper edges of the boxes of one kind, NaN between them."""
    mine = (index for index in range(len(nodes)) if kinds[index] == kind)
    pairs = [(parent, child) for child in mine if (parent := nodes[child].parent) is not None]
    ends = [(x[parent], x[child], np.nan) for parent, child in pairs]
    heights = [(y[parent] + BOX[1], y[child] - BOX[1], np.nan) for parent, child in pairs]
    tone, thick = {"best": ("accent", 3.0), "dropped": ("line", 1.2)}.get(kind, ("muted", 1.2))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.array(ends, np.float32).ravel(),
        "y": np.array(heights, np.float32).ravel(),
        "line": {"color": theme.LIGHT[tone], "width": thick},
        "hoverinfo": "skip",
    }


def _labels(
    nodes: Sequence[Node],
    x: np.ndarray,
    y: np.ndarray,
    names: Sequence[str],
    kinds: Sequence[str],
    kind: str,
    columns: int,
    language: str,
) -> dict:
    """Token and score in each box of one kind."""
    mine = [index for index in range(len(nodes)) if kinds[index] == kind]
    longest = 12 if columns <= 4 else 6 if columns <= 6 else 5
    short = [escape(shorten(names[index], 12 if index == 0 else longest)) for index in mine]
    scores = ["" if index == 0 else f"<br>{_number(nodes[index].score, 1 if columns > 6 else 2)}" for index in mine]
    ink = {"best": "on-accent", "dropped": "muted"}.get(kind, "ink")
    return {
        "type": "scatter",
        "mode": "text",
        "x": x[mine].astype(np.float32),
        "y": y[mine].astype(np.float32),
        "text": [name + score for name, score in zip(short, scores, strict=True)],
        "textfont": {"size": 11, "color": theme.LIGHT[ink]},
        "hovertext": [_hover(nodes[index], names[index], language) for index in mine],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "customdata": mine,
        "cliponaxis": False,
    }


def _number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def _hover(node: Node, name: str, language: str) -> str:
    if node.parent is None:
        return escape(name)
    facts = {"log_p": _number(node.log_p, 3), "p": f"{np.exp(node.log_p):.3g}", "score": _number(node.score, 3)}
    fate = message(f"figure.beam.fate.{node.fate}", language)
    return message("figure.beam.hover", language, token=escape(name), step=node.step, fate=fate, **facts)


def _layout(
    nodes: Sequence[Node], x: np.ndarray, y: np.ndarray, kinds: Sequence[str], columns: int, language: str
) -> dict:
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": ""}
    steps = list(range(1, int(y.max()) + 1))
    widest = max(columns, 2) / 2
    legend = _legend(kinds, language)
    read = message("figure.beam.note", language)
    words = note(read, left=16)
    signs = "   ".join(f'<span style="color:{colour}">{sign}</span> {name}' for sign, colour, name in legend)
    words["text"] = f"{signs}<br>{words['text']}"
    below = 16 + 15 * (2 + read.count("\n"))
    return {
        "xaxis": bare | {"range": [-widest, widest], "showticklabels": False},
        "yaxis": bare
        | {
            "range": [y.max() + 0.5, -0.5],
            "tickmode": "array",
            "tickvals": steps,
            "ticktext": [str(step) for step in steps],
            "tickfont": {"size": 11, "color": theme.LIGHT["muted"]},
            "automargin": True,
        },
        "shapes": [_box(x[index], y[index], kinds[index]) for index in range(len(nodes))],
        "annotations": [words],
        "meta": {"caption": "\n".join(["   ".join(f"{sign} {name}" for sign, _, name in legend), read])},
        "height": ROW * (int(y.max()) + 1) + 8 + below,
        "margin": {"l": 8, "r": 8, "t": 8, "b": below},
    }


def _legend(kinds: Sequence[str], language: str) -> list[tuple[str, str, str]]:
    """(sign, its colour, words) of what occurs."""
    signs = {"best": ("■", "accent"), "kept": ("■", ""), "finished": ("□", "accent"), "dropped": ("□", "muted")}
    found = []
    for kind in (kind for kind in FATES if kind in kinds[1:]):
        sign, tone = signs[kind]
        colour = theme.LIGHT[tone] if tone else theme.SOFT_ACCENT
        found.append((sign, colour, message(f"figure.beam.fate.{kind}", language)))
    return found


def _box(x: float, y: float, kind: str) -> dict:
    fill = {"best": theme.LIGHT["accent"], "kept": theme.SOFT_ACCENT}.get(kind, theme.LIGHT["card"])
    tone, dash = ("hatch", "dot") if kind == "dropped" else ("accent", "solid")
    line = {"color": theme.LIGHT[tone], "width": 2 if kind == "finished" else 1, "dash": dash}
    corners = {"x0": float(x - BOX[0]), "x1": float(x + BOX[0]), "y0": float(y - BOX[1]), "y1": float(y + BOX[1])}
    return {"type": "rect", "layer": "below", "fillcolor": fill, "line": line, **corners}


def _chosen(x: float, y: float) -> dict:
    """The orange rectangle around the node that is looked at."""
    corners = {"x0": x - BOX[0], "x1": x + BOX[0], "y0": y - BOX[1], "y1": y + BOX[1]}
    return {"name": "selected", "type": "rect", "line": {"color": theme.LIGHT["select"], "width": 3}, **corners}
