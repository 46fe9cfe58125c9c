"""Which panels there are, in the order of the pass, and all their settings by name."""

from collections.abc import Mapping

from viz.pages.options import Option
from viz.pages.panels import attention, embedding, ffn, generate, masks, norm, output, tokens
from viz.pages.panels.panel import Panel
from viz.pages.selection import Selection

_ALL = tuple(room.PANEL for room in (tokens, embedding, attention, masks, norm, ffn, output, generate))
PANELS: Mapping[str, Panel] = {panel.name: panel for panel in _ALL}
OPTIONS: Mapping[str, Option] = {option.name: option for panel in _ALL for option in panel.options}
FIRST = "attention"  # what the page opens with


def panel_of(selection: Selection) -> Panel:
    return PANELS.get(selection.panel) or PANELS[FIRST]


def panel_for(kind: str) -> str | None:
    """The panel that shows a box of the diagram of this kind."""
    return next((name for name, panel in PANELS.items() if kind in panel.boxes), None)
