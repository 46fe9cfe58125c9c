"""Why a cell is forbidden, in words and numbers; and the code that says the same."""

import io
import re
from contextlib import redirect_stdout
from html import unescape

import numpy as np
import pytest
import torch

from transformer import masks
from transformer.mask_rules import MaskRules, rules_of
from viz.figures import mask_as_numpy, mask_card, mask_layers, rule_words
from viz.figures.mask_map import names_of

COUNT = 8
NONE = [False] * COUNT
PADDED = [True, True, *[False] * (COUNT - 2)]


def every_mask() -> dict[str, MaskRules]:
    window = masks.sliding_window(COUNT, 3)
    real = torch.tensor([[0, 0, 1, 1, 1, 1, 1, 1]])
    order = torch.arange(COUNT)[None]
    return {
        "causal": rules_of(masks.causal(COUNT).numpy(), NONE),
        "window": rules_of(window.numpy(), NONE),
        "two-sided": rules_of((window | window.T).numpy(), NONE),
        "prefix": rules_of((window | (order < 2)).numpy(), NONE),
        "padded": rules_of(masks.combined(window | (order < 4), masks.padding(real)[0, 0]).numpy(), PADDED),
        "nothing": rules_of(np.ones((COUNT, COUNT), bool), NONE),
    }


def plain(html: str) -> str:
    return unescape(re.sub("<[^>]*>", "", html.replace("</div><div>", "\n")))


def card(name: str, query: int, key: int, **more: object) -> str:
    found = every_mask()[name]
    return plain(
        mask_card(
            query, key, found, names_of(int(found.codes[query, key])), allowed=bool(found.allowed[query, key]),
            padding=bool(found.padding[key]), tokens=("it", "<b>"), **more,
        )  # type: ignore[arg-type]
    )  # fmt: skip


def test_each_rule_with_this_cells_numbers() -> None:
    assert card("causal", 3, 5).split("\n")[:2] == [
        "it may not look at <b>.",
        "✗ key 5 > query 3: it comes later (causal)",
    ]
    assert card("causal", 3, 3).split("\n")[:2] == [
        "it may look at <b>.",
        "✓ key 3 ≤ query 3: it comes no later (causal)",
    ]
    assert "✗ 5 − 1 = 4 ≥ 3: window" in card("window", 5, 1) and "✓ 5 − 3 = 2 < 3: window" in card("window", 5, 3)
    assert "✗ |1 − 5| = 4 ≥ 3: window" in card("two-sided", 1, 5)
    prefix = card("prefix", 6, 1)
    assert "it may look" in prefix and "✗ 6 − 1 = 5 ≥ 3" in prefix and "✓ key 1 < 2: in the prefix" in prefix
    assert "✗ key 5 ≥ 2: not in the prefix" in card("prefix", 2, 5)
    padded = card("padded", 4, 1)
    assert "it may not look" in padded and "✗ key 1 is padding" in padded and "not in the prefix" in padded
    assert "✓ key 2 is a real token" in card("padded", 4, 2)
    assert "No rule forbids anything" in card("nothing", 4, 2)


def test_what_becomes_of_the_score() -> None:
    assert "−∞ before the softmax, so the attention weight is 0.000" in card("causal", 3, 5, weight=0.0)
    assert "attention weight: 0.250" in card("causal", 5, 3, weight=0.25)
    assert "look at nothing" in card("causal", 3, 5, weight=1 / 7, blind=True)
    odd = MaskRules(np.zeros((2, 2), bool), np.zeros(2, bool))
    assert "model’s mask does all the same" in plain(mask_card(0, 1, odd, ("other",), allowed=False, tokens=("a", "b")))


@pytest.mark.parametrize("name", ["causal", "window", "two-sided", "prefix", "padded", "nothing"])
def test_the_code_says_what_the_mask_said(name: str) -> None:
    found = every_mask()[name]
    for query in range(COUNT):
        for key in range(COUNT):
            said = io.StringIO()
            with redirect_stdout(said):
                exec(mask_as_numpy(query, key, found, padding=bool(found.padding[key])), {})
            assert said.getvalue().strip() == str(bool(found.allowed[query, key])), (query, key)


def test_a_hostile_token_stays_text() -> None:
    html = mask_card(0, 0, every_mask()["nothing"], (), allowed=True, tokens=("<script>", "&amp;"), language="zh")
    assert "<script>" not in html and "&lt;script&gt;" in html and "&amp;amp;" in html


def test_rules_in_a_few_words() -> None:
    words = {name: rule_words(found) for name, found in every_mask().items()}
    assert words == {
        "causal": "causal",
        "window": "causal · window 3",
        "two-sided": "two-sided window 3",
        "prefix": "causal · window 3 · prefix 2",
        "padded": "causal · padding · window 3 · prefix 4",
        "nothing": "nothing is forbidden",
    }
    assert rule_words(None) == "not handed out" and rule_words(None, language="zh") != "not handed out"


def test_layers_stand_beside_their_rules() -> None:
    html = mask_layers([("causal · window 4", [(0, "0"), (2, "<2>")]), ("causal", [(1, "1")])], selected=2)
    rows = html.split("<tr>")[2:]
    assert len(rows) == 2 and rows[0].count("data-layer") == 2 and 'data-layer="1"' in rows[1]
    assert html.count('aria-pressed="true"') == 1 and 'aria-pressed="true" data-layer="2">&lt;2&gt;<' in html
