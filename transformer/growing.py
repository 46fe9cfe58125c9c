"""A generation that waits: its steps are computed as they are asked for, once for all who look at the same one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from transformer.errors import SeeThroughError


class Stops(Protocol):
    """A step of `generate` or `beam_search`."""

    @property
    def stop(self) -> str | None: ...


S = TypeVar("S", bound=Stops)


class Growing(Generic[S]):
    """The steps of one text with one set of dials. The same dials and seed give the same steps: visitors share them.

    `computing` is entered around each pass. What goes wrong in a pass is kept too: whoever asks again is told the same.
    One that `rests` has let its keys and values go; asked for more steps, it makes them anew, and goes on.
    """

    def __init__(
        self, start: Callable[[], Iterator[S]], computing: AbstractContextManager[object] | None = None
    ) -> None:
        self._steps: list[S] = []
        self._start = start
        self._more: Iterator[S] | None = start()  # raises here what `generate` raises at once
        self._made = 0  # steps that this iterator gave
        self._ended = False
        self._problem: SeeThroughError | None = None
        self._computing = nullcontext() if computing is None else computing
        self._lock = Lock()

    def step(self, number: int) -> S | None:
        """Step `number` (from 0); None where the text had ended before. Raises CannotGenerate."""
        with self._lock:
            while len(self._steps) <= number and not self._ended:
                self._one_more()
            if len(self._steps) <= number and self._problem is not None:
                raise self._problem
            return self._steps[number] if number < len(self._steps) else None

    def steps(self, count: int) -> list[S]:
        """The first `count` steps, or as many as there are."""
        found = (self.step(number) for number in range(count))
        return [one for one in found if one is not None]

    def rest(self) -> None:
        """Let go of what only further steps need: the keys and values of the text so far."""
        with self._lock:
            self._more, self._made = None, 0

    def _one_more(self) -> None:
        """One step of the iterator; one that began anew gives again what is there already."""
        self._more = self._start() if self._more is None else self._more
        try:
            with self._computing:
                step = next(self._more, None)
        except SeeThroughError as problem:
            self._more, self._ended, self._problem = None, True, problem
            return
        self._made += step is not None
        if step is None or step.stop is not None:
            self._more, self._ended = None, True  # and with it the cache and the model that it held
        if step is not None and self._made > len(self._steps):
            self._steps.append(step)


class Awake:
    """The few generations that hold their keys and values: whichever was asked for longest ago rests."""

    def __init__(self, most: int) -> None:
        self._most, self._awake, self._lock = most, list[Growing[Any]](), Lock()

    def wake(self, growing: Growing[S]) -> Growing[S]:
        with self._lock:
            self._awake = [one for one in self._awake if one is not growing] + [growing]
            tired, self._awake = self._awake[: -self._most], self._awake[-self._most :]
        for one in tired:
            one.rest()
        return growing
