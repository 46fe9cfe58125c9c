"""A box of the diagram tells what it did to the chosen token."""

import numpy as np
import pytest

from tests.viz.pages.conftest import ShelfEngine
from transformer.messages import message
from viz.pages.box_card import box_card

TEXT = "the cat\n the"


@pytest.fixture(scope="module")
def trace(shelf: ShelfEngine):
    return shelf.trace("grouped", TEXT)


def test_a_norm_says_what_it_divides_by(trace):
    html = box_card(trace, "decoder.1.norm1", 2, "en")
    assert html is not None and f"{float(trace['decoder.1.norm1.std'][2]):.4g}" in html and "stt-seal-good" in html


def test_an_add_names_its_terms_with_their_lengths(trace):
    html = box_card(trace, "decoder.0.resid.after", 1, "en")
    total = np.linalg.norm(trace["decoder.0.resid.after"][1])
    assert html is not None and f"{total:.4g}" in html and "ffn.output" in html


def test_every_box_of_the_diagram_has_a_card_in_both_languages(trace):
    for stack in trace.structure.stacks:
        for box in (*stack.before, *(one for block in stack.blocks for one in block), *stack.after):
            for language in ("en", "zh"):
                html = box_card(trace, box.name, 0, language)
                assert html is not None and message(f"explore.box.{box.kind}", language) in html


def test_a_box_that_is_not_there_has_none(trace):
    assert box_card(trace, "<img src=x>", 0, "en") is None
