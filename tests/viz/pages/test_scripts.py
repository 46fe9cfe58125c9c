"""Every figure of every panel, in every sub-view and on models of every kind: its numbers can be taken along, and the
Python that is handed out draws it again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer import load_model
from transformer.trace import Trace
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece, Plot
from viz.pages.links import View
from viz.pages.options import Choice, Switch
from viz.pages.panels.panel import Panel
from viz.pages.panels.registry import OPTIONS, PANELS, panel_of
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection
from viz.pages.taking import script

OURS = ("mini-gpt", "mini-translator", "rule-classifier", "digit-vit")
MODELS = (*OURS, "t5", "bloom")
CASES = [*((model, panel) for model in MODELS for panel in PANELS), ("bert", "output")]  # bert: without a head
ONE = ("00000000" "00088000" "00g80000" "000g0000" "000g0000" "000g0000" "00ggg000" "00000000")  # fmt: skip
# What a visitor has to set before there is anything to see.
GIVEN = {
    "gen-count": "3", "gen-beams": "2", "batch": "the dog", "other-text": "a dog", "third-text": "cat", "neuron": "3",
    "dim": "2", "heads": "0,1", "word-id": "7",
}  # fmt: skip
# Figures without numbers or code, each with its reason; there are none.
WITHOUT: dict[str, str] = {}
NO_FIGURES = {*((model, "tokens") for model in MODELS), ("rule-classifier", "generate"), ("digit-vit", "generate")}
LARGEST_FIGURE, LARGEST_PANEL = 200_000, 500_000  # characters of JSON
DRAWN = ("x", "y", "z", "r", "theta", "values", "base", "customdata", "text")  # the arrays of a trace


@pytest.fixture(scope="module")
def engine(shelf: ShelfEngine) -> ShelfEngine:
    names = [*(model for model in MODELS if model not in OURS), "bert"]
    return ShelfEngine({name: load_model(name) for name in OURS} | {name: shelf.load(name) for name in names})


def views(panel: Panel) -> Iterator[dict[str, str]]:
    """The values of each choice: of the first one alone, and with each value of every other."""
    choices = [one for one in panel.options if isinstance(one, Choice | Switch)]
    values = {one.name: one.values if isinstance(one, Choice) else ("off", "on") for one in choices}
    first, *others = values or {"": ("",)}
    for value in values.get(first, ("",)):
        yield {first: value}
        yield from ({first: value, other: one} for other in others for one in values[other][1:])


def scenes(engine: ShelfEngine, model: str, panel: str) -> Iterator[Scene]:
    """A short text, looked at in each sub-view of a panel."""
    text = ONE if engine.load(model).image else TEXT
    target = "a tac" if engine.load(model).encoder_decoder else None
    trace = engine.trace(model, text, target)
    first = move.first_look(trace, Selection(model, text, target), View(panel=panel))
    for view in views(PANELS[panel]):
        chosen = first
        for name, value in (GIVEN | view).items():
            chosen = move.with_option(chosen, OPTIONS[name], value) if name in OPTIONS else chosen
        yield Scene(engine, trace, chosen, "en")


def arrays(fig: go.Figure) -> list[tuple[str, dict[str, np.ndarray]]]:
    """What is drawn: of each trace its kind and its arrays."""
    given = (one.to_plotly_json() for one in fig.data)
    there = ((one["type"], {name: one[name] for name in DRAWN if one.get(name) is not None}) for one in given)
    return [(kind, {name: np.asarray(values) for name, values in found.items()}) for kind, found in there]


def drawn_by(code: str, trace: Trace, scene: Scene) -> go.Figure:
    """The figure of a script, which is given this engine's model and run instead of loading and running one."""
    head, body = code.split("from transformer import load_model, run\n")
    body, _ = body.rsplit("figure.write_html(", 1)
    chosen = scene.selection

    def load(name: str) -> object:
        assert name == chosen.model
        return scene.engine.load(name)

    def run(model: object, *given: str) -> Trace:
        assert model is scene.engine.load(chosen.model) and given == (chosen.text, chosen.target)[: len(given)]
        return trace

    names: dict[str, Any] = {"load_model": load, "run": run}
    exec(compile(head + body, "taken.py", "exec"), names)
    return names["figure"]


def differences(first: go.Figure, second: go.Figure) -> Iterator[str]:
    """Where two figures do not hold the same arrays."""
    mine, its = arrays(first), arrays(second)
    if [(kind, given.keys()) for kind, given in mine] != [(kind, given.keys()) for kind, given in its]:
        yield f"traces {[kind for kind, _ in mine]} / {[kind for kind, _ in its]}"
        return
    for number, ((_, one), (_, other)) in enumerate(zip(mine, its, strict=True)):
        for name, array in one.items():
            numbers = array.dtype.kind == "f" and other[name].dtype.kind == "f"
            if not np.array_equal(array, other[name], equal_nan=numbers):
                yield f"{number}.{name}"


def check_plot(scene: Scene, plot: Plot) -> int:
    """How large it is."""
    fig = plot.draw()
    size = len(figure_json(fig) or "")
    assert 0 < size <= LARGEST_FIGURE, plot.name
    assert plot.name in WITHOUT or (plot.data is not None and plot.code is not None), f"{plot.name} has no data or code"
    if plot.data is not None:
        data = plot.data()
        named = (len(data.rows), len(data.columns))
        assert np.shape(data.values) in (named, (named[0],) if named[1] == 1 else named), plot.name
        assert data.allowed is None or np.shape(data.allowed) == np.shape(data.values), plot.name
        assert np.size(data.values) and data.values.dtype.kind in "fiub", plot.name
        assert all(isinstance(name, str) for name in (*data.rows, *data.columns)), plot.name
    if plot.seal is not None:
        assert "stt-seal" in plot.seal(), plot.name
    if plot.code is not None:
        again = drawn_by(script(scene, plot), scene.trace, scene)
        assert list(differences(fig, again)) == [], plot.name
    return size


def check_block(scene: Scene, block: Block) -> int:
    return len(block.make()) if isinstance(block, Piece) else check_plot(scene, block)


@pytest.mark.parametrize(("model", "panel"), CASES)
def test_every_figure_of_a_panel_can_be_taken_along(engine: ShelfEngine, model: str, panel: str) -> None:
    sizes: dict[tuple[str, str], int] = {}  # of what was looked at already: sub-views share blocks
    figures: set[str] = set()
    for scene in scenes(engine, model, panel):
        blocks = [block for column in panel_of(scene.selection).columns(scene) for block in column]
        keys = [(block.name, repr(block.of)) for block in blocks]
        assert len({name for name, _ in keys}) == len(keys), "two blocks have one name"
        figures |= {block.name for block in blocks if isinstance(block, Plot)}
        for key, block in zip(keys, blocks, strict=True):
            sizes[key] = sizes[key] if key in sizes else check_block(scene, block)
        assert sum(sizes[key] for key in keys) <= LARGEST_PANEL, panel
    assert sizes and bool(figures) == ((model, panel) not in NO_FIGURES)


def test_a_difference_would_be_seen() -> None:
    """The comparison itself."""

    def bars(*values: float, name: str = "bar") -> go.Figure:
        return go.Figure([{"type": name, "x": np.array(values), "text": ["a"]}], {"template": {}})

    assert not list(differences(bars(1, np.nan), bars(1, np.nan)))
    for other in (bars(1, 2), bars(1), bars(1, np.nan, name="scatter"), go.Figure()):
        assert list(differences(bars(1, np.nan), other))
    words = bars(1, np.nan)
    words.data[0].text = ["b"]
    assert list(differences(bars(1, np.nan), words)) == ["0.text"]
