"""Beam search: several texts grow side by side, and the ones with the most probable tokens together live on.

    score(text) = Σ log p(token | tokens before it)          rating(finished text) = score / length^length_penalty

Each pass extends every beam by every token; the best `beams` of these candidates go on, an end token among the best
finishes its text. Graves 2012, section 2 (search), Wu et al. 2016, section 7 (length), in the form of `transformers`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import torch

from transformer.cache_state import CacheState
from transformer.errors import ShapesDoNotFit
from transformer.next_pass import Reader, reader_of
from transformer.parts import Array
from transformer.prompt import Prompt, end_ids, prompt_of
from transformer.rows import Ids
from transformer.sampling import log_sum_exp
from transformer.wrapped import LoadedModel


@dataclass(frozen=True)
class BeamSettings:
    """How wide the search is, and how long it goes on.

    Raises:
        ShapesDoNotFit: a value is outside of its range.
    """

    beams: int = 4
    length_penalty: float = 1.0  # 0: the sum of log p, which favours short texts; 1: its mean; above: long texts
    max_new_tokens: int = 10
    stop_ids: tuple[int, ...] | None = None  # None: those that the model names; (): none
    use_cache: bool = True
    same_ids: bool = False  # an encoder–decoder is given the text so far on both sides

    def __post_init__(self) -> None:
        for name in ("beams", "max_new_tokens"):
            if type(size := getattr(self, name)) is not int or size < 1:
                raise ShapesDoNotFit(what=name, expected="{1, 2, 3, …}", got=repr(size))
        if isinstance(self.length_penalty, bool) or not -10 <= self.length_penalty <= 10:
            raise ShapesDoNotFit(what="length_penalty", expected="-10 … 10", got=repr(self.length_penalty))


@dataclass(frozen=True)
class Beam:
    """A text that is growing or finished."""

    ids: tuple[int, ...]  # what was given included
    score: float  # Σ log p of the new tokens, in nats
    rating: float  # the score after the length penalty; finished texts are compared by it


@dataclass(frozen=True)
class Candidate:
    """One beam, extended by one token."""

    parent: int  # which of the step's `parents`
    token: int
    log_p: float  # of this token after that beam
    score: float  # the parent's and this
    fate: str  # "kept": lives on as a beam; "finished": its text is complete; "dropped"


@dataclass(frozen=True)
class BeamStep:
    """One pass of all beams. The result of the search is `finished[0]` of the last step."""

    number: int  # 0, 1, 2, …
    parents: tuple[Beam, ...]  # before the pass, best first
    candidates: tuple[Candidate, ...]  # the best extensions of all parents, best first
    beams: tuple[Beam, ...]  # after it: the kept candidates
    finished: tuple[Beam, ...]  # so far, best rating first, at most as many as beams
    stop: str | None  # "done": no beam can beat what is finished; "length" or "full": as in `Step`; None: it goes on
    seconds: float  # of the pass
    cache: CacheState | None = None  # after it, of all beams together; its formula is that of one


def beam_search(
    model: LoadedModel,
    text: str | None = None,
    *,
    ids: Ids | None = None,
    source: str | None = None,
    source_ids: Ids | None = None,
    settings: BeamSettings = BeamSettings(),
    max_tokens: int | None = None,
) -> Iterator[BeamStep]:
    """The steps of the search; arguments and errors are those of `generate`."""
    prompt = prompt_of(model, text, ids, source, source_ids, same_ids=settings.same_ids, max_tokens=max_tokens)
    if settings.stop_ids is None:
        settings = replace(settings, stop_ids=end_ids(model))
    reader = reader_of(
        model, prompt.source, use_cache=settings.use_cache, same_ids=settings.same_ids, prompt=len(prompt.ids)
    )
    return _steps(reader, prompt, settings)


def _steps(reader: Reader, prompt: Prompt, settings: BeamSettings) -> Iterator[BeamStep]:
    parents: tuple[Beam, ...] = (Beam(prompt.ids, 0.0, 0.0),)
    finished: tuple[Beam, ...] = ()
    most = min(settings.max_new_tokens, prompt.limit - len(prompt.ids))
    for number in range(most):
        start = perf_counter()
        logits = reader(torch.tensor([beam.ids for beam in parents])).double().numpy()  # (beam, vocab_size)
        seconds = perf_counter() - start
        candidates = _judged(_best(logits, parents, settings), number + 1 == most, settings)
        extended = [(one, _extended(parents[one.parent], one, number + 1, settings)) for one in candidates]
        beams = tuple(beam for one, beam in extended if one.fate == "kept")
        complete = [*finished, *(beam for one, beam in extended if one.fate == "finished")]
        finished = tuple(sorted(complete, key=lambda beam: -beam.rating)[: settings.beams])
        stop = _reason(beams, finished, number + 1, settings)
        yield BeamStep(number, parents, candidates, beams, finished, stop, seconds, reader.state())
        if stop is not None:
            return
        reader.take(torch.tensor([one.parent for one in candidates if one.fate == "kept"]))
        parents = beams


def _best(logits: Array, parents: Sequence[Beam], settings: BeamSettings) -> list[Candidate]:
    """The extensions with the best scores, best first; of equal ones those of the better beam and the smaller id.

    Twice as many as there are beams (more with several end tokens), so that enough go on if all of the best end.
    """
    log_p = logits - np.array([[log_sum_exp(row)] for row in logits])  # (beam, vocab_size)
    scores = (log_p + np.array([[beam.score] for beam in parents])).ravel()
    count = min(max(2, 1 + len(settings.stop_ids or ())) * settings.beams, len(scores))
    least = np.partition(scores, -count)[-count]
    places = np.flatnonzero(scores >= least)
    places = places[np.argsort(-scores[places], kind="stable")][:count]
    found = []
    for place in places.tolist():
        row, token = divmod(place, log_p.shape[1])
        found.append(Candidate(row, token, float(log_p[row, token]), float(scores[place]), ""))
    return found


def _judged(candidates: list[Candidate], last: bool, settings: BeamSettings) -> tuple[Candidate, ...]:
    """The fate of each: what ends below the best `beams` is dropped, what does not end goes on while there is room."""
    judged, room = [], settings.beams
    for rank, one in enumerate(candidates):
        ends = last or one.token in (settings.stop_ids or ())
        if ends:
            fate = "finished" if rank < settings.beams else "dropped"
        else:
            fate = "kept" if room else "dropped"
            room -= fate == "kept"
        judged.append(replace(one, fate=fate))
    return tuple(judged)


def _extended(parent: Beam, one: Candidate, length: int, settings: BeamSettings) -> Beam:
    return Beam((*parent.ids, one.token), one.score, one.score / length**settings.length_penalty)


def _reason(beams: tuple[Beam, ...], finished: tuple[Beam, ...], length: int, settings: BeamSettings) -> str | None:
    if not beams:
        return "length" if length == settings.max_new_tokens else "full"
    enough = len(finished) == settings.beams
    return "done" if enough and beams[0].rating <= finished[-1].rating else None


@dataclass(frozen=True)
class TreeNode:
    """One candidate as a node; the first node of a tree is what was given, and has no parent and no token."""

    step: int  # 0: what was given, 1: after the first pass, …
    parent: int | None  # which node of the tree
    token: int | None
    log_p: float
    score: float
    fate: str  # of `Candidate`
    best: bool  # lies on the way to the best finished text; of a search that has not finished, to the best beam

    @property
    def p(self) -> float:
        """The probability of this token after those before it."""
        return float(np.exp(self.log_p))


def tree(steps: Sequence[BeamStep]) -> tuple[TreeNode, ...]:
    """All candidates of a search so far, pass by pass and best first within each."""
    if not steps:
        return ()
    given, last = len(steps[0].parents[0].ids), steps[-1]
    best = (last.beams if last.stop is None else last.finished)[0].ids[given:]
    nodes, parents = [TreeNode(0, None, None, 0.0, 0.0, "kept", True)], [0]
    for step in steps:
        first = len(nodes)
        for one in step.candidates:
            parent, at = parents[one.parent], step.number
            on_the_way = nodes[parent].best and at < len(best) and best[at] == one.token
            nodes.append(TreeNode(at + 1, parent, one.token, one.log_p, one.score, one.fate, on_the_way))
        parents = [first + place for place, one in enumerate(step.candidates) if one.fate == "kept"]
    return tuple(nodes)


def path_to(nodes: Sequence[TreeNode], index: int) -> tuple[int, ...]:
    """The nodes on the way from what was given to node `index`, both included."""
    way: list[int] = []
    at: int | None = index
    while at is not None:
        way.append(at)
        at = nodes[at].parent
    return tuple(reversed(way))


def node_of(nodes: Sequence[TreeNode], new: Sequence[int]) -> int | None:
    """The node at which a text of these new tokens ends; None where the tree has none."""
    at: int | None = 0
    for token in new:
        at = next((n for n, node in enumerate(nodes) if node.parent == at and node.token == token), None)
        if at is None:
            return None
    return at


def rescored(nodes: Sequence[TreeNode]) -> Array:
    """(node,) Σ log p along the way to each, added up anew."""
    return np.array([sum(nodes[at].log_p for at in path_to(nodes, index)) for index in range(len(nodes))])
