"""Every figure that is exported: drawn from plain arrays and lists, whole, and with nothing in it that acts."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from viz import figures

MARKUP = re.compile(r"<(?!/?(?:b|i|br|sub|sup|span|extra)\b)", re.IGNORECASE)  # what Plotly takes for words is allowed
DRAWN_FROM_A_FIGURE = {"to_dark"}  # swaps the colours of any of them


def exported_figures() -> list[str]:
    every = ((name, getattr(figures, name)) for name in figures.__all__)
    return [
        name for name, one in every if inspect.isfunction(one) and inspect.signature(one).return_annotation is go.Figure
    ]


def test_every_exported_figure_is_among_them() -> None:
    """A new figure is covered by all that is tested of every figure."""
    files = (Path(__file__).parent / name for name in ("conftest.py", "more_figures.py", "measured.py"))
    drawn = "".join(file.read_text(encoding="utf-8") for file in files)
    wanted = set(exported_figures()) - DRAWN_FROM_A_FIGURE
    assert len(wanted) > 50 and not {name for name in wanted if not re.search(rf"\b{name}\(", drawn)}


def test_every_figure_tells_its_height_and_weighs_little(every_figure: dict[str, go.Figure]) -> None:
    for name, fig in every_figure.items():
        assert fig.layout.height and 40 <= fig.layout.height <= 1200, name
        assert len(fig.to_json()) < 200_000, name
        assert not [words.text for words in fig.layout.annotations if words.textangle], name


def test_no_name_becomes_markup(every_figure: dict[str, go.Figure]) -> None:
    """What stands where Plotly reads markup: words of layout and traces, hover texts, tick texts."""
    for name, fig in every_figure.items():
        for words in _words(fig.to_plotly_json()):
            assert not MARKUP.search(words), (name, words)
            assert "<b>bold</b>" not in words and "$x^2$" not in words, (name, words)


def _words(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    if isinstance(part, dict):
        return [words for key, one in part.items() if key != "meta" for words in _words(one)]
    if isinstance(part, np.ndarray):
        return [words for words in part.ravel().tolist() if isinstance(words, str)]
    return [words for one in part for words in _words(one)] if isinstance(part, list | tuple) else []


def test_numbers_travel_in_few_bytes(every_figure: dict[str, go.Figure]) -> None:
    for name, fig in every_figure.items():
        for trace in fig.data:
            for part in ("x", "y", "z"):
                array = trace.to_plotly_json().get(part)
                if isinstance(array, np.ndarray) and array.size > 300:
                    assert array.dtype.itemsize <= 4, (name, trace.type, part, array.dtype)


@pytest.mark.parametrize(
    "draw",
    [
        lambda to: figures.attention_heatmap(to([[1.0, 0.0], [0.25, 0.75]]), ["a", "a"], ["a", "a"]),
        lambda to: figures.attention_lines(to([[1.0, 0.0], [0.25, 0.75]]), ["a", "a"], ["a", "a"], selected_query=1),
        lambda to: figures.next_tokens(to([0.5, 0.25]), ["a", "b"], n_vocabulary=7),
        lambda to: figures.norm_rows(to([1.0, 2.0]), to([-1.0, 1.0]), to([-1.0, 1.0])),
        lambda to: figures.position_similarity(to([[1.0, 0.5], [0.5, 1.0]]), ["0", "1"]),
        lambda to: figures.similarity_bars(to([1.0, 0.5]), ["a", "b"]),
        lambda to: figures.slope_bars(to([0.5, 0.25]), selected=0),
        lambda to: figures.lens_map(to([[0.5, 1.0]]), [["a", "b"]], ["0"], ["x", "y"]),
        lambda to: figures.neuron_bars(to([0.5, -0.5]), [3, 5]),
        lambda to: figures.weighted_values(to([0.5, 0.5]), to([[1.0, 2.0], [3.0, 4.0]]), ["a", "b"]),
    ],
)
def test_lists_do_as_well_as_arrays(draw: Callable[[Callable], go.Figure]) -> None:
    assert draw(lambda values: values).to_json() == draw(np.array).to_json()
