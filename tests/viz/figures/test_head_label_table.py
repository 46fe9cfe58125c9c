"""The labels of one head: mean and spread side by side, what carries is marked, what was not measured says so."""

import numpy as np
import pytest

from viz.figures import head_label_table

LABELS = [("induction", "goes on <with> it"), ("previous", "looks back"), ("local", "stays near")]


def test_means_spreads_and_how_many() -> None:
    means, spreads = np.array([0.875, 0.25, np.nan]), np.array([0.0625, 0.125, np.nan])
    html = head_label_table(means, spreads, (8, 18, 2), (160, 277, 3), LABELS)
    assert "<b>0.88 ± 0.06</b>" in html and "<b>0.25" not in html and "0.25 ± 0.12" in html
    assert "nan" not in html and "not measured" in html
    assert "goes on &lt;with&gt; it" in html and "texts: 8 · rows: 160" in html
    assert html.count('<th scope="row">') == 3


def test_the_threshold_itself_carries() -> None:
    one = np.array([0.5]), np.array([0.1]), (3,), (9,), LABELS[:1]
    assert "<b>0.50" in head_label_table(*one)
    assert "<b>0.50" not in head_label_table(*one, threshold=0.6, language="zh")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="1 means do not fit 3 labels"):
        head_label_table(np.ones(1), np.ones(1), (3,), (9,), LABELS)
