"""`generate`: a text that grows token by token, each as one `Step` that says what was considered, chosen, and kept.

ids ─▶ one pass (Reader) ─▶ scores of the next token ─▶ temperature, top-k, top-p ─▶ one token ─▶ ids + token ─▶ …
                                                        or a token that was forced ─▶
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import torch

from transformer.cache_state import CacheState
from transformer.distribution import Distribution, choose
from transformer.errors import ShapesDoNotFit, UnknownToken
from transformer.next_pass import Reader, reader_of
from transformer.prompt import Prompt, end_ids, prompt_of
from transformer.rows import Ids
from transformer.sampling import GREEDY, Dials
from transformer.wrapped import LoadedModel


@dataclass(frozen=True)
class GenerationSettings:
    """How the next token is chosen, and how long that goes on.

    Raises:
        ShapesDoNotFit: a value is outside of its range.
    """

    mode: str = "greedy"  # "greedy": the most probable, whatever the dials say; "sample": drawn
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    max_new_tokens: int = 20
    stop_ids: tuple[int, ...] | None = None  # None: those that the model names; (): none
    use_cache: bool = True
    same_ids: bool = False  # an encoder–decoder is given the text so far on both sides
    seed: int = 0
    shown: int = 10  # how many of the most probable tokens each step lists
    forced: tuple[tuple[int, int], ...] = ()  # (step, token): taken there instead, and all that follows goes on from it

    def __post_init__(self) -> None:
        if self.mode not in ("greedy", "sample"):
            raise ShapesDoNotFit(what="mode", expected="{greedy, sample}", got=repr(self.mode))
        for name in ("max_new_tokens", "shown"):
            if type(size := getattr(self, name)) is not int or size < 1:
                raise ShapesDoNotFit(what=name, expected="{1, 2, 3, …}", got=repr(size))
        if type(self.seed) is not int or not 0 <= self.seed < 2**63:
            raise ShapesDoNotFit(what="seed", expected="{0, 1, 2, …}", got=repr(self.seed))
        Dials(self.temperature, self.top_k, self.top_p)  # checked in either mode
        if not _are_pairs(self.forced) or len(dict(self.forced)) < len(self.forced):
            raise ShapesDoNotFit(what="forced", expected="((step, token), …)", got=repr(self.forced)[:60])

    @property
    def dials(self) -> Dials:
        """What is done to the scores."""
        return GREEDY if self.mode == "greedy" else Dials(self.temperature, self.top_k, self.top_p)


def _are_pairs(forced: object) -> bool:
    """Whether these are pairs of whole numbers, none below 0."""
    pairs = forced if isinstance(forced, tuple) else (None,)
    return all(isinstance(one, tuple) and [type(part) for part in one] == [int, int] and min(one) >= 0 for one in pairs)


@dataclass(frozen=True, eq=False)
class Step:
    """One new token."""

    number: int  # 0, 1, 2, …
    token: int
    ids: tuple[int, ...]  # all so far, this token last; of an encoder–decoder those that it writes
    given: int  # how many of them were not generated
    distribution: Distribution
    draw: float | None  # where in [0, 1) the draw fell; None: greedy, or forced
    cache: CacheState
    stop: str | None  # "end": an end token; "length": as many as were asked for; "full": no room; None: it goes on
    seconds: float  # of the pass, without the choice
    mode: str = "greedy"  # how this token was chosen: "greedy", "sample" or "forced"


def generate(
    model: LoadedModel,
    text: str | None = None,
    *,
    ids: Ids | None = None,
    source: str | None = None,
    source_ids: Ids | None = None,
    settings: GenerationSettings = GenerationSettings(),
    max_tokens: int | None = None,
) -> Iterator[Step]:
    """The steps of one text that is continued; each pass runs when its step is asked for.

    `text` or `ids`: where it begins. An encoder–decoder reads `source` (or `source_ids`) and begins with its start
    token unless `ids` say otherwise; `text` then comes behind that token. `max_tokens`: let it grow to no more than
    this (default: what the model's positions reach).

    Raises at once: NotAGenerator, MissingSource, NoStartToken, TooManyTokens, EmptyText, BrokenText, UnknownToken (also
    for one that is forced), NoTokenizer, ShapesDoNotFit. While it runs: CannotGenerate.
    """
    prompt = prompt_of(model, text, ids, source, source_ids, same_ids=settings.same_ids, max_tokens=max_tokens)
    wrong = next((token for _, token in settings.forced if token >= model.vocab_size), None)
    if wrong is not None:
        raise UnknownToken(token=wrong, last=model.vocab_size - 1)
    if settings.stop_ids is None:
        settings = replace(settings, stop_ids=end_ids(model))
    reader = reader_of(
        model, prompt.source, use_cache=settings.use_cache, same_ids=settings.same_ids, prompt=len(prompt.ids)
    )
    return _steps(reader, prompt, settings)


def _steps(reader: Reader, prompt: Prompt, settings: GenerationSettings) -> Iterator[Step]:
    generator, ids, forced = torch.Generator().manual_seed(settings.seed), prompt.ids, dict(settings.forced)
    for number in range(settings.max_new_tokens):
        start = perf_counter()
        logits = reader(torch.tensor([ids]))[0]
        seconds = perf_counter() - start
        point, told = None, forced.get(number)
        if settings.mode == "sample":  # drawn also where it is not used: to force what would come changes nothing
            point = torch.rand((), generator=generator, dtype=torch.float64).item()
        chosen = choose(logits.numpy(), settings.dials, point, settings.shown, told)
        ids, given = (*ids, chosen.token), len(prompt.ids)
        stop, cache = _reason(ids, number + 1, prompt, settings), reader.state()
        mode, draw = (settings.mode, point) if told is None else ("forced", None)
        yield Step(number, chosen.token, ids, given, chosen, draw, cache, stop, seconds, mode)
        if stop is not None:
            return


def _reason(ids: tuple[int, ...], count: int, prompt: Prompt, settings: GenerationSettings) -> str | None:
    if ids[-1] in (settings.stop_ids or ()):
        return "end"
    if count == settings.max_new_tokens:
        return "length"
    return "full" if len(ids) == prompt.limit else None
