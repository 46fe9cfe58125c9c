"""Looking: what a query may look at, as drawn, and that nothing else has any influence on it."""

import pytest
import torch

from transformer.decoder_lm import DecoderLM
from transformer.encoder import Encoder
from transformer.errors import ShapesDoNotFit
from transformer.looking import Look, Looking

HERE = torch.arange(4)[None]
LEFT = torch.tensor([[0, 1, 1, 1]])
DRAWN = {
    "plain": ({}, None, "■··· ■■·· ■■■· ■■■■"),
    "window": ({"window": 2}, None, "■··· ■■·· ·■■· ··■■"),
    "prefix": ({"prefix": 2}, None, "■■·· ■■·· ■■■· ■■■■"),
    "both": ({"window": 2, "prefix": 1}, None, "■··· ■■·· ■■■· ■·■■"),
    "longer prefix than text": ({"prefix": 9}, None, "■■■■ ■■■■ ■■■■ ■■■■"),
    "padded": ({}, LEFT, "···· ·■·· ·■■· ·■■■"),
    "padded window": ({"window": 2}, LEFT, "···· ·■·· ·■■· ··■■"),
    "padded prefix": ({"prefix": 2}, LEFT, "·■■· ·■■· ·■■· ·■■■"),
    "padded on the right": ({"prefix": 2}, LEFT.flip(1), "■■·· ■■·· ■■■· ■■■·"),
    "both, padded": ({"window": 1, "prefix": 1}, LEFT, "·■·· ·■·· ·■■· ·■·■"),
}

# Of these the prefix is whole after two tokens, so that the rest can follow.
WHOLE_PREFIX = ("plain", "window", "prefix", "both", "padded", "padded window", "both, padded")


def drawn(picture: str) -> torch.Tensor:
    """A mask as it is drawn: one word per query, ■ may look, · may not."""
    return torch.tensor([[cell == "■" for cell in row] for row in picture.split()])


def allowed(look: Look, n_queries: int = 4, n_keys: int = 4) -> torch.Tensor:
    """(query, key) of the only text, whether it is said by a mask or by the flag."""
    if look.allowed is None:
        every = torch.ones(n_queries, n_keys).bool()
        return every.tril() if look.causal and n_queries > 1 else every
    return look.allowed.expand(1, 1, n_queries, n_keys)[0, 0]


@pytest.mark.parametrize(("rules", "mask", "picture"), DRAWN.values(), ids=DRAWN)
def test_rules_by_hand(tiny, rules, mask, picture):
    look = Looking(tiny(**rules), causal=True)(HERE, HERE, mask)
    assert torch.equal(allowed(look), drawn(picture))


@pytest.mark.parametrize(("rules", "mask", "picture"), DRAWN.values(), ids=DRAWN)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_what_may_not_be_looked_at_has_no_influence_and_the_rest_has(tiny, scramble, rules, mask, picture, norm):
    """The gradient of one query's logits by what entered the only block is 0 exactly where the picture says so."""
    model = scramble(DecoderLM(tiny(n_layers=1, norm=norm, tied_embeddings=False, **rules)))
    entered = []

    def leaf(_module: object, _args: object, out: torch.Tensor) -> torch.Tensor:
        entered.append(out.detach().requires_grad_())
        return entered[-1]

    model.embedding.register_forward_hook(leaf)
    for query, may in enumerate(drawn(picture)):
        if mask is not None and not mask[0, query]:
            continue  # nobody asks what padding sees
        logits = model(torch.tensor([[5, 41, 5, 52]]), mask).logits[0, query, 7]
        (gradient,) = torch.autograd.grad(logits, entered[-1])
        assert torch.equal(gradient[0].abs().amax(-1) > 0, may), (query, gradient[0].abs().amax(-1))


@pytest.mark.parametrize("changes", [{"window": 2}, {"prefix": 2}])
def test_an_encoder_knows_no_window_and_no_prefix(tiny, scramble, changes):
    ids = torch.tensor([[5, 41, 5, 52]])
    plain, other = (scramble(Encoder(tiny(**one))) for one in ({}, changes))
    assert torch.equal(plain(ids).last_hidden_state, other(ids).last_hidden_state)
    assert Looking(tiny(**changes), causal=False)(HERE, HERE, None).allowed is None


def test_no_mask_is_made_where_the_kernel_needs_none(tiny):
    looking = Looking(tiny(), causal=True)
    for mask in (None, torch.ones(1, 4)):
        look = looking(HERE, HERE, mask)
        assert look.allowed is None and look.causal
        alone = looking(HERE[:, 3:], HERE, mask)  # one query that sees all that is cached
        assert alone.allowed is None
    assert torch.equal(allowed(looking(HERE[:, 2:], HERE, None), 2), drawn("■■■· ■■■■"))
    both_sides = Looking(tiny(), causal=False)
    assert both_sides(HERE, HERE, torch.ones(1, 4)).allowed is None
    assert torch.equal(allowed(both_sides(HERE, HERE, LEFT)), drawn("·■■■ ·■■■ ·■■■ ·■■■"))


@pytest.mark.parametrize(
    ("name", "n_queries"),
    [(name, 1) for name in (*WHOLE_PREFIX, "padded prefix")] + [(name, 2) for name in WHOLE_PREFIX],
)
def test_queries_are_the_last_when_keys_are_cached(tiny, name, n_queries):
    rules, mask, picture = DRAWN[name]
    look = Looking(tiny(**rules), causal=True)(HERE[:, 4 - n_queries :], HERE, mask)
    assert torch.equal(allowed(look, n_queries), drawn(picture)[4 - n_queries :])


def test_half_a_prefix_in_the_cache_is_refused(tiny):
    """Its first token would have had to look at the ones that come now."""
    looking = Looking(tiny(prefix=3), causal=True)
    with pytest.raises(ShapesDoNotFit) as caught:
        looking(HERE[:, 2:], HERE, None)
    assert caught.value.values == {"what": "cache", "expected": "≥ 3 (prefix)", "got": 2}
    with pytest.raises(ShapesDoNotFit):
        looking(HERE[:, 3:], HERE, LEFT)  # three are cached, one of which is padding
    looking(HERE[:, 3:], HERE, None)
    looking(HERE[:, 1:], HERE, LEFT)  # nothing but padding is cached


def test_positions_that_are_not_added_are_told_to_every_block(tiny):
    rotary, alibi, added = (Looking(tiny(positions=one), causal=True) for one in ("rotary", "alibi", "learned"))
    here, there = torch.tensor([[2, 3]]), torch.tensor([[0, 1, 2, 3]])
    assert rotary(here, there, None).rotary.cos.shape == (1, 1, 2, 4) and rotary(here, there, None).bias is None
    assert alibi(here, there, None).bias.shape == (1, 7, 2, 4) and alibi(here, there, None).rotary is None
    assert added.rotary is None and added.alibi is None
