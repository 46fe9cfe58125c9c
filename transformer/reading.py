"""From the evidence of a probe pass to the model's structure and the plan of its recording."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from transformer.parts import Part
from transformer.probe import Evidence, Heard
from transformer.recognise import (
    feed_forward_part,
    head_part,
    is_linear,
    linear_part,
    looks_like_norm,
    norm_part,
    same,
    to_numpy,
)
from transformer.structure import Box, Plan, Stack, Structure
from transformer.wiring import BlockWiring, Event, Term, block_of, explain, read_block


@dataclass(frozen=True)
class Place:
    """Where an attention call stands: `decoder.3.self`."""

    stack: str
    layer: int
    kind: str  # "self" | "cross"

    @property
    def site(self) -> str:
        return f"{self.stack}.{self.layer}.{self.kind}"


def attention_places(evidence: Evidence, source: int, target: int | None) -> dict[int, Place]:
    """Stack and layer of every attention call, told from what it was given: lengths for encoder-decoders, else the mask."""
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


class Reader:
    """Collects the plan while it walks the evidence once, in the order in which the model ran."""

    def __init__(self, evidence: Evidence, source: int, target: int | None, softcap: float | None = None) -> None:
        self.evidence, self.softcap, self.plan = evidence, softcap, Plan()
        self.places = attention_places(evidence, source, target)
        self.heard_by_entry = {one.entered: one for one in evidence.heard}
        self.stacks = tuple(dict.fromkeys(place.stack for place in self.places.values()))

    def read(self) -> tuple[Structure, Plan]:
        for entered, place in self.places.items():
            one = self.heard_by_entry[entered]
            known = self.plan.attention if one.attention is not None else self.plan.masks
            known[one.module, one.nth] = place.site
        stacks, after = [], 0
        for name in self.stacks:
            stack, after = self._read_stack(name, after)
            stacks.append(stack)
        return Structure(tuple(stacks)), self.plan

    def _read_stack(self, name: str, after: int) -> tuple[Stack, int]:
        """One stack, and the time at which its last block was left. `after`: when the stack before it ended."""
        calls = self._block_calls(name)
        if not calls:
            self.plan.lacks[f"{name}.resid"] = "lack.no_blocks"
            return Stack(name, (), tuple(self._bare_blocks(name)), ()), after
        before = self._read_embedding(name, calls[0], after)
        blocks = [self._read_block(name, layer, call) for layer, call in enumerate(calls)]
        self._join_blocks(name, calls)
        return Stack(name, before, tuple(blocks), self._read_end(name, calls[-1])), calls[-1].left

    def _block_calls(self, stack: str) -> list[Heard]:
        calls: dict[int, Heard] = {}
        for entered, place in self.places.items():
            one = self.heard_by_entry[entered]
            block = next((b for b in self.evidence.heard if b.name == block_of(one.name) and b.holds(one)), None)
            if place.stack == stack and place.kind == "self" and block is not None:
                calls[block.entered] = block
        layers = sum(place.stack == stack and place.kind == "self" for place in self.places.values())
        return list(calls.values()) if len(calls) == layers else []

    def _bare_blocks(self, stack: str) -> list[tuple[Box, ...]]:
        """Only what is known when no block was found: the attentions in their order."""
        return [(self._attention_box(entered),) for entered, p in self.places.items() if p.stack == stack]

    # --- one block -------------------------------------------------------------------------------------------------

    def _read_block(self, stack: str, layer: int, call: Heard) -> tuple[Box, ...]:
        prefix = f"{stack}.{layer}"
        places = {entered: p.kind for entered, p in self.places.items() if call.holds(self.heard_by_entry[entered])}
        wiring = read_block(call, self.evidence.heard, places)
        self.plan.inputs[call.module, call.nth] = f"{prefix}.resid.before"
        self.plan.outputs[call.module, call.nth] = f"{prefix}.resid.after"
        for event in wiring.events:
            self._plan_event(prefix, event, wiring)
        self._plan_sum(f"{prefix}.resid.after", prefix, wiring.leaves_from)
        self._plan_middle(prefix, wiring)
        return block_boxes(prefix, wiring, self._facts)

    def _plan_event(self, prefix: str, event: Event, wiring: BlockWiring) -> None:
        site = f"{prefix}.{event.place}"
        if event.place in ("self", "cross"):
            out = wiring.output_projections.get(event.place)
            giver = out or event.heard
            part = linear_part(out.module) if out is not None and event.heard.attention is not None else None
            self._plan_output(f"{site}.projection", part, (f"{site}.merged", f"{site}.output"), giver)
            return
        self._plan_input(f"{site}.input", prefix, event)
        is_norm = event.place.startswith("norm")
        part = norm_part(event.heard) if is_norm else feed_forward_part(event.ups, event.heard)
        self._plan_output(site, part, (f"{site}.input", f"{site}.output"), event.heard)

    def _plan_output(self, name: str, part: Part | None, ends: tuple[str, str], giver: Heard) -> None:
        """What a part gives follows from what enters it where its formula is known; only otherwise it is kept."""
        self._add_part(name, part, *ends)
        if part is None:
            self.plan.outputs[giver.module, giver.nth] = ends[1]
        else:
            self.plan.checks[giver.module, giver.nth] = f"{name}.output_check"

    def _plan_input(self, site: str, prefix: str, event: Event) -> None:
        """What enters a norm or feed-forward: kept, unless it is one of the arrays that are kept anyway."""
        terms = event.enters_from
        if terms is not None and len(terms) == 1:
            self.plan.aliases[site] = f"{prefix}.{terms[0].site}"
            return
        enters = event.ups[0] if event.ups else event.heard
        self.plan.inputs[enters.module, enters.nth] = site
        self._plan_sum(site, prefix, terms)

    def _plan_sum(self, site: str, prefix: str, terms: tuple[Term, ...] | None) -> None:
        if terms is None:
            self.plan.lacks[f"{site}.sum"] = "lack.sum_unexplained"
        elif len(terms) > 1:
            self.plan.sums[site] = tuple(f"{prefix}.{term.site}" for term in terms)
        elif site.endswith("resid.after"):
            self.plan.aliases[site] = f"{prefix}.{terms[0].site}"

    def _plan_middle(self, prefix: str, wiring: BlockWiring) -> None:
        """The stream between attention and feed-forward, where it is one of the kept arrays; parallel branches have none."""
        leaves = [term.site for term in wiring.leaves_from or ()]
        if len(leaves) == 1:  # post-norm: look at the sum that enters the last norm
            last = next((e for e in wiring.events if leaves == [f"{e.place}.output"]), None)
            leaves = [term.site for term in (last.enters_from if last else None) or ()]
        if len(leaves) > 1 and leaves[0] != "resid.before":
            self.plan.aliases[f"{prefix}.resid.middle"] = f"{prefix}.{leaves[0]}"
        for event in wiring.events:
            if len(leaves) > 2 and [term.site for term in event.enters_from or ()] == leaves[:-1]:
                self.plan.aliases[f"{prefix}.resid.middle"] = f"{prefix}.{event.place}.input"

    def _add_part(self, name: str, part: Part | None, enters: str, leaves: str) -> None:
        if part is None:
            self.plan.lacks[name] = "lack.formula_unknown"
            return
        self.plan.parts[name] = part
        self.plan.part_inputs[name] = (enters, leaves)

    def _join_blocks(self, stack: str, calls: list[Heard]) -> None:
        """What leaves a block is what enters the next one; then it is kept once."""
        for layer, (one, following) in enumerate(zip(calls, calls[1:], strict=False)):
            site = f"{stack}.{layer}.resid.after"
            if one.output is not None and following.input is not None and one.output.equal(following.input):
                self.plan.aliases.setdefault(site, f"{stack}.{layer + 1}.resid.before")
                self.plan.outputs.pop((one.module, one.nth), None)

    # --- before and after the blocks -------------------------------------------------------------------------------

    def _read_embedding(self, stack: str, first: Heard, after: int) -> tuple[Box, ...]:
        early = [one for one in self.evidence.heard if after <= one.entered < first.entered and one.left < first.entered]
        boxes, terms = [Box("tokens", f"{stack}.tokens")], []
        for one in early:
            if (kind := self._embedding_kind(one)) is not None and not any(t.site == f"embed.{kind}" for t in terms):
                assert one.output is not None
                value = to_numpy(one.output).reshape(-1, one.output.shape[-1])
                terms.append(Term(f"embed.{kind}", value, one.left, one))
                self.plan.outputs[one.module, one.nth] = f"{stack}.embed.{kind}"
                boxes.append(Box("positions" if kind == "position" else "embedding", f"{stack}.embed.{kind}", {"table": kind}))
        norm = next((one for one in early if terms and one.entered > terms[0].left and looks_like_norm(one)), None)
        self._plan_embedding_sum(stack, norm or first, terms)
        boxes += [Box("add", f"{stack}.embed.sum")] if len(terms) > 1 else []
        if norm is not None:
            self.plan.inputs[norm.module, norm.nth] = f"{stack}.embed.sum"
            site = f"{stack}.embed.norm"
            self.plan.aliases[f"{site}.input"] = f"{stack}.embed.sum"
            self._plan_output(site, norm_part(norm), (f"{site}.input", f"{site}.output"), norm)
            boxes.append(Box("norm", f"{stack}.embed.norm", self._norm_facts(f"{stack}.embed.norm")))
        else:
            self.plan.aliases[f"{stack}.embed.sum"] = f"{stack}.0.resid.before"
        return tuple(boxes)

    def _plan_embedding_sum(self, stack: str, enters: Heard, terms: list[Term]) -> None:
        assert enters.input is not None
        total = to_numpy(enters.input)[0]
        rows = [Term(t.site, np.broadcast_to(t.value, total.shape), t.left, t.heard) for t in terms if t.value.shape[-1] == total.shape[-1]]
        found = explain(total, rows)
        if found is not None:
            self.plan.sums[f"{stack}.embed.sum"] = tuple(f"{stack}.{term.site}" for term in found)
        elif rows and same(rows[0].value * np.sqrt(total.shape[-1]), total):
            self.plan.lacks[f"{stack}.embed.sum.sum"] = "lack.embedding_scaled"
        else:
            self.plan.lacks[f"{stack}.embed.sum.sum"] = "lack.sum_unexplained"

    def _embedding_kind(self, one: Heard) -> str | None:
        """token, position or segment, told from what the table was asked for."""
        named = type(one.module).__name__.lower()
        if one.output is None or one.output.ndim not in (2, 3) or not ("embedding" in named or "position" in named) or "rotary" in named:
            return None
        asked = one.input
        if any(True for _ in one.module.children()) or one.output.shape[-2] not in self._lengths():
            return None
        if "position" in named:
            return "position"
        if asked is not None and any(asked.shape == ids.shape and bool((asked == ids).all()) for ids in self._ids()):
            return "token"
        if asked is not None and not asked.is_floating_point() and asked.numel() and bool((asked == asked.flatten()[0]).all()):
            return "segment"
        return "position"

    def _ids(self) -> list[Tensor]:
        return [ids for name, ids in self.evidence.inputs.items() if name.endswith("input_ids")]

    def _lengths(self) -> set[int]:
        return {ids.shape[-1] for ids in self._ids()}

    def _read_end(self, stack: str, last: Heard) -> tuple[Box, ...]:
        """The final norm, where there is one, and the head that gives logits."""
        site, boxes = f"{stack}.final.norm", []
        following = [one for one in self.evidence.heard if one.entered > last.left]
        norm = next((one for one in following if looks_like_norm(one) and one.input is not None and last.output is not None and one.input.equal(last.output)), None)
        output = f"{stack}.{self._n_layers(stack) - 1}.resid.after"
        if norm is not None:
            self.plan.aliases[f"{site}.input"] = output
            self._plan_output(site, norm_part(norm), (f"{site}.input", f"{site}.output"), norm)
            boxes.append(Box("norm", site, self._norm_facts(site)))
            output = f"{site}.output"
        self.plan.aliases[f"{stack}.output"] = output
        if stack == self.stacks[-1]:
            boxes += self._read_head(stack, norm.output if norm is not None else last.output)
        return tuple(boxes)

    def _read_head(self, stack: str, hidden: Tensor | None) -> list[Box]:
        logits = self.evidence.logits
        if logits is None:
            self.plan.lacks["logits"] = "lack.no_head"
            return []
        found = next(((one, part) for one in reversed(self.evidence.heard) if is_linear(one) and (part := head_part(one, logits, self.softcap))), None)
        box = Box("head", "logits", {"vocabulary": logits.shape[-1]})
        if found is None:
            self.plan.lacks[f"{stack}.head"] = "lack.formula_unknown"
            return [Box("unknown", f"{stack}.head"), box]
        one, part = found
        direct = hidden is not None and one.input is not None and one.input.shape == hidden.shape and one.input.equal(hidden)
        if direct:
            self.plan.aliases[f"{stack}.head.input"] = f"{stack}.output"
        else:
            self.plan.inputs[one.module, one.nth] = f"{stack}.head.input"
        self._add_part(f"{stack}.head", part, f"{stack}.head.input", "logits")
        return [box] if direct else [Box("transform", f"{stack}.head.input"), box]

    # --- facts for labels ------------------------------------------------------------------------------------------

    def _n_layers(self, stack: str) -> int:
        return sum(p.stack == stack and p.kind == "self" for p in self.places.values())

    def _norm_facts(self, site: str) -> dict[str, object]:
        part = self.plan.parts.get(site)
        return {"kind": getattr(part, "kind", "unknown")}

    def _facts(self, site: str, event: Event) -> Box:
        if event.place in ("self", "cross"):
            return self._attention_box(event.entered)
        if event.place.startswith("ffn"):
            part = self.plan.parts.get(site)
            facts = {"activation": part.activation, "gated": part.gate is not None, "d_ff": part.down.weight.shape[1]} if part else {}  # type: ignore[union-attr]
            return Box("ffn", site, facts)
        return Box("norm", site, self._norm_facts(site))

    def _attention_box(self, entered: int) -> Box:
        one, place = self.heard_by_entry[entered], self.places[entered]
        kind = "cross" if place.kind == "cross" else "attention"
        if one.attention is None:
            return Box(kind, place.site, {"heads": one.weights.shape[1] if one.weights is not None else None})
        call = one.attention
        rotary = any("rotary" in type(x.module).__name__.lower() for x in self.evidence.heard)
        facts = {
            "heads": call.query.shape[1],
            "kv_heads": call.key.shape[1],
            "d_head": call.query.shape[-1],
            "rotary": rotary and place.kind == "self",
            "bias": call.bias is not None,
        }
        return Box(kind, place.site, facts)


def block_boxes(prefix: str, wiring: BlockWiring, box_of: object) -> tuple[Box, ...]:
    """The boxes of a block in the order in which they ran, with a + wherever the wiring found a sum."""
    boxes: list[Box] = []
    branches = _parallel(wiring)
    for event in wiring.events:
        site = f"{prefix}.{event.place}"
        if event.enters_from is None:
            boxes.append(Box("unknown", f"{site}.input"))
        elif len(event.enters_from) > 1:
            boxes.append(Box("add", f"{site}.input"))
        boxes.append(box_of(site, event))  # type: ignore[operator]
    if branches:
        shared = [b for b in boxes if b.name in {f"{prefix}.{p}" for p in branches[0]} & {f"{prefix}.{p}" for p in branches[1]}]
        pair = tuple(tuple(b for b in boxes if b.name in {f"{prefix}.{p}" for p in branch} and b not in shared) for branch in branches)
        boxes = [*shared, Box("parallel", f"{prefix}.parallel", {"branches": pair})]
    if wiring.leaves_from is None:
        boxes.append(Box("unknown", f"{prefix}.resid.after"))
    elif len(wiring.leaves_from) > 1:
        boxes.append(Box("add", f"{prefix}.resid.after"))
    return tuple(boxes)


def _parallel(wiring: BlockWiring) -> tuple[set[str], set[str]] | None:
    """The places of two branches that start from the same stream and meet in one sum (GPT-J), or None."""
    ends = [term.site.split(".")[0] for term in wiring.leaves_from or () if term.site != "resid.before"]
    if len(ends) != 2:
        return None
    first, second = (_upstream(place, wiring) for place in ends)
    attention_in_second = {"self", "cross"} & second and {"self", "cross"} & first
    return None if attention_in_second else (first, second)


def _upstream(place: str, wiring: BlockWiring) -> set[str]:
    """`place` and every place whose output it is made from."""
    event = next((e for e in wiring.events if e.place == place), None)
    if event is None:
        return set()
    sources = {term.site.split(".")[0] for term in event.enters_from or ()} - {"resid", place}
    return {place}.union(*(_upstream(source, wiring) for source in sources))
