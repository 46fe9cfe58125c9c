"""What goes to the browser is small and harmless, and what comes from it is checked."""

import json
from pathlib import Path

import gradio as gr
import numpy as np
import plotly.graph_objects as go
import pytest

from viz.pages import plot_view as module
from viz.pages.plot_view import address_view, figure_json, html_view, move_selection, plot_view


def test_figure_json_keeps_arrays_binary_and_leaves_the_template_out() -> None:
    z = np.arange(6, dtype=np.float32).reshape(2, 3)
    figure = go.Figure(go.Heatmap(z=z))
    parts = json.loads(figure_json(figure, zoom="key"))
    assert parts["data"][0]["z"]["dtype"] == "f4" and parts["data"][0]["z"]["shape"] == "2, 3"
    assert "template" not in parts["layout"] and parts["layout"]["uirevision"] == "key"
    assert figure.data[0].z is not None  # the figure itself stays whole


def test_figure_json_takes_numpy_numbers_and_nan() -> None:
    figure = go.Figure(
        go.Scatter(x=[np.int64(3), float("nan")], y=[1, 2]), layout={"meta": {"n": np.int64(7), "x": float("nan")}}
    )
    parts = json.loads(figure_json(figure))
    assert parts["layout"]["meta"] == {"n": 7, "x": None}


def test_no_text_in_a_figure_looks_like_a_tag() -> None:
    text = figure_json(go.Figure(layout={"title": {"text": "<script>alert(1)</script>"}}))
    assert "<" not in text and json.loads(text)["layout"]["title"]["text"] == "<script>alert(1)</script>"


def test_no_figure_is_no_value() -> None:
    assert figure_json(None) is None


@pytest.mark.parametrize(
    "view",
    [lambda label: plot_view(None, elem_id="a", label=label), lambda label: html_view("", elem_id="a", label=label)],
)
def test_a_label_cannot_reach_the_template_language(view: object) -> None:
    template = view('"><script>${alert(1)}{{value}}`\\').html_template
    label = template.split('aria-label="')[1].split('"')[0]
    assert not set(label) & set('<>"$`{}\\') and "&quot;&gt;&lt;script&gt;&#36;&#123;alert" in label


def test_the_view_is_as_high_as_its_figure() -> None:
    assert (
        "height:217px"
        in plot_view(figure_json(go.Figure(layout={"height": 217})), elem_id="a", label="b").html_template
    )


def test_views_speak_of_a_pick_and_leave_no_file_behind() -> None:
    with gr.Blocks():
        for view in (plot_view(None, elem_id="a", label="a"), html_view("", elem_id="b", label="b")):
            assert callable(view.pick)
        address_view("a=1")
    assert not list(Path(module.__file__).parent.glob("*.pyi"))


def test_a_selection_moves_without_a_figure() -> None:
    with gr.Blocks():
        update = move_selection(3, 4)
    assert json.loads(update.props["select"]) == [3, 4] and update.value is None
