"""What holds of every figure: Plotly knows it, colours have dark partners, words are level, its height is told."""

import re

import plotly.graph_objects as go

from viz.figures import theme

_HEX = re.compile(r"#[0-9a-f]{6}")


def sound(fig: go.Figure) -> go.Figure:
    """The figure itself, checked."""
    text = fig.to_json()
    go.Figure(fig.to_dict())  # checks every property, which `theme.figure` leaves out for speed
    used = set(_HEX.findall(text.lower()))
    assert used and used <= theme.DARK_OF.keys(), used - theme.DARK_OF.keys()
    assert "#" not in re.sub("&#[0-9]+;", "", _HEX.sub("", text))
    assert fig.layout.height and len(text) < 150_000
    assert not any(words.textangle for words in fig.layout.annotations)
    lying = [axis for name, axis in fig.layout.to_plotly_json().items() if name.startswith("yaxis")]
    assert not any(axis.get("title", {}).get("text") for axis in lying)  # Plotly turns them by a quarter
    return fig
