"""Strokes become the pixels that the data set's own preparation would make of them."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.strokes import RULE, Rule, bitmap_of, picture_of, ready_digits, rule_and_digits

SMALL = Rule(side=8, cell=4, wide=8, high=8, pens=(1.0,), ink=0)
# Multiples of 1/64: moving and doubling them is exact, so that equality can be asked for.
GRID = st.integers(0, 16).map(lambda step: step / 64)
STROKES = st.lists(st.lists(st.tuples(GRID, GRID), min_size=1, max_size=5), min_size=1, max_size=3)


def test_a_line_and_a_dot_by_hand() -> None:
    line = bitmap_of([[(0.5, 0.1), (0.5, 0.9)]], SMALL)  # the pen is two pixels wide and ends at the edge
    assert line[:, 3:5].all() and line.sum() == 16
    assert (picture_of([[(0.5, 0.1), (0.5, 0.9)]], SMALL) == 4 / 16).all()
    dot = bitmap_of([[(0.9, 0.2)]], SMALL)  # four middles lie √½ away, the next ones more than 1
    assert dot[3:5, 3:5].all() and dot.sum() == 4
    across = bitmap_of([[(0.0, 0.0), (1.0, 1.0)]], SMALL)  # from (1, 1) to (7, 7): what is nearer than 1
    assert (across == (np.abs(np.subtract.outer(np.arange(8), np.arange(8))) <= 1)).all()


def test_no_stroke_is_empty_paper() -> None:
    for nothing in ([], [[]]):
        assert picture_of(nothing).shape == (8, 8) and not picture_of(nothing).any()


def test_neither_direction_is_stretched_too_far() -> None:
    wide, high = (bitmap_of([line]) for line in ([(0.1, 0.5), (0.9, 0.5)], [(0.5, 0.1), (0.5, 0.9)]))
    assert wide.any(axis=0).sum() == RULE.wide and wide.any(axis=1).sum() <= 2 * RULE.pens[-1] + 1
    assert high.any(axis=1).sum() == RULE.high and high.any(axis=0).sum() <= 2 * RULE.pens[-1] + 1


@settings(max_examples=40, deadline=None)
@given(STROKES, st.integers(0, 16))
def test_place_and_size_on_the_paper_do_not_matter(strokes: list, shift: int) -> None:
    def changed(factor: int, by: float) -> list:
        return [[(x * factor + by, y * factor + by) for x, y in stroke] for stroke in strokes]

    points = [point for stroke in strokes for point in stroke]
    if min(np.ptp(np.array(points), axis=0)) > RULE.smallest:
        assert (picture_of(changed(2, shift / 64)) == picture_of(strokes)).all()
    assert (picture_of(changed(1, shift / 64)) == picture_of(strokes)).all()


@settings(max_examples=40, deadline=None)
@given(STROKES)
def test_ink_stays_in_the_box_and_counts_sixteenths(strokes: list) -> None:
    bitmap, picture = bitmap_of(strokes), picture_of(strokes)
    beside = (RULE.side - RULE.wide) // 2
    assert bitmap.any() and not bitmap[:, :beside].any() and not bitmap[:, -beside:].any()
    assert picture.sum() * 16 == bitmap.sum() and (picture * 16 == np.rint(picture * 16)).all()
    assert (picture[3, 5] * 16) == bitmap[12:16, 20:24].sum()  # row, then column


def test_there_are_two_of_each_digit_all_different() -> None:
    assert [one.digit for one in ready_digits()] == [digit for digit in range(10) for _ in range(2)]
    assert len({picture_of(one.strokes).tobytes() for one in ready_digits()}) == 20
    points = np.array([point for one in ready_digits() for stroke in one.strokes for point in stroke])
    assert points.min() >= 0 and points.max() <= 1


def test_the_browser_gets_the_same_rule_and_digits() -> None:
    kit = json.loads(rule_and_digits())
    assert Rule(**{**kit["rule"], "pens": tuple(kit["rule"]["pens"])}) == RULE
    assert [(one["digit"], one["strokes"]) for one in kit["digits"]] == [
        (one.digit, [[list(point) for point in stroke] for stroke in one.strokes]) for one in ready_digits()
    ]


def test_ready_digits_look_like_the_data_set() -> None:
    bundle = pytest.importorskip("sklearn.datasets").load_digits()
    real, answers = bundle.images / 16, bundle.target  # (picture, y, x)
    ours = np.stack([picture_of(one.strokes) for one in ready_digits()])
    distance = ((ours[:, None] - real[None]) ** 2).sum(axis=(2, 3))  # (ours, picture)
    nearest = answers[np.argsort(distance, axis=1)[:, :3]]  # (ours, 3)
    named = [int(np.bincount(three).argmax()) for three in nearest]
    right = sum(name == one.digit for name, one in zip(named, ready_digits(), strict=True))
    assert right == 20, [(one.digit, name) for name, one in zip(named, ready_digits(), strict=True)]
    # As much ink, in the same columns and rows, within what a tenth of a pixel's ink makes.
    for axes in ((0, 1, 2), (0, 1), (0, 2)):
        assert np.abs(ours.mean(axis=axes) - real.mean(axis=axes)).max() < 0.13, axes
    assert abs(ours.mean() - real.mean()) < 0.01
