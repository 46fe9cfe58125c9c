"""One step's candidates as bars, and where temperature, top-k and top-p cut between them (Holtzman et al. 2020)."""

from collections.abc import Sequence
from math import exp
from typing import Protocol

import numpy as np
import plotly.graph_objects as go

from transformer.messages import message
from viz.figures import theme
from viz.figures.axes import escape, note, selectable, shorten, width
from viz.figures.predictions import BAR, percent


class Chosen(Protocol):
    """What is needed of a `Distribution` (see `transformer/distribution.py`)."""

    @property
    def ranks(self) -> np.ndarray: ...
    @property
    def p(self) -> np.ndarray: ...
    @property
    def scaled(self) -> np.ndarray: ...
    @property
    def final(self) -> np.ndarray: ...
    @property
    def place(self) -> int: ...
    @property
    def vocabulary(self) -> int: ...
    @property
    def n_after_top_k(self) -> int: ...
    @property
    def n_kept(self) -> int: ...
    @property
    def mass_kept(self) -> float: ...
    @property
    def mass_cut_by_top_k(self) -> float: ...
    @property
    def mass_cut_by_top_p(self) -> float: ...
    @property
    def entropy(self) -> float: ...
    @property
    def cut_by(self) -> tuple[str, ...]: ...


def sampling_bars(
    chosen: Chosen, tokens: Sequence[str], *, selected: int | None = None, language: str = "en"
) -> go.Figure:
    """Bars of one step's candidates at its temperature, `tokens` named in the order of `chosen.ids`, largest on top;
    `selected` is the row that is looked at.

    Blue: could be drawn, the darker one was. Hatched: cut; a dashed line says by which dial, if it falls between the
    bars. The last bar is what all others hold together. Where the cut changed a probability, an arrow leads from the
    one before to the one after. Raises ValueError where the names do not fit.
    """
    if len(tokens) != len(chosen.ranks):
        raise ValueError(f"{len(tokens)} tokens do not fit {len(chosen.ranks)} probabilities")
    traces = [_bars(chosen, tokens, fate, language) for fate in ("", "top_p", "top_k")]
    others = chosen.vocabulary - len(tokens)
    rest = max(0.0, 1 - float(chosen.scaled.sum())) if others else 0.0
    traces += [_others(len(tokens), rest, others, language)] if others else []
    return theme.figure(traces, _layout(chosen, tokens, rest, others, selected, language))


def _bars(chosen: Chosen, tokens: Sequence[str], fate: str, language: str) -> dict:
    """The rows that one dial cut, or, for "", the ones that were kept."""
    rows = [row for row, cut in enumerate(chosen.cut_by) if cut == fate]
    pairs = [(float(chosen.scaled[row]), float(chosen.final[row])) for row in rows]
    colours = [theme.LIGHT["accent"] if row == chosen.place else theme.SOFT_ACCENT for row in rows]
    hatch = {"shape": "/" if fate == "top_p" else "\\", "fgcolor": theme.LIGHT["hatch"], "size": 6, "solidity": 0.3}
    cut = {"color": theme.LIGHT["masked"], "pattern": hatch, "line": {"color": theme.LIGHT["hatch"], "width": 1}}
    words = message(f"figure.sampling.fate.{fate or 'kept'}", language)
    return _bar() | {
        "x": np.array([scaled for scaled, _ in pairs], np.float32),
        "y": np.array(rows, np.float32),
        "text": [_change(scaled, final) for scaled, final in pairs],
        "marker": {"cornerradius": 4, **(cut if fate else {"color": colours})},
        "hovertext": [_hover(chosen, row, tokens[row], words, language) for row in rows],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _bar() -> dict:
    text = {"textposition": "outside", "textangle": 0, "textfont": {"color": theme.LIGHT["ink"], "size": 12}}
    return {"type": "bar", "orientation": "h", "cliponaxis": False, **text}


def _change(scaled: float, final: float) -> str:
    before, after = percent(scaled), percent(final)
    return before if after in (before, percent(0)) else f"{before.removesuffix(' %')} → {after}"


def _hover(chosen: Chosen, row: int, token: str, fate: str, language: str) -> str:
    three = {name: f"{float(getattr(chosen, name)[row]):.4g}" for name in ("p", "scaled", "final")}
    facts = {"token": escape(token), "rank": int(chosen.ranks[row]) + 1, "fate": fate}
    return message("figure.sampling.hover", language, **facts, **three)


def _others(row: int, rest: float, count: int, language: str) -> dict:
    words = message("figure.sampling.others_hover", language, count=f"{count:,}", rest=escape(percent(rest)))
    line = {"color": theme.LIGHT["line"], "width": 1}
    return _bar() | {
        "x": np.array([rest], np.float32),
        "y": np.array([row], np.float32),
        "text": [percent(rest)],
        "marker": {"color": theme.LIGHT["soft"], "line": line, "cornerradius": 4},
        "hovertemplate": words + "<extra></extra>",
    }


def _layout(
    chosen: Chosen, tokens: Sequence[str], rest: float, others: int, selected: int | None, language: str
) -> dict:
    names = [_name(int(chosen.ranks[row]), row, token, language) for row, token in enumerate(tokens)]
    names[chosen.place] = f"<b>{names[chosen.place]}</b>"
    names += [message("figure.sampling.others", language, count=f"{others:,}")] if others else []
    largest = max(float(chosen.scaled.max(initial=0)), rest) or 1.0
    bare = {"type": "linear", "showgrid": False, "zeroline": False, "ticks": ""}
    caption = _caption(chosen, language)
    below = 12 + 15 * (1 + caption.count("\n"))
    labels = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names}
    left = 7 * max(width(shorten(token)) for token in (*tokens, *(names[len(tokens) :])))
    room = 1.33 if chosen.n_kept == chosen.vocabulary else 2.0
    return {
        # A part of the width stays free for the text behind the longest bar.
        "xaxis": bare | {"range": [0, largest * room], "showticklabels": False},
        "yaxis": bare | labels | {"range": [len(names) - 0.5, -0.5], "ticklabelstandoff": 6, "automargin": True},
        "bargap": 0.32,
        "barmode": "overlay",
        "shapes": [*(line for line, _ in _lines(chosen, language)), *_frame(selected, len(tokens))],
        "annotations": [note(caption, left=left), *(words for _, words in _lines(chosen, language))],
        "meta": {"caption": caption} | _rows(selected, len(tokens)),
        "height": BAR * len(names) + 4 + below,
        "margin": {"l": 8, "r": 8, "t": 4, "b": below},
    }


def _frame(selected: int | None, count: int) -> list[dict]:
    """The orange rectangle around the row that is looked at."""
    if selected is None or not 0 <= selected < count:
        return []
    line = {"color": theme.LIGHT["select"], "width": 2}
    place = {"xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": selected - 0.46, "y1": selected + 0.46}
    return [{"name": "selected", "type": "rect", "line": line, **place}]


def _rows(selected: int | None, count: int) -> dict:
    """For `layout.meta`: a click anywhere in a row chooses it, however short its bar."""
    if selected is None or not 0 <= selected < count:
        return {}
    return {"select": selectable((0, -0.46), 1, (1, count), (0, selected)) | {"size": [1, 0.92]}}


def _name(rank: int, row: int, token: str, language: str) -> str:
    """A token that is not the next in rank (a rare one was drawn) says which it is."""
    name = escape(shorten(token))
    return name if rank == row else message("figure.sampling.rank", language, token=name, rank=f"{rank + 1:,}")


def _lines(chosen: Chosen, language: str) -> list[tuple[dict, dict]]:
    """A dashed line, and its name, behind the last row that each dial kept; none where that lies beyond the rows."""
    found = []
    ends = (("top_p", chosen.n_kept, chosen.n_after_top_k), ("top_k", chosen.n_after_top_k, chosen.vocabulary))
    for dial, end, before in ends:
        rows = int((chosen.ranks < end).sum())
        if end == before or rows == len(chosen.ranks):
            continue
        line = {"color": theme.LIGHT["muted"], "width": 1.5, "dash": "dash"}
        place = {"xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": rows - 0.5, "y1": rows - 0.5}
        words = {"text": message(f"figure.sampling.line.{dial}", language), "showarrow": False}
        words |= {"xref": "paper", "x": 1, "xanchor": "right", "yref": "y", "y": rows - 0.5, "yanchor": "top"}
        words |= {"font": {"size": 11, "color": theme.LIGHT["muted"]}}
        found.append(({"type": "line", "line": line, **place}, words))
    return found


def _caption(chosen: Chosen, language: str) -> str:
    counts = {"kept": f"{chosen.n_kept:,}", "vocabulary": f"{chosen.vocabulary:,}"}
    choices = {"nats": f"{chosen.entropy:.2f}", "count": f"{exp(chosen.entropy):.3g}"}
    even = message("figure.sampling.entropy", language, **choices)
    if chosen.n_kept == chosen.vocabulary:
        return message("figure.sampling.all", language, **counts) + "\n" + even
    kept = message("figure.sampling.kept", language, mass=percent(chosen.mass_kept), **counts)
    masses = {"top_k": chosen.mass_cut_by_top_k, "top_p": chosen.mass_cut_by_top_p}
    cut = [
        message(f"figure.sampling.cut.{dial}", language, share=percent(mass)) for dial, mass in masses.items() if mass
    ]
    return "\n".join([kept, " ".join(cut), even])
