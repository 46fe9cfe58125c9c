"""Where a block's norms stand, and what is added to what, told from the wiring that was found (see `wiring.py`).

    pre-norm         x + part(norm(x))           Xiong et al. 2020; GPT-2, LLaMA, T5
    post-norm        norm(x + part(x))           Vaswani et al. 2017; BERT, BART
    sandwich         x + norm(part(norm(x)))     Gemma 2
    parallel         x + attention(norm(x)) + feed-forward(norm(x))   GPT-J, GPT-NeoX

Nothing is taken from a family's name: the stream is followed back from what leaves the block to what entered it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from transformer.structure import Box
from transformer.trace import Trace

_ATTENTION = ("self", "cross")


@dataclass(frozen=True)
class Branch:
    """What is added to the stream: `parts` on its way in order ("norm1", "self"), the last one's output is `term`."""

    term: str  # "self.output"; "norm2.output" where a norm stands behind the part
    parts: tuple[str, ...]
    part: str  # the part that does the work: "self", "cross", "ffn"
    starts: str  # the site that enters the first of the parts: "resid.before"

    @property
    def norms_before(self) -> tuple[str, ...]:
        return tuple(one for one in self.parts[: self.parts.index(self.part)] if is_norm(one))

    @property
    def norms_after(self) -> tuple[str, ...]:
        return tuple(one for one in self.parts[self.parts.index(self.part) :] if is_norm(one))


@dataclass(frozen=True)
class Sum:
    """A + on the stream. All names are sites within the block."""

    site: str  # "norm2.input"
    stream: str  # what the branches are added to: "resid.before"; "" where they replace it
    branches: tuple[Branch, ...]
    enters: tuple[str, ...]  # what is given the sum: "norm2", or "resid.after" where it leaves the block

    @property
    def text(self) -> str:
        """ "resid.before + self.output → norm2"."""
        terms = [self.stream, *(branch.term for branch in self.branches)]
        return f"{' + '.join(term for term in terms if term)} → {', '.join(self.enters)}"


@dataclass(frozen=True)
class Line:
    """A part that the stream itself goes through: the norm of a post-norm block."""

    part: str  # "norm1"
    enters: str  # the site it is given


@dataclass(frozen=True)
class Placement:
    """One block: its stream from what enters to what leaves, as sums and parts on the line.

    `unread` is the site where the way back was lost (then `steps` are those behind it), "" where it is whole.
    """

    place: str  # "decoder.3"
    steps: tuple[Sum | Line, ...]
    unread: str

    @property
    def sums(self) -> tuple[Sum, ...]:
        return tuple(step for step in self.steps if isinstance(step, Sum))

    @property
    def norms_on_line(self) -> tuple[str, ...]:
        return tuple(step.part for step in self.steps if isinstance(step, Line) and is_norm(step.part))

    @property
    def kind(self) -> str:
        """ "pre", "post", "sandwich", "behind" (norm between part and +), "parallel", "none", "mixed", "unknown"."""
        if self.unread or not self.sums:
            return "unknown"
        if any(_abreast(one) for one in self.sums):
            return "parallel"
        kinds = {_kind(branch) for one in self.sums for branch in one.branches}
        if self.norms_on_line:
            return "post" if kinds == {"none"} else "mixed"
        return kinds.pop() if len(kinds) == 1 else "mixed"


def is_norm(part: str) -> bool:
    return part.startswith("norm")


def _abreast(one: Sum) -> bool:
    """Whether attention and feed-forward are added at once."""
    attentions = [branch.part in _ATTENTION for branch in one.branches]
    return any(attentions) and not all(attentions)


def _kind(branch: Branch) -> str:
    found = bool(branch.norms_before), bool(branch.norms_after)
    return {(True, False): "pre", (True, True): "sandwich", (False, True): "behind", (False, False): "none"}[found]


def norm_placement(trace: Trace, place: str) -> Placement:
    """The block `place` ("decoder.3") of a run."""
    return _Block(trace, place).read()


def norm_sites(trace: Trace, place: str) -> tuple[str, ...]:
    """All norms that a block's stack has for it, in the order in which they stand: "decoder.embed.norm",
    "decoder.3.norm1", …, "decoder.final.norm"."""
    stack_name, _, layer = place.partition(".")
    stack = next((one for one in trace.structure.stacks if one.name == stack_name), None)
    if stack is None or not layer.isdecimal() or int(layer) >= len(stack.blocks):
        return ()
    boxes = [*stack.before, *stack.blocks[int(layer)], *stack.after]
    return tuple(box.name for one in boxes for box in _flat(one) if box.kind == "norm")


def _flat(box: Box) -> Iterator[Box]:
    branches = box.label_values.get("branches") if box.kind == "parallel" else None
    if not isinstance(branches, tuple):
        yield box
        return
    for branch in branches:
        for one in branch:
            yield from _flat(one)


class _Block:
    """Follows the stream of one block backwards."""

    def __init__(self, trace: Trace, place: str) -> None:
        self.trace, self.place = trace, place
        own = f"{place}."
        self.sums = {
            site.removeprefix(own): tuple(term.removeprefix(own) for term in terms)
            for site, terms in trace.sums.items()
            if site.startswith(own)
        }

    def read(self) -> Placement:
        steps: list[Sum | Line] = []
        site, seen = self._source("resid.after"), set[str]()
        while site not in ("resid.before", "") and site not in seen:
            seen.add(site)
            if (one := self._sum(site)) is not None:
                steps.append(one)
                site = self._source(one.stream) if one.stream else ""
            elif (entering := self._enters(site)) is not None:
                steps.append(Line(site.removesuffix(".output"), entering))
                site = entering
            else:
                return Placement(self.place, tuple(reversed(steps)), site)
        return Placement(self.place, tuple(reversed(steps)), "")

    def _source(self, site: str) -> str:
        """The first name of an array within the block: what a part was given, or a sum, or "resid.before"."""
        while site not in self.sums and (alias := self.trace.aliases.get(f"{self.place}.{site}")) is not None:
            if not alias.startswith(f"{self.place}."):
                break
            site = alias.removeprefix(f"{self.place}.")
        return site

    def _enters(self, output: str) -> str | None:
        """What enters the part that gave `output`, None where nobody knows."""
        part = output.removesuffix(".output")
        if part == output:
            return None
        source = self._source(f"{part}.input")
        known = source in self.sums or source == "resid.before" or source.endswith(".output")
        return source if known else None

    def _sum(self, site: str) -> Sum | None:
        if site not in self.sums:
            return None
        terms = self._shortened(site)
        added = [term for term in terms if self._working_part(term) is not None]
        streams = [term for term in terms if term not in added]
        if not added or len(streams) > 1:
            return None
        stream = streams[0] if streams else ""
        return Sum(site, stream, tuple(self._branch(term, stream) for term in added), self._reads(site))

    def _shortened(self, site: str) -> tuple[str, ...]:
        """Terms that are a sum of their own by that sum's name (OLMo 2 adds three, of which two were added before)."""
        terms = self.sums[site]
        for other, its in self.sums.items():
            if other != site and len(its) < len(terms) and set(its) <= set(terms):
                terms = (other, *(term for term in terms if term not in its))
        return terms

    def _working_part(self, term: str) -> str | None:
        """The attention or feed-forward that a term comes from; None for the stream itself."""
        part = term.removesuffix(".output")
        if part == term:
            return None
        return self._working_part(self._source(f"{part}.input")) if is_norm(part) else part

    def _branch(self, term: str, stream: str) -> Branch:
        parts, site = [term.removesuffix(".output")], term
        while (entering := self._enters(site)) is not None:
            site = entering
            if site == stream or not site.endswith(".output"):
                break
            parts.insert(0, site.removesuffix(".output"))
        return Branch(term, tuple(parts), self._working_part(term) or parts[-1], site)

    def _reads(self, site: str) -> tuple[str, ...]:
        found = tuple(part for part in self._parts() if self._source(f"{part}.input") == site)
        return (*found, "resid.after") if self._source("resid.after") == site else found

    def _parts(self) -> Iterator[str]:
        """The parts of the block by their short names, in the order of its boxes."""
        stack, _, layer = self.place.partition(".")
        for one in self.trace.structure.stack(stack).blocks[int(layer)]:
            yield from (box.name.split(".")[2] for box in _flat(one) if box.kind != "add")
