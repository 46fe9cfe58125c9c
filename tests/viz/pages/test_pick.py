"""What a visitor clicked comes from the browser, so anything may be in it."""

from dataclasses import replace
from types import SimpleNamespace

import gradio as gr
import pytest

from viz.pages.pick import Pick, data_of, picked, whole_of


def _event(**data: object) -> gr.EventData:
    return gr.EventData(None, data)


def test_a_good_pick() -> None:
    event = _event(column=3, row=4, x=3.2, y="4", z=None, key="ArrowLeft", curve=0, custom=9)
    found = picked(event)
    assert found == Pick(column=3, row=4, x=3.2, y=4.0, key="ArrowLeft", curve=0, custom=9, data=found.data)
    assert found.data == {"y": "4", "key": "ArrowLeft"} and found.whole("y") == 4


@pytest.mark.parametrize(
    "bad", [None, "x", "1" * 99, float("nan"), float("inf"), True, [1], {"a": 1}, 1e300, 2**40, 1.5, "0x1"]
)
def test_a_bad_pick_is_nothing(bad: object) -> None:
    pick = picked(_event(column=bad, row=bad, curve=bad, key=bad if not isinstance(bad, str) else "k" * 99))
    assert replace(pick, data={}) == Pick()


def test_an_event_without_data_is_nothing() -> None:
    assert data_of(gr.EventData(None, None)) == {} and picked(SimpleNamespace()) == Pick()


def test_whole_of_reads_the_dataset() -> None:
    assert whole_of(_event(token="6"), "token") == 6 and whole_of(_event(token="six"), "token") is None
