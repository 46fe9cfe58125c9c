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


def two_stacks() -> SimpleNamespace:
    encoder = SimpleNamespace(
        name="encoder",
        before=(box("embedding", "encoder.embed"),),
        blocks=((box("attention", "encoder.0.self", heads=7, d_head=4),),) * 2,
        after=(box("norm", "encoder.final.norm"),),
    )
    parts = [(box("attention", f"decoder.{n}.self"), box("cross", f"decoder.{n}.cross")) for n in range(5)]
    after = (box("summary", "decoder.summary", values={"kind": "mean"}), box("head", "logits"))
    decoder = SimpleNamespace(
        name="decoder", before=(box("tokens", "decoder.tokens"),), blocks=tuple(parts), after=after
    )
    return SimpleNamespace(stacks=(encoder, decoder))


def squares(page: str) -> list[tuple[str, str, str]]:
    """(stack, layer, whether it is the place that is looked at) of every block."""
    pattern = r'data-layer="(\d+)" data-stack="(\w+)"[^>]*aria-current="(\w+)"'
    return [(stack, layer, current) for layer, stack, current in re.findall(pattern, page)]


@pytest.mark.parametrize("count", [2, 30, 48])
def test_every_block_is_a_square_and_the_opened_one_is_marked(count: int, structure: SimpleNamespace) -> None:
    structure.stacks[0].blocks = tuple(map(block, range(count)))
    page = architecture_diagram(structure, layer=count - 1)
    assert squares(page) == [("decoder", str(n), str(n == count - 1).lower()) for n in range(count)]
    assert page.count("stt-rail-shown") == 1 and f'title="block {count - 1} of {count} (counted from 0)"' in page


def test_a_single_block_leaves_nothing_to_choose(structure: SimpleNamespace) -> None:
    structure.stacks[0].blocks = (block(0),)
    page = architecture_diagram(structure, layer=0)
    assert not squares(page) and "block 0 of 1" in page


def test_two_stacks_mark_the_one_that_is_looked_at() -> None:
    page = architecture_diagram(two_stacks(), layer=3, stack="decoder")
    marked = [one for one in squares(page) if one[2] == "true"]
    assert marked == [("decoder", "3", "true")] and page.count("stt-rail-shown") == 2
    assert "decoder.3.cross" in page and "encoder.0.self" in page and "decoder.4.cross" not in page


def test_the_encoder_leads_to_the_cross_attention() -> None:
    page = architecture_diagram(two_stacks(), layer=0, tokens={"encoder": 11, "decoder": 5}, d_model={"encoder": 28})
    assert page.count("stt-tail") == 1 and page.index("stt-tail") < page.index("stt-bridge-note")
    assert "keys and values of every cross-attention · 11 × 28" in page
    assert page.index("stt-bridge-note") < page.index("stt-step-cross")
    alone = SimpleNamespace(stacks=(two_stacks().stacks[0],))
    assert "stt-tail" not in architecture_diagram(alone, layer=0) and "stt-bridged" not in architecture_diagram(
        alone, layer=0
    )


def test_sizes_stand_on_the_arrows_where_they_are_known() -> None:
    page = architecture_diagram(
        two_stacks(), layer=1, tokens={"encoder": 11, "decoder": 5}, d_model={"encoder": 28, "decoder": 1042}
    )
    sizes = re.findall(r'class="stt-size"[^>]*>(.*?)<', page)
    assert sizes == ["11 × 28", "7 × 11 × 4", "11 × 28", "5 × 1,042", "5 × 1,042", "1 × 1,042"]
    assert "5 ids" in page and "heads × tokens × d_head" in page
    assert "stt-size" not in architecture_diagram(two_stacks(), layer=1)


def test_every_box_says_in_its_title_what_and_where_it_is(structure: SimpleNamespace) -> None:
    page = architecture_diagram(structure, layer=13)
    titles = re.findall(r'data-site="(.*?)" title="(.*?)"', page)
    assert len(titles) == 9 and all(title.endswith(f" ({site})") for site, title in titles)
    assert ("decoder.13.norm1", "RMSNorm (decoder.13.norm1)") in titles
    assert ("decoder.13.resid.after", "add to the residual stream (decoder.13.resid.after)") in titles
