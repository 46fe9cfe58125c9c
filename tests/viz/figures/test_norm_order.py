"""The drawing of a block: every part once, in its order, sums with what comes back to them."""

import re
from types import SimpleNamespace as Some

import pytest

from viz.figures import norm_name, norm_order


def branch(*parts: str) -> Some:
    return Some(parts=parts, part=next(part for part in parts if not part.startswith("norm")))


def total(*branches: Some, text: str = "a + b → c") -> Some:
    return Some(site="x", stream="y", branches=branches, text=text)


def placement(kind: str, *steps: Some, unread: str = "") -> Some:
    return Some(place="decoder.1", steps=steps, unread=unread, kind=kind)


PRE = placement(
    "pre", total(branch("norm1", "self"), text="resid.before + self.output → norm2"), total(branch("norm2", "ffn"))
)


def parts(page: str) -> list[str]:
    return re.findall(r'<(?:span|button)[^>]*class="stt-wire-part[^>]*>([^<]*)<', page)


def test_parts_stand_in_their_order_and_each_sum_has_its_plus() -> None:
    page = norm_order(PRE, selected="norm2")
    assert parts(page) == ["norm 1", "attention", "norm 2", "feed-forward"]
    assert page.count('class="stt-wire-add"') == 2 and page.count("stt-wire-loop") == 2
    assert re.findall('data-norm="(.*?)" aria-pressed="(.*?)"', page) == [("norm1", "false"), ("norm2", "true")]
    assert "<code>resid.before + self.output → norm2</code>" in page and "normalised copy" in page


def test_a_norm_on_the_line_stands_outside_of_every_branch() -> None:
    page = norm_order(placement("post", total(branch("self")), Some(part="norm1", enters="norm1.input")))
    assert parts(page) == ["attention", "norm 1"] and page.count("stt-wire-loop") == 1
    assert page.index("stt-wire-add") < page.index('data-norm="norm1"')
    assert "norm1.input → norm1 → norm1.output" in page


def test_branches_abreast_share_one_plus_and_what_both_begin_with_stands_once() -> None:
    shared = norm_order(placement("parallel", total(branch("norm1", "self"), branch("norm1", "ffn"))))
    assert parts(shared) == ["norm 1", "attention", "feed-forward"] and shared.count('class="stt-wire-add"') == 1
    apart = norm_order(placement("parallel", total(branch("norm1", "self"), branch("norm2", "ffn"))))
    assert parts(apart) == ["norm 1", "attention", "norm 2", "feed-forward"] and apart.count("stt-wire-row") >= 2


def test_a_sandwich_has_both_norms_on_the_way() -> None:
    page = norm_order(placement("sandwich", total(branch("norm1", "self", "norm2"))))
    assert parts(page) == ["norm 1", "attention", "norm 2"]


def test_what_was_not_read_is_said_and_not_drawn() -> None:
    page = norm_order(placement("unknown", unread="resid.after"))
    assert "stt-wire-unread" in page and parts(page) == [] and "stt-wire-add" not in page


@pytest.mark.parametrize(
    "kind", ["pre", "post", "sandwich", "behind", "parallel", "none", "mixed", "unknown", "<other>"]
)
def test_every_kind_is_told_in_both_languages(kind: str) -> None:
    said = [
        re.search('stt-order-said">(.*?)<', norm_order(placement(kind), language=one)).group(1) for one in ("en", "zh")
    ]
    assert said[0] != said[1] and all(len(one) > 8 for one in said)


def test_norms_are_named() -> None:
    assert (norm_name("norm3"), norm_name("final"), norm_name("embed")) == (
        "norm 3",
        "final norm",
        "norm after the embedding",
    )
