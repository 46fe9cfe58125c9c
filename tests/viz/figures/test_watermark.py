"""A watermark: on the copy alone, in the figure itself, and with room of its own at the foot."""

import numpy as np
import plotly.graph_objects as go

from viz.figures import attention_heatmap, theme, to_dark, watermarked

WORDS = "rescaled without <s>, #1: not the model's weights"


def test_words_across_and_below_and_the_original_as_it_was() -> None:
    plain = attention_heatmap(np.eye(3), "abc", "abc", selected=(1, 1))
    before = plain.to_json()
    marked = watermarked(plain, WORDS)
    assert plain.to_json() == before
    across, foot = marked.layout.annotations[-2:]
    assert (across.name, across.xref, across.x, across.y, across.textangle) == ("watermark", "paper", 0.5, 0.5, None)
    assert 0.3 <= across.opacity <= 0.6 and foot.opacity is None
    for note in (across, foot):
        said = note.text.replace("<b>", "").replace("</b>", "").replace("<br>", " ")
        assert said == "rescaled without &lt;s&gt;, &#35;1: not the model's weights"
    assert marked.layout.meta["watermark"] == WORDS and marked.layout.meta["select"] == plain.layout.meta["select"]
    assert np.array_equal(marked.data[0].z, plain.data[0].z)
    more = marked.layout.height - plain.layout.height
    assert more > 0 and marked.layout.margin.b - plain.layout.margin.b == more, "the map keeps its size"
    assert foot.yshift == -plain.layout.margin.b, "below what stood there"
    go.Figure(marked.to_dict())


def test_it_goes_dark_with_the_rest() -> None:
    marked = watermarked(attention_heatmap(np.eye(2), "ab", "ab"), "不是模型的权重")
    assert to_dark(marked).layout.annotations[-1].font.color == theme.DARK_OF[theme.LIGHT["bad"]]


def test_lines_fit_a_phone() -> None:
    marked = watermarked(attention_heatmap(np.eye(2), "ab", "ab"), WORDS)
    longest = max(len(line) for line in marked.layout.annotations[-2].text.split("<br>"))
    assert longest <= 20 + len("<b></b>") + len("&lt;&gt;&#35;")


def test_a_figure_without_height_and_margin_is_marked_too() -> None:
    marked = watermarked(go.Figure(layout={"template": {}}), "words")
    assert [note.name for note in marked.layout.annotations] == ["watermark", "watermark-foot"]
    assert marked.layout.height is None
