"""From the evidence of a probe pass to the model's structure and the plan of its recording."""

from itertools import pairwise

from torch import Tensor

from transformer.boxes import block_boxes
from transformer.ends import final_norm, norm_box, read_embedding, read_final_norm, read_head
from transformer.parts import FeedForwardPart
from transformer.places import attention_places
from transformer.planner import Planner
from transformer.probe import Evidence, Heard
from transformer.projections import NAMES, read_projections
from transformer.recognise import feed_forward_part, linear_part, norm_part
from transformer.structure import Box, Plan, Stack, Structure
from transformer.wiring import BlockWiring, Event, block_of, read_block


def read_model(
    evidence: Evidence, source: int, target: int | None, softcap: float | None = None
) -> tuple[Structure, Plan]:
    """Structure and plan of a model that was probed with `source` (and `target`) tokens.

    `softcap` is the configuration's word for how logits are squashed; it is believed only if it gives them.
    """
    return Reader(evidence, source, target, softcap).read()


class Reader:
    """Walks the evidence once, in the order in which the model ran."""

    def __init__(self, evidence: Evidence, source: int, target: int | None, softcap: float | None) -> None:
        self.evidence, self.softcap, self.planner = evidence, softcap, Planner()
        self.places = attention_places(evidence, source, target)
        self.by_entry = {one.entered: one for one in evidence.heard}
        self.ends: dict[str, Tensor | None] = {}  # what each stack gave, for the attention that looks across
        self.has_rotary = any("rotary" in type(one.module).__name__.lower() for one in evidence.heard)

    def read(self) -> tuple[Structure, Plan]:
        for entered, place in self.places.items():
            self.planner.attention(self.by_entry[entered], place.site)
        names = list(dict.fromkeys(place.stack for place in self.places.values()))
        stacks, ended = [], 0
        for name in names:
            calls = self._block_calls(name)
            if calls:
                stacks.append(self._read_stack(name, calls, ended, is_last=name == names[-1]))
                ended = calls[-1].left
            else:
                self.planner.lack(f"{name}.resid", "no_blocks")
                stacks.append(Stack(name, (), tuple((box,) for box in self._attention_boxes(name)), ()))
        return Structure(tuple(stacks)), self.planner.plan

    def _read_stack(self, name: str, calls: list[Heard], ended: int, *, is_last: bool) -> Stack:
        before = read_embedding(self.planner, self.evidence, name, calls[0], ended)
        blocks = tuple(self._read_block(f"{name}.{layer}", call) for layer, call in enumerate(calls))
        self._join_blocks(name, calls)
        after = read_final_norm(self.planner, self.evidence, name, calls[-1], len(calls))
        self.ends[name] = (final_norm(self.evidence, calls[-1]) or calls[-1]).output
        head = read_head(self.planner, self.evidence, name, calls[-1], self.softcap) if is_last else ()
        return Stack(name, before, blocks, (*after, *head))

    def _block_calls(self, stack: str) -> list[Heard]:
        """The calls of the blocks that hold the stack's attentions, one per layer, or none if that fails."""
        calls: list[Heard] = []
        for entered, place in self.places.items():
            one = self.by_entry[entered]
            if place.stack == stack and place.kind == "self":
                name = block_of(one.name)
                calls += [block for block in self.evidence.heard if block.name == name and block.holds(one)][:1]
        layers = sum(place.stack == stack and place.kind == "self" for place in self.places.values())
        siblings = {one.name.rpartition(".")[0] for one in calls if one.name[-1:].isdigit()}
        # A hybrid model (Jamba, LFM2) has blocks without attention between these; to leave them out would be false.
        others = [one for one in self.evidence.heard if one.name.rpartition(".")[0] in siblings and one not in calls]
        return calls if len({call.entered for call in calls}) == layers and not others else []

    def _read_block(self, prefix: str, call: Heard) -> tuple[Box, ...]:
        kinds = {entered: p.kind for entered, p in self.places.items() if call.holds(self.by_entry[entered])}
        wiring = read_block(call, self.evidence.heard, kinds)
        self.planner.keep_input(call, f"{prefix}.resid.before")
        for event in wiring.events:
            self._plan_event(prefix, event, wiring)
        self._plan_end(prefix, call, wiring)
        self._plan_middle(prefix, wiring)
        return block_boxes(prefix, wiring, lambda event: self._box(prefix, event))

    def _plan_event(self, prefix: str, event: Event, wiring: BlockWiring) -> None:
        site = f"{prefix}.{event.place}"
        if event.place in ("self", "cross"):
            projection = wiring.output_projections.get(event.place)
            seen = projection is not None and event.heard.attention is not None
            part = linear_part(projection.module) if seen and projection is not None else None
            ends = (f"{site}.merged", f"{site}.output")
            self.planner.part(f"{site}.projection", part, *ends, projection or event.heard)
            if event.enters_from is not None and len(event.enters_from) == 1:
                self.planner.alias(f"{site}.input", f"{prefix}.{event.enters_from[0].site}")
                self._plan_projections(site, event, wiring.call)
            return
        self._plan_input(f"{site}.input", prefix, event)
        is_norm = event.place.startswith("norm")
        formula = norm_part(event.heard) if is_norm else feed_forward_part(event.ups, event.heard)
        self.planner.part(site, formula, f"{site}.input", f"{site}.output", event.heard)

    def _plan_projections(self, site: str, event: Event, block: Heard) -> None:
        """The maps to queries, keys and values, of an attention that shows them."""
        heard, across = event.heard, event.place == "cross"
        looked_at = self.ends.get("encoder") if across else heard.input
        if heard.attention is None or looked_at is None:
            return
        before = [one for one in self.evidence.heard if block.holds(one) and one.entered < heard.left]
        parts = read_projections(heard, before, looked_at)
        for name in NAMES:
            enters = "encoder.output" if across and name != "q" else f"{site}.input"
            self.planner.projection(site, name, parts.get(name), enters)

    def _plan_input(self, site: str, prefix: str, event: Event) -> None:
        """What enters a norm or feed-forward: kept, unless it is an array that is known anyway."""
        if event.enters_from is not None and len(event.enters_from) == 1:
            self.planner.alias(site, f"{prefix}.{event.enters_from[0].site}")
            return
        self.planner.keep_input(event.ups[0] if event.ups else event.heard, site)
        self.planner.total(site, prefix, event.enters_from)

    def _plan_end(self, prefix: str, call: Heard, wiring: BlockWiring) -> None:
        site, terms = f"{prefix}.resid.after", wiring.leaves_from
        if terms is not None and len(terms) == 1:
            self.planner.alias(site, f"{prefix}.{terms[0].site}")
            return
        self.planner.keep_output(call, site)
        self.planner.total(site, prefix, terms)

    def _plan_middle(self, prefix: str, wiring: BlockWiring) -> None:
        """The stream between attention and feed-forward, where it is a known array; parallel branches have none."""
        leaves = [term.site for term in wiring.leaves_from or ()]
        if len(leaves) == 1:  # post-norm: look at the sum that enters the last norm
            last = next((event for event in wiring.events if leaves == [f"{event.place}.output"]), None)
            leaves = [term.site for term in (last.enters_from if last else None) or ()]
        if len(leaves) > 1 and leaves[0] != "resid.before":
            self.planner.alias(f"{prefix}.resid.middle", f"{prefix}.{leaves[0]}")
        for event in wiring.events:
            if len(leaves) > 2 and [term.site for term in event.enters_from or ()] == leaves[:-1]:
                self.planner.alias(f"{prefix}.resid.middle", f"{prefix}.{event.place}.input")

    def _join_blocks(self, stack: str, calls: list[Heard]) -> None:
        """What leaves a block is what enters the next one; then it is kept once."""
        for layer, (one, following) in enumerate(pairwise(calls)):
            same = one.output is not None and following.input is not None and one.output.equal(following.input)
            if same and (one.module, one.nth) in self.planner.plan.outputs:
                del self.planner.plan.outputs[one.module, one.nth]
                self.planner.alias(f"{stack}.{layer}.resid.after", f"{stack}.{layer + 1}.resid.before")

    # --- boxes -------------------------------------------------------------------------------------------------------

    def _box(self, prefix: str, event: Event) -> Box:
        site = f"{prefix}.{event.place}"
        if event.place in ("self", "cross"):
            return self._attention_box(event.entered)
        if event.place.startswith("norm"):
            return norm_box(self.planner, site)
        part = self.planner.plan.parts.get(site)
        if not isinstance(part, FeedForwardPart):  # experts, a convolution, a state space: called by its own name
            return Box("unknown", site, {"class": type(event.heard.module).__name__})
        facts = {"activation": part.activation, "gated": part.gate is not None, "d_ff": part.down.weight.shape[1]}
        return Box("ffn", site, facts)

    def _attention_boxes(self, stack: str) -> list[Box]:
        return [self._attention_box(entered) for entered, place in self.places.items() if place.stack == stack]

    def _attention_box(self, entered: int) -> Box:
        one, place = self.by_entry[entered], self.places[entered]
        kind = "cross" if place.kind == "cross" else "attention"
        if one.attention is None:
            return Box(kind, place.site, {"heads": None if one.weights is None else one.weights.shape[1]})
        call = one.attention
        facts = {
            "heads": call.query.shape[1],
            "kv_heads": call.key.shape[1],
            "d_head": call.query.shape[-1],
            "rotary": self.has_rotary and place.kind == "self",
            "bias": call.bias is not None,
        }
        return Box(kind, place.site, facts)
