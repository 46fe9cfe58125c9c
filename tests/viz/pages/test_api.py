"""The endpoints tell the numbers of the page."""

from collections.abc import Callable

import gradio as gr
import numpy as np
import pytest

from tests.viz.pages.conftest import TEXT, ShelfEngine
from transformer.replay import TOLERANCE
from viz.pages.api import Endpoints

Api = dict[str, Callable]


@pytest.fixture(scope="module")
def api(shelf: ShelfEngine) -> Api:
    return Endpoints(shelf).by_name()


def test_run_tells_tokens_attentions_and_the_seal(api: Api, shelf: ShelfEngine) -> None:
    told, trace = api["run"]("t5", TEXT, "a tac"), shelf.trace("t5", TEXT, "a tac")
    assert told["attentions"] == dict.fromkeys(trace.attention_sites(), 7)
    assert told["tokens"] == {name: list(one.tokens) for name, one in trace.encodings.items()}
    assert told["ids"] == {name: list(one.ids) for name, one in trace.encodings.items()}
    assert 0 <= told["seal"] <= TOLERANCE and told["seconds"] == trace.seconds and told["model"] == "t5"


@pytest.mark.parametrize(("name", "at"), [("grouped", (2, 5)), ("t5", (4, 6)), ("bert", (1, 3)), ("bloom", (0, 0))])
def test_attention_tells_the_weights_of_one_head(api: Api, shelf: ShelfEngine, name: str, at: tuple[int, int]) -> None:
    layer, head = at
    target = "a tac" if name == "t5" else ""
    told, trace = api["attention"](name, TEXT, layer, head, target), shelf.trace(name, TEXT, target or None)
    site = trace.attention_sites()[layer]
    np.testing.assert_array_equal(np.float32(told["weights"]), trace.weights(site, head))
    np.testing.assert_array_equal(told["allowed"], trace.allowed(site, head))
    assert (told["site"], told["queries"], told["keys"]) == (
        site, list(trace.tokens(site, "query")), list(trace.tokens(site, "key")),
    )  # fmt: skip


@pytest.mark.parametrize("k", [1, 7, 50, 999])
def test_next_tokens_tells_probabilities_of_the_whole_vocabulary(api: Api, shelf: ShelfEngine, k: int) -> None:
    told, trace = api["next_tokens"]("grouped", TEXT, k), shelf.trace("grouped", TEXT)
    ids, shares = trace.probabilities(-1)
    count = min(max(k, 1), 50)
    assert told["ids"] == ids[:count].tolist() and told["probabilities"] == shares[:count].tolist()
    assert told["tokens"] == [shelf.token("grouped", one) for one in told["ids"]] and told["vocabulary"] == 259


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("run", ("nobody", TEXT), "nobody"),
        ("run", ("grouped", ""), "no text"),
        ("run", ("grouped", "x" * 400), "401"),
        ("attention", ("grouped", TEXT, 3, 0), "0 to 2"),
        ("attention", ("grouped", TEXT, 0, -1), "0 to 5"),
        ("next_tokens", ("grouped", TEXT, -3), "whole number"),
        ("next_tokens", ("grouped", TEXT, True), "whole number"),
        ("attention", ("grouped", TEXT, 0, True), "0 to 5"),
        ("next_tokens", ("bert", TEXT), "no output head"),
    ],
)
def test_what_cannot_be_told_is_one_sentence(api: Api, name: str, values: tuple, words: str) -> None:
    with pytest.raises(gr.Error) as caught:
        api[name](*values)
    assert words in caught.value.message
