"""Where each attention call of a probe stands: stack, layer, and whether it looks at itself or across."""

from dataclasses import dataclass

from transformer.probe import Evidence, Heard


@dataclass(frozen=True)
class Place:
    """`decoder.3.self`."""

    stack: str  # "encoder" | "decoder"
    layer: int
    kind: str  # "self" | "cross"

    @property
    def site(self) -> str:
        return f"{self.stack}.{self.layer}.{self.kind}"


def attention_places(evidence: Evidence, source: int, target: int | None) -> dict[int, Place]:
    """Places by the time at which the call began, told from what the attention was given.

    An encoder-decoder was probed with `source` and `target` tokens, unlike numbers, so lengths tell who looks at whom;
    a model of one stack is a decoder if its first attention may not look ahead.
    """
    calls = [one for one in evidence.heard if one.attention is not None or one.weights is not None]
    alone = "decoder" if calls and _is_causal(calls[0]) else "encoder"
    layers, places = {"encoder": -1, "decoder": -1}, {}
    for one in calls:
        looks, looked_at = _lengths(one)
        stack = alone if target is None else "decoder" if looks == target else "encoder"
        kind = "cross" if target is not None and looks == target and looked_at == source else "self"
        layers[stack] += kind == "self"
        places[one.entered] = Place(stack, max(layers[stack], 0), kind)
    return places


def _lengths(one: Heard) -> tuple[int, int]:
    if one.attention is not None:
        return one.attention.query.shape[2], one.attention.key.shape[2]
    assert one.weights is not None
    return one.weights.shape[2], one.weights.shape[3]


def _is_causal(one: Heard) -> bool:
    if one.weights is not None:
        return not bool(one.weights[0].triu(1).any())
    call = one.attention
    assert call is not None
    if call.causal or call.allowed is None:
        return call.causal
    return not bool(call.allowed[0, 0].triu(1).any())
