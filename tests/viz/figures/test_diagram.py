"""The diagram shows what the structure says, in its order, and nothing else."""

import re
from types import SimpleNamespace

import pytest

from viz.figures import architecture_diagram


def box(kind: str, name: str, **values: object) -> SimpleNamespace:
    return SimpleNamespace(kind=kind, name=name, label_values=values.get("values", values))


def block(layer: int) -> tuple[SimpleNamespace, ...]:
    norm = {"kind": "rmsnorm", "place": "before"}
    return (
        SimpleNamespace(kind="norm", name=f"decoder.{layer}.norm1", label_values=norm),
        box("attention", f"decoder.{layer}.self", heads=9, kv_heads=3, rotary=True),
        box("add", f"decoder.{layer}.resid.middle"),
        SimpleNamespace(kind="norm", name=f"decoder.{layer}.norm2", label_values=norm),
        box("ffn", f"decoder.{layer}.ffn", activation="silu", gated=True, d_ff=1536),
        box("add", f"decoder.{layer}.resid.after"),
    )


@pytest.fixture
def structure() -> SimpleNamespace:
    before = (box("tokens", "decoder.tokens", count=8), box("embedding", "decoder.embed", shape=(8, 576)))
    after = (box("head", "logits", vocabulary=49152),)
    stack = SimpleNamespace(name="decoder", before=before, blocks=tuple(map(block, range(30))), after=after)
    return SimpleNamespace(stacks=(stack,))


def test_boxes_stand_in_the_order_they_ran(structure: SimpleNamespace) -> None:
    page = architecture_diagram(structure, layer=13, selected="decoder.13.self")
    sites = re.findall('data-site="(.*?)"', page)
    middle = [part.name for part in block(13)]
    assert sites == ["decoder.tokens", "decoder.embed", *middle, "logits"]
    assert re.findall("<b>(.*?)</b>", page) == [
        "Tokens", "Embedding", "RMSNorm", "Attention", "+", "RMSNorm", "Feed-forward", "+", "Next token",
    ]  # fmt: skip
    assert re.findall("<small>(.*?)</small>", page) == [
        "8 ids", "8 × 576", "before", "9 heads · 3 KV · RoPE", "before", "SwiGLU 1,536", "49,152",
    ]  # fmt: skip
    assert "block 13 of 30" in page
    assert page.count('aria-pressed="true"') == 1


def test_facts_that_are_not_given_are_not_shown() -> None:
    parts = (
        box("attention", "a", heads=4, kv_heads=4),
        box("ffn", "f", activation="gelu_new", d_ff=53),
        box("positions", "p", values={"kind": "learned"}),
        box("unknown", "u", values={"class": "Gated<Delta>"}),
        box("norm", "n"),
        box("norm", "m", values={"kind": "unknown"}),
        box("attention", "b", heads=None, bias=True),
        box("cross", "c", heads=2, bias=True),
        box("embedding", "e", table="segment"),
    )
    stack = SimpleNamespace(name="encoder", before=(), blocks=(parts,), after=())
    page = architecture_diagram(SimpleNamespace(stacks=(stack,)), layer=53)
    assert re.findall("<small>(.*?)</small>", page) == ["4 heads", "GELU 53", "learned", "2 heads · + bias"]
    assert page.count("<b>Norm</b>") == 2 and "<b>Segments</b>" in page
    assert "Gated&lt;Delta&gt;" in page and "block 0 of 1" in page


def test_parallel_branches_and_both_stacks() -> None:
    branches = ((box("attention", "decoder.0.self", heads=2),), (box("ffn", "decoder.0.ffn"),))
    parallel = box("parallel", "decoder.0.parallel", branches=branches)
    encoder = SimpleNamespace(name="encoder", before=(), blocks=(), after=())
    decoder = SimpleNamespace(name="decoder", before=(), blocks=((parallel,),), after=())
    page = architecture_diagram(SimpleNamespace(stacks=(encoder, decoder)), layer=0)
    assert page.count("stt-branch") == 2 and page.index("decoder.0.self") < page.index("decoder.0.ffn")
    assert "Encoder" in page and "Decoder" in page


def test_no_width_is_fixed_and_words_are_translated(structure: SimpleNamespace) -> None:
    page = architecture_diagram(structure, layer=0, language="zh")
    assert "style=" not in page and "width" not in page
    assert "Attention" not in page
