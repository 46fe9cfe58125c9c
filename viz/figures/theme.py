"""The only file with a colour in it. Figures are written in light colours; each of them has exactly one dark partner.

The browser (and `to_dark`) swaps them by their spelling, "#rrggbb", so no two light colours may share a dark one and
every colour a figure uses must stand here: colour scales therefore have fixed stops. Light and dark scale stops were
spaced evenly in OKLab (Ottosson 2020); ink on every surface keeps a contrast of at least 4.5 : 1 (WCAG 2.2).
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

TONES: dict[str, tuple[str, str]] = {  # name -> (light, dark)
    "paper": ("#fbfaf7", "#14161b"),
    "card": ("#ffffff", "#1b1e25"),
    "soft": ("#f4f3ef", "#20242d"),
    "ink": ("#1d2330", "#e8e9ed"),
    "muted": ("#666d7a", "#9aa1ae"),
    "line": ("#e6e3dc", "#2b2f39"),
    "accent": ("#3b5bdb", "#7c9cff"),
    "on-accent": ("#fdfdfd", "#10131a"),
    "q": ("#3b6fd4", "#6fa0ff"),
    "k": ("#d9730d", "#f0a050"),
    "v": ("#2f9e6b", "#5cc998"),
    "residual": ("#7b5cd6", "#a890f5"),
    "q-text": ("#2f62c6", "#80abff"),  # the four hues again, dark or bright enough to be read as words
    "k-text": ("#a0520a", "#f2ab63"),
    "v-text": ("#1f7550", "#6bd0a3"),
    "residual-text": ("#6a4bc9", "#b19cf6"),
    "select": ("#e06c00", "#ffb057"),
    "select-text": ("#a04d00", "#ffbc72"),
    "masked": ("#f6f5f2", "#1f232b"),
    "hatch": ("#d5d2ca", "#434a58"),
    "good": ("#1d7a52", "#5fcd9d"),
    "bad": ("#bf303b", "#ff9090"),
    "plus": ("#007a8c", "#4fc7d8"),
    "minus": ("#a8431c", "#f28d60"),
}
LIGHT = {name: light for name, (light, _) in TONES.items()}

_WEIGHT_STOPS = (
    ("#f3f2ee", "#242933"),
    ("#dfe4ee", "#2c3345"),
    ("#cbd5ee", "#343e57"),
    ("#b7c7ed", "#3c496b"),
    ("#a4b8eb", "#45547e"),
    ("#91aaea", "#4e6093"),
    ("#7f9be7", "#576ba7"),
    ("#6d8ce5", "#6077bd"),
    ("#5b7ce2", "#6983d2"),
    ("#4b6cdf", "#7290e8"),
    TONES["accent"],
)
_MINUS_STOPS = (
    TONES["minus"],
    ("#ba674a", "#c57859"),
    ("#cb8a72", "#9a6451"),
    ("#daac9b", "#715048"),
    ("#e7cfc4", "#4a3d3e"),
)
_PLUS_STOPS = (
    ("#cad9da", "#304551"),
    ("#a1c1c6", "#3a6370"),
    ("#77a9b3", "#428391"),
    ("#4b929f", "#49a4b4"),
    TONES["plus"],
)
_SIGNED_STOPS = (*_MINUS_STOPS, _WEIGHT_STOPS[0], *_PLUS_STOPS)

# Numbers inside cells. No single ink is legible on the middle of the scale in both themes, because the light scale
# darkens and the dark one brightens; so the ink changes twice: at 0.67 for the dark theme, at 0.89 for the light one.
CELL_INKS: tuple[tuple[float, tuple[str, str]], ...] = (  # (up to this weight, (light, dark))
    (0.67, ("#010203", "#fdfefe")),
    (0.89, ("#030201", "#020303")),
    (1.01, ("#fefefe", "#030405")),
)

# Nine kinds of things side by side (word classes, say), the most different first. For the colour-blind a pair of them
# can be as close as 0.067 in OKLab, so a figure gives each kind a sign of its own too.
_CLASS_TONES = (
    ("#1a3d9f", "#5773b0"),
    ("#2d95a9", "#27defe"),
    ("#7b4818", "#e7a166"),
    ("#934b98", "#c480c9"),
    ("#721e07", "#b45b45"),
    ("#198265", "#76ccae"),
    ("#6d934b", "#b8f186"),
    ("#726e1a", "#d2cb49"),
    ("#8264d0", "#b5a4f2"),
)

DARK_OF: dict[str, str] = dict(
    [*TONES.values(), *_WEIGHT_STOPS, *_MINUS_STOPS, *_PLUS_STOPS, *(ink for _, ink in CELL_INKS), *_CLASS_TONES]
)


def _scale(stops: Sequence[tuple[str, str]]) -> list[tuple[float, str]]:
    return [(index / (len(stops) - 1), light) for index, (light, _) in enumerate(stops)]


WEIGHTS = _scale(_WEIGHT_STOPS)  # for weights and probabilities, fixed ends 0 and 1
SIGNED = _scale(_SIGNED_STOPS)  # for signed values, symmetric about 0
CLASSES = tuple(light for light, _ in _CLASS_TONES)  # for kinds that have no order
SOFT_ACCENT = _WEIGHT_STOPS[4][0]
CLEAR = "rgba(0,0,0,0)"
FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"

_HEX = re.compile("|".join(DARK_OF))


def dark(text: str) -> str:
    """`text` (a figure's JSON, CSS, HTML) with every light colour swapped for its dark partner."""
    return _HEX.sub(lambda found: DARK_OF[found.group()], text)


def to_dark(fig: go.Figure) -> go.Figure:
    """A copy of `fig` for dark surfaces; `fig` stays as it is."""
    data = [_swapped(trace.to_plotly_json()) for trace in fig.data]  # of the figure as a whole, arrays would be base64
    return figure(data, _swapped(fig.layout.to_plotly_json()))


def _swapped(part: Any) -> Any:
    """`dark` for every string inside; arrays hold no colours and stay arrays."""
    if isinstance(part, str):
        return dark(part)
    if isinstance(part, dict):
        return {name: _swapped(value) for name, value in part.items()}
    return [_swapped(value) for value in part] if isinstance(part, list | tuple) else part


def figure(data: Sequence[dict], layout: dict) -> go.Figure:
    """The one way a figure is made: clear background, our type, no template (which would weigh 6.5 KB)."""
    base = {
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": FONT, "size": 13, "color": LIGHT["ink"]},
        "hoverlabel": {
            "bgcolor": LIGHT["card"],
            "bordercolor": LIGHT["line"],
            "font": {"color": LIGHT["ink"], "family": FONT, "size": 13},
            "align": "left",
        },
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "showlegend": False,
        "dragmode": False,
    }
    # Plotly's check of every property would take twice as long as everything else; the tests run it on each figure.
    return go.Figure(data=list(data), layout={"template": {}, **base, **layout}, _validate=False)


def cell_ink(weights: np.ndarray) -> np.ndarray:
    """Which of `CELL_INKS` is legible on each weight: 0, 1 or 2, same shape as `weights`."""
    return np.digitize(weights, [limit for limit, _ in CELL_INKS[:-1]])


def css_variables() -> str:
    """CSS that gives each tone a name, `--stt-<name>`, in `:root` and again in `.dark`; the stops of `WEIGHTS` too, and
    `CLASSES`."""
    named = TONES | {f"weight-{number}": stop for number, stop in enumerate(_WEIGHT_STOPS)}
    named |= {f"class-{number}": tone for number, tone in enumerate(_CLASS_TONES)}
    light, dark_ = ("".join(f"--stt-{name}:{pair[side]};" for name, pair in named.items()) for side in (0, 1))
    return f":root{{{light}--stt-font:{FONT};}}\n.dark{{{dark_}}}\n"


def weight_css(share: float) -> str:
    """The colour of `share` 0 … 1 on the scale of weights, as CSS that follows light and dark."""
    below = min(int(share * (len(_WEIGHT_STOPS) - 1)), len(_WEIGHT_STOPS) - 2)
    part = share * (len(_WEIGHT_STOPS) - 1) - below
    return f"color-mix(in srgb, var(--stt-weight-{below}), var(--stt-weight-{below + 1}) {part:.0%})"


def weight_gradient() -> str:
    """The whole scale of weights, from left to right, as a CSS background."""
    return f"linear-gradient(90deg,{','.join(f'var(--stt-weight-{stop})' for stop in range(len(_WEIGHT_STOPS)))})"


@cache
def component_css() -> str:
    """The style of the HTML pieces (`components.css`), which uses the names of `css_variables`."""
    return (Path(__file__).parent / "components.css").read_text(encoding="utf-8")
